"""What the data will be like that a plan is made for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_positive
from calibrant.methods import methods
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.results import number
from calibrant.simulate.families import bent_world, calibrated_world
from calibrant.simulate.fitting import fit_world
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, ScoreWorld
from calibrant.verbs.planning.sample_size import Variance

NOTHING = 1e-12
"""Mean of p(1 − p) below which no plan is made: a surprise in more rows than anyone has."""

ROWS_FOR_SPREAD = 1 << 17
"""Rows drawn from a world to learn how much a score varies."""


@dataclass(frozen=True, slots=True)
class Like:
    """The data that are planned for."""

    variance: Variance
    world: ScoreWorld | None
    """their scores, where they are known"""
    rate: float
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    own: bool = False
    """is the world itself what is to be found?"""
    predictions: Predictions | None = None
    view: str = "binary"
    whole: bool = True
    """are proper scores those of all classes together, as they are without a view?"""

    def rows(self) -> Predictions:
        """Rows with labels."""
        if self.predictions is not None:
            return self.predictions
        if self.world is None or not self.own:
            raise InputError("predictions", "or world must be given for a proper score", "neither is")
        return self.world.sample(ROWS_FOR_SPREAD, 0)

    def own_error(self, statistic: str, norm: int) -> float:
        """What there is to find in a given world."""
        world = self._known()
        if statistic == "binned":
            return world.true_error(2 if norm == 2 else 1)
        return abs(self.rate - world.scores.mean(lambda p, _: p))

    def largest_error(self, statistic: str, norm: int) -> float:
        """The most that can be wrong where these scores are said: each could always happen, or never."""
        if self.world is None:
            return 0.5
        scores = self.world.scores
        if statistic != "binned":
            mean = scores.mean(lambda p, _: p)
            return max(mean, 1 - mean)
        return float(scores.mean(lambda p, q: np.maximum(p, q) ** norm) ** (1 / norm))

    def erring(self, error: float, statistic: str, norm: int) -> ScoreWorld:
        """The world given, or one with these scores and this error: p^d happens where p is said."""
        world = self._known()
        if self.own and math.isclose(error, self.own_error(statistic, norm), rel_tol=1e-9):
            return world
        return bent_world(error, world, norm=2 if statistic == "binned" and norm == 2 else 1)

    def simulated(self, error: float | None, statistic: str, norm: int) -> ScoreWorld:
        """The world to simulate: one with this error, or one like the data, labels included, where no error matters."""
        world = self._known()
        if error is not None:
            return self.erring(error, statistic, norm)
        if self.own:
            return world
        if self.predictions is None:
            return EmpiricalWorld(np.array([self.rate])) if statistic == "rate" else calibrated_world(world)
        if statistic in methods("score") and self.whole and not self.predictions.is_binary:
            raise InputError(
                "check", "draws single events only", "the score is that of the whole vector", "Pass view='top'"
            )
        return fit_world(self.predictions, view=self.view, scores="empirical")

    def _known(self) -> ScoreWorld:
        if self.world is None:
            raise InputError(
                "check", "needs predictions, a world, or a mean_variance below 1/4", "there are no scores to draw"
            )
        return self.world


def like_these(predictions: Any, world: Any, mean_variance: Any, view: Any) -> Like:
    """Data like the one thing that is given."""
    candidates = {"predictions": predictions, "world": world, "mean_variance": mean_variance}
    given = [name for name, value in candidates.items() if value is not None]
    if len(given) > 1:
        raise InputError(given[1], f"and {given[0]} cannot both be given", "each says what the data are like")
    if predictions is not None:
        return _like_predictions(admit(predictions, None), view)
    if world is not None:
        if not isinstance(world, ScoreWorld):
            raise InputError("world", "must be a world of scores and a curve", f"it is {world!r}")
        told = f"independent rows like those of {world.describe()}"
        return Like(_variance_of(world), world, world.rate, (told,), own=True)
    return _like_variance(mean_variance)


def _like_variance(mean_variance: Any) -> Like:
    v = 0.25 if mean_variance is None else check_positive("mean_variance", mean_variance)
    if v < NOTHING:
        raise InputError("mean_variance", f"must be at least {NOTHING:g}", f"it is {v:g}: nothing is left to chance")
    if v > 0.25:
        raise InputError("mean_variance", "must be at most 1/4, the largest p(1 − p)", f"it is {v:g}")
    if v == 0.25:
        worst = "nothing is known of the predictions: p = ½ takes the most rows"
        return Like(Variance(), None, 0.5, ("independent rows that say ½",), (worst,) if mean_variance is None else ())
    world = BetaWorld(2 * v / (1 - 4 * v), 2 * v / (1 - 4 * v))
    told = f"independent rows with {world.scores.describe()}, for which p(1 − p) is {number(v)} on average"
    return Like(Variance(world.scores), world, (1 - math.sqrt(1 - 4 * v)) / 2, (told,))


def _like_predictions(predictions: Predictions, view: Any) -> Like:
    whole = view in ("auto", "canonical")
    event = predictions.event("auto" if whole else view)
    weights = np.ones(event.n) if event.weights is None else event.weights
    world = EmpiricalWorld(event.probs.astype(np.float64), weights=weights)
    return Like(
        _variance_of(world),
        world,
        float(np.average(event.outcomes, weights=event.weights)),
        (f"independent rows that say what these {event.n:,} say",),
        () if predictions.groups is None else ("rows of a group are counted as if independent",),
        predictions=predictions,
        view=event.name,
        whole=whole,
    )


def _variance_of(world: ScoreWorld) -> Variance:
    variance = Variance(world.scores)
    if variance.mean() < NOTHING:
        raise InputError("predictions", "must not all be 0 or 1, or next to it", "they leave nothing to chance")
    return variance
