"""The interval of a mean of rows with known limits: for few rows, and for losses that are rare and large."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_level
from calibrant.interval.mean import NOT_WHOLE, Moments, moments_of, normal_quantile
from calibrant.kernels.sums.weighted_means import tail_beyond, value_beyond
from calibrant.results import Interval

Floats = NDArray[np.float64]

METHOD = "random weights, one more row at the limit"

CELLS = 1024
"""Cells of equal width that more values than these are pooled in, each at the mean of its own."""

ENOUGH = 200
"""Rows at the limit that the squares of the values amount to, from which Student's interval is as good."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Between which values rows lie, and by how much what lies beyond may move their mean."""

    least: float
    most: float
    below: float = 0.0
    above: float = 0.0
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LimitedMean:
    """A mean of rows none of which can lie outside its limits.

    Weights of the rows are drawn from a flat Dirichlet law, as in the Bayesian bootstrap, with one more row at the limit that the data
    may have missed: at `most` for the upper end, at `least` for the lower one (Gaffke 2005). For zeros and ones these are Clopper and
    Pearson's ends. With many rows the interval is Student's, which has no idea of losses not seen yet.
    """

    seen: Moments
    below: tuple[Floats, Floats]
    """values and weights that the lower end is made of"""
    above: tuple[Floats, Floats]
    """and the upper one"""
    limits: Limits

    @classmethod
    def of(
        cls, values: NDArray[Any], weights: NDArray[Any] | None, limits: Limits, seen: Moments | None = None
    ) -> LimitedMean | Moments:
        """Student's moments where there are enough rows, or none to speak of."""
        seen = moments_of(values, weights) if seen is None else seen
        reach = max(limits.most - seen.mean, seen.mean - limits.least)
        if seen.error is None or not np.isfinite(reach) or (enough(seen, reach) and not limits.cautions):
            return seen
        kept = slice(None) if weights is None else weights > 0
        x = np.asarray(values[kept], dtype=np.float64)
        w = np.ones(len(x)) if weights is None else np.asarray(weights[kept], dtype=np.float64)
        ends = min(limits.least, float(x.min())), max(limits.most, float(x.max()))
        cells = _pooled(x, w)
        return cls(seen, cells, cells, replace(limits, least=ends[0], most=ends[1]))

    @classmethod
    def of_moments(cls, seen: Moments, limits: Limits) -> LimitedMean | Moments:
        """The same where the rows are not at hand: as if all that varies came from rows at the limit, which is the worst case."""
        reach = max(limits.most - seen.mean, seen.mean - limits.least)
        if seen.error is None or not np.isfinite(reach) or enough(seen, reach):
            return seen
        if not limits.least <= seen.mean <= limits.most:
            return seen  # rows lie beyond what was thought possible
        return cls(seen, _two_values(seen, limits.least), _two_values(seen, limits.most), limits)

    @property
    def mean(self) -> float:
        return self.seen.mean

    @property
    def error(self) -> float | None:
        return self.seen.error

    @property
    def degrees(self) -> float:
        return self.seen.degrees

    def interval(self, level: float) -> tuple[Interval, tuple[str, ...]]:
        """The interval and cautions."""
        z, limits = normal_quantile(check_level(level)), self.limits
        (fewer, low_weights), (more, high_weights) = self.below, self.above
        low = 0.0 - value_beyond(-fewer, low_weights, -limits.least, z) - limits.below
        high = value_beyond(more, high_weights, limits.most, z) + limits.above
        cautions = limits.cautions if self.seen.whole else (*limits.cautions, NOT_WHOLE)
        return Interval(min(low, self.mean), max(high, self.mean), level, METHOD), cautions

    def p_value(self) -> float:
        """Of the claim that the true mean is 0, two-sided: small just where 0 lies outside the interval."""
        if self.mean == 0:
            return 1.0
        limits = self.limits
        if self.mean > 0:
            return min(1.0, 2 * tail_beyond(-self.below[0], self.below[1], -limits.least, -limits.below))
        return min(1.0, 2 * tail_beyond(*self.above, limits.most, -limits.above))


def gap_limits(probs: NDArray[Any], weights: NDArray[Any] | None = None) -> Limits:
    """Of p − y: an event happens, or it does not."""
    said = probs if weights is None else probs[weights > 0]
    return Limits(float(said.min()) - 1.0, float(said.max()))


def enough(seen: Moments, reach: float) -> bool:
    """Are there so many rows that one more, as far away as it can be, matters little?"""
    return reach**2 * ENOUGH <= seen.squares


def mean_with_interval(
    values: NDArray[Any], weights: NDArray[Any] | None, level: float, limits: Limits | None = None
) -> tuple[float, Interval | None, tuple[str, ...]]:
    """Weighted mean, its interval and cautions; Student's unless no row can lie outside of `limits`. A weight of w counts as w rows."""
    found = moments_of(values, weights) if limits is None else LimitedMean.of(values, weights, limits)
    return (found.mean, *found.interval(level))


def _two_values(seen: Moments, limit: float) -> tuple[Floats, Floats]:
    """One at the limit and another one, with the mean and the spread of what was seen."""
    variance, away = seen.squares / seen.weight, limit - seen.mean
    if variance == 0 or away == 0:
        return np.array([seen.mean]), np.array([seen.weight])
    share = variance / (variance + away**2)
    return np.array([seen.mean - variance / away, limit]), seen.weight * np.array([1 - share, share])


def _pooled(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Many values as few, with the same mean; a weight of two is two values."""
    if weights.sum() <= CELLS:
        return values, weights
    low, high = float(values.min()), float(values.max())
    if low == high:
        return values[:1], weights.sum(keepdims=True)
    cell = np.minimum(((values - low) * (CELLS / (high - low))).astype(np.intp), CELLS - 1)
    count, sums = (np.asarray(np.bincount(cell, each, CELLS), dtype=np.float64) for each in (weights, weights * values))
    filled = count > 0
    return sums[filled] / count[filled], count[filled]
