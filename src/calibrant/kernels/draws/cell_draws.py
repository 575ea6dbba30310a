"""Null draws of cells: the hits of neighbouring atoms in one number.

The hits of a cell are a sum of independent labels with different probabilities, whose law
is computed exactly (Poisson-binomial, row by row) and drawn from a table, as the hits of
an atom of several rows are. A guide says where in its table a cell's number is to be
looked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import compiled
from calibrant.kernels.draws.null_draws import HALF, ONE, Seeds, Tables, binomial_tables, number, numbers, scaled
from calibrant.kernels.rows.bisection import all_above, first_above
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Floats, Indices

Counts = NDArray[np.int64]

NEVER = 1e-60
"""Numbers of hits less probable than this do not occur: nothing is left of them in 63 bits."""

GUIDES, SHIFT = 64, np.uint64(57)
"""Parts of a cell's table that the guide tells apart, and bits of a number below those that name the part."""

CELLS_AT_ONCE = 1024
"""Cells whose laws are computed at a time: about a megabyte."""


@dataclass(frozen=True, slots=True, eq=False)
class GuidedTables:
    """Thresholds of every cell's hits, and a guide to them.

    Cell c has `lowest[c]` hits and `step[c]` more for each of its thresholds that is
    reached. The thresholds that begin with the six bits b stand from `guide[64c + b]` to
    before `guide[64c + b + 1]`.
    """

    guide: NDArray[np.int32]
    """(64·C + 1,)"""
    lowest: Floats
    step: Floats
    thresholds: NDArray[np.uint64]

    def guide_of(self, start: int, stop: int) -> NDArray[np.int32]:
        """The guide to some cells."""
        return self.guide[GUIDES * start : GUIDES * stop + 1]


def cell_tables(p: Floats, count: Counts, starts: Indices) -> GuidedTables:
    """Tables of cells of atoms, cell c of those from `starts[c]` to before `starts[c + 1]`.

    One with several atoms should have few rows: its law is built row by row.
    """
    alone, first = np.diff(starts) == 1, starts[:-1]
    sizes, lowest, step = np.empty(len(alone), np.int64), np.empty(len(alone)), np.ones(len(alone))
    single = binomial_tables(p[first[alone]], count[first[alone]])
    several = _tables_of_several(p, count, starts, np.flatnonzero(~alone))
    for those, found in ((alone, single), (~alone, several)):
        sizes[those], lowest[those] = np.diff(found.starts), found.lowest
        step[those] = 1.0 if found.step is None else found.step
    thresholds, of_single = np.empty(int(sizes.sum()), np.uint64), np.repeat(alone, sizes)
    thresholds[of_single], thresholds[~of_single] = single.thresholds, several.thresholds
    return GuidedTables(_guide(sizes, thresholds), lowest, step, thresholds)


def _tables_of_several(p: Floats, count: Counts, starts: Indices, cells: Indices) -> Tables:
    """The tables of the cells that have several atoms."""
    if not len(cells):
        return Tables(np.zeros(1, np.intp), np.empty(0), np.empty(0, np.uint64))
    rows = np.add.reduceat(count, starts[:-1])[cells]

    def part(block: slice) -> tuple[Counts, Counts, NDArray[np.uint64]]:
        chosen = cells[block]
        law = np.zeros((len(chosen), int(rows[block].max(initial=0)) + 1))
        hit_laws(p, count, starts[chosen], starts[chosen + 1], law)
        return _thresholds(law)

    sizes, lowest, thresholds = map(np.concatenate, zip(*over_blocks(len(cells), part, CELLS_AT_ONCE), strict=True))
    return Tables(np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp), lowest.astype(np.float64), thresholds)


def _thresholds(law: Floats) -> tuple[Counts, Counts, NDArray[np.uint64]]:
    """Of each law: how many thresholds it has, the lowest number of hits, and P(hits ≤ k)·2⁶³ from there on.

    Either tail is added up from its own end, so that both keep their precision.
    """
    below, above = np.cumsum(law, axis=1)[:, :-1], np.cumsum(law[:, ::-1], axis=1)[:, -2::-1]
    every = np.where(below < 0.5, scaled(below), np.uint64(HALF) - scaled(above))
    kept = (every > 0) & (every < np.uint64(HALF))
    return kept.sum(axis=1), (every == 0).sum(axis=1), every[kept]


def _guide(sizes: Counts, thresholds: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Where the thresholds of each part of each cell begin."""
    starts, guide = np.concatenate([[0], np.cumsum(sizes)]), np.zeros(GUIDES * len(sizes) + 1, np.int32)

    def filled(block: slice) -> Indices:
        own = thresholds[starts[block.start] : starts[block.stop]]
        part = np.minimum((own >> SHIFT).astype(np.intp), GUIDES - 1)
        part += np.repeat(GUIDES * np.arange(block.stop - block.start), sizes[block])
        return np.bincount(part, minlength=GUIDES * (block.stop - block.start))

    np.cumsum(np.concatenate([*over_blocks(len(sizes), filled, CELLS_AT_ONCE)]), out=guide[1:])
    return guide


@compiled
def hit_laws(p: Any, count: Any, begin: Any, end: Any, law: Any) -> None:
    """law[c, k] = P(k hits among all rows of the atoms from begin[c] to before end[c]); zeros at first.

    One row after the other is added; what can never occur, at either end, is left out.
    """
    for c in range(len(begin)):
        low, high = 0, 0
        law[c, 0] = 1.0
        for a in range(begin[c], end[c]):
            yes, no = p[a], 1.0 - p[a]
            for _ in range(count[a]):
                high += 1
                for k in range(high, low, -1):
                    law[c, k] = law[c, k] * no + law[c, k - 1] * yes
                law[c, low] *= no
                while law[c, high] < NEVER:
                    law[c, high] = 0.0
                    high -= 1
                while law[c, low] < NEVER:
                    law[c, low] = 0.0
                    low += 1


@hit_laws.in_numpy
def _hit_laws(p: Floats, count: Counts, begin: Indices, end: Indices, law: Floats) -> None:
    """All cells at once, row by row; cells with fewer rows than others end with rows that are never hit."""
    atoms = end - begin
    first = np.cumsum(atoms) - atoms
    chosen = np.arange(int(atoms.sum())) + np.repeat(begin - first, atoms)
    rows, n_rows = np.repeat(p[chosen], count[chosen]), np.add.reduceat(count[chosen], first)
    start = np.cumsum(n_rows) - n_rows
    turned = np.zeros(law.shape[::-1])  # what all cells have at one number of hits stands in one piece
    turned[0] = 1.0
    for i in range(int(n_rows.max())):
        yes = np.where(i < n_rows, rows[np.minimum(start + i, len(rows) - 1)], 0.0)
        now = turned[: i + 2]
        more = now[:-1] * yes
        now *= 1.0 - yes
        now[1:] += more
        now[now < NEVER] = 0.0
    law[:] = turned.T


@compiled
def draw_cells(expected: Any, step: Any, guide: Any, thresholds: Any, seeds: Any, errors: Any) -> None:
    """errors[r, c] = expected − step · (thresholds of cell c that its number reaches)."""
    for r in range(len(seeds)):
        for c in range(len(expected)):
            z = number(seeds[r], c) >> ONE
            part = c * GUIDES + np.int64(z >> SHIFT)
            place = first_above(thresholds, guide[part], guide[part + 1], z)
            errors[r, c] = expected[c] - step[c] * np.float64(place - guide[c * GUIDES])


@draw_cells.in_numpy
def _draw_cells(expected: Floats, step: Floats, guide: Any, thresholds: Any, seeds: Seeds, errors: Floats) -> None:
    z = numbers(seeds, np.arange(len(expected))) >> ONE
    start = GUIDES * np.arange(len(expected))
    part = start + (z >> SHIFT).astype(np.intp)
    place = all_above(thresholds, guide[part], guide[part + 1], z) if len(thresholds) else guide[part]
    np.subtract(expected, step * (place - guide[start]), out=errors)
