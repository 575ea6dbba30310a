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
from calibrant.kernels.rows.buckets import HIGH, LOW, N_BUCKETS, add_to_buckets, bucket_index, find_buckets, joined
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
    table = reduce(joined, over_blocks(len(probs), partial(_table, probs, outcomes)))
    table = table[table[:, 0] > 0]
    weight, sums, hits, low, high = table[:, 0], table[:, 1], table[:, 3], table[:, LOW], table[:, HIGH]
    return Pooled(np.clip(sums / weight, low, high), weight, hits, low=low, high=high)


def _table(probs: Array, outcomes: Array, rows: slice) -> Floats:
    table, index = np.zeros((N_INDICES, 7)), np.empty(rows.stop - rows.start, np.uint16)
    table[:, LOW] = 2.0
    find_buckets(probs[rows], index)
    split_at_edges(probs[rows], index, *cell_edges())
    add_to_buckets(probs[rows], outcomes[rows], index, table)
    return table


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
