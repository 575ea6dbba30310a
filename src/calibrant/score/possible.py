"""Scores of rows with those of every possible outcome: an interval must allow for losses not seen yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from calibrant.interval import Cells, LimitedMean, Limits, Moments, moments_of
from calibrant.interval.cells import PER_OCTAVE
from calibrant.interval.limited_mean import ENOUGH, enough
from calibrant.kernels.logits import row_blocks
from calibrant.predictions import Predictions
from calibrant.results import Interval, kind
from calibrant.results.constraints import Holds, Within
from calibrant.score.passes import score_moments
from calibrant.state.state import Mergeable
from calibrant.types import Array, Floats

if TYPE_CHECKING:
    from calibrant.score.score import Score

MOST_NUMBERS = 1 << 23
"""Rows times classes up to which every possible outcome is scored; beyond, a limit that holds for any row is used."""

MOST_ROWS = 10**15
"""More rows than anyone has: what is enough for a limit of so many rows is enough for any."""

DOUBT = 0.05
"""A score without a limit is taken as limited by the value that any row exceeds with this probability …"""
SURE = DOUBT * (1 - 1e-9)
"""The same less rounding."""
DISTRUST = 2.0
"""… and by this many times the expected excess beyond it under the predictions."""

EXTREME = 1000
"""The largest possible scores, which are looked at first."""


def same_rows(moments: Moments, seen: Cells, **_: Any) -> bool:
    """Have the cells the weight and the mean of the moments, but for rounding?"""
    (weight, sums), size = seen.totals(), max(abs(seen.low), abs(seen.high))
    total = float(weight.sum())
    return abs(total - moments.weight) <= 1e-9 * total and abs(float(sums.sum()) / total - moments.mean) <= 1e-6 * size


@kind
@dataclass(frozen=True, eq=False)
class ScoreSums(Mergeable):
    """What the mean of a score and its interval need to know of rows; parts of the data are merged in any order.

    Parameters
    ----------
    moments
        Weight, mean and spread of the scores.
    seen
        The scores in fixed cells; None where the interval does not need them, as with
        many rows.
    possible
        The scores of every outcome that each row could have had, weighted by its
        predicted probability; infinite ones are left out.
    infinite
        Number of rows with an outcome whose score is infinite.
    limited
        Does the largest possible score bound the mean usefully?
    """

    moments: Moments
    seen: Annotated[Cells, Holds("must hold the rows of the moments", same_rows)] | None = None
    possible: Cells | None = None
    infinite: Annotated[float, Within(0)] = 0.0
    limited: bool = True

    def merge(self, other: ScoreSums) -> ScoreSums:
        """The sums of both sets of rows."""
        moments = self.moments.merge(other.moments)
        if self.seen is None or self.possible is None or other.seen is None or other.possible is None:
            return ScoreSums(moments)
        seen, possible = self.seen.merge(other.seen), self.possible.merge(other.possible)
        return ScoreSums(moments, seen, possible, self.infinite + other.infinite, self.limited)

    def of_rows(self, n: float) -> LimitedMean | Moments:
        """The mean score of n rows like these."""
        if self.seen is None or self.possible is None:
            return self.moments.of_rows(n)
        f = n / self.moments.weight
        scaled = self.seen.scaled(f), self.possible.scaled(f), self.infinite * f
        return ScoreSums(self.moments.of_rows(n), *scaled, self.limited).mean()

    def mean(self) -> LimitedMean | Moments:
        """The mean score, with the limits of the possible ones."""
        if self.seen is None or self.possible is None or not self.moments.rows:
            return self.moments
        return LimitedMean.of_cells(self.moments, self.seen, self.limits(self.possible))

    def limits(self, possible: Cells) -> Limits:
        """The limits that the possible scores give."""
        if self.limited:
            return Limits(possible.low, possible.high)
        found = _credible(possible, self.moments.weight)
        warning = f"{self.infinite:,.6g} rows give some class probability 0; if it ever occurs, the score is infinite"
        return replace(found, cautions=(warning,)) if self.infinite else found


def _credible(possible: Cells, total: float) -> Limits:
    """Limits that are exceeded with small probability, and the expected excess beyond them."""
    if not len(possible.cells):
        return Limits(-np.inf, np.inf)
    chance, sums = possible.totals()
    mass, (low, high) = np.cumsum(chance), possible.ends()
    last = min(int(np.searchsorted(mass, mass[-1] - DOUBT, side="left")), len(mass) - 1)
    first = min(int(np.searchsorted(mass, DOUBT, side="right")), last)
    least, most = float(low[first]), float(high[last])
    below = float((least * chance - sums)[:first].sum())
    above = float((sums - most * chance)[last + 1 :].sum())
    return Limits(least, most, DISTRUST * max(below, 0.0) / total, DISTRUST * max(above, 0.0) / total)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """The score of each row, and of every outcome it could have had."""

    values: Floats
    possible: Floats
    """(n, K)"""
    chances: Floats
    """(n, K), the predicted probabilities, in double precision where the score is not limited"""
    weights: Array | None
    squares: Array | None
    limited: bool

    def sums(self, found: Moments | None = None) -> ScoreSums:
        """All that the mean score and its interval need to know; `found` are the moments, where they are known."""
        moments = moments_of(self.values, self.weights, self.squares) if found is None else found
        if not (moments.rows and np.isfinite(moments.mean)):
            return ScoreSums(moments)
        w = self._mass(moments)
        return ScoreSums(moments, Cells.of(self.values, w), *self._possible(w), self.limited)

    def limits(self, moments: Moments) -> Limits:
        """The limits that the possible scores give, beside the finite moments of the scores."""
        possible, infinite = self._possible(self._mass(moments))
        return ScoreSums(moments, None, possible, infinite, self.limited).limits(possible)

    def upper_limit(self, moments: Moments) -> Limits:
        """Limits of which the upper one, and what is expected beyond it, are right; nearly always from few of the scores."""
        if self.limited or self.squares is not None or self.possible.size < 8 * EXTREME:
            return self.limits(moments)
        largest = self.possible >= np.partition(self.possible, -EXTREME, axis=None)[-EXTREME]
        likely = self.chances[largest] if self.weights is None else (self.chances * self.weights[:, None])[largest]
        scores = self.possible[largest]
        if not np.isfinite(scores).all():
            return self.limits(moments)
        cells = Cells.of(scores, likely)
        enough = cells.sums[0, 1:].sum() > DOUBT  # of the lowest cell a part may be missing
        return _credible(cells, moments.weight) if enough else self.limits(moments)

    def _mass(self, moments: Moments) -> Floats | None:
        w = None if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        if w is not None and self.squares is not None:
            w = w * (moments.weight / w.sum())  # as many rows as the weights leave
        return w

    def _possible(self, w: Floats | None) -> tuple[Cells, float]:
        """The finite possible scores in cells, and the number of rows that have infinite ones."""
        if self.limited:
            counted = self.possible if w is None or w.all() else self.possible[w > 0]
            return Cells.of(np.array([counted.min(), counted.max()])), 0.0
        finite = np.isfinite(self.possible)
        likely = self.chances if w is None else self.chances * w[:, None]
        if finite.all():
            order: Any = "F" if self.possible.flags.f_contiguous else "C"
            return Cells.of(self.possible.ravel(order), likely.ravel(order)), 0.0
        w = np.ones(len(self.values)) if w is None else w
        return Cells.of(self.possible[finite], likely[finite]), float(w[~finite.all(axis=1)].sum())

    def mean(self) -> LimitedMean | Moments:
        """The mean score, with the limits of the possible ones."""
        moments = moments_of(self.values, self.weights, self.squares)
        if moments.error is None or self.outside(moments) < SURE:
            return moments
        sums = self.sums(moments)
        if self.squares is None or sums.possible is None:
            return sums.mean()
        return LimitedMean.of(self.values, self.weights, sums.limits(sums.possible), self.squares)

    def outside(self, moments: Moments) -> float:
        """Probability of scores at which one more row would matter to a mean of these moments; infinite: it may.

        Below `DOUBT` Student's interval is as good as the limited one (`is_students`), and no cells are needed to know it.
        """
        reach = (moments.squares / ENOUGH) ** 0.5
        low, high, wide = moments.mean - reach, moments.mean + reach, 1.0 if self.limited else 1 + 1 / PER_OCTAVE
        low, high = low * wide if low > 0 else low / wide, high * wide if high < 0 else high / wide
        if self.limited and self.weights is None:
            return 0.0 if low <= self.possible.min() and self.possible.max() <= high else np.inf  # NaN too
        beyond = ~((self.possible >= low) & (self.possible <= high))  # NaN too
        rows = np.flatnonzero(beyond.any(axis=1) if self.weights is None else beyond.any(axis=1) & (self.weights > 0))
        if not len(rows):
            return 0.0
        if self.limited or self.squares is not None or not np.isfinite(self.possible[rows]).all():
            return np.inf
        likely = self.chances[rows] if self.weights is None else self.chances[rows] * self.weights[rows, None]
        return float(likely[beyond[rows]].sum())

    def blended(self, other: ScoredRows, own: float, others: float) -> ScoredRows:
        """Linear combination own·self + others·other, row by row; outcome probabilities are the larger of the two."""
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            values, possible = (
                own * a + others * b for a, b in ((self.values, other.values), (self.possible, other.possible))
            )
        chances = np.maximum(self.chances, other.chances)
        return ScoredRows(values, possible, chances, self.weights, self.squares, self.limited)


def few(predictions: Predictions) -> bool:
    """Are rows and classes few enough to score every possible outcome?"""
    return predictions.n * max(predictions.n_classes, 2) <= MOST_NUMBERS


def score_sums(score: Score, predictions: Predictions) -> ScoreSums:
    """What can be merged of a score of all classes."""
    seen = score_moments(score, predictions, "canonical")
    if not few(predictions) or enough(seen, score.largest(MOST_ROWS, predictions.n_classes)):
        return ScoreSums(seen)
    return scored_rows(score, predictions).sums()


def scored_rows(score: Score, predictions: Predictions, view: Any = "canonical") -> ScoredRows:
    """Scores of the rows and of every possible outcome."""
    possible, mass = score.possible(predictions, view), (predictions.weights, predictions.squares)
    if possible.shape[1] != 2 or not (predictions.is_binary or view != "canonical"):
        chances = predictions.probs if score.limited else predictions.probs.astype(np.float64, copy=False)
        return ScoredRows(score.rows(predictions, view), possible, chances, *mass, score.limited)
    event = predictions.event("binary" if view == "canonical" else view)
    p = event.probs.astype(np.float64)
    chances = np.stack([1 - p, p]).T  # column by column, as `possible` is
    seen = np.where(event.outcomes, possible[:, 1], possible[:, 0]) if event.hard else score.rows(predictions, view)
    return ScoredRows(seen, possible, chances, *mass, score.limited)


def limited_mean(
    score: Score, predictions: Predictions, seen: Moments, mean: Callable[[], LimitedMean | Moments]
) -> LimitedMean | Moments:
    """The mean of a score, with the limits of the score where they matter; `mean` finds it where rows are few."""
    largest = score.largest(predictions.n, predictions.n_classes)
    if seen.error is None or enough(seen, largest):
        return seen
    if few(predictions):
        return mean()
    if not np.isfinite(largest):
        return seen
    return LimitedMean.of_moments(seen, Limits(score.infimum, largest))


def possible_mean(score: Score, predictions: Predictions, view: Any, seen: Moments) -> LimitedMean | Moments:
    """The mean of the scores of few rows, with the limits of the possible ones; `seen` are its moments."""
    rare = score.rare_rows(predictions, view, seen.mean + (seen.squares / ENOUGH) ** 0.5)
    if rare is not None and seen.mean**2 * ENOUGH <= seen.squares and 4 * np.count_nonzero(rare) <= len(rare):
        rows = rare if predictions.weights is None else rare & (predictions.weights > 0)
        if not rows.any() or scored_rows(score, predictions.rows(rows), view).outside(seen) < SURE:
            return seen
    return scored_rows(score, predictions, view).mean()


def mean_of_rows(score: Score, like: Predictions, view: Any, seen: Moments) -> Callable[[float], LimitedMean | Moments]:
    """The same as a function of the number of rows, all like these."""
    if few(like):
        return scored_rows(score, like, view).sums().of_rows

    def mean(n: float) -> LimitedMean | Moments:
        return LimitedMean.of_moments(seen.of_rows(n), Limits(score.infimum, score.largest(int(n), like.n_classes)))

    return mean


def limited_pair(
    score: Score, before: Predictions, after: Predictions, seen: tuple[Moments, ...]
) -> tuple[tuple[LimitedMean | Moments, ...], RootChange | None]:
    """The same for before, after and after − before; and where the score is rooted and rows are few, for the roots."""
    largest = score.largest(before.n, before.n_classes)
    if any(each.error is None for each in seen) or all(enough(each, largest) for each in seen):
        return seen, None
    if few(before):
        if not score.rooted and _students(score, before, after, seen):
            return seen, None
        old, new = (scored_rows(score, side) for side in (before, after))
        found = old.mean(), new.mean(), new.blended(old, 1.0, -1.0).mean()
        rooted = score.rooted and min(each.mean for each in found[:2]) > score.infimum
        return found, RootChange(old, new, score.infimum) if rooted else None
    if not np.isfinite(largest):
        return seen, None
    limits = (*[Limits(score.infimum, largest)] * 2, Limits(-largest, largest))
    return tuple(LimitedMean.of_moments(each, ends) for each, ends in zip(seen, limits, strict=True)), None


def _students(score: Score, before: Predictions, after: Predictions, seen: tuple[Moments, ...]) -> bool:
    """Is Student's interval as good as the limited one for before, after and after − before? Found block by block."""
    if before.squares is not None:
        return False
    total = np.zeros(3)
    for rows in row_blocks(len(before.outputs), max(before.n_classes, 2)):
        if before.weights is None or before.weights[rows].any():
            old, new = (scored_rows(score, side.rows(rows)) for side in (before, after))
            parts = zip((old, new, new.blended(old, 1.0, -1.0)), seen, strict=True)
            total += [scored.outside(moments) for scored, moments in parts]
        if total.max() >= SURE:
            return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class RootChange:
    """√(mean of new) − √(mean of old), scores of the same rows above their infimum.

    The root of a mean of few rows is bent: a straight line through the observed means (the
    delta method) is too flat where the true scores are lower, and the interval then ends too
    early. An end δ is instead the value for which the line through the means that would go
    with δ, as far as the rows tell, has its own end there: the limit of steps from the
    observed means.
    """

    old: ScoredRows
    new: ScoredRows
    infimum: float

    def interval(self, level: float) -> Interval:
        """The interval of the difference; where Student's is as good, that of the straight line."""
        sides, w = (self.old, self.new), self.old.weights
        means = np.array([np.average(each.values, weights=w) for each in sides]) - self.infimum
        roots = np.sqrt(means)
        apart, straight = float(roots[1] - roots[0]), self._line(roots).mean()
        if isinstance(straight, Moments) and (found := straight.interval(level)[0]) is not None:
            moved = apart - straight.mean
            return Interval(found.low + moved, found.high + moved, level, f"delta method, {found.method}")
        best, worst = (
            np.array([np.average(end(each.possible, axis=1), weights=w) for each in sides]) - self.infimum
            for end in (np.min, np.max)
        )
        limits = np.maximum(best, LEAST_SHARE * means), np.maximum(worst, means)
        low, high = (self._end(side, level, means, limits) for side in (0, 1))
        return Interval(min(low, apart), max(high, apart), level, "roots linearised at each end")

    def _line(self, roots: Floats) -> ScoredRows:
        """Rows whose mean moves as the difference does while the roots of the means are near these."""
        return self.new.blended(self.old, 0.5 / float(roots[1]), -0.5 / float(roots[0]))

    def _end(self, side: int, level: float, means: Floats, limits: tuple[Floats, Floats]) -> float:
        """The lower end (0) or the upper one (1)."""
        roots, before, found, w = np.sqrt(means), np.inf, np.nan, self.old.weights
        for _ in range(MOST_STEPS):
            line = self._line(roots)
            interval = line.mean().interval(level)[0]
            assert interval is not None  # there are two rows
            end, middle = (interval.low, interval.high)[side], np.average(line.values, weights=w)
            found = float(np.diff(roots - self.infimum / roots)[0]) / 2 + end
            apart = line.values - middle
            variance = np.average(apart**2, weights=w)
            if abs(found - before) <= CLOSE * (interval.high - interval.low) or variance == 0:
                break
            both = np.array([np.average(apart * each.values, weights=w) for each in (self.old, self.new)])
            moved = np.clip(means + both / variance * (end - middle), *limits)
            roots, before = (roots + np.sqrt(moved)) / 2, found
        return found


LEAST_SHARE = 1e-4
"""Share of the observed score, above its infimum, below which a true one is not looked for."""

MOST_STEPS, CLOSE = 30, 1e-3
"""Steps to an end, and how near to the last, in widths of the interval, one has to be to stop."""
