"""Errors shared among the cells of a grid, each between the two cells beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.kernels.sums.bin_sums import weights_in
from calibrant.types import Array, Floats


def error_grid(probs: Array, outcomes: Array, weights: Array | None, cells: int) -> Floats:
    """Σ w(p − y) at the centre of each cell, over Σ w."""
    if len(probs) >= COMPILE_FROM:

        def part(rows: slice) -> Floats:
            sums = np.zeros(cells + 2)
            share_errors(probs[rows], outcomes[rows], *weights_in(rows, weights), np.float64(cells), sums)
            return sums

        outer: Floats = added_over_blocks(len(probs), part)
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


@compiled
def share_errors(probs: Any, outcomes: Any, weights: Any, step: int, cells: float, outer: Any) -> None:
    """One pass; a cell beyond each end takes what is reflected.

    `step` 0 gives every row the first weight.
    """
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
