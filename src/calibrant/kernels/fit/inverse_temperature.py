"""Temperature scaling: the loss and its slopes in β = 1/T, and the search for their zero.

The search is a safeguarded Newton method.

Loss L(β) = mean_i [ln Σ_j exp(β z_ij) − β z_iy], convex in β. With d_j = z_j − z_y and
p = softmax(βz): L' = mean Σ_j p_j d_j and L'' = mean (Σ_j p_j d_j² − (Σ_j p_j d_j)²).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.logits import row_blocks, row_maxima, row_sums
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.types import Array, Floats

Slopes = Callable[[float], tuple[float, float, float]]


def slopes(logits: Array, gaps: Floats, weights: Array | None, beta: float) -> tuple[float, float, float]:
    """L, L' and L'' at β; `gaps` are z_y less the largest z of each row.

    Entries are in the logits' precision, sums in float64.
    """
    n, k = logits.shape
    part = partial(_block_slopes, logits, gaps, weights, logits.dtype.type(beta))
    sums = added_over_blocks(n, part, max(1, (1 << 20) // k))
    count = float(n) if weights is None else float(weights.sum())
    loss, first, second = sums / count
    return float(loss), float(first), float(second)


def _block_slopes(logits: Array, gaps: Floats, weights: Array | None, beta: Any, rows: slice) -> Floats:
    total = np.zeros(3)
    for inner in row_blocks(rows.stop - rows.start, logits.shape[1]):
        at = slice(rows.start + inner.start, rows.start + inner.stop)
        each = _row_slopes(logits[at], gaps[at], beta)
        total += each.sum(axis=1) if weights is None else (each * weights[at]).sum(axis=1)
    return total


def _row_slopes(z: Array, gap: Floats, beta: Any) -> Floats:
    """The terms of L, L' and L'' `(3, rows)`."""
    below = z - row_maxima(z)
    share = np.exp(beta * below)
    size = row_sums(share, np.float64)[:, 0]
    mean = np.einsum("ij,ij->i", share, below).astype(np.float64) / size
    share *= below
    square = np.einsum("ij,ij->i", share, below).astype(np.float64) / size
    return np.stack([np.log(size) - float(beta) * gap, mean - gap, square - mean**2])


def steps_without(logits: Array, gaps: Floats, more: Floats, parts: Floats, penalty: float, beta: float) -> Floats:
    """Newton's steps in ln β, from the optimum of all rows to those without each part, from one pass.

    Parameters
    ----------
    logits, gaps
        As in `slopes`.
    more
        What is added to the gaps of rows of which a share is read as predicted: this times the share.
    parts
        The weight of each row in what is left without each part `(parts, rows)`.
    penalty
        Of so many rows is the share.
    """
    slopes = np.concatenate([_row_slopes(logits[rows], gaps[rows], beta)[1:] for rows in row_blocks(*logits.shape)], 1)
    (first, second), total = slopes @ parts.T, parts.sum(axis=1)
    first -= penalty / (total + penalty) * (parts @ more)
    steps: Floats = -first / (beta * second)
    return steps


@dataclass(frozen=True, slots=True)
class Found:
    """Where the search ended."""

    log_beta: float
    loss: float
    converged: bool
    at_bound: int
    """−1 or 1 when the loss still falls beyond the lower or upper bound of β, 0 inside,
    2 when β does not matter"""
    passes: int


MOST_PASSES = 80
"""Enough for bisection alone to halve any bracket down to rounding."""
LONGEST_STEP = 4.0
"""In ln β: far from the optimum the curvature vanishes, and a Newton step overshoots."""
PATIENCE = 8
"""Passes after which a search along which the loss has always fallen tries the bound
itself: on separable data Newton creeps towards an optimum at infinity."""


def search(at: Slopes, start: float, low: float, high: float, tolerance: float, coercive: bool = False) -> Found:
    """The zero of L' between two bounds of ln β.

    Newton steps in ln β, bisection where Newton leaves the bracket.

    A loss that is `coercive` rises in the end as β grows: where it is level to rounding, the search has arrived.
    A step of size `tolerance` leaves an error of about its square, so the search ends
    after it without another evaluation.
    """
    left, right = -math.inf, math.inf  # L' was seen negative at left, positive at right
    v = min(max(start, low), high)
    for passes in range(1, MOST_PASSES + 1):
        beta = math.exp(v)
        loss, first, second = at(beta)
        if first == 0 and second == 0:  # β does not matter, or every row that can be right is so beyond rounding
            moved = left > -math.inf
            if coercive and moved:
                return Found(v, loss, True, 0, passes)
            beyond = not coercive and (moved or loss == 0)
            return Found(high, loss, True, 1, passes) if beyond else Found(0.0, loss, True, 2, passes)
        left, right = (left, v) if first > 0 else (v, right)
        if left == high or right == low:
            return Found(v, loss, True, 1 if left == high else -1, passes)
        step = -first / (beta * second) if second > 0 else math.copysign(LONGEST_STEP, -first)
        if abs(step) < tolerance or right - left < 1e-12:
            return Found(min(max(v + step, low), high), loss, True, 0, passes)
        v += min(max(step, -LONGEST_STEP), LONGEST_STEP)
        if passes == PATIENCE and right == math.inf and not coercive:
            v = high
        elif not left < v < right:
            v = (max(left, low) + min(right, high)) / 2
        v = min(max(v, low), high)
    return Found(v, loss, False, 0, MOST_PASSES)
