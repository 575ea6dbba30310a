"""Rows pooled by equal prediction (`state.Pooled`): one sort, then sums over runs; cuts of pooled rows into bins."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.buckets import worth_buckets
from calibrant.kernels.rows.radix import Keys, over_buckets, sorted_keys
from calibrant.kernels.rows.sorting import group_starts, in_order
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Floats, Indices


def grouped(probs: Array, outcomes: Array, weights: Array | None) -> Pooled:
    """One sort, then sums over runs of equal predictions. Pooled of weight 0 are left out."""
    if worth_buckets(probs, outcomes, weights):
        return pooled(*sorted_keys(probs, outcomes))
    p, y, w = in_order(probs, outcomes, weights)
    if w is None and (p[1:] != p[:-1]).all():
        return Pooled(p.astype(np.float64, copy=False), np.ones(len(p)), y.astype(np.float64), single=True)
    starts = group_starts(p)
    values = p[starts].astype(np.float64)
    if w is None:
        weight = np.diff(np.append(starts, len(p))).astype(np.float64)
        return Pooled(values, weight, np.add.reduceat(y, starts, dtype=np.float64))
    weight, hits = np.add.reduceat(w, starts), np.add.reduceat(w * y, starts)
    kept = weight > 0
    return Pooled(values[kept], weight[kept], hits[kept], bool((w == np.floor(w)).all()))


def pooled(keys: Keys, ends: Indices) -> Pooled:
    """The groups of rows that `sorted_keys` has sorted. No group lies in two buckets, so the cores can share them.

    Fresh memory is slow: where all predictions differ, the keys are turned into them in their place.
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
    """The bits of each prediction, its rows and its hits; the groups of a bucket begin at its place."""
    for b in range(first, last):
        start, stop, at = ends[b - 1] if b > 0 else 0, ends[b], places[b]
        rows, happened = 0.0, 0.0
        for i in range(start, stop):
            rows += 1.0
            happened += np.float64(keys[i] & np.uint64(1))
            if i + 1 == stop or keys[i] >> np.uint64(1) != keys[i + 1] >> np.uint64(1):
                bits[at], weight[at], hits[at] = keys[i] >> np.uint64(1), rows, happened
                rows, happened, at = 0.0, 0.0, at + 1


def mass_cuts(below: Floats, n_bins: int, allowance: float | None = None) -> Indices:
    """Equal-mass bins as cuts 0 = c_0 ≤ … ≤ c_m = G between groups, from the cumulative weights.

    The i-th cut comes after the last group whose cumulative weight is at most i/m of the whole, give or take the allowance
    for rounding: nothing for whole numbers.
    """
    if allowance is None:
        allowance = 0.0 if (below == np.floor(below)).all() else 1e-12 * float(below[-1])
    inner = np.searchsorted(below, mass_targets(below[-1], n_bins) + allowance, side="right")
    return np.concatenate([[0], inner, [len(below)]]).astype(np.intp)


def mass_targets(total: float, n_bins: int) -> Floats:
    """i/m of the whole, for i = 1 … m−1."""
    targets: Floats = np.arange(1, n_bins) * total / n_bins
    return targets


def width_cuts(values: Floats, n_bins: int) -> Indices:
    """Equal-width bins, closed on the right, as cuts between groups."""
    cuts = np.searchsorted(values, np.arange(n_bins + 1) / n_bins, side="right")
    cuts[0] = 0
    return cuts


def cut_sums(groups: Pooled, cuts: Indices) -> Floats:
    """The sums (n, P, Q, Y) of `bin_sums` between consecutive cuts; zeros where a bin is empty."""
    sums = np.zeros((len(cuts) - 1, 4))
    if len(groups.values) >= COMPILE_FROM:
        add_between(groups.values, groups.weight, groups.hits, cuts, sums)
        return sums
    filled = np.flatnonzero(np.diff(cuts))
    wp = groups.weight * groups.values
    for column, terms in enumerate((groups.weight, wp, wp * groups.values, groups.hits)):
        sums[filled, column] = np.add.reduceat(terms, cuts[filled])
    return sums


@compiled
def add_between(values: Any, weight: Any, hits: Any, cuts: Any, sums: Any) -> None:
    """The same in one pass."""
    for b in range(len(sums)):
        n, p, q, y = 0.0, 0.0, 0.0, 0.0
        for g in range(np.uintp(cuts[b]), np.uintp(cuts[b + 1])):
            wp = weight[g] * values[g]
            n, p, q, y = n + weight[g], p + wp, q + wp * values[g], y + hits[g]
        sums[b, 0], sums[b, 1], sums[b, 2], sums[b, 3] = n, p, q, y
