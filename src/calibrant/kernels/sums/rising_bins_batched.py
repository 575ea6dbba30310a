"""Sweeps over many data sets of the same size: `kernels.sums.rising_bins` does the same for one, of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import compiled

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def rising_counts(places: Floats, total: float, first: Indices, hits: Floats) -> Indices:
    """`(R,)`: the last number of bins, counting up, whose rates never fall; at most the number of rows.

    Rows stand in order at `places` on the way to `total`; `first` tells where the ties of a row begin, `hits` (one column
    more) how many hits lie before it.
    """
    counts = np.empty(len(places), dtype=np.intp)
    _count(places, total, first, hits, counts)
    return counts


def cuts_of(places: Floats, total: float, first: Indices, counts: Indices, most: int) -> Indices:
    """`(R, most + 1)`: where the bins of each data set begin and end; bins beyond its number are empty."""
    cuts = np.full((len(places), most + 1), places.shape[1], dtype=np.intp)
    _cut(places, total, first, counts, cuts)
    return cuts


@compiled
def _count(places: Any, total: float, first: Any, hits: Any, counts: Any) -> None:
    n = places.shape[1]
    for r in range(places.shape[0]):
        counts[r] = n
        b = 2
        rising = True
        while rising and b <= n:
            start, before_n, before_h = 0, 0.0, 0.0
            for k in range(1, b + 1):
                stop = n
                if k < b:
                    low, high, target = start, n, k * total / b
                    while low < high:
                        middle = (low + high) // 2
                        if places[r, middle] <= target:
                            low = middle + 1
                        else:
                            high = middle
                    stop = max(first[r, low], start)
                if stop > start:
                    size, happened = float(stop - start), hits[r, stop] - hits[r, start]
                    if before_h * size > happened * before_n:
                        rising = False
                        break
                    before_n, before_h = size, happened
                start = stop
            if not rising:
                counts[r] = b - 1
            b += 1


@compiled
def _cut(places: Any, total: float, first: Any, counts: Any, cuts: Any) -> None:
    n = places.shape[1]
    for r in range(places.shape[0]):
        cuts[r, 0] = 0
        for k in range(1, counts[r]):
            low, high, target = cuts[r, k - 1], n, k * total / counts[r]
            while low < high:
                middle = (low + high) // 2
                if places[r, middle] <= target:
                    low = middle + 1
                else:
                    high = middle
            cuts[r, k] = max(first[r, low], cuts[r, k - 1])
