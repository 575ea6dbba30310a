"""The calibration curves that an event leaves possible, at cells of its predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.infer.error_path import mass_starts, part_sums
from calibrant.kernels.fit.error_curves import ErrorCurves, error_curves
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.predictions import Event
from calibrant.results import Curve
from calibrant.types import Floats

CELLS = 100
"""Cells of equal mass; equal predictions are never split."""

BEYOND_ONE = 3.0
"""Log-odds beyond those of one row in all from which on a prediction is as good as certain: were it right, so many rows
would hold such an event once in twenty times."""

DRAWS = 1000
"""Curves drawn; the median is then off by a twenty-fifth of the posterior's standard deviation."""


@dataclass(frozen=True, slots=True, eq=False)
class PossibleCurves:
    """Cells with their mean prediction and share of the rows, and curves drawn from the posterior."""

    prob: Floats
    support: Floats
    found: ErrorCurves
    away: Floats
    """`(draws, cells)`: rate less prediction"""
    likely: Floats | None = None
    """likelihood, under each curve, of the rows whose predictions are as good as certain and were right; None if none are"""

    def errors(self, norm: int | str) -> Floats:
        """E|c(p) − p|^α of each curve, without a root; for `"max"` the largest distance."""
        away = np.abs(self.away)
        errors: Floats = away.max(axis=1) if norm == "max" else away ** int(norm) @ self.support
        return errors

    def posterior(self, errors: Floats, level: float, exact: bool = False) -> tuple[float, float, float]:
        """Lower end, median and upper end of an error over the curves.

        The curves come from a Gaussian approximation, which the few rows of a certain prediction
        that was right do not bend at all: it lets their rate lie anywhere. A mean hardly sees such
        rows; the largest error is theirs alone, so it needs their exact likelihood.

        Parameters
        ----------
        errors
            One of each curve.
        level
            Confidence of the interval.
        exact
            Weigh the curves by the likelihood of the rows of certain predictions.
        """
        at = [(1 - level) / 2, 0.5, (1 + level) / 2]
        if exact and self.likely is not None:
            low, middle, high = np.quantile(errors, at, weights=self.likely, method="inverted_cdf").tolist()
        else:
            low, middle, high = np.quantile(errors, at).tolist()
        return low, middle, high

    def error_quantiles(self, share: float) -> Floats:
        """The distance |c(p) − p| that this share of the rows does not exceed, of each curve."""
        away = np.abs(self.away)
        order = np.argsort(away, axis=1)
        covered = np.cumsum(self.support[order], axis=1)
        at = np.minimum((covered < share - 1e-12).sum(axis=1), away.shape[1] - 1)
        found: Floats = np.take_along_axis(away, np.take_along_axis(order, at[:, None], axis=1), axis=1)[:, 0]
        return found

    def band(self, level: float) -> Curve:
        """Mean of the curves, and quantiles cell by cell."""
        low, high = np.quantile(self.away, [(1 - level) / 2, (1 + level) / 2], axis=0)
        y, low, high = (np.clip(self.prob + away, 0.0, 1.0) for away in (self.away.mean(axis=0), low, high))
        return Curve(self.prob, y, low, high, self.support, float(level))


def possible_curves(event: Event) -> PossibleCurves:
    """The curves of an event, computed once for all norms; the same rows give the same draws."""
    found: PossibleCurves = event.kept("possible curves", lambda: _possible(event))
    return found


def _possible(event: Event) -> PossibleCurves:
    pooled = event.pooled
    limit = np.log(pooled.total) + BEYOND_ONE
    z = log_odds(pooled.values)
    ends = np.searchsorted(z, [-limit, limit], side="right")  # certain predictions share no cell with others
    starts = np.union1d(mass_starts(pooled, CELLS), ends[ends < len(z)])
    weight, prob, _ = part_sums(pooled, starts)
    told = pooled.effective(starts)
    rows, hits = (np.add.reduceat(v, starts) for v in (told.weight, told.hits))
    place = np.clip(log_odds(prob), -limit, limit)
    found = error_curves(place, rows, hits, np.abs(place) == limit)
    drawn = found.drawn(DRAWS, np.random.default_rng(0))
    away = sigmoid(drawn) - sigmoid(place)
    believed = ((prob == 0) | (prob == 1)) & (hits == rows * prob)  # certain, and never wrong: taken at its word
    away[:, believed] = 0.0
    right = (np.abs(place) == limit) & (hits == rows * (place > 0)) & ~believed
    likely = np.exp(-np.logaddexp(0.0, -np.sign(place[right]) * drawn[:, right]) @ rows[right]) if right.any() else None
    return PossibleCurves(prob, weight / weight.sum(), found, away, likely)
