"""Fixed buckets of predictions, for tables of bounded size.

The buckets of `kernels.rows.buckets`, 256 per halving of min(p, 1−p), each cut once more
where an edge of N_CELLS equal-width cells lies inside it: the sums of equal-width bins
whose number divides N_CELLS are then exact.
"""

from __future__ import annotations

from functools import cache, partial, reduce
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.rows.buckets import N_BUCKETS, bucket_index, find_buckets
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Floats, Indices

N_CELLS = 300
"""Equal-width cells: 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 25, 30, 50, 60, 75, 100, 150 and 300 bins can be made of them."""

N_INDICES = N_BUCKETS + N_CELLS - 1


def cell_index(probs: Array) -> Array:
    """The bucket of each prediction, cells' edges considered."""
    index = bucket_index(probs)
    split_at_edges(probs, index, *cell_edges())
    return index


def pooled_cells(probs: Array, outcomes: Array) -> Pooled:
    """Rows of plain outcomes as one table of buckets, in one pass."""
    probs, outcomes = np.ascontiguousarray(probs), np.ascontiguousarray(outcomes)
    table = reduce(_joined, over_blocks(len(probs), partial(_table, probs, outcomes)))
    weight, sums, hits, low, high = table[table[:, 0] > 0].T.copy()
    return Pooled(np.clip(sums / weight, low, high), weight, hits, low=low, high=high)


def _table(probs: Array, outcomes: Array, rows: slice) -> Floats:
    table = np.zeros((N_INDICES, 5))
    table[:, 3] = 2.0
    index = np.empty(rows.stop - rows.start, np.uint16)
    find_buckets(probs[rows], index)
    add_to_cells(probs[rows], outcomes[rows], index, *cell_edges(), table)
    return table


def _joined(a: Floats, b: Floats) -> Floats:
    a[:, :3] += b[:, :3]
    np.minimum(a[:, 3], b[:, 3], out=a[:, 3])
    np.maximum(a[:, 4], b[:, 4], out=a[:, 4])
    return a


@compiled
def add_to_cells(probs: Any, outcomes: Any, index: Any, inside: Any, before: Any, table: Any) -> None:
    """Σ1, Σp, Σy, the lowest and the highest prediction of each bucket, cells' edges considered."""
    for i in range(np.uintp(len(probs))):
        p, y, b = np.float64(probs[i]), np.float64(outcomes[i]), np.uintp(index[i])
        row = table[np.uintp(np.int64(b) + before[b] + np.int64(p > inside[b]))]
        n_b, p_b, y_b, low, high = row[0] + 1.0, row[1] + p, row[2] + y, min(row[3], p), max(row[4], p)
        row[0], row[1], row[2], row[3], row[4] = n_b, p_b, y_b, low, high


@cache
def cell_edges() -> tuple[Floats, Indices]:
    """For each bucket the edge inside it, 2 if there is none, and how many edges lie in buckets before it."""
    edges = np.arange(1, N_CELLS) / N_CELLS
    inside = np.full(N_BUCKETS, 2.0)
    inside[bucket_index(edges)] = edges
    has = inside < 2.0
    return inside, np.cumsum(has) - has


@compiled
def split_at_edges(probs: Any, index: Any, inside: Any, before: Any) -> None:
    """Number the buckets anew: those with an edge are two, of which the lower one holds the edge."""
    for i in range(np.uintp(len(probs))):
        b = np.uintp(index[i])
        index[i] = np.int64(b) + before[b] + np.int64(np.float64(probs[i]) > inside[b])


@split_at_edges.in_numpy
def _split_at_edges(probs: Array, index: Array, inside: Floats, before: Indices) -> None:
    index += (before[index] + (probs.astype(np.float64) > inside[index])).astype(index.dtype)
