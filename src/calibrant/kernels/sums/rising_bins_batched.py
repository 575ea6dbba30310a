"""Sweeps over many data sets of the same size: `kernels.sums.rising_bins` does the same
for one, of any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.bisection import first_above
from calibrant.types import Floats, Indices


def rising_counts(places: Floats, total: float, first: Indices, hits: Floats) -> Indices:
    """`(R,)`: the last number of bins, counting up, whose rates never fall; at most the
    number of rows.

    Rows stand in order at `places` on the way to `total`; `first` is where the ties of
    a row begin, `hits` (one column more) how many hits lie before it.
    """
    counts = np.empty(len(places), dtype=np.intp)
    _count(places, total, first, hits, counts)
    return counts


def cuts_of(places: Floats, total: float, first: Indices, counts: Indices, most: int) -> Indices:
    """`(R, most + 1)`: where the bins of each data set begin and end; bins beyond its
    number are empty."""
    cuts = np.full((len(places), most + 1), places.shape[1], dtype=np.intp)
    _cut(places, total, first, counts, cuts)
    return cuts


@compiled
def end_of_bin(places: Any, total: float, first: Any, start: int, k: int, b: int) -> int:
    """Where the k-th of b bins, which begins at `start`, ends: a tie lies in the bin
    after."""
    if k == b:
        return len(places)
    return max(first[first_above(places, start, len(places), k * total / b)], start)


@compiled
def rates_rise(places: Any, total: float, first: Any, hits: Any, b: int) -> bool:
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


@compiled
def _count(places: Any, total: float, first: Any, hits: Any, counts: Any) -> None:
    for r in range(len(places)):
        b = 1
        while b < places.shape[1] and rates_rise(places[r], total, first[r], hits[r], b + 1):
            b += 1
        counts[r] = b


@compiled
def _cut(places: Any, total: float, first: Any, counts: Any, cuts: Any) -> None:
    for r in range(len(places)):
        cuts[r, 0] = 0
        for k in range(1, counts[r]):
            cuts[r, k] = end_of_bin(places[r], total, first[r], cuts[r, k - 1], k, counts[r])
