"""Isotonic fits: bounds of a rising rate, the fit with one more row, and quantiles.

A lower bound of a rising rate that holds everywhere at once comes from exact limits over
all runs of groups (`lower_bound`). Over groups j … i with m trials and s hits, Clopper
and Pearson's lower limit at the chance a is the a-quantile of Beta(s, m − s + 1). As the
rate rises, it bounds the rate at group i and at all later ones. N groups have N(N + 1)/2
runs, so with a = α / (N(N + 1)) all limits, lower and upper, hold at once with
probability 1 − α (Dimitriadis et al. 2023).

Not all runs have to be checked. Let P_i = (M_i, S_i) be cumulative trials and hits.
Where the limit does not exceed a given number is a convex set of (m, s), so the best
run that ends at i starts at a corner of the lower convex hull of P_0 … P_(i−1). The
hull grows point by point and stays short: some 40 corners for 20 000 rows. Any choice
of runs is valid, as all limits hold at once.

The fit with one more row (`rates_if_hit`): let P_i = (W_i, H_i) be cumulative weights
and hits. With one more hit of weight 1 in group i, the fit there is max over a < i of
min over b ≥ i of the slope from P_a to P_b + (1, 1): the bridge between the lower hulls
of the points left and right of the added row. As i grows the bridge only gets steeper,
so that both its ends only move to the right and no point is visited again once it is
passed (after Vovk, Petej, Fedorova 2015, sec. 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.sums.stable_sums import running
from calibrant.types import Floats

COMPILE_FROM_GROUPS = 3_000
"""Groups from which the hull is found by a compiled loop."""
BLOCK = 1 << 13
"""Ends whose runs are in memory at a time."""


def lower_bound(trials: Floats, hits: Floats, chance: float) -> Floats:
    """Per group: the best lower limit over runs that end there or before, each at `chance`."""
    (m, s), n = running(trials, hits), len(trials)
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
    """The same from above, over runs that begin at each group or after: all reversed."""
    return 1 - lower_bound(trials[::-1], (trials - hits)[::-1], chance)[::-1]


def lower_limit(hits: Floats, trials: Floats, chance: float) -> Floats:
    """Clopper and Pearson's: that many hits or more have the probability `chance`; 0 without."""
    from scipy.special import betaincinv

    return np.asarray(betaincinv(hits, trials - hits + 1, chance, out=np.zeros(len(hits)), where=hits > 0))


@compiled
def corners(m: Any, s: Any, hull: Any, size: int, first: int, last: int, sizes: Any, starts: Any) -> int:
    """The number of hull corners before each end, and which, if `starts` is not empty.

    Returns the last number.
    """
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


COMPILE_FROM_POINTS = 20_000
"""Groups from which the loop is compiled."""

ENOUGH_LOOPED = 40_000
"""Groups of work in plain Python, some 30 ms, after which a process that compiles anyway compiles the loop too."""


def rates_if_hit(weight: Floats, hits: Floats) -> Floats:
    """The isotonic fit at each group with one more hit of weight 1 in that group."""
    sums, k = running(weight, hits), len(weight)
    if k >= COMPILE_FROM_POINTS or moving_bridge.ready(*sums, enough=ENOUGH_LOOPED):
        moving_bridge.expect(*sums)
        out = np.empty(k)
        moving_bridge(*sums, np.empty(k, dtype=np.intp), out)
    else:  # plain Python is several times as fast on lists, and gives the same numbers
        found = [0.0] * k
        moving_bridge.plain(*(each.tolist() for each in sums), [0] * k, found)
        out = np.array(found)
    rising: Floats = np.maximum.accumulate(np.minimum(out, 1.0))  # weights that are not whole leave rounding
    return rising


def rates_if_missed(weight: Floats, hits: Floats) -> Floats:
    """The same with one more miss: scores and outcomes reversed."""
    return 1 - rates_if_hit(weight[::-1], (weight - hits)[::-1])[::-1]


@compiled
def moving_bridge(w: Any, h: Any, stack: Any, out: Any) -> None:
    """Slopes of the bridge for i = 1 … k.

    `stack` holds the right hull, its leftmost corner on top.
    """
    k = len(out)
    size = 0
    for b in range(k, 0, -1):
        wb, hb = w[b], h[b]
        while size > 1:
            top, next_ = stack[size - 1], stack[size - 2]
            if (h[top] - hb) * (w[next_] - wb) < (h[next_] - hb) * (w[top] - wb):
                break
            size -= 1
        stack[size] = b
        size += 1
    wa, ha = w[0], h[0]
    for i in range(1, k + 1):
        top = stack[size - 1]
        if top < i:
            size -= 1
            top = stack[size - 1]
        wt, ht = w[top], h[top]
        wc, hc = w[i - 1], h[i - 1]  # the point that has just come to the left side
        if (ht - hc + 1) * (wt - wa + 1) > (ht - ha + 1) * (wt - wc + 1):
            wa, ha = wc, hc
        while size > 1:
            next_ = stack[size - 2]
            wn, hn = w[next_], h[next_]
            if (ht - ha + 1) * (wn - wa + 1) < (hn - ha + 1) * (wt - wa + 1):
                break
            wt, ht = wn, hn
            size -= 1
        out[i - 1] = (ht - ha + 1) / (wt - wa + 1)


ROUNDING = 1e-12
"""A share this close to the level counts as equal."""


def isotonic_quantile(x: Floats, y: Floats, w: Floats, level: float) -> Floats:
    """The fitted quantile of each row: rising in x, equal where x is equal.

    The lowest of those that fit best.

    It stays at or below t where the falling fit of the shares of y ≤ t stays at or
    above the level. So values are halved, and rows cut in two, until one value is left
    for each part: log n passes of isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    order = np.lexsort((y, x))
    groups, at = np.unique(x[order], return_inverse=True)
    labels, weights = y[order], w[order]
    starts = np.searchsorted(at, np.arange(len(groups) + 1))
    values = np.unique(labels)
    fitted = np.empty(len(groups))
    waiting = [(0, len(groups), 0, len(values) - 1)]  # groups from, to; values from, to (included)
    while waiting:
        first, last, low, high = waiting.pop()
        if low == high:
            fitted[first:last] = values[low]
            continue
        middle = (low + high) // 2
        rows = slice(starts[first], starts[last])
        place = at[rows] - first
        mass = np.bincount(place, weights[rows])
        below = np.bincount(place, weights[rows] * (labels[rows] <= values[middle])) / mass
        shares = isotonic_regression(below, weights=mass, increasing=False).x
        cut = first + int(np.searchsorted(-shares, ROUNDING - level, side="right"))
        waiting += [part for part in ((first, cut, low, middle), (cut, last, middle + 1, high)) if part[0] < part[1]]
    found = np.empty(len(x))
    found[order] = fitted[at]
    return found
