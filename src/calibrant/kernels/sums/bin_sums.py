"""Sums within bins.

For bin b: n_b = Σw, P_b = Σwp, Q_b = Σwp², Y_b = Σwy, over the rows that fall into b.

The sums of a bin are one row of four numbers (n, P, Q, Y). A grid of equal-width bins
is held as thresholds t_0 < … < t_B with t_0 = −∞ and t_B = ∞: p is in bin b when t_b <
p ≤ t_(b+1). Bins closed on the left are the same with each threshold moved to the float
just below, so there is one rule to write and to test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.logits import row_blocks
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.types import Array, Floats, Indices

CHUNK = 1 << 14
"""Rows a NumPy pass handles at a time, a power of two: its temporary arrays stay in cache, and need no memory from the system."""

SEARCHED = 128
"""Probabilities up to which a search of each takes less time than the calls of a guess."""

PAIRS = CHUNK >> 1
"""Rows whose pairs of numbers fit in the same memory."""

ADDED_AT = 1 << 11
"""Rows from which `np.add.at` takes less time than `np.bincount`; both add them in order."""

FEW_BINS = 64
"""Bins up to which guarded thresholds are kept for the next call."""

LANES = 4
"""Independent sets of sums, a power of two, in the compiled pass of many rows: consecutive
rows then do not wait for each other."""

UP = 1 + 2.0**-20
"""Factor that makes p·B·UP land in the right bin or the one above, never below, in
float32 and float64 (B < 2^16)."""

WIDE, PLACE = np.dtype(np.float64), np.dtype(np.intp)

ONE = np.ones(1)
"""The weight of every row where there are none: kernels read it with `step` 0."""


def grid_sums(probs: Array, outcomes: Array, weights: Array | None, thresholds: Array) -> Floats:
    """Sums in equal-width bins; thresholds have the precision of `probs`."""
    n_bins, many = len(thresholds) - 1, len(probs) >= COMPILE_FROM
    counted, third = weights is None and outcomes.dtype == np.uint8, ONE if weights is None else weights
    kernel, arrays = (counted_pass, [probs, outcomes]) if counted else (fused_pass, [probs, outcomes, third])
    if not many and not kernel.ready(*arrays):
        if len(probs) <= CHUNK:
            return index_sums(grid_index(probs, thresholds), probs, outcomes, weights, n_bins)

        def some(rows: slice) -> Floats:
            w = None if weights is None else weights[rows]
            return index_sums(grid_index(probs[rows], thresholds), probs[rows], outcomes[rows], w, n_bins)

        return _in_order(len(probs), some, n_bins)
    padded, scale = _kept_guarded(thresholds)
    if counted and not many:
        return _counted_sums(probs, outcomes, padded, scale, many)[:n_bins]

    def part(rows: slice) -> Floats:
        if counted:
            return _counted_sums(probs[rows], outcomes[rows], padded, scale, many)[:n_bins]
        # the lane of few rows adds them in the order in which NumPy does, so that the answer is the same
        lanes = np.zeros((LANES if many else 1, len(padded), 4))
        fused_pass(probs[rows], outcomes[rows], *weights_in(rows, weights), padded, scale, lanes)
        return np.asarray(lanes.sum(axis=0) if many else lanes[0])[:n_bins]

    if not many:
        return _in_order(len(probs), part, n_bins)
    kernel.expect(*arrays)
    return np.asarray(added_over_blocks(len(probs), part))


def grid_gaps(probs: Array, outcomes: Array, thresholds: Array) -> Floats:
    """P − Y alone of few rows that count once; compiled, they are added in the same order."""
    if gap_pass.ready(probs, outcomes):
        padded, scale = _kept_guarded(thresholds)
        sums = np.zeros(len(padded))
        gap_pass(probs, outcomes, padded, scale, sums)
        return sums[: len(thresholds) - 1]
    apart = outcomes.astype(WIDE)  # faster than two types in one pass
    np.subtract(probs, apart, apart)
    index, n_bins = grid_index(probs, thresholds), len(thresholds) - 1
    gaps: Any = np.bincount(index, apart, n_bins) if len(probs) < ADDED_AT else np.zeros(n_bins)
    if len(probs) >= ADDED_AT:
        np.add.at(gaps, index, apart)
    return gaps


def _in_order(n: int, part: Callable[[slice], Floats], n_bins: int) -> Floats:
    """The sums of few rows, chunk by chunk."""
    if n <= CHUNK:
        return part(slice(0, n))
    sums = np.zeros((n_bins, 4))
    for start in range(0, n, CHUNK):
        sums += part(slice(start, start + CHUNK))
    return sums


def _counted_sums(probs: Array, outcomes: Array, padded: Array, scale: Any, many: bool) -> Floats:
    """The sums of rows that count once, with plain outcomes.

    Each chunk of few rows has a lane of its own: they are added in the order in which NumPy adds them.
    """
    last, shift = (LANES - 1, 63) if many else (0, CHUNK.bit_length() - 1)
    n_lanes = LANES if many else ((len(probs) - 1) >> shift) + 1
    cells = n_lanes * len(padded)
    counts, sums, found = np.zeros((cells, 2), np.int64), np.zeros((cells, 2)), np.empty((n_lanes, len(padded), 4))
    counted_pass(probs, outcomes, padded, scale, last, shift, counts.reshape(-1), sums.reshape(-1))
    lanes = found.reshape(cells, 4)
    lanes[:, 1:3], lanes[:, 3] = sums, counts[:, 1]
    np.add(counts[:, 0], counts[:, 1], lanes[:, 0])
    return found[0] if n_lanes == 1 else found.sum(axis=0)


def grid_index(probs: Array, thresholds: Array) -> Indices:
    """Bin of each probability.

    Of few by search; else a guess by multiplication that is never too low, then one
    comparison with the threshold.
    """
    if probs.size <= SEARCHED:
        return thresholds[1:].searchsorted(probs)
    guess: Indices = (probs * _scale(len(thresholds) - 1, probs.dtype)).astype(PLACE)
    too_high = probs <= thresholds.take(guess)
    if too_high.item(too_high.argmax()):  # is there any? Seldom, and this takes least time
        guess -= too_high
    return guess


@lru_cache(maxsize=64)
def _scale(n_bins: int, dtype: Any) -> Array:
    return np.array(n_bins * UP, dtype)  # multiplies in less time than a scalar


def rounded_down(edges: Floats, dtype: Any) -> Array:
    """The largest numbers of a precision that do not exceed the edges.

    p ≤ edge is then decided in that precision.
    """
    near = edges.astype(dtype)
    return np.where(near > edges, np.nextafter(near, near.dtype.type(-np.inf)), near)


def index_sums(index: Indices, probs: Array, outcomes: Array, weights: Array | None, n_bins: int) -> Floats:
    """Sums in the bins that `index` names."""
    sums = np.zeros((n_bins, 4))
    for start in range(0, len(probs), PAIRS):
        rows = slice(start, start + PAIRS)
        _add_pairs(sums, index[rows], probs[rows], outcomes[rows], None if weights is None else weights[rows])
    return sums


def _add_pairs(sums: Floats, index: Indices, probs: Array, outcomes: Array, weights: Array | None) -> None:
    """Two sums in one pass, as the parts of a complex number."""
    into, pairs = sums.view(np.complex128), np.empty(len(probs), np.complex128)
    first, second = pairs.real, pairs.imag
    first[:], second[:] = 1.0 if weights is None else weights, probs
    if weights is not None:
        second *= weights
    np.add.at(into[:, 0], index, pairs)
    np.multiply(second, probs, first)
    second[:] = outcomes
    if weights is not None:
        second *= weights
    np.add.at(into[:, 1], index, pairs)


def weights_in(rows: slice, weights: Array | None) -> tuple[Array, int]:
    """Weights of some rows and the step from one to the next: 0 where all are the same."""
    return (ONE, 0) if weights is None else (weights[rows], 1)


def guarded(thresholds: Array) -> tuple[Array, Any]:
    """Thresholds filled up to a power of two, and the factor of `grid_index`.

    A mask then keeps every index inside: the user may change the array of probabilities
    after it was checked, and a wrong number is better than a crash. NaN in front:
    nothing lies below.
    """
    padded = np.full(1 << (len(thresholds) - 1).bit_length(), np.inf, thresholds.dtype)
    padded[1 : len(thresholds)] = thresholds[1:]
    padded[0] = np.nan
    return padded, thresholds.dtype.type((len(thresholds) - 1) * UP)


def _kept_guarded(thresholds: Array) -> tuple[Array, Any]:
    """The same, kept for the next call where bins are few."""
    few = len(thresholds) - 1 <= FEW_BINS
    return _guarded(thresholds.tobytes(), thresholds.dtype) if few else guarded(thresholds)


@lru_cache(maxsize=64)
def _guarded(thresholds: bytes, dtype: Any) -> tuple[Array, Any]:
    return guarded(np.frombuffer(thresholds, dtype))  # not read-only, for which all loops would be compiled anew


@compiled
def guarded_bin(p: Any, thresholds: Any, scale: Any) -> Any:
    """The rule of `grid_index` for one probability; any other number lands in some bin too.

    Unsigned indices spare Numba's check for negative ones.
    """
    b = np.uintp(np.uintp(np.int32(p * scale)) & np.uintp(len(thresholds) - 1))
    return np.uintp(b - np.uintp(p <= thresholds[b]))


@compiled
def fused_pass(probs: Any, outcomes: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """Bin and add in one pass.

    `step` 0 gives every row the first weight; reading all before writing any lets the
    loads overlap.
    """
    lanes = np.uintp(len(sums) - 1)
    for i in range(np.uintp(len(probs))):
        p = probs[i]
        y = np.float64(outcomes[i])
        w = weights[np.uintp(i) * np.uintp(step)]
        wp = w * np.float64(p)
        row = sums[np.uintp(i) & lanes, guarded_bin(p, thresholds, scale)]
        n_b, p_b, q_b, y_b = row[0] + w, row[1] + wp, row[2] + wp * np.float64(p), row[3] + w * y
        row[0], row[1], row[2], row[3] = n_b, p_b, q_b, y_b


@compiled
def counted_pass(
    probs: Any, outcomes: Any, thresholds: Any, scale: Any, last: int, shift: int, counts: Any, sums: Any
) -> None:
    """The same for rows that count once, with plain outcomes: n − Y and Y are counted, P and Q are summed.

    Two numbers per bin, in flat arrays, which are faster to reach. Row i is of lane (i & last) + (i >> shift).
    """
    for i in range(np.uintp(len(probs))):
        p = np.float64(probs[i])
        lane = np.uintp((np.uintp(i) & np.uintp(last)) + (np.uintp(i) >> np.uintp(shift))) * np.uintp(len(thresholds))
        b = np.uintp(np.uintp(2) * np.uintp(lane + guarded_bin(probs[i], thresholds, scale)))
        y, q = np.uintp(b + np.uintp(outcomes[i] & np.uint8(1))), np.uintp(b + np.uintp(1))
        n_y, p_b, q_b = counts[y] + 1, sums[b] + p, sums[q] + p * p
        counts[y], sums[b], sums[q] = n_y, p_b, q_b


@compiled
def gap_pass(probs: Any, outcomes: Any, thresholds: Any, scale: Any, sums: Any) -> None:
    """Add p − y to the sum of its bin."""
    for i in range(np.uintp(len(probs))):
        sums[guarded_bin(probs[i], thresholds, scale)] += np.float64(probs[i]) - np.float64(outcomes[i])


BLOCK_ENTRIES = 1 << 22
"""Entries of the matrix that a core takes at a time."""

STRETCH = 64
"""Entries of a row that are searched at a time for one above the first bin."""


def class_grid_sums(probs: Array, labels: Array, weights: Array | None, thresholds: Array) -> Floats:
    """(K, B, 4) sums in equal-width bins.

    Labels are class indices `(n,)` or class shares `(n, K)`.
    """
    n, n_classes = probs.shape
    sums = np.zeros((n_classes, len(thresholds) - 1, 4))
    if probs.size >= COMPILE_FROM:
        padded, scale = guarded(thresholds)
        outcome_pass = hard_outcome_pass if labels.ndim == 1 else soft_outcome_pass

        def part(rows: slice) -> Floats:
            block, (w, step) = np.zeros((n_classes, len(padded), 4)), weights_in(rows, weights)
            first = np.zeros((3, n_classes))
            fused_class_pass(probs[rows], w, step, padded, scale, block, first)
            if weights is None:  # equal weights: what is not in the other bins
                first[0] = len(probs[rows]) - block[:, 1:, 0].sum(axis=1)
            block[:, 0, :3] += first.T
            outcome_pass(probs[rows], labels[rows], w, step, padded, scale, block)
            return block[:, : sums.shape[1]]

        sums += added_over_blocks(n, part, max(1, BLOCK_ENTRIES // n_classes))
        return sums
    for rows in row_blocks(n, n_classes):
        sums += _plain_block(probs[rows], labels[rows], None if weights is None else weights[rows], thresholds)
    return sums


def _plain_block(probs: Array, labels: Array, weights: Array | None, thresholds: Array) -> Floats:
    n_classes, n_bins = probs.shape[1], len(thresholds) - 1
    cell = grid_index(probs, thresholds) + np.arange(n_classes) * n_bins
    w = np.ones((len(probs), 1)) if weights is None else weights[:, None]
    wp = w * probs.astype(np.float64)
    if labels.ndim == 1:
        occurred, shares = cell[np.arange(len(probs)), labels], w[:, 0]
    else:
        occurred, shares = cell.ravel(), (w * labels).ravel()
    columns = [np.broadcast_to(w, probs.shape), wp, wp * probs]
    sums = [np.bincount(cell.ravel(), column.ravel(), minlength=n_classes * n_bins) for column in columns]
    sums.append(np.bincount(occurred, shares, minlength=n_classes * n_bins))
    return np.stack(sums, axis=1).reshape(n_classes, n_bins, 4).astype(np.float64, copy=False)


@compiled
def any_above(row: Any, start: Any, stop: Any, edge: Any) -> bool:
    """Is an entry from `start` to before `stop` above the edge?"""
    above = 0
    for k in range(start, stop):
        above += row[k] > edge
    return above > 0


@compiled
def fused_class_pass(probs: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any, first: Any) -> None:
    """n, P and Q of every class and bin, those of the first bins apart; of these n only where rows have weights.

    A row that sums to 1 has fewer than B entries above 1/B. So the first bin is summed
    by a loop without branches, which vectorises; another such loop searches for entries
    above it, stretch by stretch, and only the entries of stretches that hold some are
    visited one by one. Sums of whole arrays are left to the caller: they take long to compile.
    """
    n_classes = np.uintp(sums.shape[0])
    edge = thresholds[1]
    for i in range(np.uintp(len(probs))):
        w = weights[np.uintp(i) * np.uintp(step)]
        row = probs[i]
        for k in range(n_classes):
            wide = np.float64(row[k])
            wp = w * wide if row[k] <= edge else 0.0
            first[1, k] += wp
            first[2, k] += wp * wide
        if step:
            for k in range(n_classes):
                first[0, k] += w if row[k] <= edge else 0.0
        for start in range(np.uintp(0), n_classes, np.uintp(STRETCH)):
            stop = min(np.uintp(start + np.uintp(STRETCH)), n_classes)
            if not any_above(row, start, stop, edge):
                continue
            for k in range(start, stop):
                p = row[k]
                if p > edge:
                    b = guarded_bin(p, thresholds, scale)
                    wp = w * np.float64(p)
                    sums[k, b, 0] += w
                    sums[k, b, 1] += wp
                    sums[k, b, 2] += wp * np.float64(p)


@compiled
def hard_outcome_pass(probs: Any, labels: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """Y of every class and bin: each row adds to the bin of its label's probability."""
    for i in range(np.uintp(len(probs))):
        k = np.uintp(labels[i])
        if k < np.uintp(sums.shape[0]):
            sums[k, guarded_bin(probs[i, k], thresholds, scale), 3] += weights[np.uintp(i) * np.uintp(step)]


@compiled
def soft_outcome_pass(probs: Any, labels: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """Y of every class and bin for labels that are shares."""
    for i in range(np.uintp(len(probs))):
        w = weights[np.uintp(i) * np.uintp(step)]
        for k in range(np.uintp(probs.shape[1])):
            sums[k, guarded_bin(probs[i, k], thresholds, scale), 3] += w * labels[i, k]
