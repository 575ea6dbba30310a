"""Scores of rows with those of every possible outcome: an interval must allow for losses not seen yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.interval import LimitedMean, Limits, Moments
from calibrant.interval.limited_mean import enough
from calibrant.predictions import Predictions
from calibrant.types import Array, Floats

if TYPE_CHECKING:
    from calibrant.score.score import Score

MOST_NUMBERS = 1 << 23
"""Rows times classes up to which every possible outcome is scored; beyond, a limit that holds for any row is used."""

CELLS = 1024
DOUBT = 0.05
"""A score without a limit is taken as limited by the value that any row exceeds with this probability …"""
DISTRUST = 2.0
"""… and by this many times the expected excess beyond it under the predictions."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """The score of each row, and of every outcome it could have had."""

    values: Floats
    possible: Floats
    """(n, K)"""
    chances: Floats
    """(n, K), the predicted probabilities"""
    weights: Array | None
    limited: bool

    def mean(self) -> LimitedMean | Moments:
        """The mean score, with the limits of the possible ones."""
        return LimitedMean.of(self.values, self.weights, self._limits())

    def of_rows(self, n: float) -> LimitedMean | Moments:
        """The same for n rows like these."""
        w = np.ones(len(self.values)) if self.weights is None else self.weights
        return replace(self, weights=w * (n / w.sum())).mean()

    def blended(self, other: ScoredRows, own: float, others: float) -> ScoredRows:
        """Linear combination own·self + others·other, row by row; outcome probabilities are the larger of the two."""
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            values, possible = (
                own * a + others * b for a, b in ((self.values, other.values), (self.possible, other.possible))
            )
        return ScoredRows(values, possible, np.maximum(self.chances, other.chances), self.weights, self.limited)

    def _limits(self) -> Limits:
        w = np.ones(len(self.values)) if self.weights is None else self.weights
        counted = w > 0
        possible = self.possible if self.weights is None else self.possible[counted]
        if not len(possible):
            return Limits(-np.inf, np.inf)
        if self.limited:
            return Limits(float(possible.min()), float(possible.max()))
        endless = ~np.isfinite(possible)
        found = _credible(possible[~endless], (self.chances[counted] * w[counted, None])[~endless], float(w.sum()))
        rows = float(w[counted][endless.any(axis=1)].sum())
        warning = f"{rows:,.6g} rows give some class probability 0; if it ever occurs, the score is infinite"
        return replace(found, cautions=(warning,)) if rows else found


def _credible(values: Floats, chances: Floats, total: float) -> Limits:
    """Limits that are exceeded with small probability, and the expected excess beyond them."""
    if not len(values):
        return Limits(-np.inf, np.inf)
    low, high = float(values.min()), float(values.max())
    step = (high - low) / CELLS
    if step == 0:
        return Limits(low, high)
    cell = np.minimum(((values - low) / step).astype(np.intp), CELLS - 1)
    mass = np.cumsum(np.bincount(cell, chances, CELLS))
    last = min(int(np.searchsorted(mass, mass[-1] - DOUBT, side="left")), CELLS - 1)
    first = min(int(np.searchsorted(mass, DOUBT, side="right")), last)
    least, most = float(values[cell == first].min()), float(values[cell == last].max())
    below, above = (DISTRUST * float(np.maximum(away, 0) @ chances) / total for away in (least - values, values - most))
    return Limits(least, most, below, above)


def few(predictions: Predictions) -> bool:
    """Are rows and classes few enough to score every possible outcome?"""
    return int(predictions.outputs.size) * (2 if predictions.is_binary else 1) <= MOST_NUMBERS


def scored_rows(score: Score, predictions: Predictions, view: Any = "canonical") -> ScoredRows:
    """Scores of the rows and of every possible outcome."""
    possible = score.possible(predictions, view)
    if possible.shape[1] == 2 and (predictions.is_binary or view != "canonical"):
        p = predictions.event("binary" if view == "canonical" else view).probs.astype(np.float64)
        chances = np.stack([1 - p, p], axis=1)
    else:
        chances = predictions.probs.astype(np.float64)
    return ScoredRows(score.rows(predictions, view), possible, chances, predictions.weights, score.limited)


def limited_mean(score: Score, predictions: Predictions, view: Any, seen: Moments) -> LimitedMean | Moments:
    """The mean of a score, with the limits of the score where they matter."""
    largest = score.largest(predictions.n, predictions.n_classes)
    if seen.error is None or enough(seen, largest):
        return seen
    if few(predictions):
        return scored_rows(score, predictions, view).mean()
    if not np.isfinite(largest):
        return seen
    return LimitedMean.of_moments(seen, Limits(score.infimum, largest))


def mean_of_rows(score: Score, like: Predictions, view: Any, seen: Moments) -> Callable[[float], LimitedMean | Moments]:
    """The same as a function of the number of rows, all like these."""
    if few(like):
        return scored_rows(score, like, view).of_rows

    def mean(n: float) -> LimitedMean | Moments:
        return LimitedMean.of_moments(seen.of_rows(n), Limits(score.infimum, score.largest(int(n), like.n_classes)))

    return mean


def limited_pair(
    score: Score, before: Predictions, after: Predictions, seen: tuple[Moments, ...]
) -> tuple[LimitedMean | Moments, ...]:
    """The same for before, after, after − before and, where the score is rooted, the linearised difference of roots."""
    largest = score.largest(before.n, before.n_classes)
    if any(each.error is None for each in seen) or all(enough(each, largest) for each in seen):
        return seen
    if few(before):
        old, new = (scored_rows(score, side) for side in (before, after))
        found = old.mean(), new.mean(), new.blended(old, 1.0, -1.0).mean()
        above = [each.mean - score.infimum for each in found[:2]]
        if not score.rooted or min(above) <= 0:
            return found
        a, b = (0.5 / each**0.5 for each in above)
        return (*found, new.blended(old, b, -a).mean())
    if not np.isfinite(largest):
        return seen
    limits = (*[Limits(score.infimum, largest)] * 2, Limits(-largest, largest))
    return tuple(LimitedMean.of_moments(each, ends) for each, ends in zip(seen, limits, strict=True))
