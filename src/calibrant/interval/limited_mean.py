"""The interval of a mean of rows with known limits: for few rows, and for rare large losses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant.inputs import check_level
from calibrant.interval.cells import Cells
from calibrant.interval.mean import Moments, OfMoments, moments_of, normal_quantile
from calibrant.kernels.sums.weighted_means import tail_beyond, value_beyond
from calibrant.results import Interval, Record, kind
from calibrant.types import Array, Floats

METHOD = "random weights, one more row at the limit"

MOST_WEIGHED = 4096
"""Rows with weights up to which each is a value of its own; more are pooled in cells."""

ENOUGH = 200
"""Squared deviations from the mean worth this many rows at the limit: from here on Student's interval is as good."""


@kind
@dataclass(frozen=True, eq=False)
class Limits(Record):
    """The range in which rows lie, and by how much values beyond it may move their mean."""

    lower: float
    upper: float
    below: float = 0.0
    above: float = 0.0
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LimitedMean(OfMoments):
    """A mean of rows none of which can lie outside known limits.

    The weights of the rows are drawn from a flat Dirichlet distribution, as in the
    Bayesian bootstrap, with one more row at the limit that the data may have missed:
    at the upper limit for the upper end, at the lower limit for the lower end (Gaffke
    2005). For zeros and ones these are the ends of Clopper and Pearson. Where rows have
    weights, each row's random weight is multiplied by its own. With many rows the
    interval is Student's, which knows nothing of losses not seen yet.
    """

    moments: Moments
    below: tuple[Floats, Floats]
    """values and weights that determine the lower end"""
    above: tuple[Floats, Floats]
    """values and weights that determine the upper end"""
    limits: Limits
    unit: Floats | None = None
    """the weight of one row at each value, where rows have weights"""

    @classmethod
    def of(
        cls, values: Array, weights: Array | None, limits: Limits, squares: Array | None = None
    ) -> LimitedMean | Moments:
        """The mean of rows; plain moments where Student's interval is as good, or no limit is known."""
        moments = moments_of(values, weights, squares)
        if is_students(moments, limits):
            return moments
        cells = Cells.of(values, weights)
        if squares is None or weights is None:
            return cls.of_cells(moments, cells, limits)
        kept = weights > 0
        x, w, s = np.asarray(values[kept], dtype=np.float64), weights[kept], squares[kept]
        if len(x) > MOST_WEIGHED:
            w, sums = cells.totals()
            x, s = sums / w, Cells.of(x, s).totals()[0]
        return cls(moments, (x, w), (x, w), _widened(limits, cells), s / w)

    @classmethod
    def of_cells(cls, moments: Moments, cells: Cells, limits: Limits) -> LimitedMean | Moments:
        """The same from the cells of the rows."""
        if is_students(moments, limits):
            return moments
        points = cells.points()
        return cls(moments, points, points, _widened(limits, cells))

    @classmethod
    def of_moments(cls, moments: Moments, limits: Limits) -> LimitedMean | Moments:
        """The mean from moments alone: as if all variation came from rows at the limit, the worst case."""
        if is_students(moments, limits) or not limits.lower <= moments.mean <= limits.upper:
            return moments
        return cls(moments, _two_values(moments, limits.lower), _two_values(moments, limits.upper), limits)

    def interval(self, level: float) -> tuple[Interval, tuple[str, ...]]:
        """The interval and warnings."""
        z, limits = normal_quantile(check_level(level)), self.limits
        low = 0.0 - value_beyond(-self.below[0], self.below[1], -limits.lower, z, self.unit) - limits.below
        high = value_beyond(*self.above, limits.upper, z, self.unit) + limits.above
        return Interval(min(low, self.mean), max(high, self.mean), level, METHOD), limits.cautions

    def p_value(self) -> float:
        """Two-sided p-value of a true mean of 0: below α just where the interval at 1 − α leaves 0 out."""
        limits, (values, weights) = self.limits, self.below
        if self.mean > 0:
            return min(1.0, 2 * tail_beyond(-values, weights, -limits.lower, -limits.below, self.unit))
        return min(1.0, 2 * tail_beyond(*self.above, limits.upper, -limits.above, self.unit)) if self.mean else 1.0


def _widened(limits: Limits, cells: Cells) -> Limits:
    """Limits that the rows exceed give way."""
    return replace(limits, lower=min(limits.lower, cells.low), upper=max(limits.upper, cells.high))


def gap_limits(probs: Array, weights: Array | None = None) -> Limits:
    """The limits of p − y, where y is 0 or 1."""
    counted = probs if weights is None else probs[weights > 0]
    return Limits(float(counted.min()) - 1.0, float(counted.max()))


def enough(moments: Moments, distance: float) -> bool:
    """Are there so many rows that one more at this distance from the mean matters little?"""
    return distance**2 * ENOUGH <= moments.squares


def is_students(moments: Moments, limits: Limits) -> bool:
    """Is Student's interval as good as the limited one, or the only one there is?"""
    distance = max(limits.upper - moments.mean, moments.mean - limits.lower)
    if moments.error is None or not np.isfinite(distance):
        return True
    return enough(moments, distance) and not limits.cautions


def mean_with_interval(
    values: Array, weights: Array | None, level: float, limits: Limits | None = None, squares: Array | None = None
) -> tuple[float, Interval | None, tuple[str, ...]]:
    """Weighted mean, its interval and warnings; Student's unless `limits` are known; `squares` as in `moments_of`."""
    if limits is None:
        moments = moments_of(values, weights, squares)
        return moments.mean, *moments.interval(level)
    found = LimitedMean.of(values, weights, limits, squares)
    return (found.mean, *found.interval(level))


def _two_values(moments: Moments, limit: float) -> tuple[Floats, Floats]:
    """One value at the limit and another one, with the mean and the variance of the rows."""
    variance, away = moments.squares / moments.weight, limit - moments.mean
    if variance == 0 or away == 0:
        return np.array([moments.mean]), np.array([moments.weight])
    share = variance / (variance + away**2)
    return np.array([moments.mean - variance / away, limit]), moments.weight * np.array([1 - share, share])
