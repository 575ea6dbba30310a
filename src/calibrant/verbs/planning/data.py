"""The data that a plan is made for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_positive
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.results import number
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, ScoreWorld
from calibrant.verbs.planning.power_laws import Variance

SMALLEST_VARIANCE = 1e-12
"""Mean of p(1 − p) below which no plan is made: both outcomes would not occur in any realistic number of rows."""

ROWS_FOR_SCORES = 1 << 17
"""Rows drawn from a world to estimate how much a score varies."""


@dataclass(frozen=True, slots=True)
class PlannedData:
    """The data that are planned for."""

    variance: Variance
    world: ScoreWorld | None
    """their scores, where they are known"""
    rate: float
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    truth_given: bool = False
    """was a world given, whose own error is the one to detect?"""
    predictions: Predictions | None = None
    view: str = "binary"
    canonical: bool = True
    """are proper scores those of all classes, as they are without a view?"""

    def known_world(self) -> ScoreWorld:
        """A world with these scores."""
        if self.world is None:
            raise InputError(
                "check", "needs predictions, a world, or a mean_variance below 1/4", "there are no scores to draw"
            )
        return self.world

    def rows(self) -> Predictions:
        """Rows with labels."""
        if self.predictions is not None:
            return self.predictions
        if self.world is None or not self.truth_given:
            raise InputError("predictions", "or world must be given for a proper score", "neither is")
        return self.world.sample(ROWS_FOR_SCORES, 0)


def planned_data(predictions: Any, world: Any, mean_variance: Any, view: Any) -> PlannedData:
    """Data like the one thing that is given."""
    candidates = {"predictions": predictions, "world": world, "mean_variance": mean_variance}
    given = [name for name, value in candidates.items() if value is not None]
    if len(given) > 1:
        raise InputError(given[1], f"and {given[0]} cannot both be given", "each describes the data")
    if predictions is not None:
        return _like_predictions(admit(predictions, None), view)
    if world is None:
        return _with_variance(mean_variance)
    if not isinstance(world, ScoreWorld):
        raise InputError("world", "must be a world of scores and a curve", f"it is {world!r}")
    assumed = f"independent rows like those of {world.describe()}"
    return PlannedData(_variance_of(world), world, world.rate, (assumed,), truth_given=True)


def _with_variance(mean_variance: Any) -> PlannedData:
    v = 0.25 if mean_variance is None else check_positive("mean_variance", mean_variance)
    if v < SMALLEST_VARIANCE:
        least = f"must be at least {SMALLEST_VARIANCE:g}"
        raise InputError("mean_variance", least, f"it is {v:g}: the labels would be certain")
    if v > 0.25:
        raise InputError("mean_variance", "must be at most 1/4, the largest p(1 − p)", f"it is {v:g}")
    if v == 0.25:
        worst = "nothing is known of the predictions: p = ½ takes the most rows"
        cautions = (worst,) if mean_variance is None else ()
        return PlannedData(Variance(), None, 0.5, ("independent rows with predictions of ½",), cautions)
    world = BetaWorld(2 * v / (1 - 4 * v), 2 * v / (1 - 4 * v))
    assumed = f"independent rows with {world.scores.describe()}, for which p(1 − p) is {number(v)} on average"
    return PlannedData(Variance(world.scores), world, (1 - math.sqrt(1 - 4 * v)) / 2, (assumed,))


def _like_predictions(predictions: Predictions, view: Any) -> PlannedData:
    canonical = view in ("auto", "canonical")
    event = predictions.event("auto" if canonical else view)
    weights = np.ones(event.n) if event.weights is None else event.weights
    world = EmpiricalWorld(event.probs.astype(np.float64), weights=weights)
    return PlannedData(
        _variance_of(world),
        world,
        float(np.average(event.outcomes, weights=event.weights)),
        (f"independent rows with predictions like these {event.n:,}",),
        () if predictions.groups is None else ("rows of a group are counted as if independent",),
        predictions=predictions,
        view=event.name,
        canonical=canonical,
    )


def _variance_of(world: ScoreWorld) -> Variance:
    variance = Variance(world.scores)
    if variance.mean() < SMALLEST_VARIANCE:
        raise InputError("predictions", "must not all be 0 or 1, or next to it", "the labels would be certain")
    return variance
