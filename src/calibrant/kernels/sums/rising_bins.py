"""How many bins can there be before the observed rates stop rising?

Rates h/n of neighbouring bins are compared as h·n' ≤ h'·n, exact for whole numbers; `slack` allows for the rounding of other
weights.

Only cuts inside the blocks of an isotonic fit can make the rates fall: the first part of such a block lies above its mean and
the last part below, so across a cut between blocks the rate cannot drop. A long sweep therefore looks at those cuts alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import compiled

Floats = NDArray[np.float64]

CHUNK = 1 << 12


def rates_rise(below: Floats, hits: Floats, cuts: NDArray[np.intp], slack: float) -> bool:
    """Do the rates between consecutive cuts never fall? `below` and `hits` are cumulative over groups and begin with 0."""
    n, h = np.diff(below[cuts]), np.diff(hits[cuts])
    n, h = n[n > 0], h[n > 0]
    return bool((h[:-1] * n[1:] - h[1:] * n[:-1] <= slack * (n[1:] + n[:-1])).all())


def always_rising(weight: Floats, hits: Floats) -> bool:
    """Do the rates of the groups themselves never fall? Then those of no bins do. A fall ends the look early."""
    for start in range(0, len(hits) - 1, CHUNK):
        part = slice(start, start + CHUNK + 1)
        if (np.diff(hits[part] / weight[part]) < 0).any():
            return False
    return True


def falling_blocks(weight: Floats, hits: Floats) -> NDArray[np.intp]:
    """(M, 2): first and last group of each block of an isotonic fit of the rates that pools more than one group."""
    from scipy.optimize import isotonic_regression

    rates = hits / weight
    ends = isotonic_regression(rates, weights=weight).blocks
    starts = ends[:-1]
    pooled = np.maximum.reduceat(rates, starts) > np.minimum.reduceat(rates, starts)  # equal rates fall nowhere
    return np.stack([ends[:-1][pooled], ends[1:][pooled] - 1], axis=1).astype(np.intp)


@compiled
def long_sweep(  # noqa: C901  (nested functions are what Numba inlines)
    places: Any, total: float, allowance: float, below: Any, hits: Any, blocks: Any, first: int, most: int, slack: float
) -> int:
    """The last number of bins b, counting up from `first`, before the rates fall.

    A group lies in the k-th of b bins for the smallest k with place ≤ k·total/b + allowance, as in `groups.mass_cuts` (place:
    cumulative weight) and `groups.width_cuts` (place: the prediction, total 1).
    """
    n_groups = len(places)

    def reached(k: int, b: int) -> int:
        if k <= 0:
            return 0
        if k >= b:
            return n_groups
        low, high, target = 0, n_groups, k * total / b + allowance
        while low < high:
            middle = (low + high) // 2
            if places[middle] <= target:
                low = middle + 1
            else:
                high = middle
        return low

    def bin_of(group: int, b: int) -> int:
        k = max(1, int(np.ceil((places[group] - allowance) * b / total)))
        while k > 1 and places[group] <= (k - 1) * total / b + allowance:
            k -= 1
        while k < b and places[group] > k * total / b + allowance:
            k += 1
        return min(k, b)

    for b in range(first, most + 1):
        for m in range(len(blocks)):
            k = bin_of(blocks[m, 0], b)
            cut = reached(k, b)
            while cut <= blocks[m, 1]:
                start, k = reached(k - 1, b), bin_of(cut, b)
                stop = reached(k, b)
                n0, n1 = below[cut] - below[start], below[stop] - below[cut]
                h0, h1 = hits[cut] - hits[start], hits[stop] - hits[cut]
                if h0 * n1 - h1 * n0 > slack * (n0 + n1):
                    return b - 1
                cut = stop
    return most
