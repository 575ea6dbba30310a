"""Do data look like those of a world? An estimate on both, and an exact test of the world's curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.estimate.binned import ece
from calibrant.inputs import check_count, generator_of
from calibrant.options import checked
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.resampling.exact import Exact, as_result, ranked_jointly
from calibrant.resampling.fine_bins import Grid, isotonic_ratio, neyman, rank_kernel
from calibrant.resampling.null import hypothesis_of
from calibrant.resampling.rows import atoms_of
from calibrant.results import Record, TestResult, kind, number
from calibrant.results.constraints import Probability
from calibrant.simulate.world import EventWorld
from calibrant.types import Seed


@kind
@dataclass(frozen=True, eq=False, repr=False)
class WorldCheck(Record):
    """An estimate on real data beside the same estimate on data sets of the world, of the same size."""

    real: float
    simulated: float
    """mean over the simulated data sets"""
    spread: float
    """their standard deviation"""
    low: float
    high: float
    """95 % of the simulated data sets lie between these two"""
    p_value: Probability
    """two-sided: share of simulated data sets as extreme as the real data"""
    n_data_sets: int

    @property
    def agrees(self) -> bool:
        """Are the real data among the middle 95 % of the simulated ones?"""
        return self.low <= self.real <= self.high

    def __repr__(self) -> str:
        real, simulated, spread = map(number, (self.real, self.simulated, self.spread))
        compared = f"{real} on the data, {'like' if self.agrees else 'unlike'} the {simulated} ± {spread}"
        return f"{compared} on {self.n_data_sets:,} data sets of the world"


@checked
def check_world(
    world: EventWorld,
    labels: Any,
    probs: Any = None,
    *,
    estimator: Callable[[Predictions], Any] = ece,
    n_data_sets: int = 200,
    view: Any = "auto",
    seed: Seed = 0,
    counts: Any = None,
    weights: Any = None,
) -> WorldCheck:
    """Does an estimator give the same on these data as on data sets of the world?

    Parameters
    ----------
    world
        The world to check.
    labels, probs
        The real data: outcomes first, then predicted probabilities; or one
        `Predictions`, or a state.
    estimator
        A function of a `Predictions` that returns a number.
    n_data_sets
        Number of simulated data sets.
    view
        The yes/no question of the predictions that the world describes.
    seed
        A seed or a NumPy generator.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> from calibrant.simulate import check_world, fit_world, named_world
    >>> data = named_world("resnet110_c100").sample(2000, seed=0)
    >>> check_world(fit_world(data), data).agrees
    True
    """
    event = admit(labels, probs, counts=counts, weights=weights).event(view)
    real = float(estimator(as_predictions(event)))
    generator = generator_of(seed)
    count = check_count(n_data_sets, "n_data_sets", 2)
    found = np.array([float(estimator(world.sample(event.n, generator))) for _ in range(count)])
    low, high = np.quantile(found, [0.025, 0.975]).tolist()
    p_value = min(1.0, 2 * (min(int(np.sum(found <= real)), int(np.sum(found >= real))) + 1) / (count + 1))
    return WorldCheck(real, float(found.mean()), float(found.std(ddof=1)), low, high, p_value, count)


@checked
def world_test(
    world: EventWorld,
    labels: Any,
    probs: Any = None,
    *,
    n_draws: int | None = None,
    view: Any = "auto",
    seed: Seed = 0,
    counts: Any = None,
    weights: Any = None,
) -> TestResult:
    """Could these outcomes have come from the curve of a world? Exact at every sample size.

    Outcomes are drawn from the world's true rates at the given predictions, and three
    statistics of `is_calibrated`, with power against waves, bumps, tails and steps, are
    ranked jointly among those of the drawn ones. For a world that was fitted to the same
    rows the p-value is too large rather than too small.

    Parameters
    ----------
    world
        The world whose curve is tested; the distribution of its scores is not.
    labels, probs
        The data: outcomes first, then predicted probabilities; or one `Predictions`, or
        a state.
    n_draws
        Number of null draws, as in `is_calibrated`.
    view
        The yes/no question of the predictions that the world describes.
    seed
        Chooses the draws, together with the data.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> from calibrant.simulate import calibrated_world, power_world, world_test
    >>> world = power_world(0.1)
    >>> data = world.sample(2000, seed=0)
    >>> world_test(world, data, n_draws=199).p_value > 0.05
    True
    >>> world_test(calibrated_world(world), data, n_draws=199).p_value
    0.005
    """
    atoms = atoms_of(admit(labels, probs, counts=counts, weights=weights), view, False)
    true = replace(atoms, p=np.clip(world.curve(atoms.p), 0.0, 1.0))
    grid, hypothesis = Grid(true, atoms), hypothesis_of(true)
    exact = Exact.asked("exact", n_draws, seed).sized(len(atoms.p))
    _, _, rank = ranked_jointly(hypothesis, [make(true, grid) for make in (neyman, rank_kernel, isotonic_ratio)], exact)
    p_value = 0.0 if hypothesis.impossible else rank.p_value
    parts = dict(zip(("neyman", "rank_kernel", "isotonic_ratio"), rank.each, strict=True))
    hypothesis = replace(hypothesis, text="labels drawn from the true rates of the world")
    return as_result(hypothesis, exact, ("world", "smallest of 3 p-values", rank.smallest, p_value), parts, "")


world_test.__test__ = False  # type: ignore[attr-defined]  # not a test case, under whatever name it is imported
