"""Sums over all pairs of points on a line, Σ_gh a_g a_h k(|v_g − v_h|), for sorted points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.bisection import first_above
from calibrant.kernels.rows.blocks import added_over_blocks, over_blocks
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Floats

LARGEST_EXPONENT = 300.0
"""e^300 and its inverse are far from overflow; a longer stretch is done in parts."""


COMPILE_FROM_GROUPS = 50_000
"""Groups from which pairs within a distance are counted by a compiled loop."""

GROUPS_PER_CORE = 1 << 17
"""So many groups are counted by a core at a time."""

MANY_STRETCHES = 1000
"""Stretches from which a compiled recursion over the points takes over."""


def laplace_pair_sum(values: Floats, a: Floats, bandwidth: float) -> float:
    """Σ_gh a_g a_h exp(−|v_g − v_h|/ν) in O(G).

    The part left of g is exp(−v_g/ν) Σ_(h<g) a_h exp(v_h/ν).

    Points are taken in stretches short enough for the exponentials, each passing its
    sum on to the next.
    """
    span = LARGEST_EXPONENT * bandwidth
    if len(values) >= COMPILE_FROM or float(values[-1] - values[0]) > MANY_STRETCHES * span:
        return point_by_point(values, a, bandwidth)
    total, carried, at = inner(a, a), 0.0, float(values[0])
    start = 0
    while start < len(values):
        end = int(np.searchsorted(values, values[start] + span, side="right"))
        local = (values[start:end] - values[start]) / bandwidth
        grown = a[start:end] * np.exp(local)
        before = np.cumsum(grown) - grown + carried * np.exp((at - values[start]) / bandwidth)
        total += 2 * inner(a[start:end] * np.exp(-local), before)
        carried, at = float((before[-1] + grown[-1]) * np.exp(-local[-1])), float(values[end - 1])
        start = end
    return total


def point_by_point(values: Floats, a: Floats, bandwidth: float) -> float:
    """The same by a compiled recursion, in blocks that the cores share.

    A block knows its own pairs, and its sums faded to its last and to its first point:
    those meet the blocks beside it.
    """

    def part(rows: slice) -> Any:
        return *values[[rows.start, rows.stop - 1]].tolist(), *laplace_recursion(values[rows], a[rows], bandwidth)

    total, carried, at = 0.0, 0.0, -np.inf
    for first, last, within, to_first, to_last in over_blocks(len(values), part):
        carried *= np.exp((at - first) / bandwidth)
        total += within + 2.0 * carried * to_first
        carried, at = carried * np.exp((first - last) / bandwidth) + to_last, last
    return float(total)


@compiled
def laplace_recursion(values: Any, a: Any, bandwidth: float) -> Any:
    """Σ over the pairs of a block, Σ a exp(−(v − v_first)/ν) and Σ a exp(−(v_last − v)/ν).

    Point by point: what lies left of a point fades by exp(−gap/ν) and takes the point
    in.
    """
    total, left = a[0] * a[0], a[0]
    faded, right = 1.0, a[0]
    for g in range(1, len(values)):
        gap = values[g] - values[g - 1]
        fade = np.exp(-gap / bandwidth) if gap < 800.0 * bandwidth else 0.0
        left *= fade
        faded *= fade
        total += a[g] * a[g] + 2.0 * a[g] * left
        left += a[g]
        right += a[g] * faded
    return total, right, left


def pair_sum(values: Floats, a: Floats, kernel: Callable[[Floats], Floats], block: int = 1 << 22) -> float:
    """Σ_gh a_g a_h k(|v_g − v_h|) for any kernel of the distance, in blocks of rows.

    O(G²) time, O(G) memory.
    """

    def part(rows: slice) -> float:
        near = kernel(np.abs(values[rows, None] - values[None, :]))
        return float((a[rows] * np.einsum("ij,j->i", near, a)).sum())

    return float(added_over_blocks(len(values), part, max(1, block // len(values))))


FEW_PAIRS, MOST_TURNS, MARGIN = 1 << 10, 60, 0.02
"""Pairs that are looked at one by one, steps towards them, and how far a step goes beyond what it aims at, as a share."""


def median_distance(values: Floats, weight: Floats, spread: Floats | None = None) -> float:
    """The median distance of two rows, found by how many pairs are within t.

    O(G) for each t that is tried.

    A value of weight w stands for w rows: w(w−1)/2 of its pairs are at distance 0, or
    (w² − s)/2 where rows have weights whose squares sum to s.
    """
    spread = weight if spread is None else spread
    below = np.concatenate([[0.0], np.cumsum(weight)])
    equal = float(np.maximum((weight**2 - spread) / 2, 0).sum())

    def within(t: float) -> float:
        if len(values) >= COMPILE_FROM_GROUPS:
            part = partial(_weight_within, values, weight, below, t)
            return float(added_over_blocks(len(values), part, GROUPS_PER_CORE)) + equal
        nearby = below[np.searchsorted(values, values + t, side="right")] - below[1:]
        return inner(weight, nearby) + equal

    lower, upper = middle_counts(float(weight.sum() ** 2 - spread.sum()) / 2)
    search = _Search(within, values, weight, len(values) >= COMPILE_FROM_GROUPS)
    middle = search.smallest(lower)
    return middle if search.at(middle) >= upper else (middle + search.smallest(upper)) / 2


class _Search:
    """The smallest number t for which an increasing function reaches a count; where it was looked at is kept.

    The function steps at distances of pairs: interpolation finds a narrow range, and the
    few distances in it are tried one by one.
    """

    def __init__(self, within: Callable[[float], float], values: Floats, weight: Floats, loop: bool) -> None:
        self.within, self.values, self.weight, self.loop = within, values, weight, loop
        self.most = float(values[-1] - values[0])
        self.seen = {0.0: within(0.0), self.most: within(self.most)}

    def at(self, t: float) -> float:
        if t not in self.seen:
            self.seen[t] = self.within(t)
        return self.seen[t]

    def smallest(self, count: float) -> float:
        if self.at(0.0) >= count or self.at(self.most) < count:  # a count that rounding puts out of reach
            return 0.0 if self.at(0.0) >= count else self.most
        for turn in range(MOST_TURNS):
            low, high = self._around(count)
            if self.at(high) - self.at(low) <= FEW_PAIRS or not low < (low + high) / 2 < high:
                break
            share = (count - self.at(low)) / (self.at(high) - self.at(low))
            reach = MARGIN * min(share, 1 - share) * (turn % 2 or -1)  # from either side by turns
            middle = low + (high - low) * (share + reach) if turn % 4 < 3 else (low + high) / 2
            self.at(middle if low < middle < high else (low + high) / 2)
        return self._last(count, *self._around(count))

    def _around(self, count: float) -> tuple[float, float]:
        """The largest t seen that does not reach the count, and the smallest that does."""
        return max(t for t, n in self.seen.items() if n < count), min(t for t, n in self.seen.items() if n >= count)

    def _last(self, count: float, low: float, high: float) -> float:
        """The same among the distances between two numbers, or by bisection."""
        found, mass = np.empty((2, 2 * FEW_PAIRS))
        steps = int(steps_between(self.values, self.weight, low, high, found, mass)) if self.loop else len(found)
        if steps < len(found):
            order = np.argsort(found[:steps])
            reached = self.at(low) + np.cumsum(mass[order])
            return float(
                found[order[min(int(np.searchsorted(reached, count)), steps - 1)]]
            )  # the last of them reaches it
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (low, middle) if self.at(middle) >= count else (middle, high)
        return high


@compiled
def steps_between(values: Any, weight: Any, low: float, high: float, found: Any, mass: Any) -> int:
    """The numbers t, above `low` and up to `high`, from which on a pair is within t, its weight, and how many they are.

    No more than `found` holds.
    """
    n, far = 0, 0
    for g in range(len(values)):
        while far < len(values) and values[far] <= values[g] + low:
            far += 1
        h = far
        while h < len(values) and values[h] <= values[g] + high and n < len(found):
            t = values[h] - values[g]
            while values[g] + t < values[h]:
                t = np.nextafter(t, 2.0)
            while values[g] + np.nextafter(t, 0.0) >= values[h]:
                t = np.nextafter(t, 0.0)
            found[n], mass[n] = t, weight[g] * weight[h]
            n += 1
            h += 1
    return n


def _weight_within(values: Floats, weight: Floats, below: Floats, t: float, groups: slice) -> float:
    return float(weight_within(values, weight, below, t, groups.start, groups.stop))


@compiled
def weight_within(values: Any, weight: Any, below: Any, t: float, first: int, last: int) -> float:
    """Σ_(g<h) w_g w_h over pairs of groups within t, g from `first` to before `last`.

    The far end moves along with the near one.
    """
    total, far = 0.0, first_above(values, first, len(values), values[first] + t)
    for g in range(first, last):
        while far < len(values) and values[far] <= values[g] + t:
            far += 1
        total += weight[g] * (below[far] - below[g + 1])
    return total


def middle_counts(pairs: float) -> tuple[float, float]:
    """The ranks of the lower and the upper middle value."""
    if pairs == np.floor(pairs):
        return float((pairs + 1) // 2), float(pairs // 2 + 1)
    return pairs / 2, pairs / 2
