"""Rows sorted and pooled by equal prediction (`state.Pooled`), and cuts of them into bins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.buckets import (
    HIGH,
    Buckets,
    bucket_index,
    over_buckets,
    rows_of,
    sorted_keys,
    worth_buckets,
)
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Floats, Indices


def grouped(probs: Array, outcomes: Array, weights: Array | None, squares: Array | None = None) -> Pooled:
    """One sort, then sums over runs of equal predictions; those of weight 0 are left out.

    `squares` are those of weights that are not numbers of rows.
    """
    if squares is not None and weights is not None:
        order = np.lexsort((squares, weights, outcomes, probs))
        found = grouped(probs[order], outcomes[order], weights[order])
        starts = group_starts(probs[order])
        summed, kept = np.add.reduceat(squares[order], starts), np.add.reduceat(weights[order], starts) > 0
        return replace(found, squares=summed[kept], integral=False)
    if worth_buckets(probs, outcomes, weights):
        return pooled(*sorted_keys(probs, outcomes))
    p, y, w = in_order(probs, outcomes, weights)
    if w is None and (p[1:] != p[:-1]).all():
        table = np.empty((3, len(p)))  # one piece of memory: the system keeps as much for the next call
        table[0], table[1], table[2] = p, 1.0, y
        return Pooled(table[0], table[1], table[2], single=True)
    starts = group_starts(p)
    values = p[starts].astype(np.float64)
    if w is None:
        weight = np.diff(np.append(starts, len(p))).astype(np.float64)
        return Pooled(values, weight, np.add.reduceat(y, starts, dtype=np.float64))
    weight, hits = np.add.reduceat(w, starts), np.add.reduceat(w * y, starts)
    kept = weight > 0
    return Pooled(values[kept], weight[kept], hits[kept], bool((w == np.floor(w)).all()))


def pooled(keys: Array, ends: Indices) -> Pooled:
    """The rows that `sorted_keys` has sorted, pooled; no prediction lies in two buckets.

    So the cores can share the buckets. Fresh memory is slow: where all predictions
    differ, the keys are turned into them in their place.
    """
    counts = np.zeros(len(ends), np.intp)
    list(over_buckets(ends, partial(count_groups, keys, ends, counts)))
    after = np.cumsum(counts)
    single = bool(after[-1] == len(keys))
    bits = keys if single else np.empty(after[-1], np.uint64)
    weight, hits = np.empty(len(bits)), np.empty(len(bits))
    list(over_buckets(ends, partial(pool_rows, keys, ends, after - counts, bits, weight, hits)))
    return Pooled(bits.view(np.float64), weight, hits, single=single)


@compiled
def count_groups(keys: Any, ends: Any, counts: Any, first: int, last: int) -> None:
    """How many different predictions each bucket holds."""
    for b in range(first, last):
        start, stop = ends[b - 1] if b > 0 else 0, ends[b]
        found = 1 if stop > start else 0
        for i in range(start + 1, stop):
            found += keys[i] >> np.uint64(1) != keys[i - 1] >> np.uint64(1)
        counts[b] = found


@compiled
def pool_rows(keys: Any, ends: Any, places: Any, bits: Any, weight: Any, hits: Any, first: int, last: int) -> None:
    """The bits of each prediction, its rows and its hits, from the place of each bucket on."""
    for b in range(first, last):
        start, stop, at = ends[b - 1] if b > 0 else 0, ends[b], places[b]
        rows, occurred = 0.0, 0.0
        for i in range(start, stop):
            rows += 1.0
            occurred += np.float64(keys[i] & np.uint64(1))
            if i + 1 == stop or keys[i] >> np.uint64(1) != keys[i + 1] >> np.uint64(1):
                bits[at], weight[at], hits[at] = keys[i] >> np.uint64(1), rows, occurred
                rows, occurred, at = 0.0, 0.0, at + 1


def mass_cuts(below: Floats, n_bins: int, allowance: float | None = None) -> Indices:
    """Equal-mass bins as cuts 0 = c_0 ≤ … ≤ c_m = G between pooled rows, from cumulative weights.

    The i-th cut comes after the last whose cumulative weight is at most i/m of the
    total, give or take the allowance for rounding: nothing for whole numbers.
    """
    if allowance is None:
        allowance = 0.0 if (below == np.floor(below)).all() else 1e-12 * float(below[-1])
    inner = np.searchsorted(below, mass_targets(below[-1], n_bins) + allowance, side="right")
    return np.concatenate([[0], inner, [len(below)]]).astype(np.intp)


def pooled_cuts(groups: Pooled, n_bins: int) -> Indices:
    """`mass_cuts` of pooled rows; cumulative weights of single ones are 1, 2, 3 …, of which no array is made."""
    if not groups.single:
        return mass_cuts(groups.below(), n_bins, groups.allowance)
    inner = np.floor(mass_targets(groups.total, n_bins) + groups.allowance)
    return np.concatenate([[0], np.minimum(inner, len(groups)), [len(groups)]]).astype(np.intp)


def mass_targets(total: float, n_bins: int) -> Floats:
    """i/m of the total, for i = 1 … m−1."""
    targets: Floats = np.arange(1, n_bins) * total / n_bins
    return targets


def bin_numbers(marks: Floats, n_bins: int, total: float, allowance: float) -> Indices:
    """The bin of each pooled row by its cumulative weight, or its value with `total` 1, without an array of all bins.

    So many of the i/m of the total, i = 1 … m−1, give or take the allowance, lie below it:
    the same comparisons that `mass_cuts` and `width_cuts` make.
    """
    found = np.clip(np.floor((marks - allowance) * n_bins / total), 0, n_bins - 1)
    while len(high := np.flatnonzero((found > 0) & (found * total / n_bins + allowance >= marks))):
        found[high] -= 1
    while len(low := np.flatnonzero((found < n_bins - 1) & ((found + 1) * total / n_bins + allowance < marks))):
        found[low] += 1
    return found.astype(np.intp)


def width_cuts(values: Floats, n_bins: int) -> Indices:
    """Equal-width bins, closed on the right, as cuts between pooled rows."""
    cuts = np.searchsorted(values, np.arange(n_bins + 1) / n_bins, side="right")
    cuts[0] = 0
    return cuts


def cut_sums(groups: Pooled, cuts: Indices) -> Floats:
    """The sums (n, P, Q, Y) of `bin_sums` between consecutive cuts; zeros where a bin is empty."""
    if len(groups.values) < COMPILE_FROM:
        return _between(_columns(groups), cuts)
    sums = np.empty((len(cuts) - 1, 4))
    add_between(groups.values, groups.weight, groups.hits, cuts, sums)
    return sums


def cut_squares(groups: Pooled, cuts: Indices) -> Floats | None:
    """The same with squared weights, `(1, bins, 4)`; None where weights are numbers of rows."""
    return None if groups.squares is None else cut_sums(replace(groups, weight=groups.squares), cuts)[None]


def _between(columns: Iterable[Floats], cuts: Indices) -> Floats:
    sums, filled = np.zeros((len(cuts) - 1, 4)), np.flatnonzero(np.diff(cuts))
    for column, terms in enumerate(columns):
        sums[filled, column] = np.add.reduceat(terms, cuts[filled])
    return sums


def _columns(groups: Pooled) -> tuple[Floats, Floats, Floats, Floats]:
    """The sums of each prediction alone."""
    wp = groups.values if groups.single else groups.weight * groups.values
    return groups.weight, wp, wp * groups.values, groups.hits


@compiled
def add_between(values: Any, weight: Any, hits: Any, cuts: Any, sums: Any) -> None:
    """The same in one pass."""
    for b in range(len(sums)):
        n, p, q, y = 0.0, 0.0, 0.0, 0.0
        for g in range(np.uintp(cuts[b]), np.uintp(cuts[b + 1])):
            wp = weight[g] * values[g]
            n, p, q, y = n + weight[g], p + wp, q + wp * values[g], y + hits[g]
        sums[b, 0], sums[b, 1], sums[b, 2], sums[b, 3] = n, p, q, y


def in_order(probs: Array, outcomes: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Rows sorted by probability, then outcome, then weight: the same whatever order they came in.

    Hard outcomes without weights are sorted as one integer: the bits of a float in [0,
    1] order like the float and leave the top two bits free, so (bits << 1) | y is exact
    and needs no argsort (10 times slower).
    """
    if worth_buckets(probs, outcomes, weights):
        p, y = rows_of(sorted_keys(probs, outcomes)[0])
        return p.astype(probs.dtype, copy=False), y, None
    if weights is None and outcomes.dtype == np.uint8:
        keys = _keys(probs, outcomes)
        keys.sort()
        y = np.empty(len(keys), np.uint8)
        one = keys.dtype.type(1)
        np.bitwise_and(keys, one, out=y, casting="unsafe")  # fresh memory, of which this needs least, is slow
        keys >>= one
        return keys.view(probs.dtype), y, None
    order = event_order(probs, outcomes) if weights is None else np.lexsort((weights, outcomes, probs))
    return probs[order], outcomes[order], None if weights is None else weights[order]


def _keys(probs: Array, outcomes: Array) -> Array:
    """Probability and hard outcome of each row as one integer; float32 in 32 bits."""
    unsigned: Any = np.uint32 if probs.dtype == np.float32 else np.uint64
    keys: Array = (probs + probs.dtype.type(0)).view(unsigned)  # the addition turns −0 into 0
    keys <<= unsigned(1)
    keys |= outcomes
    return keys


def event_order(values: Array, outcomes: Array) -> Indices:
    """The places of the rows of an event when sorted by value, then outcome; equal ones as they came.

    NumPy's fastest sort leaves equal values in any order. Only where there are any are places
    sorted again, as whole numbers: by the value's rank, the outcome, the place.
    """
    if (values[1:] > values[:-1]).all():
        return np.arange(len(values))
    order = np.argsort(values)
    ordered = values[order]
    rises = ordered[1:] != ordered[:-1]
    if rises.all():
        return order
    if outcomes.dtype.kind == "f":
        return np.lexsort((outcomes, values))
    keys = outcomes[order].astype(np.int64)
    keys[1:] += 2 * np.cumsum(rises)
    bits = len(keys).bit_length()
    keys <<= bits
    keys |= order
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


def group_starts(sorted_probs: Array) -> Indices:
    """Where each run of equal probabilities begins."""
    return np.flatnonzero(np.concatenate([[True], sorted_probs[1:] != sorted_probs[:-1]]))


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Stretches of predictions in increasing order, just fine enough for equal-mass bins.

    Entire buckets, and single predictions where a cut falls inside one.
    """

    sums: Floats
    """(M, 4): the sums (n, P, Q, Y) of `bin_sums`"""
    last: Floats
    """the highest prediction of each"""

    @property
    def below(self) -> Floats:
        """Rows of each piece and all before it."""
        return np.cumsum(self.sums[:, 0])

    def between(self, cuts: Indices) -> Floats:
        """The sums between consecutive cuts; zeros where a bin is empty."""
        return _between(self.sums.T, cuts)


def mass_pieces(buckets: Buckets, n_bins: int) -> Pieces | None:
    """Pieces for that many equal-mass bins; None where most rows would have to be sorted anyway."""
    filled = buckets.filled
    below = np.cumsum(buckets.table[filled, 0])
    cut = filled[np.unique(np.searchsorted(below, mass_targets(below[-1], n_bins), side="right"))]
    cut = cut[buckets.mixed[cut]]
    if 2 * buckets.table[cut, 0].sum() > len(buckets.probs):
        return None
    groups, closed = pooled(*buckets.opened(cut)), np.setdiff1d(filled, cut)
    order = np.argsort(np.append(closed, bucket_index(groups.values)), kind="stable")
    sums = np.concatenate([buckets.sums(closed), np.stack(_columns(groups), axis=1)])
    return Pieces(sums[order], np.append(buckets.table[closed, HIGH], groups.values)[order])
