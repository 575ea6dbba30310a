"""How many bins can there be before the observed rates stop rising?

For one data set of any size, and for many data sets of the same size.

Rates h/n of neighbouring bins are compared as h·n' ≤ h'·n, exact for whole numbers;
`slack` allows for the rounding of other weights.

Only cuts inside the blocks of an isotonic fit can make the rates fall: the first part
of such a block lies above its mean and the last part below, so across a cut between
blocks the rate cannot drop. A long sweep therefore checks those cuts only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.bisection import first_above
from calibrant.types import Floats, Indices

CHUNK = 1 << 12
"""Groups compared at a time: most data show a fall in the first chunk."""


def rates_rise(below: Floats, hits: Floats, cuts: Indices, slack: float) -> bool:
    """Do the rates between consecutive cuts never fall?

    `below` and `hits` are cumulative over groups and begin with 0.
    """
    n, h = np.diff(below[cuts]), np.diff(hits[cuts])
    n, h = n[n > 0], h[n > 0]
    return bool((h[:-1] * n[1:] - h[1:] * n[:-1] <= slack * (n[1:] + n[:-1])).all())


def always_rising(weight: Floats, hits: Floats) -> bool:
    """Do the rates of the groups themselves never fall?

    Then those of no bins do. A fall ends the search early.
    """
    for start in range(0, len(hits) - 1, CHUNK):
        part = slice(start, start + CHUNK + 1)
        if (np.diff(hits[part] / weight[part]) < 0).any():
            return False
    return True


def falling_blocks(weight: Floats, hits: Floats) -> Indices:
    """(M, 2): first and last group of each block that an isotonic fit of the rates pools."""
    from scipy.optimize import isotonic_regression

    rates = hits / weight
    ends = isotonic_regression(rates, weights=weight).blocks
    starts = ends[:-1]
    pooled = np.maximum.reduceat(rates, starts) > np.minimum.reduceat(rates, starts)  # equal rates fall nowhere
    return np.stack([ends[:-1][pooled], ends[1:][pooled] - 1], axis=1).astype(np.intp)


@compiled
def cut_after(places: Any, total: float, allowance: float, k: int, b: int) -> int:
    """Groups in the first k of b bins."""
    if k <= 0:
        return 0
    if k >= b:
        return len(places)
    return first_above(places, 0, len(places), k * total / b + allowance)


@compiled
def bin_of(place: float, total: float, allowance: float, b: int) -> int:
    """The bin of a group, from 1 to b.

    A guess by multiplication, put right where it was rounded.
    """
    k = max(1, int(np.ceil((place - allowance) * b / total)))
    while k > 1 and place <= (k - 1) * total / b + allowance:
        k -= 1
    while k < b and place > k * total / b + allowance:
        k += 1
    return min(k, b)


@compiled
def falls(
    places: Any, total: float, allowance: float, below: Any, hits: Any, first: int, last: int, b: int, slack: float
) -> bool:
    """Does the rate fall at a cut between b bins within the groups from `first` to `last`?"""
    k = bin_of(places[first], total, allowance, b)
    cut = cut_after(places, total, allowance, k, b)
    while cut <= last:
        start, k = cut_after(places, total, allowance, k - 1, b), bin_of(places[cut], total, allowance, b)
        stop = cut_after(places, total, allowance, k, b)
        n0, n1 = below[cut] - below[start], below[stop] - below[cut]
        h0, h1 = hits[cut] - hits[start], hits[stop] - hits[cut]
        if h0 * n1 - h1 * n0 > slack * (n0 + n1):
            return True
        cut = stop
    return False


@compiled
def long_sweep(
    places: Any, total: float, allowance: float, below: Any, hits: Any, blocks: Any, first: int, most: int, slack: float
) -> int:
    """The last number of bins b, counting up from `first`, before the rates fall.

    A group lies in the k-th of b bins for the smallest k with place ≤ k·total/b +
    allowance, as in `pooling.mass_cuts` (place: cumulative weight) and
    `pooling.width_cuts` (place: the prediction, total 1).
    """
    for b in range(first, most + 1):
        for m in range(len(blocks)):
            if falls(places, total, allowance, below, hits, blocks[m, 0], blocks[m, 1], b, slack):
                return b - 1
    return most


@compiled
def rising_counts(places: Floats, total: float, first: Indices, hits: Floats) -> Indices:
    """`(R,)`: the last number of bins, counting up, whose rates never fall.

    At most the number of rows.

    Rows stand in order at `places` on the way to `total`; `first` is where the ties of
    a row begin, `hits` (one column more) how many hits lie before it.
    """
    counts = np.ones(len(places), dtype=np.intp)
    for r in range(len(places)):
        while counts[r] < places.shape[1] and all_rise(places[r], total, first[r], hits[r], counts[r] + 1):
            counts[r] += 1
    return counts


@compiled
def cuts_of(places: Floats, total: float, first: Indices, counts: Indices, most: int) -> Indices:
    """`(R, most + 1)`: where the bins of each data set begin and end.

    Bins beyond its number are empty.
    """
    cuts = np.full((len(places), most + 1), places.shape[1], dtype=np.intp)
    for r in range(len(places)):
        cuts[r, 0] = 0
        for k in range(1, counts[r]):
            cuts[r, k] = end_of_bin(places[r], total, first[r], cuts[r, k - 1], k, counts[r])
    return cuts


@compiled
def end_of_bin(places: Any, total: float, first: Any, start: int, k: int, b: int) -> int:
    """Where the k-th of b bins, which begins at `start`, ends: a tie lies in the bin after."""
    if k == b:
        return len(places)
    return max(first[first_above(places, start, len(places), k * total / b)], start)


@compiled
def all_rise(places: Any, total: float, first: Any, hits: Any, b: int) -> bool:
    """Do the rates of b bins never fall?"""
    start, before_n, before_h = 0, 0.0, 0.0
    for k in range(1, b + 1):
        stop = end_of_bin(places, total, first, start, k, b)
        if stop > start:
            n, h = float(stop - start), hits[stop] - hits[start]
            if before_h * n > h * before_n:
                return False
            before_n, before_h = n, h
        start = stop
    return True
