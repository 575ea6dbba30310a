"""Scores of rows together with what they could have been: what an interval needs to know of losses not seen yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.interval import LimitedMean, Moments
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from calibrant.score.score import Score

Floats = NDArray[np.float64]

MOST_NUMBERS = 1 << 19
"""Rows times classes up to which this is worth its time; beyond, a mean of so many is normal enough."""

CELLS = 1024
DOUBT = 0.05
"""A score without a limit counts as limited by what the predictions exceed with this probability, in all rows together."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """A score for each row, and for all that might have happened to it."""

    values: Floats
    possible: Floats
    """(n, K)"""
    chances: Floats
    """(n, K), as the predictions say"""
    weights: NDArray[Any] | None
    limited: bool

    def mean(self) -> LimitedMean | Moments:
        """Of the scores, with the limits of the possible ones."""
        return LimitedMean.of(self.values, self.weights, self._limits())

    def of_rows(self, n: float) -> LimitedMean | Moments:
        """Of n rows like these."""
        w = np.ones(len(self.values)) if self.weights is None else self.weights
        return replace(self, weights=w * (n / w.sum())).mean()

    def blended(self, other: ScoredRows, own: float, others: float) -> ScoredRows:
        """own · these + others · the other scores of the same rows."""
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            values, possible = (
                own * a + others * b for a, b in ((self.values, other.values), (self.possible, other.possible))
            )
        return ScoredRows(values, possible, (self.chances + other.chances) / 2, self.weights, self.limited)

    def _limits(self) -> tuple[float, float]:
        w = np.ones(len(self.values)) if self.weights is None else self.weights
        counted = w > 0
        possible = self.possible if self.weights is None else self.possible[counted]
        if self.limited:
            return (float(possible.min()), float(possible.max())) if len(possible) else (-np.inf, np.inf)
        return _credible(possible.ravel(), (self.chances[counted] * w[counted, None]).ravel())


def _credible(values: Floats, chances: Floats) -> tuple[float, float]:
    """Values that are exceeded with no more than a little probability, or a thousandth of the range beyond them."""
    finite = np.isfinite(values)
    if not finite.all():
        values, chances = values[finite], chances[finite]
    if not len(values):
        return -np.inf, np.inf
    low, high = float(values.min()), float(values.max())
    step = (high - low) / CELLS
    if step == 0:
        return low, high
    cell = np.minimum(((values - low) / step).astype(np.intp), CELLS - 1)
    mass = np.cumsum(np.bincount(cell, chances, CELLS))
    last = min(int(np.searchsorted(mass, mass[-1] - DOUBT, side="left")), CELLS - 1)
    first = min(int(np.searchsorted(mass, DOUBT, side="right")), last)
    return float(values[cell == first].min()), float(values[cell == last].max())


def few(predictions: Predictions) -> bool:
    """Are rows and classes few enough?"""
    return int(predictions.said.size) * (2 if predictions.is_binary else 1) <= MOST_NUMBERS


def scored_rows(score: Score, predictions: Predictions, view: Any = "canonical") -> ScoredRows:
    """Of a score of classes."""
    possible = score.possible(predictions, view)
    if possible.shape[1] == 2 and (predictions.is_binary or view != "canonical"):
        p = predictions.event("binary" if view == "canonical" else view).probs.astype(np.float64)
        chances = np.stack([1 - p, p], axis=1)
    else:
        chances = predictions.probs.astype(np.float64)
    return ScoredRows(score.rows(predictions, view), possible, chances, predictions.weights, score.limited)
