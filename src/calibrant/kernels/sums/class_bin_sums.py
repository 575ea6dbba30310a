"""The sums of `bin_sums` for the `class k` event of every class at once, in one pass
over the matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.logits import row_blocks
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.kernels.sums.bin_sums import ONE, UP, grid_index, guarded, guarded_bin
from calibrant.types import Array, Floats

BLOCK_ENTRIES = 1 << 22
"""Entries of the matrix that a core takes at a time."""

STRETCH = 64
"""Entries of a row that are searched at a time for one above the first bin."""


def class_grid_sums(probs: Array, labels: Array, weights: Array | None, thresholds: Array) -> Floats:
    """(K, B, 4) sums in equal-width bins; labels are class indices `(n,)` or class
    shares `(n, K)`."""
    n, n_classes = probs.shape
    if probs.size >= COMPILE_FROM:
        part = partial(_fused_block, probs, labels, weights, thresholds)
        total: Floats = added_over_blocks(n, part, max(1, BLOCK_ENTRIES // n_classes))
        return total
    sums = np.zeros((n_classes, len(thresholds) - 1, 4))
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


def _fused_block(probs: Array, labels: Array, weights: Array | None, thresholds: Array, rows: slice) -> Floats:
    n_bins = len(thresholds) - 1
    padded = guarded(thresholds)
    sums = np.zeros((probs.shape[1], len(padded), 4))
    scale = probs.dtype.type(n_bins * UP)
    step, w = (0, ONE) if weights is None else (1, weights[rows])
    fused_class_pass(probs[rows], w, step, padded, scale, sums)
    outcome_pass = hard_outcome_pass if labels.ndim == 1 else soft_outcome_pass
    outcome_pass(probs[rows], labels[rows], w, step, padded, scale, sums)
    return sums[:, :n_bins]


@compiled
def any_above(row: Any, start: Any, stop: Any, edge: Any) -> bool:
    """Is an entry from `start` to before `stop` above the edge?"""
    above = 0
    for k in range(start, stop):
        above += row[k] > edge
    return above > 0


@compiled
def fused_class_pass(probs: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """n, P and Q of every class and bin.

    A row that sums to 1 has fewer than B entries above 1/B. So the first bin is summed
    by a loop without branches, which vectorises; another such loop searches for entries
    above it, stretch by stretch, and only the entries of stretches that hold some are
    visited one by one.
    """
    n_classes = np.uintp(sums.shape[0])
    first = np.zeros((3, n_classes))
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
    if not step:  # equal weights: what is not in the other bins
        first[0] = len(probs) * weights[0] - sums[:, 1:, 0].sum(axis=1)
    sums[:, 0, :3] += first.T


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
