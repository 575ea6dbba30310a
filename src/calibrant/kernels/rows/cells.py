"""Fixed buckets of predictions, for tables of bounded size.

The buckets of `kernels.rows.buckets`, 256 per halving of min(p, 1−p), each cut once more
where an edge of N_CELLS equal-width cells lies inside it: the sums of equal-width bins
whose number divides N_CELLS are then exact.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.rows.buckets import N_BUCKETS, find_buckets
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Floats

N_CELLS = 300
"""Equal-width cells: 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 25, 30, 50, 60, 75, 100, 150 and 300 bins can be made of them."""

N_INDICES = N_BUCKETS + N_CELLS - 1

MOST_ROWS = 1 << 32
"""More rows than a `CellTable` takes in: rows and hits of a bucket share 64 bits."""

SHARED_FROM, AT_ONCE = 1 << 17, 1 << 10
"""Rows from which two cores share the work, and rows whose buckets a core looks for before it adds them."""


def cell_index(probs: Array) -> Array:
    """The bucket of each prediction, cells' edges considered."""
    index = np.empty(len(probs), np.uint16)
    list(over_blocks(len(probs), lambda rows: find_cells(probs[rows], index[rows])))
    return index


class CellTable:
    """A table of buckets that takes in rows of plain outcomes; fewer than MOST_ROWS of them."""

    def __init__(self) -> None:
        self.n = 0
        self._halves: tuple[Floats, ...] = ()  # one per core that may share the rows

    def add(self, probs: Array, outcomes: Array) -> None:
        """Take in more rows: the first half of them into one table, the rest into another."""
        if not self._halves:
            self._halves = _empty(), _empty()
        probs, outcomes = np.ascontiguousarray(probs), np.ascontiguousarray(outcomes)
        n = len(probs)

        def part(rows: slice) -> None:
            sums = self._halves[rows.start > 0]
            add_to_cells(probs[rows], outcomes[rows], sums, sums.view(np.uint64))

        list(over_blocks(n, part, -(-n // 2) if n >= SHARED_FROM else n))
        self.n += n

    def pooled(self) -> Pooled:
        """The buckets that hold rows."""
        weight, hits, sums, low, high = reduce(_joined, map(_columns, self._halves))
        kept = weight > 0
        weight, hits, sums, low, high = (each[kept] for each in (weight, hits, sums, low, high))
        return Pooled(np.clip(sums / weight, low, high), weight, hits, low=low, high=high)


def _empty() -> Floats:
    """No rows: in each bucket the number of rows and hits, as an integer; Σp; the lowest and the highest prediction."""
    table = np.zeros((N_INDICES, 4))
    table[:, 2:] = 2.0, -1.0
    return table.ravel()


def _columns(table: Floats) -> tuple[Floats, ...]:
    counts, (sums, low, high) = table.view(np.uint64)[::4], (table[k::4] for k in (1, 2, 3))
    return (counts % MOST_ROWS).astype(np.float64), (counts // MOST_ROWS).astype(np.float64), sums, low, high


def _joined(one: tuple[Floats, ...], other: tuple[Floats, ...]) -> tuple[Floats, ...]:
    added = (a + b for a, b in zip(one[:3], other[:3], strict=True))
    return *added, np.minimum(one[3], other[3]), np.maximum(one[4], other[4])


@compiled
def add_to_cells(probs: Any, outcomes: Any, table: Any, counts: Any) -> None:
    """Add rows to the buckets of a flat table; `counts` is the same memory, read as integers.

    Some rows at a time, so that they are read from memory once. Reading all sums of a bucket before writing any lets
    the loads overlap. A bucket is half a line of the cache, never part of two.
    """
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    index = np.empty(AT_ONCE, np.uint16)
    for start in range(0, len(probs), AT_ONCE):
        some, happened = probs[start : start + AT_ONCE], outcomes[start : start + AT_ONCE]
        find_cells(some, index)
        for i in range(np.uintp(len(some))):
            p, at = np.float64(some[i]), np.uintp(index[i]) * np.uintp(4)
            n = counts[at] + (np.uint64(happened[i]) << np.uint64(32)) + np.uint64(1)
            total, low, high = table[at + one] + p, table[at + two], table[at + three]
            low, high = p if p < low else low, p if p > high else high
            counts[at], table[at + one], table[at + two], table[at + three] = n, total, low, high


@compiled
def find_cells(probs: Any, index: Any) -> None:
    """The bucket, and how many edges of cells lie below the prediction: ⌊300 p⌋, or one less where that is no edge below it."""
    find_buckets(probs, index)
    for i in range(np.uintp(len(probs))):
        p = np.float64(probs[i])
        cell = np.float64(np.int32(p * N_CELLS))
        index[i] += np.uint16(max(cell - np.float64(cell / N_CELLS >= p), 0.0))


@find_cells.in_numpy
def _find_cells(probs: Array, index: Array) -> None:
    find_buckets(probs, index)
    p = np.asarray(probs, np.float64)
    cell = np.floor(p * N_CELLS)
    index += np.maximum(cell - (cell / N_CELLS >= p), 0.0).astype(index.dtype)
