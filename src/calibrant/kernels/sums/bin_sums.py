"""Sums within bins. For bin b: n_b = Σw, P_b = Σwp, Q_b = Σwp², Y_b = Σwy, over the
rows that fall into b.

The sums of a bin are one row of four numbers (n, P, Q, Y). A grid of equal-width bins
is held as thresholds t_0 < … < t_B with t_0 = −∞ and t_B = ∞: p is in bin b when t_b <
p ≤ t_(b+1). Bins closed on the left are the same with each threshold moved to the float
just below, so there is one rule to write and to test.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.types import Array, Floats, Indices

CHUNK = 1 << 15
"""Rows a NumPy pass handles at a time, so that its temporaries stay in cache."""

LANES = 4
"""Independent sets of sums in the compiled pass: consecutive rows then do not wait for
each other."""

UP = 1 + 2.0**-20
"""Factor that makes p·B·UP land in the right bin or the one above, never below, in
float32 and float64 (B < 2^16)."""

ONE = np.ones(1)
"""The weight of every row where there are none: kernels read it with `step` 0."""


def grid_sums(probs: Array, outcomes: Array, weights: Array | None, thresholds: Array) -> Floats:
    """Sums in equal-width bins; thresholds have the precision of `probs`."""
    if len(probs) >= COMPILE_FROM:
        part = partial(_fused_block, probs, outcomes, weights, thresholds)
        total: Floats = added_over_blocks(len(probs), part)
        return total
    sums = np.zeros((len(thresholds) - 1, 4))
    for start in range(0, len(probs), CHUNK):
        rows = slice(start, start + CHUNK)
        index = grid_index(probs[rows], thresholds)
        sums += index_sums(index, probs[rows], outcomes[rows], None if weights is None else weights[rows], len(sums))
    return sums


def grid_index(probs: Array, thresholds: Array) -> Indices:
    """Bin of each probability: a guess by multiplication that is never too low, then
    one comparison with the threshold."""
    scale = probs.dtype.type((len(thresholds) - 1) * UP)
    guess: Indices = (probs * scale).astype(np.intp)
    guess -= probs <= thresholds[guess]
    return guess


def rounded_down(edges: Floats, dtype: Any) -> Array:
    """The largest numbers of a precision that do not exceed the edges: p ≤ edge is then
    decided in that precision."""
    near = edges.astype(dtype)
    return np.where(near > edges, np.nextafter(near, near.dtype.type(-np.inf)), near)


def index_sums(index: Indices, probs: Array, outcomes: Array, weights: Array | None, n_bins: int) -> Floats:
    """Sums in the bins that `index` names."""
    p = probs.astype(np.float64, copy=False)
    if weights is None:
        columns: list[Array | None] = [None, p, p * p, outcomes]
    else:
        wp = weights * p
        columns = [weights, wp, wp * p, weights * outcomes]
    return np.stack([np.bincount(index, column, minlength=n_bins) for column in columns], axis=1)


def _fused_block(probs: Array, outcomes: Array, weights: Array | None, thresholds: Array, rows: slice) -> Floats:
    n_bins = len(thresholds) - 1
    padded = guarded(thresholds)
    sums = np.zeros((LANES, len(padded), 4))
    scale = probs.dtype.type(n_bins * UP)
    step, w = (0, ONE) if weights is None else (1, weights[rows])
    fused_pass(probs[rows], outcomes[rows], w, step, padded, scale, sums)
    total: Floats = sums.sum(axis=0)[:n_bins]
    return total


def guarded(thresholds: Array) -> Array:
    """Thresholds filled up to a power of two, so that a mask keeps every index inside:
    the user may change the array of probabilities after it was checked, and a wrong
    number is better than a crash. NaN in front: nothing lies below.
    """
    padded = np.full(1 << (len(thresholds) - 1).bit_length(), np.inf, thresholds.dtype)
    padded[1 : len(thresholds)] = thresholds[1:]
    padded[0] = np.nan
    return padded


@compiled
def guarded_bin(p: Any, thresholds: Any, scale: Any) -> Any:
    """The rule of `grid_index` for one probability; any other number lands in some bin
    too.

    Unsigned indices spare Numba's check for negative ones.
    """
    b = np.uintp(np.uintp(np.int32(p * scale)) & np.uintp(len(thresholds) - 1))
    return np.uintp(b - np.uintp(p <= thresholds[b]))


@compiled
def fused_pass(probs: Any, outcomes: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """Bin and add in one pass. `step` 0 gives every row the first weight; reading all
    before writing any lets the loads overlap."""
    for i in range(np.uintp(len(probs))):
        p = probs[i]
        y = np.float64(outcomes[i])
        w = weights[np.uintp(i) * np.uintp(step)]
        wp = w * np.float64(p)
        row = sums[np.uintp(i) & np.uintp(LANES - 1), guarded_bin(p, thresholds, scale)]
        n_b, p_b, q_b, y_b = row[0] + w, row[1] + wp, row[2] + wp * np.float64(p), row[3] + w * y
        row[0], row[1], row[2], row[3] = n_b, p_b, q_b, y_b
