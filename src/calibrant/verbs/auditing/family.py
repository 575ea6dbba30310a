"""All segments on the same null draws: sum of errors, and range of the running sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import many_calls, worth_compiling
from calibrant.kernels.draws.null_draws import replicate_seeds
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.sums.segment_sums import add_tile, walk_tile
from calibrant.predictions import Event, Predictions
from calibrant.resampling.draw import COMPILE_FROM_ERRORS, content_seed
from calibrant.resampling.null import nulls_of
from calibrant.resampling.rows import Atoms, cluster_codes, single_rows
from calibrant.types import Floats
from calibrant.verbs.auditing.segments import Codes, Segments

DRAWS_AT_ONCE = 32
"""Draws side by side in a compiled loop: four cache lines per row."""

FEW_AT_ONCE = 1024
"""The same in NumPy, where a call costs more than its arithmetic."""

TILE = 1024
"""Rows drawn at a time: with all their draws a quarter of a megabyte, which stays in a core's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Rows sorted by prediction, and the segments they belong to."""

    atoms: Atoms
    cells: Codes
    members: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def n_segments(self) -> int:
        return len(self.starts) - 1

    def independent(self) -> Family:
        """The same rows without their clusters."""
        return replace(self, atoms=replace(self.atoms, cluster=None, dependence=None))

    @property
    def work(self) -> int:
        """Steps per draw."""
        return len(self.atoms.p) + len(self.members)


def family_of(event: Event, predictions: Predictions, segments: Segments, kept: Any, cluster: bool) -> Family:
    """Rows pooled by prediction and cell, unless weights or clusters keep them apart."""
    cells = segments.cells
    if cluster or event.squares is not None:
        codes = np.unique(cluster_codes(predictions)[kept], return_inverse=True)[1] if cluster else None
        atoms, order = single_rows(event, kept, "any" if cluster else None, codes, cells=cells)
        return Family(atoms, cells[order], *segments.members(cells[order]))
    p, y = event.probs[kept].astype(np.float64), event.outcomes[kept].astype(np.float64)
    w = np.ones(len(p)) if event.weights is None else event.weights[kept]
    order = np.lexsort((cells, p))
    p, cells = p[order], cells[order]
    first = np.flatnonzero(np.concatenate([[True], (p[1:] != p[:-1]) | (cells[1:] != cells[:-1])]))
    counts = np.round(np.add.reduceat(w[order], first)).astype(np.int64)
    hits, p, cells = np.add.reduceat((w * y)[order], first), p[first], cells[first]
    atoms = Atoms(p, np.ones(len(p)), counts, hits, None, event.name, event.n)
    return Family(atoms, cells, *segments.members(cells))


@dataclass(frozen=True, slots=True, eq=False)
class SegmentDraws:
    """Σ(p − y) and the range of the running sum, `(1 + M, S)`; row 0 is observed."""

    sums: Floats
    ranges: Floats | None


def segment_draws(family: Family, n_draws: int, seed: int, ranged: bool) -> SegmentDraws:
    """Every segment on every draw, whatever the number of cores and the order of rows."""
    null, atoms = nulls_of(family.atoms)[0], family.atoms
    seeds = replicate_seeds(content_seed(seed, *atoms.content, family.cells)[0], n_draws)

    many = worth_compiling(n_draws * len(family.members), COMPILE_FROM_ERRORS)

    def part(block: slice) -> tuple[Floats, Floats]:
        with many_calls(many):  # in its own thread
            return _collected(family, block.stop - block.start, ranged, lambda rows: null.draws(seeds[block], rows))

    with many_calls(many):
        parts = [_collected(family, 1, ranged, lambda rows: atoms.errors[None, rows])]
    parts += over_blocks(n_draws, part, DRAWS_AT_ONCE if many else FEW_AT_ONCE)
    sums, ranges = (np.concatenate(each, axis=1).T for each in zip(*parts, strict=True))
    return SegmentDraws(sums, ranges if ranged else None)


def _collected(family: Family, n_draws: int, ranged: bool, errors: Callable[[slice], Floats]) -> tuple[Floats, Floats]:
    """Sums and ranges `(S, D)`, tile by tile; `errors` gives the `(D, rows)` of a tile."""
    p, members, starts = family.atoms.p, family.members, family.starts
    position = starts[:-1].copy()
    total = np.zeros((family.n_segments, n_draws))
    high, low = (np.zeros_like(total), np.zeros_like(total)) if ranged else (total, total)
    for base in range(0, len(p), TILE):
        tile = np.ascontiguousarray(errors(slice(base, min(base + TILE, len(p)))).T)
        if ranged:
            walk_tile(tile, p, base, members, starts, position, total, high, low)
        else:
            add_tile(tile, base, members, starts, position, total)
    return total, high - low
