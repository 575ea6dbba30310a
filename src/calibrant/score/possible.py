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

MOST_NUMBERS = 1 << 20
"""Rows times classes up to which this is worth its time; beyond, a mean of so many is normal enough."""

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
        chance = (self.chances[counted] * w[counted, None]).ravel()
        order = np.argsort(possible, axis=None)  # NaN come last
        value, chance = possible.ravel()[order], chance[order]
        known = np.isfinite(value)
        value, chance = value[known], chance[known]
        if not len(value):
            return -np.inf, np.inf
        low = int(np.searchsorted(np.cumsum(chance), DOUBT, side="right"))
        high = int(np.searchsorted(np.cumsum(chance[::-1]), DOUBT, side="right"))
        last = len(value) - 1
        ends = float(value[min(low, last)]), float(value[last - min(high, last)])
        return min(ends), max(ends)


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
