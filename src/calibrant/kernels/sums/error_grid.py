"""Errors put on the centres of a grid's cells, each shared between the two nearest; the
ends reflect."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.kernels.sums.bin_sums import ONE
from calibrant.types import Array, Floats


def error_grid(probs: Array, outcomes: Array, weights: Array | None, cells: int) -> Floats:
    """Σ w(p − y) at the centre of each cell, over Σ w."""
    if len(probs) >= COMPILE_FROM:
        outer: Floats = added_over_blocks(len(probs), partial(_fused_block, probs, outcomes, weights, cells))
    else:
        p = probs.astype(np.float64)
        mass = p - outcomes if weights is None else weights * (p - outcomes)
        place = p * cells + 0.5
        index = place.astype(np.intp)
        share = place - index
        outer = np.bincount(index, mass * (1 - share), minlength=cells + 2).astype(np.float64)
        outer += np.bincount(index + 1, mass * share, minlength=cells + 2)
    grid = outer[1:-1]
    grid[0] += outer[0]
    grid[-1] += outer[-1]
    return grid / (len(probs) if weights is None else weights.sum())


def _fused_block(probs: Array, outcomes: Array, weights: Array | None, cells: int, rows: slice) -> Floats:
    outer = np.zeros(cells + 2)
    step, w = (0, ONE) if weights is None else (1, weights[rows])
    share_errors(probs[rows], outcomes[rows], w, step, np.float64(cells), outer)
    return outer


@compiled
def share_errors(probs: Any, outcomes: Any, weights: Any, step: int, cells: float, outer: Any) -> None:
    """One pass; a cell beyond each end takes what is reflected. `step` 0 gives every
    row the first weight."""
    last = np.int64(len(outer) - 2)
    for i in range(np.uintp(len(probs))):
        p = np.float64(probs[i])
        place = p * cells + 0.5
        # within the grid even if the user has changed the array after it was checked
        left = np.uintp(min(max(np.int64(place), np.int64(0)), last))
        share = place - np.float64(left)
        mass = weights[np.uintp(i) * np.uintp(step)] * (p - np.float64(outcomes[i]))
        outer[left] += mass * (1.0 - share)
        outer[left + np.uintp(1)] += mass * share
