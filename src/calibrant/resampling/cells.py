"""Many independent rows drawn in cells: neighbours whose labels are added up before a statistic sees them.

Where a cell begins depends on the predictions and on how often they occur, never on
labels, and no atom is divided. So a cell's number of hits has a known law, and a statistic
read from cells, the observed ones and the drawn ones alike, has an exact p-value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.draws.cell_draws import GuidedTables, cell_tables, draw_cells
from calibrant.kernels.draws.null_draws import Seeds
from calibrant.resampling.null import ALL_ROWS, LabelDraws, Null, from_row
from calibrant.resampling.rows import Atoms
from calibrant.types import Floats, Indices

IN_CELLS_FROM = 20_000
"""Atoms of an event from which they are drawn in cells."""

CELL_ROWS = 64
"""Rows of a cell, about, and of several million atoms more; an atom of more rows is a cell of its own."""

MANY = 1_000_000
"""Cells grow with the root of the atoms in these, so that neither their laws nor their draws take most of the time."""


@dataclass(frozen=True, slots=True, eq=False)
class CellDraws:
    """The error of every cell, with its hits drawn from the predictions of its rows."""

    observed: Floats
    expected: Floats
    """hits of each cell"""
    tables: GuidedTables

    def draws(self, seeds: Seeds, rows: slice = ALL_ROWS) -> Floats:
        start, stop, _ = rows.indices(len(self.observed))
        errors, tables = np.empty((len(seeds), stop - start)), self.tables
        guide = tables.guide_of(start, stop)
        rest = self.expected[rows] - tables.lowest[rows]
        draw_cells(rest, tables.step[rows], guide, tables.thresholds, from_row(seeds, start), errors)
        return errors


@dataclass(frozen=True, eq=False)
class Cells:
    """Neighbouring atoms of an event, added up."""

    atoms: Atoms
    starts: Indices
    """where each cell begins among the atoms, and the end"""

    def added(self, values: Floats) -> Floats:
        """The sum of each cell."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1]))

    def null(self) -> CellDraws:
        """Draws of the cells' errors."""
        atoms = self.atoms
        tables = cell_tables(atoms.p, atoms.count, self.starts)
        return CellDraws(self.added(atoms.errors), self.added(atoms.count * atoms.p), tables)

    def at(self, cuts: Indices) -> Indices:
        """The cells that begin at some atoms."""
        return np.searchsorted(self.starts, cuts).astype(np.intp)

    def mean(self, factor: Floats) -> Floats:
        """What stands for a factor of the errors in a sum over cells: its mean by the errors' variance."""
        variance, count = self.atoms.variance, self.atoms.weight
        total = self.added(variance)
        found = self.added(count * factor) / self.added(count)  # where nothing varies
        np.divide(self.added(variance * factor), total, out=found, where=total > 0)
        return found


def cells_of(null: Null, cuts: Iterable[Indices]) -> Cells | None:
    """Cells of the rows of a null that end at the cuts; None where rows depend on each other or there is little to gain.

    Weights that are held fixed keep rows apart, too.
    """
    if not isinstance(null, LabelDraws) or null.atoms.dependence is not None or null.atoms.fixed:
        return None
    atoms = null.atoms
    if len(atoms.p) < IN_CELLS_FROM:
        return None
    starts = cell_starts(atoms.count, cuts)
    return Cells(atoms, starts) if 2 * len(starts) < len(atoms.p) else None


def cell_starts(count: NDArray[np.int64], cuts: Iterable[Indices]) -> Indices:
    """Where cells begin, and the end; no cell goes on beyond a cut or beside an atom of many rows."""
    n, size = len(count), CELL_ROWS * max(isqrt(len(count) // MANY), 1)
    many = count >= size
    begins = np.zeros(n + 1, bool)
    begins[0] = True
    begins[:n] |= many
    begins[1:] |= many
    for each in cuts:
        begins[each] = True
    first = np.flatnonzero(begins[:n])
    rows, before = np.add.reduceat(count, first), np.cumsum(count) - count
    pieces = np.where(many[first], 1, np.maximum(rows // size, 1))
    each = np.repeat(np.arange(len(first)), pieces)
    place = np.arange(len(each)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.searchsorted(before, before[first][each] + place * rows[each] // pieces[each])
    return np.append(np.unique(starts), n).astype(np.intp)
