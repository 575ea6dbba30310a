"""The worlds that data leave possible: their scores, and curves drawn from the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.infer.possible_curves import DRAWS, possible_curves
from calibrant.kernels.fit.log_odds_process import dealt
from calibrant.kernels.logits import sigmoid
from calibrant.maps.gaussian_process import OPEN, believed
from calibrant.predictions import Predictions
from calibrant.progress import Progress, reported
from calibrant.results import kind, number
from calibrant.simulate.bias import Bias, true_value
from calibrant.simulate.curves import CellCurve
from calibrant.simulate.measuring import Measured, Named, computed, parts_of
from calibrant.simulate.scores import Described
from calibrant.simulate.world import EmpiricalWorld, EventWorld
from calibrant.types import Floats

LARGEST_SCALE, SCALINGS = 8.0, 25
"""How far a curve may be scaled to have an error, and halvings in the search."""

N_CURVES = 20
"""Curves that stand for all that are possible."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class PossibleWorlds(Described):
    """The scores of a data set, with each of several calibration curves that the data leave possible.

    The curves are those of `posterior_error`: right everywhere, lines, bends, waves, tails,
    and stretches of which some are right, each as often as the data support it; or those of
    `GaussianProcessMap`.
    """

    values: Floats
    weights: Floats
    places: Floats
    """predictions at which the curves are known"""
    away: Floats
    """`(curves, places)`: true rate less prediction"""
    middle: Floats
    """the same of the mean of all curves, not of these alone"""

    @classmethod
    def of(cls, rows: Predictions, n_curves: int = N_CURVES, smooth: bool = False) -> PossibleWorlds:
        """Those of the rows of one event.

        Parameters
        ----------
        rows
            Predictions of one event.
        n_curves
            Number of curves, of each family as many as its share.
        smooth
            Take the curves of `GaussianProcessMap`, which go on bending next to 0 and 1.
        """
        pooled = rows.event("binary").pooled
        places, away = _smooth_curves(rows) if smooth else _curves(rows)
        at = ((np.arange(n_curves) + 0.5) * len(away) / n_curves).astype(int)
        return cls(pooled.values.astype(np.float64), pooled.weight, places, away[at], away.mean(axis=0))

    @property
    def worlds(self) -> tuple[EmpiricalWorld, ...]:
        """One per curve."""
        return tuple(self._with(away) for away in self.away)

    @property
    def mean(self) -> EmpiricalWorld:
        """The world with the mean of the curves."""
        return self._with(self.middle)

    def with_error(self, error: float, norm: int = 1) -> EmpiricalWorld:
        """The world whose curve is the farthest of these, scaled until it has an error; as near to it as can be.

        Parameters
        ----------
        error
            The true error.
        norm
            1 for the mean, 2 for the root mean square.
        """
        away = max(self.away, key=lambda each: self._with(each).true_error(norm))
        low, high = 0.0, LARGEST_SCALE
        for _ in range(SCALINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._with(middle * away).true_error(norm) < error else (low, middle)
        return self._with(low * away)

    def _with(self, away: Floats) -> EmpiricalWorld:
        return EmpiricalWorld(self.values, CellCurve(self.places, away), self.weights)

    def describe(self) -> str:
        """Scores, curves, and the errors that they have."""
        errors = [each.true_error() for each in self.worlds]
        known = f"of error {number(min(errors))} to {number(max(errors))}"
        return f"{self.worlds[0].scores.describe()}, {len(self.away)} curves that the data leave possible, {known}"


def _curves(rows: Predictions) -> tuple[Floats, Floats]:
    """The curves of `posterior_error`: places, and distances of the rate from the prediction."""
    found = possible_curves(rows.event("binary"))
    return found.prob, found.away


def _smooth_curves(rows: Predictions) -> tuple[Floats, Floats]:
    """The curves of `GaussianProcessMap`: places, and distances of the rate from the prediction."""
    belief, rng = believed(rows), np.random.default_rng(0)
    found = belief.found.drawn(dealt(belief.found.share(OPEN), DRAWS, rng), rng)
    places = sigmoid(belief.places)
    return places, sigmoid(found) - places


def bias_over(
    estimators: Sequence[Named],
    worlds: Sequence[EventWorld],
    n: int,
    n_data_sets: int,
    seed: int,
    described: str,
    workers: int | None = None,
    progress: Progress = False,
) -> tuple[list[Bias], Floats]:
    """How far off estimators are over several worlds, each against the truth of its own.

    Also the mean distance to the truth in each world, `(estimators, worlds)`.

    Parameters
    ----------
    estimators
        What to compute on each data set.
    worlds
        Worlds of one event; each has the same share of the data sets, at least two.
    n
        Rows per data set.
    n_data_sets
        Number of data sets in all.
    seed
        Seed; the same seed gives the same answer.
    described
        The worlds in words.
    workers, progress
        As in `bias`.
    """
    count = max(2, -(-n_data_sets // len(worlds)))
    truths = np.array([[true_value(one, world) for world in worlds] for one in estimators])
    keys, done, found = parts_of(n, count), 0, []
    parts = computed(
        [
            (estimators, world, n, size, (2**20 * seed + k, n, part), "auto")
            for k, world in enumerate(worlds)
            for _, size, part in keys
        ],
        workers,
    )
    with reported(progress, f"estimators on n = {n:,}") as report:
        for _ in worlds:
            mine = []
            for _, size, _ in keys:
                mine.append(next(parts))
                done += size
                report(done, len(worlds) * count)
            found.append(Measured.of(n, mine))
    middle = truths.mean(axis=1, keepdims=True)
    moves = np.repeat(middle - truths, count, axis=1)  # as if every world had the mean error
    values, low, high = (
        np.concatenate([getattr(each, name) for each in found], axis=1) + moves for name in ("values", "low", "high")
    )
    together = Measured(n, values, low, high, np.sum([each.seconds for each in found], axis=0))
    rows = [Bias.of(together, k, one.name, described, float(middle[k, 0])) for k, one in enumerate(estimators)]
    return rows, values.reshape(len(estimators), len(worlds), count).mean(axis=2) - middle
