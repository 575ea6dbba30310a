"""Predictions in fine buckets, in order, without a sort.

A prediction's distance from the nearer end, min(p, 1−p), is exact in floating point.
Each halving of that distance, down to 2⁻⁵³, is cut into 256 buckets: so scores that
crowd near 0 or 1 spread out as well as scores in the middle. 0 and 1 have buckets of
their own; positive predictions below 2⁻⁵³ share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Array, Bools, Floats, Indices

Index = NDArray[np.uint16]

SHIFT = 52 - 8
"""Bits of a float64 below those that name a bucket."""

FIRST = (970 << 8) - 1
"""Those of 2⁻⁵³, minus one: its bucket is the second."""

HALF = (1022 << 8) - FIRST
"""The bucket that begins at ½."""

N_BUCKETS = 2 * HALF + 1

SUMS, LOW, HIGH = 5, 5, 6
"""Columns of a table: n, Σp, Σp(1−p), Σy and Σ max(p − y, 0); then the lowest and the
highest prediction."""


def worth_buckets(probs: Array, outcomes: Array, weights: Array | None) -> bool:
    """Many rows, of plain outcomes and equal weight."""
    return len(probs) >= COMPILE_FROM and weights is None and outcomes.dtype == np.uint8


def bucket_index(probs: Array) -> Index:
    """The bucket of each prediction."""
    index = np.empty(len(probs), np.uint16)
    list(over_blocks(len(probs), lambda rows: find_buckets(probs[rows], index[rows])))
    return index


@compiled
def find_buckets(probs: Any, index: Any) -> None:
    """The exponent and the leading bits of min(p, 1−p), counted from either end.
    Without branches, so it vectorises."""
    for i in range(np.uintp(len(probs))):
        p = np.float64(probs[i])
        near = np.float64(min(p, 1.0 - p))
        place = np.int64(near.view(np.int64) >> np.int64(SHIFT)) - np.int64(FIRST)
        place = min(max(place, np.int64(near > 0.0)), np.int64(HALF))
        index[i] = place if p < 0.5 else np.int64(2 * HALF) - place


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Per-bucket sums."""

    probs: Array
    outcomes: Array
    index: Index
    table: Floats
    """(N_BUCKETS, 7), in the columns named above"""

    @property
    def filled(self) -> Indices:
        """The buckets that hold rows."""
        return np.flatnonzero(self.table[:, 0])

    def sums(self, chosen: Indices) -> Floats:
        """The sums (n, P, Q, Y) of `bin_sums` for some buckets."""
        sums = self.table[chosen, :4]
        sums[:, 2] = sums[:, 1] - sums[:, 2]
        return sums

    @property
    def mixed(self) -> Bools:
        """Which buckets hold different predictions?"""
        found: Bools = self.table[:, LOW] < self.table[:, HIGH]
        return found

    def mask(self, chosen: Indices) -> Bools:
        """Some buckets, as `radix.sorted_keys` wants them."""
        mask = np.zeros(len(self.table), np.bool_)
        mask[chosen] = True
        return mask


def bucketed(probs: Array, outcomes: Array) -> Buckets:
    """One pass over the rows; outcomes are zeros and ones."""
    probs, outcomes = np.ascontiguousarray(probs), np.ascontiguousarray(outcomes)
    index = np.empty(len(probs), np.uint16)
    tables = over_blocks(len(probs), partial(_table, probs, outcomes, index))
    return Buckets(probs, outcomes, index, reduce(_joined, tables))


def _table(probs: Array, outcomes: Array, index: Index, rows: slice) -> Floats:
    table = np.zeros((N_BUCKETS, 7))
    table[:, LOW] = 2.0
    find_buckets(probs[rows], index[rows])
    add_to_buckets(probs[rows], outcomes[rows], index[rows], table)
    return table


def _joined(a: Floats, b: Floats) -> Floats:
    a[:, :SUMS] += b[:, :SUMS]
    np.minimum(a[:, LOW], b[:, LOW], out=a[:, LOW])
    np.maximum(a[:, HIGH], b[:, HIGH], out=a[:, HIGH])
    return a


@compiled
def add_to_buckets(probs: Any, outcomes: Any, index: Any, table: Any) -> None:
    """Reading all before writing any lets the loads overlap, as in `bin_sums`."""
    for i in range(np.uintp(len(probs))):
        p, y = np.float64(probs[i]), np.float64(outcomes[i])
        row = table[np.uintp(index[i])]
        n_b, p_b, v_b, y_b = row[0] + 1.0, row[1] + p, row[2] + p * (1.0 - p), row[3] + y
        over, low, high = row[4] + max(p - y, 0.0), min(row[5], p), max(row[6], p)
        row[0], row[1], row[2], row[3] = n_b, p_b, v_b, y_b
        row[4], row[5], row[6] = over, low, high
