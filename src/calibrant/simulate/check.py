"""Does a world behave like the data it was fitted to? An estimator on both (Roelofs et al. 2022, Figure 3c)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.estimate.binned import ece
from calibrant.inputs import check_count
from calibrant.predictions import Predictions
from calibrant.results import Record, kind, number
from calibrant.simulate.world import EventWorld


@kind
@dataclass(frozen=True, eq=False, repr=False)
class WorldCheck(Record):
    """An estimate on real data beside the same estimate on data sets of the world, of the same size."""

    real: float
    simulated: float
    """mean over the replications"""
    spread: float
    """their standard deviation"""
    low: float
    high: float
    """95 % of the replications lie between these two"""
    p_value: float
    """two-sided: share of replications as extreme as the real data"""
    replications: int

    @property
    def agrees(self) -> bool:
        """Are the real data among the middle 95 % of the simulated ones?"""
        return self.low <= self.real <= self.high

    def __repr__(self) -> str:
        verdict = "like" if self.agrees else "unlike"
        return (
            f"{number(self.real)} on the data, {verdict} the {number(self.simulated)} ± {number(self.spread)} "
            f"on {self.replications:,} data sets of the world"
        )


def check_world(
    world: EventWorld,
    predictions: Predictions,
    estimator: Callable[[Predictions], Any] = ece,
    *,
    replications: int = 200,
    view: Any = "auto",
    rng: Any = 0,
) -> WorldCheck:
    """Does an estimator give the same on these data as on data sets of the world?

    Parameters
    ----------
    world
        The world to check.
    predictions
        The real data.
    estimator
        A function of a `Predictions` that returns a number.
    replications
        Number of simulated data sets.
    view
        The yes/no question of the predictions that the world describes.
    rng
        A seed or a NumPy generator.

    Examples
    --------
    >>> from calibrant.simulate import check_world, fit_world, named_world
    >>> data = named_world("resnet110_c100").sample(2000, rng=0)
    >>> check_world(fit_world(data), data).agrees
    True
    """
    event = predictions.event(view)
    real = float(estimator(Predictions(event.outcomes, event.probs, weights=event.weights, soft=not event.hard)))
    generator = np.random.default_rng(rng)
    count = check_count(replications, "replications", 2)
    found = np.array([float(estimator(world.sample(event.n, generator))) for _ in range(count)])
    low, high = np.quantile(found, [0.025, 0.975])
    outer = min(np.sum(found <= real), np.sum(found >= real))
    p_value = min(1.0, 2 * (outer + 1) / (count + 1))
    spread = float(found.std(ddof=1))
    return WorldCheck(real, float(found.mean()), spread, float(low), float(high), float(p_value), count)
