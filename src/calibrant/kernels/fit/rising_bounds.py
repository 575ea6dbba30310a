"""A lower bound of a rising rate that holds everywhere at once, from exact limits over
all runs of groups.

Over groups j … i with m trials and s hits, Clopper and Pearson's lower limit at the
chance a is the a-quantile of Beta(s, m − s + 1). As the rate rises, it bounds the rate
at group i and at all later ones. N groups have N(N + 1)/2 runs, so with a = α / (N(N +
1)) all limits, lower and upper, hold at once with probability 1 − α (Dimitriadis et al.
2023).

Not all runs have to be checked. Let P_i = (M_i, S_i) be cumulative trials and hits.
Where the limit does not exceed a given number is a convex set of (m, s), so the best
run that ends at i starts at a corner of the lower convex hull of P_0 … P_(i−1). The
hull grows point by point and stays short: some 40 corners for 20 000 rows. Any choice
of runs is valid, as all limits hold at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.types import Floats

COMPILE_FROM_GROUPS = 3_000
"""Pooled from which the hull is found by a compiled loop."""
BLOCK = 1 << 13
"""Ends whose runs are in memory at a time."""


def lower_bound(trials: Floats, hits: Floats, chance: float) -> Floats:
    """Of each group: the best exact lower limit over runs that end there or before,
    each at the given chance."""
    m, s = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (trials, hits))
    n = len(trials)
    kernel = corners if n >= COMPILE_FROM_GROUPS else corners.plain
    hull, sizes, best = np.empty(n + 1, dtype=np.intp), np.empty(n, dtype=np.intp), np.empty(n)
    size = 0
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        kernel(m, s, hull.copy(), size, first, last, sizes, np.empty(0, dtype=np.intp))
        starts = np.empty(int(sizes[first:last].sum()), dtype=np.intp)
        size = kernel(m, s, hull, size, first, last, sizes, starts)
        ends = np.repeat(np.arange(first + 1, last + 1), sizes[first:last])
        limits = lower_limit(s[ends] - s[starts], m[ends] - m[starts], chance)
        best[first:last] = np.maximum.reduceat(limits, np.cumsum(sizes[first:last]) - sizes[first:last])
    bound: Floats = np.maximum.accumulate(best)
    return bound


def upper_bound(trials: Floats, hits: Floats, chance: float) -> Floats:
    """The same from above, over runs that begin at each group or after: with scores and
    outcomes reversed."""
    return 1 - lower_bound(trials[::-1], (trials - hits)[::-1], chance)[::-1]


def lower_limit(hits: Floats, trials: Floats, chance: float) -> Floats:
    """Clopper and Pearson's: the rate at which that many hits or more have the given
    probability; 0 without hits."""
    from scipy.special import betaincinv

    found = np.zeros(len(hits))
    some = hits > 0
    found[some] = betaincinv(hits[some], trials[some] - hits[some] + 1, chance)
    return found


@compiled
def corners(m: Any, s: Any, hull: Any, size: int, first: int, last: int, sizes: Any, starts: Any) -> int:
    """The number of hull corners before each end, and which, if `starts` is not empty;
    returns the last number."""
    at, listed = 0, len(starts) > 0
    for c in range(first, last):
        while size > 1:
            a, b = hull[size - 2], hull[size - 1]
            if (s[b] - s[a]) * (m[c] - m[b]) < (s[c] - s[b]) * (m[b] - m[a]):
                break
            size -= 1
        hull[size] = c
        size += 1
        sizes[c] = size
        if listed:
            starts[at : at + size] = hull[:size]
            at += size
    return size
