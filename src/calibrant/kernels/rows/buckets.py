"""Predictions in fine buckets, in order, without a sort.

A prediction's distance from the nearer end, min(p, 1−p), is exact in floating point.
Each halving of that distance, down to 2⁻⁵³, is cut into 256 buckets: so scores that
crowd near 0 or 1 spread out as well as scores in the middle. 0 and 1 have buckets of
their own; positive predictions below 2⁻⁵³ share one.

Rows are sorted bucket by bucket and there by digits: linear in n, and shared by the
cores. A row of a plain outcome is one integer, its key: the bits of the float64, which
order like the float and leave the sign free, and the outcome below them. Few keys are sorted
by NumPy; of many, those of a bucket are sorted by the top 16 of the bits in which they differ, and what those leave
tied is sorted by insertion, or by all digits where many are tied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Array, Bools, Floats, Indices

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


BUCKETS_FROM = 1 << 21
"""Rows from which buckets take less time than one sort of all rows by NumPy, for which nothing is compiled."""


def worth_buckets(probs: Array, outcomes: Array, weights: Array | None) -> bool:
    """Many rows, of plain outcomes and equal weight."""
    return len(probs) >= BUCKETS_FROM and weights is None and outcomes.dtype == np.uint8


def bucket_index(probs: Array) -> Array:
    """The bucket of each prediction."""
    index = np.empty(len(probs), np.uint16)
    list(over_blocks(len(probs), lambda rows: find_buckets(probs[rows], index[rows])))
    return index


@compiled
def find_buckets(probs: Any, index: Any) -> None:
    """The exponent and the leading bits of min(p, 1−p), counted from either end.

    Without branches, so it vectorises.
    """
    for i in range(np.uintp(len(probs))):
        p = np.float64(probs[i])
        near = np.float64(min(p, 1.0 - p))
        place = np.int64(near.view(np.int64) >> np.int64(SHIFT)) - np.int64(FIRST)
        place = min(max(place, np.int64(near > 0.0)), np.int64(HALF))
        index[i] = place if p < 0.5 else np.int64(2 * HALF) - place


@find_buckets.in_numpy
def _find_buckets(probs: Array, index: Array) -> None:
    p = np.asarray(probs, np.float64)
    near = np.ascontiguousarray(np.minimum(p, 1.0 - p))
    place = (near.view(np.int64) >> SHIFT) - FIRST
    place = np.minimum(np.maximum(place, near > 0.0), HALF)
    index[:] = np.where(p < 0.5, place, 2 * HALF - place)


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Per-bucket sums."""

    probs: Array
    outcomes: Array
    index: Array
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

    def opened(self, chosen: Indices) -> tuple[Array, Indices]:
        """The sorted keys of the rows of some buckets, and where each bucket ends."""
        wanted = np.zeros(len(self.table), np.bool_)
        wanted[chosen] = True
        return sorted_keys(self.probs, self.outcomes, self.index, wanted)


def bucketed(probs: Array, outcomes: Array) -> Buckets:
    """One pass over the rows; outcomes are zeros and ones."""
    probs, outcomes = np.ascontiguousarray(probs), np.ascontiguousarray(outcomes)
    index = np.empty(len(probs), np.uint16)
    tables = over_blocks(len(probs), partial(_table, probs, outcomes, index))
    return Buckets(probs, outcomes, index, reduce(_joined, tables))


def _table(probs: Array, outcomes: Array, index: Array, rows: slice) -> Floats:
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


SCATTER_ROWS, RUN_ROWS = 1 << 19, 1 << 17
"""Rows that a core scatters, and sorts, at a time."""

SORT_FROM = 1 << 23
"""Keys from which digits are sorted; fewer, up to twice as many in one process, are left to NumPy, which takes
twice as long: the loops that sort digits take the compiler more than a second."""

SHORT_RUN = 32
"""Keys up to which insertion is faster than counting digits; measured."""

PATIENCE = SHORT_RUN // 2
"""Moves per key, on average, after which insertion gives way to sorting by all digits;
a short run never needs as many."""


def sorted_keys(
    probs: Array, outcomes: Array, index: Array | None = None, wanted: Bools | None = None
) -> tuple[Array, Indices]:
    """The keys of the rows in order, and where each bucket ends.

    Rows of buckets that are not wanted are left out.
    """
    probs, outcomes = np.ascontiguousarray(probs), np.ascontiguousarray(outcomes)
    index = bucket_index(probs) if index is None else index
    wanted = np.ones(N_BUCKETS, np.bool_) if wanted is None else wanted
    n = len(index)

    def counted(rows: slice) -> Array:
        counts = np.zeros(N_BUCKETS, np.uint32)
        count_buckets(index[rows], counts)
        return counts

    counts = np.stack(list(over_blocks(n, counted, SCATTER_ROWS)), axis=1)
    counts *= wanted[:, None]
    after = np.cumsum(counts, dtype=np.intp).reshape(counts.shape)
    places, ends = (after - counts).T.copy(), after[:, -1].copy()
    keys = np.empty(ends[-1], np.uint64)

    def scatter_block(rows: slice) -> None:
        scatter(probs[rows], outcomes[rows], index[rows], wanted, places[rows.start // SCATTER_ROWS], keys)

    list(over_blocks(n, scatter_block, SCATTER_ROWS))
    list(over_buckets(ends, partial(sorting(keys, ends), keys, ends)))
    return keys, ends


def sorting(keys: Array, ends: Indices) -> Callable[[Array, Indices, int, int], None]:
    """The function that sorts the keys of some buckets: by digits where they are many, else by NumPy."""
    if len(keys) >= SORT_FROM:
        sort_buckets.expect(keys, ends)
    return sort_buckets if sort_buckets.ready(keys, ends, enough=2 * SORT_FROM) else sort_stretch


def sort_stretch(keys: Array, ends: Indices, first: int, last: int) -> None:
    """The same as `sort_buckets`, by NumPy: the buckets themselves are in order."""
    keys[ends[first - 1] if first else 0 : ends[last - 1] if last else 0].sort()


def over_buckets(ends: Indices, part: Callable[[int, int], Any]) -> Iterator[Any]:
    """part(first, last) for stretches of buckets that hold about RUN_ROWS rows each, in order."""
    starts = np.concatenate([[0], ends[:-1]])

    def stretch(rows: slice) -> Any:
        first, last = np.searchsorted(starts, [rows.start, rows.stop])
        return part(int(first), int(last))

    return over_blocks(int(ends[-1]), stretch, RUN_ROWS)


def rows_of(keys: Array) -> tuple[Floats, Array]:
    """Predictions and outcomes of the keys."""
    return (keys >> np.uint64(1)).view(np.float64), (keys & np.uint64(1)).astype(np.uint8)


@compiled
def count_buckets(index: Any, counts: Any) -> None:
    """Rows in each bucket, added to the counts."""
    for i in range(np.uintp(len(index))):
        counts[np.uintp(index[i])] += np.uint32(1)


@compiled
def scatter(probs: Any, outcomes: Any, index: Any, wanted: Any, places: Any, keys: Any) -> None:
    """Put the key of each row at the next place of its bucket."""
    for i in range(np.uintp(len(index))):
        b = np.uintp(index[i])
        if wanted[b]:
            at = np.uintp(places[b])
            places[b] = np.intp(at) + 1
            keys[at] = (np.float64(probs[i]).view(np.uint64) << np.uint64(1)) | np.uint64(outcomes[i])


@compiled
def sort_digits(keys: Any, scratch: Any, start: int, stop: int, base: Any, shift: int) -> None:
    """Sort keys − base by the two digits of 8 bits from bit `shift` up, the lower first."""
    mask, lower, upper = np.uint64(255), np.uint64(shift), np.uint64(shift + 8)
    places = np.zeros((2, 256), np.uintp)
    for i in range(np.uintp(start), np.uintp(stop)):
        key = keys[i] - base
        places[0, np.uintp((key >> lower) & mask)] += np.uintp(1)
        places[1, np.uintp((key >> upper) & mask)] += np.uintp(1)
    for digit in range(2):
        place = np.uintp(digit * start)  # the first digit sorts into the scratch, the second back
        for d in range(256):
            places[digit, d], place = place, np.uintp(place + places[digit, d])
    for i in range(np.uintp(start), np.uintp(stop)):
        at = np.uintp(((keys[i] - base) >> lower) & mask)
        scratch[places[0, at]] = keys[i]
        places[0, at] += np.uintp(1)
    for i in range(np.uintp(stop - start)):
        at = np.uintp(((scratch[i] - base) >> upper) & mask)
        keys[places[1, at]] = scratch[i]
        places[1, at] += np.uintp(1)


@compiled
def inserted(keys: Any, start: int, stop: int) -> bool:
    """Sort by insertion; False if it was given up because it takes too long."""
    patience = PATIENCE * (stop - start)
    for i in range(start + 1, stop):
        key, j = keys[i], i
        while j > start and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
        patience -= i - j
        if patience < 0:
            return False
    return True


@compiled
def sort_long(keys: Any, scratch: Any, start: int, stop: int) -> None:
    """Sort by the top 16 of the bits in which the keys differ; ties by insertion or all digits."""
    base, top, bits = keys[start], keys[start], 0
    for i in range(start + 1, stop):
        base, top = min(base, keys[i]), max(top, keys[i])
    while bits < 64 and (top - base) >> np.uint64(bits) > np.uint64(0):
        bits += 1
    sort_digits(keys, scratch, start, stop, base, max(bits - 16, 0))
    if bits > 16 and not inserted(keys, start, stop):
        for shift in range(0, bits, 16):
            sort_digits(keys, scratch, start, stop, base, shift)


@compiled
def sort_buckets(keys: Any, ends: Any, first: int, last: int) -> None:
    """Sort the keys of each bucket from `first` to before `last`."""
    longest = 0
    for b in range(first, last):
        longest = max(longest, ends[b] - (ends[b - 1] if b > 0 else 0))
    scratch = np.empty(longest, np.uint64)
    for b in range(first, last):
        start, stop = ends[b - 1] if b > 0 else 0, ends[b]
        if stop - start <= SHORT_RUN:
            inserted(keys, start, stop)
        else:
            sort_long(keys, scratch, start, stop)
