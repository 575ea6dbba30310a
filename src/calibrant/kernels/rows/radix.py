"""Sorting rows by their predictions, bucket by bucket and there by digits: linear in n,
and shared by the cores.

A row of a plain outcome is one integer, its key: the bits of the float64, which order
like the float and leave the sign free, and the outcome below them. Rows are scattered
to the buckets of `buckets`; the keys of a bucket are then sorted by the top 16 of the
bits in which they differ, and what those leave tied is sorted by insertion, or by all
digits where many are tied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.rows.buckets import N_BUCKETS, Index, bucket_index
from calibrant.types import Array, Bools, Floats, Indices

Keys = NDArray[np.uint64]

SCATTER_ROWS, RUN_ROWS = 1 << 19, 1 << 17
"""Rows that a core scatters, and sorts, at a time."""

SHORT_RUN = 32
"""Keys up to which insertion is faster than counting digits; measured."""

PATIENCE = SHORT_RUN // 2
"""Moves per key, on average, after which insertion gives way to sorting by all digits;
a short run never needs as many."""


def sorted_keys(
    probs: Array, outcomes: Array, index: Index | None = None, wanted: Bools | None = None
) -> tuple[Keys, Indices]:
    """The keys of the rows in order, and where each bucket ends; rows of buckets that
    are not wanted are left out."""
    probs, outcomes = np.ascontiguousarray(probs), np.ascontiguousarray(outcomes)
    index = bucket_index(probs) if index is None else index
    wanted = np.ones(N_BUCKETS, np.bool_) if wanted is None else wanted
    n = len(index)
    counts = np.stack(list(over_blocks(n, lambda rows: bucket_counts(index[rows], N_BUCKETS), SCATTER_ROWS)), axis=1)
    counts *= wanted[:, None]
    after = np.cumsum(counts, dtype=np.intp).reshape(counts.shape)
    places, ends = (after - counts).T.copy(), after[:, -1].copy()
    keys = np.empty(ends[-1], np.uint64)

    def scatter_block(rows: slice) -> None:
        scatter(probs[rows], outcomes[rows], index[rows], wanted, places[rows.start // SCATTER_ROWS], keys)

    list(over_blocks(n, scatter_block, SCATTER_ROWS))
    list(over_buckets(ends, partial(sort_buckets, keys, ends)))
    return keys, ends


def over_buckets(ends: Indices, part: Callable[[int, int], Any]) -> Iterator[Any]:
    """part(first, last) for stretches of buckets that hold about RUN_ROWS rows each, in
    order."""
    starts = np.concatenate([[0], ends[:-1]])

    def stretch(rows: slice) -> Any:
        first, last = np.searchsorted(starts, [rows.start, rows.stop])
        return part(int(first), int(last))

    return over_blocks(int(ends[-1]), stretch, RUN_ROWS)


def rows_of(keys: Keys) -> tuple[Floats, NDArray[np.uint8]]:
    """Predictions and outcomes of the keys."""
    return (keys >> np.uint64(1)).view(np.float64), (keys & np.uint64(1)).astype(np.uint8)


@compiled
def bucket_counts(index: Any, n_buckets: int) -> Any:
    """Rows in each bucket."""
    counts = np.zeros(n_buckets, np.uint32)
    for i in range(np.uintp(len(index))):
        counts[np.uintp(index[i])] += np.uint32(1)
    return counts


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
    """Sort keys − base by the two digits of 8 bits from bit `shift` up, the lower
    first."""
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
    """Sort by the top 16 of the bits in which the keys differ, and what those leave
    tied by insertion or by all digits."""
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
