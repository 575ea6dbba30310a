"""Sums over all pairs of points on a line, Σ_gh a_g a_h k(|v_g − v_h|), for sorted points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.blocks import added_over_blocks, over_blocks
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Floats

LARGEST_EXPONENT = 300.0
"""e^300 and its inverse are far from overflow; a longer stretch is done in parts."""


COMPILE_FROM_GROUPS = 50_000
"""Groups from which pairs within a distance are counted by a compiled loop."""

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


def median_distance(values: Floats, weight: Floats, spread: Floats | None = None) -> float:
    """The median distance of two rows, by bisection on how many pairs are within t.

    O(G log G) for each step.

    A value of weight w stands for w rows: w(w−1)/2 of its pairs are at distance 0, or
    (w² − s)/2 where rows have weights whose squares sum to s.
    """
    spread = weight if spread is None else spread
    below = np.concatenate([[0.0], np.cumsum(weight)])
    equal = float(np.maximum((weight**2 - spread) / 2, 0).sum())

    def within(t: float) -> float:
        if len(values) >= COMPILE_FROM_GROUPS:
            return float(weight_within(values, weight, below, t)) + equal
        nearby = below[np.searchsorted(values, values + t, side="right")] - below[1:]
        return inner(weight, nearby) + equal

    def smallest(count: float) -> float:
        low, high = 0.0, float(values[-1] - values[0])
        if within(low) >= count:
            return low
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (low, middle) if within(middle) >= count else (middle, high)
        return high

    lower, upper = middle_counts(float(weight.sum() ** 2 - spread.sum()) / 2)
    middle = smallest(lower)
    return middle if within(middle) >= upper else (middle + smallest(upper)) / 2


@compiled
def weight_within(values: Any, weight: Any, below: Any, t: float) -> float:
    """Σ_(g<h) w_g w_h over pairs of groups within t: the far end moves along with the near one."""
    total, far = 0.0, 0
    for g in range(len(values)):
        while far < len(values) and values[far] <= values[g] + t:
            far += 1
        total += weight[g] * (below[far] - below[g + 1])
    return total


def middle_counts(pairs: float) -> tuple[float, float]:
    """The ranks of the lower and the upper middle value."""
    if pairs == np.floor(pairs):
        return float((pairs + 1) // 2), float(pairs // 2 + 1)
    return pairs / 2, pairs / 2
