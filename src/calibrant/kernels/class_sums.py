"""The sums of `bin_sums` for the `class k` event of every class at once, in one pass over the matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.bin_sums import ONE, UP, grid_index
from calibrant.kernels.blocks import added_over_blocks
from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.logits import row_blocks

BLOCK_ENTRIES = 1 << 22


def class_grid_sums(
    probs: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any] | None, thresholds: NDArray[Any]
) -> NDArray[np.float64]:
    """(K, B, 4) sums in equal-width bins; labels are class indices `(n,)` or class shares `(n, K)`."""
    n, n_classes = probs.shape
    if probs.size >= COMPILE_FROM:
        part = partial(_fused_block, probs, labels, weights, thresholds)
        total: NDArray[np.float64] = added_over_blocks(n, part, max(1, BLOCK_ENTRIES // n_classes))
        return total
    sums = np.zeros((n_classes, len(thresholds) - 1, 4))
    for rows in row_blocks(n, n_classes):
        sums += _plain_block(probs[rows], labels[rows], None if weights is None else weights[rows], thresholds)
    return sums


def _plain_block(
    probs: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any] | None, thresholds: NDArray[Any]
) -> NDArray[np.float64]:
    n_classes, n_bins = probs.shape[1], len(thresholds) - 1
    cell = grid_index(probs, thresholds) + np.arange(n_classes) * n_bins
    w = np.ones((len(probs), 1)) if weights is None else weights[:, None]
    wp = w * probs.astype(np.float64)
    if labels.ndim == 1:
        happened, shares = cell[np.arange(len(probs)), labels], w[:, 0]
    else:
        happened, shares = cell.ravel(), (w * labels).ravel()
    columns = [np.broadcast_to(w, probs.shape), wp, wp * probs]
    sums = [np.bincount(cell.ravel(), column.ravel(), minlength=n_classes * n_bins) for column in columns]
    sums.append(np.bincount(happened, shares, minlength=n_classes * n_bins))
    return np.stack(sums, axis=1).reshape(n_classes, n_bins, 4).astype(np.float64, copy=False)


def _fused_block(
    probs: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any] | None, thresholds: NDArray[Any], rows: slice
) -> NDArray[np.float64]:
    n_bins = len(thresholds) - 1
    sums = np.zeros((probs.shape[1], n_bins, 4))
    scale = probs.dtype.type(n_bins * UP)
    step, w = (0, ONE) if weights is None else (1, weights[rows])
    fused_class_pass(probs[rows], w, step, thresholds, scale, sums)
    if labels.ndim == 1:
        hard_outcome_pass(probs[rows], labels[rows], w, step, thresholds, scale, sums)
    else:
        soft_outcome_pass(probs[rows], labels[rows], w, step, thresholds, scale, sums)
    return sums


@compiled
def fused_class_pass(probs: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """n, P and Q of every class and bin.

    A row that sums to 1 has fewer than B entries above 1/B, so the first bin is left to plain column sums, which
    vectorise, and is found by subtracting the others.
    """
    n_classes, n_bins = sums.shape[0], sums.shape[1]
    total = np.zeros(n_classes)
    squares = np.zeros(n_classes)
    first = thresholds[1]
    weight = 0.0
    for i in range(np.uintp(len(probs))):
        w = weights[np.uintp(i) * np.uintp(step)]
        row = probs[i]
        weight += w
        for k in range(np.uintp(n_classes)):
            wide = np.float64(row[k])
            total[k] += w * wide
            squares[k] += w * wide * wide
        for k in range(np.uintp(n_classes)):
            p = row[k]
            if p > first:
                b = np.uintp(np.int32(p * scale))
                b = np.uintp(b - np.uintp(p <= thresholds[b]))
                wide = np.float64(p)
                sums[k, b, 0] += w
                sums[k, b, 1] += w * wide
                sums[k, b, 2] += w * wide * wide
    for c in range(n_classes):
        rest_n, rest_p, rest_q = 0.0, 0.0, 0.0
        for j in range(1, n_bins):
            rest_n += sums[c, j, 0]
            rest_p += sums[c, j, 1]
            rest_q += sums[c, j, 2]
        if weight - rest_n > 0.0:
            sums[c, 0, 0] = weight - rest_n
            sums[c, 0, 1] = max(total[c] - rest_p, 0.0)
            sums[c, 0, 2] = max(squares[c] - rest_q, 0.0)


@compiled
def hard_outcome_pass(probs: Any, labels: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """Y of every class and bin: each row adds to the bin of its label's probability."""
    for i in range(np.uintp(len(probs))):
        k = labels[i]
        p = probs[i, k]
        b = np.uintp(np.int32(p * scale))
        b = np.uintp(b - np.uintp(p <= thresholds[b]))
        sums[k, b, 3] += weights[np.uintp(i) * np.uintp(step)]


@compiled
def soft_outcome_pass(probs: Any, labels: Any, weights: Any, step: int, thresholds: Any, scale: Any, sums: Any) -> None:
    """Y of every class and bin for labels that are shares."""
    for i in range(np.uintp(len(probs))):
        w = weights[np.uintp(i) * np.uintp(step)]
        for k in range(np.uintp(probs.shape[1])):
            p = probs[i, k]
            b = np.uintp(np.int32(p * scale))
            b = np.uintp(b - np.uintp(p <= thresholds[b]))
            sums[k, b, 3] += w * labels[i, k]
