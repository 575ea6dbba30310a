"""Means of rows collected in parts: sums on fixed cells, merged by addition, with the interval of a limited mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant.interval.limited_mean import LimitedMean, Limits, is_students
from calibrant.interval.mean import Moments, moments_of, pooled
from calibrant.problems import InputError, MapError
from calibrant.results import Interval, Record, kind
from calibrant.types import Array, Floats

CELLS = 256
"""Cells between the limits. Each keeps its variance, so that few suffice: see `CellMoments`."""

ONE_VALUE = 1e-12
"""Variance within a cell, relative to its squared width, up to which it is rounding and the cell holds one value."""


@kind
@dataclass(frozen=True, eq=False)
class CellMoments(Record):
    """The weight, mean and variance of rows, in all and per cell of a range that is known before any row is.

    Parts of the data are collected by themselves and merged in any order. The interval
    is that of `LimitedMean`, with at most two values per cell that have the cell's
    weight, mean and variance. Its ends agree with those from the rows to within 1e-3 of
    the interval's width, usually within 1e-5, and to within 1e-2 where a tenth of the
    rows lies beyond the range.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.interval import CellMoments, Limits
    >>> scores = np.random.default_rng(0).random(500) ** 2
    >>> first, second = (CellMoments.collect(part, None, Limits(0.0, 2.0)) for part in (scores[:100], scores[100:]))
    >>> merged = first.merge(second)
    >>> merged.rows, bool(abs(merged.mean - scores.mean()) < 1e-12)
    (500, True)
    """

    limits: Limits
    """the range of the cells; rows beyond it have one more cell on either side"""
    moments: Moments
    low: float
    """the smallest value"""
    high: float
    """the largest value"""
    sums: Floats
    """(3, CELLS + 2): Σw, Σw(x − c) and Σw(x − c)² of each cell, with c its centre"""

    every_field_needed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._hold("sums")
        if self.sums.shape != (3, CELLS + 2) or self.low > self.high:
            raise MapError("the saved moments of cells are damaged")

    @classmethod
    def collect(cls, values: Array, weights: Array | None, limits: Limits) -> CellMoments:
        """The state of some rows.

        Parameters
        ----------
        values
            One number per row, such as scores.
        weights
            How often each row counts; once if None.
        limits
            The range in which values are expected; the same for all parts.
        """
        kept = slice(None) if weights is None else weights > 0
        x = np.asarray(values[kept], dtype=np.float64)
        w = np.ones(len(x)) if weights is None else np.asarray(weights[kept], dtype=np.float64)
        if not len(x):
            return cls(limits, Moments(0, 0.0, 0.0, 0.0), np.inf, np.inf, np.zeros((3, CELLS + 2)))
        start, step = _grid(limits)
        inside = np.clip((x - start) / step if step else np.zeros(len(x)), 0, CELLS - 1).astype(np.intp) + 1
        cell = np.where(x < limits.lower, 0, np.where(x > limits.upper, CELLS + 1, inside))
        away = x - _centres(limits)[cell]
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            sums = np.array(
                [np.bincount(cell, each, CELLS + 2) for each in (w, w * away, w * away**2)], dtype=np.float64
            )
        return cls(limits, moments_of(x, None if weights is None else w), float(x.min()), float(x.max()), sums)

    def merge(self, other: CellMoments) -> CellMoments:
        """The state of the rows of both parts."""
        if self.limits != other.limits:
            raise InputError("limits", "must be the same in both parts", f"{other.limits} is not {self.limits}")
        if not (self.rows and other.rows):
            return self if self.rows else other
        ends = min(self.low, other.low), max(self.high, other.high)
        return CellMoments(self.limits, pooled([self.moments, other.moments]), *ends, self.sums + other.sums)

    @property
    def rows(self) -> int:
        """Number of rows with a positive weight."""
        return self.moments.rows

    @property
    def mean(self) -> float:
        return self.moments.mean

    def points(self) -> tuple[Floats, Floats]:
        """Values and weights that stand for the rows, with the weight, mean and variance of each cell."""
        filled = self.sums[0] > 0
        weight, first, second = self.sums[:, filled]
        centre, half = _centres(self.limits)[filled], _grid(self.limits)[1] / 2
        cell = np.flatnonzero(filled)
        low = np.where(cell == 0, self.low, np.maximum(centre - half, self.low))
        high = np.where(cell == CELLS + 1, self.high, np.minimum(centre + half, self.high))
        mean = np.clip(centre + first / weight, low, high)
        variance = second / weight - (first / weight) ** 2
        split = (variance > ONE_VALUE * (high - low) ** 2) & (low < mean) & (mean < high)
        m, v, w, low, high = (each[split] for each in (mean, variance, weight, low, high))
        # m + up and m − down with weights as down to up have the mean m and the variance up·down. Both lie one
        # standard deviation from m unless that leaves the cell; then one is at its end.
        sd = np.sqrt(v)
        up = np.where(sd > high - m, high - m, np.where(sd > m - low, v / (m - low), sd))
        down = v / up
        share = down / (up + down)
        values = np.concatenate([mean[~split], m + up, np.maximum(m - down, low)])
        return values, np.concatenate([weight[~split], w * share, w * (1 - share)])

    def within(self, limits: Limits | None = None) -> LimitedMean | Moments:
        """The mean of rows with the range of the cells as limits, or narrower ones that are known by now."""
        limits = self.limits if limits is None else limits
        if not self.rows or is_students(self.moments, limits):
            return self.moments
        return LimitedMean.of_points(self.moments, self.points(), limits, self.low, self.high)

    def interval(self, level: float, limits: Limits | None = None) -> tuple[Interval | None, tuple[str, ...]]:
        """The interval of the mean, and warnings; see `LimitedMean`.

        Parameters
        ----------
        level
            Confidence of the interval.
        limits
            Narrower limits than the range of the cells, if they are known by now.
        """
        return self.within(limits).interval(level)

    def p_value(self, limits: Limits | None = None) -> float | None:
        """Two-sided p-value of a true mean of 0; None for fewer than two rows."""
        return self.within(limits).p_value()


def _grid(limits: Limits) -> tuple[float, float]:
    """Where the cells start, and their width: 0 where there is no finite range, and all rows share a cell."""
    width = limits.upper - limits.lower
    start = next((end for end in (limits.lower, limits.upper) if np.isfinite(end)), 0.0)
    return start, width / CELLS if np.isfinite(width) else 0.0


def _centres(limits: Limits) -> Floats:
    """The centre of each cell; the limits themselves for the cells beyond them."""
    start, step = _grid(limits)
    outer = (limits.lower if np.isfinite(limits.lower) else start, limits.upper if np.isfinite(limits.upper) else start)
    return np.concatenate([outer[:1], start + (np.arange(CELLS) + 0.5) * step, outer[1:]])
