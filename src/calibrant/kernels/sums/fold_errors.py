"""Sums of the errors y − p of rows in folds and cells: all that a mean of signed errors and its variance need."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Floats, Indices

N, HITS, ERROR, SQUARE, LOW, HIGH = range(6)
"""What is known of the rows of a cell in a fold: Σw, Σwy, Σw(y − p), Σw(y − p)², the lowest and the highest p."""

FEW_CELLS = 8
"""Cells that a core takes at a time."""


def fold_errors(p: Floats, y: Floats, w: Floats, fold: Indices, n_folds: int, ends: Indices) -> Floats:
    """The table `(6, folds, cells)` of rows sorted by p, cell c being those before `ends[c]` and after the cell before.

    Where there are no rows the highest p is below the lowest.
    """
    found = np.zeros((len(ends), n_folds, 6))
    found[:, :, LOW] = 2.0
    starts = np.append(0, ends)

    def part(cells: slice) -> None:
        rows = slice(starts[cells.start], starts[cells.stop])
        inner = starts[cells.start : cells.stop + 1] - starts[cells.start]
        add_errors(p[rows], y[rows], w[rows], fold[rows], inner, found[cells])

    list(over_blocks(len(ends), part, FEW_CELLS if len(p) >= MANY else len(ends)))
    return np.moveaxis(found, 2, 0).transpose(0, 2, 1)


MANY = 1 << 19
"""Rows from which the cores share the cells."""


@compiled
def add_errors(p: Any, y: Any, w: Any, fold: Any, starts: Any, found: Any) -> None:
    """Add the rows of each cell, from `starts[c]` to before `starts[c + 1]`, to those of their fold."""
    for c in range(len(starts) - 1):
        for i in range(np.uintp(starts[c]), np.uintp(starts[c + 1])):
            cell = found[c, np.uintp(fold[i])]
            apart = y[i] - p[i]
            wd = w[i] * apart
            cell[0] += w[i]
            cell[1] += w[i] * y[i]
            cell[2] += wd
            cell[3] += wd * apart
            cell[4] = min(cell[4], p[i])
            cell[5] = max(cell[5], p[i])


@add_errors.in_numpy
def _add_errors(p: Floats, y: Floats, w: Floats, fold: Indices, starts: Indices, found: Floats) -> None:
    n_cells, n_folds, _ = found.shape
    at, size = np.repeat(np.arange(n_cells) * n_folds, np.diff(starts)) + fold, n_cells * n_folds
    table, apart = found.reshape(size, -1), y - p
    for column, terms in enumerate((w, w * y, w * apart, w * apart**2)):
        table[:, column] += np.bincount(at, terms, size)
    table[at[::-1], LOW] = p[::-1]  # of several numbers for one place the last one stays: rows are sorted
    table[at, HIGH] = p
