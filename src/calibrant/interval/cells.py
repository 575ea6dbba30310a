"""Values pooled in cells that are fixed before any row is seen, so that parts of the data can be merged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.results import Record, kind
from calibrant.results.constraints import BIG, Holds, Rising, Shape, Within
from calibrant.types import Array, Floats, Indices

PER_OCTAVE = 64
"""Cells between 2^k and 2^(k+1), all of the same width, for either sign. Each keeps its variance, so that few suffice."""

MANTISSA = 52 - 6
"""Bits of a float's mantissa that do not tell its cell: 2^6 cells per octave."""

SMALLEST = -40
"""Values below 2^SMALLEST in size share one cell …"""
BELOW = (1023 + SMALLEST) * PER_OCTAVE - 1
"""… and there are so many other cells of floats below it."""

BLOCK = 1 << 16
"""Values that a core takes at a time."""

ONE_VALUE = 1e-12
"""Variance within a cell, relative to its squared width, up to which it is rounding and the cell holds one value."""


@kind
@dataclass(frozen=True, eq=False)
class Cells(Record):
    """The weight, mean and variance of the values in each cell of a fixed grid.

    A cell is narrower than 1/64 of its values. `points` are at most two values
    per cell with the cell's weight, mean and variance: an interval from them agrees with
    that from the values to within 1e-8 of its width.

    Parameters
    ----------
    low, high
        The smallest and the largest value.
    cells
        Numbers of the cells that hold values, rising with the values.
    sums
        `(3, cells)`: Σw, Σw(x − c) and Σw(x − c)² of each cell, with c its centre.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.interval import Cells
    >>> scores = np.random.default_rng(0).random(500) ** 2
    >>> first, second = Cells.of(scores[:100]), Cells.of(scores[100:])
    >>> values, weights = first.merge(second).points()
    >>> bool(abs(weights @ values / 500 - scores.mean()) < 1e-12)
    True
    """

    low: Annotated[float, Within(-np.inf, np.inf), Holds("must not exceed high, both in their cells", in_cells)]
    high: Annotated[float, Within(-np.inf, np.inf)]
    cells: Annotated[Indices, Shape(), Within(-LAST, LAST), Rising()]
    sums: Annotated[
        Floats, Shape(3, "cells"), Within(-BIG, BIG), Holds("must be sums of values in the cells", sums_fit)
    ]

    @classmethod
    def of(cls, values: Array, weights: Array | None = None) -> Cells:
        """The cells of some values, all of them finite.

        Parameters
        ----------
        values
            Any number of values.
        weights
            How often each counts; once if None.
        """
        x = np.ascontiguousarray(values, dtype=np.float64)
        w = None if weights is None else np.asarray(weights, dtype=np.float64)
        if w is not None and not w.all():
            x, w = x[w > 0], w[w > 0]
        if not len(x):
            return cls(np.inf, -np.inf, np.empty(0, dtype=np.intp), np.empty((3, 0)))
        low, high = float(x.min()), float(x.max())
        first, last = _cell_of(np.array([low, high])).tolist()
        if len(x) <= last - first:
            cells, at = np.unique(_cell_of(x), return_inverse=True)
            return cls(low, high, cells, _sums(x, w, at, _centres(cells)))
        centres = _centres(np.arange(first, last + 1))

        def part(rows: slice) -> Floats:
            return _sums(x[rows], None if w is None else w[rows], _cell_of(x[rows]) - first, centres)

        sums = added_over_blocks(len(x), part, BLOCK)
        filled = np.flatnonzero(sums[0])
        return cls(low, high, filled + first, sums[:, filled])

    def merge(self, other: Cells) -> Cells:
        """The cells of the values of both."""
        cells, at = np.unique(np.concatenate([self.cells, other.cells]), return_inverse=True)
        both = np.concatenate([self.sums, other.sums], axis=1)
        sums = np.array([np.bincount(at, each, len(cells)) for each in both])
        return Cells(min(self.low, other.low), max(self.high, other.high), cells, sums)

    def scaled(self, factor: float) -> Cells:
        """The same with all weights multiplied."""
        return replace(self, sums=self.sums * factor)

    def ends(self) -> tuple[Floats, Floats]:
        """The smallest and the largest value that each cell can hold."""
        low, high = _ends(self.cells)
        return np.maximum(low, self.low), np.minimum(high, self.high)

    def totals(self) -> tuple[Floats, Floats]:
        """Σw and Σwx of each cell."""
        return self.sums[0], self.sums[1] + self.sums[0] * _centres(self.cells)

    def points(self) -> tuple[Floats, Floats]:
        """Values and weights with the weight, mean and variance of each cell."""
        weight, first, second = self.sums
        low, high = self.ends()
        mean = np.clip(_centres(self.cells) + first / weight, low, high)
        variance = second / weight - (first / weight) ** 2
        split = (variance > ONE_VALUE * (high - low) ** 2) & (low < mean) & (mean < high)
        m, v, w, low, high = (each[split] for each in (mean, variance, weight, low, high))
        # m + up and m − down with weights as down to up have the mean m and the variance up·down. Both lie one
        # standard deviation from m unless that leaves the cell; then one is at its end.
        sd = np.sqrt(v)
        up = np.where(sd > high - m, high - m, np.where(sd > m - low, v / (m - low), sd))
        down = v / up
        share = down / (up + down)
        values = np.concatenate([mean[~split], np.minimum(m + up, high), np.maximum(m - down, low)])
        return values, np.concatenate([weight[~split], w * share, w * (1 - share)])


def _sums(x: Floats, w: Floats | None, at: Indices, centres: Floats) -> Floats:
    """Σw, Σw(x − c) and Σw(x − c)² of cells with these centres; each value lies in the cell `at`."""
    away = x - centres[at]
    along = away if w is None else w * away
    return np.array([np.bincount(at, each, len(centres)) for each in (w, along, along * away)], dtype=np.float64)


def _cell_of(values: Floats) -> Indices:
    """The number of each value's cell: 0 for the smallest in size, negative for negative values."""
    size = np.abs(values).view(np.int64)  # the bits of a float: exponent, then mantissa
    cell = np.maximum((size >> MANTISSA) - BELOW, 0)
    return np.where(values < 0, -cell, cell)


def _ends(cells: Indices) -> tuple[Floats, Floats]:
    """The lower and the upper end of cells."""
    size = np.abs(cells) + BELOW
    inner, outer = ((end << MANTISSA).view(np.float64) for end in (size, size + 1))
    inner[cells == 0] = 0.0
    return np.where(cells > 0, inner, -outer), np.where(cells < 0, -inner, outer)


def _centres(cells: Indices) -> Floats:
    low, high = _ends(cells)
    return (low + high) / 2


LAST = int(_cell_of(np.array([BIG]))[0])
"""The last cell that saved values may lie in."""


def in_cells(low: float, high: float, cells: Indices, **_: Any) -> bool:
    """Are the smallest and the largest value in the first and the last cell?"""
    if not len(cells):
        return low > high
    ends = np.array([low, high])
    return low <= high and np.isfinite(ends).all() and _cell_of(ends).tolist() == [cells[0], cells[-1]]


def sums_fit(cells: Indices, sums: Floats, **_: Any) -> bool:
    """Are weights positive, and do values lie within half a cell of its centre, but for rounding?"""
    weight, first, second = sums
    low, high = _ends(cells)
    half = (high - low) / 2 * (1 + 1e-6)
    inside = (weight > 0) & (np.abs(first) <= half * weight) & (second >= 0) & (second <= half * half * weight)
    return bool(inside.all())
