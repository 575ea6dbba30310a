"""Piecewise-linear fits with one piece more at a time, and their held-out losses: rows
pooled into cells, folds as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.fit.free_knots import RIDGE, better_knots
from calibrant.kernels.fit.knot_heights import Family, fit_heights
from calibrant.types import Floats, Indices

CELLS = 1000
PLACES = 100
"""Cells of about equal mass, and places between them where a knot may stand."""

LEAST_GAP = 0.04
"""Share of the mass that must lie between two knots."""

NEAR = 1e-9
"""Rows closer than this share a cell: a knot between them would make a cliff."""

MOST_STEPS = 60
"""Newton steps of a fit at most; a handful are enough on most data."""

COMPILE_FROM = 64
"""Cells from which the loops are compiled. Below there are rarely rows enough for a
second piece, and plain Python will do."""


@dataclass(frozen=True, slots=True, eq=False)
class Bent:
    """A piecewise-linear function by its knots and heights."""

    t: Floats
    h: Floats

    def at(self, x: Floats) -> Floats:
        """Straight lines between the knots."""
        return np.interp(x, self.t, self.h)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Rows pooled by place, the weight and the hits of each fold `(cells, folds)`, and
    where knots may stand."""

    x: Floats
    weight: Floats
    hits: Floats
    t: Floats
    cut: NDArray[np.int64]
    """cells before each place"""
    mass: Floats
    """weight before each place"""


def cells_of(x: Floats, y: Floats, w: Floats, fold: Indices, n_folds: int) -> Cells:
    """Sorted rows as at most `CELLS` cells; the first and the last place are the ends
    of the data."""
    starts = _starts(x, w)
    n_cells = len(starts)
    cell = np.repeat(np.arange(n_cells), np.diff(np.append(starts, len(x)))) * n_folds + fold
    weight, hits = (
        np.bincount(cell, terms, n_cells * n_folds).astype(np.float64).reshape(n_cells, n_folds) for terms in (w, w * y)
    )
    total = np.add.reduceat(w, starts)
    below = np.concatenate([[0.0], np.cumsum(total)])
    middle = np.add.reduceat(w * x, starts) / total
    cut = np.unique(np.searchsorted(below, np.arange(1, PLACES) / PLACES * below[-1] * (1 + 1e-12), side="right") - 1)
    cut = cut[(cut > 0) & (cut < n_cells)]
    first, last = float(x[0]), float(x[-1])
    if last - first <= NEAR:  # all equal
        first, last = first - 0.5, last + 0.5
    t = np.concatenate([[first], (middle[cut - 1] + middle[cut]) / 2, [last]])
    cut = np.concatenate([[0], cut, [n_cells]]).astype(np.int64)
    return Cells(np.clip(middle, first, last), weight, hits, t, cut, below[cut])


def _starts(x: Floats, w: Floats) -> Indices:
    """Where each cell begins: near-ties stay together, then masses are made equal."""
    new = np.flatnonzero(np.concatenate([[True], np.diff(x) > NEAR]))
    if len(new) <= CELLS:
        return new
    below = np.cumsum(np.add.reduceat(w, new))
    before = np.concatenate([[0.0], below[:-1]])
    cell = (before * (CELLS / below[-1]) * (1 + 1e-12)).astype(np.intp)
    return new[np.concatenate([[True], np.diff(cell) > 0])]


def path(cells: Cells, weight: Floats, hits: Floats, family: Family, most: int) -> list[Bent]:
    """The fits with 1, 2, …, `most` pieces; where no other knot fits, the last one
    again."""
    small = len(cells.x) < COMPILE_FROM
    search, fit = (better_knots.plain, fit_heights.plain) if small else (better_knots, fit_heights)
    rows = (cells.x, weight, hits)
    knots = np.array([0, len(cells.t) - 1])
    found: list[Bent] = []
    while len(found) < most:
        if found:
            places = (cells.t, cells.cut, cells.mass, knots, LEAST_GAP * cells.mass[-1])
            grown = search(*rows, found[-1].at(cells.x), *places, family)
            if len(grown) == len(knots):
                return found + found[-1:] * (most - len(found))
            knots = grown
        t = cells.t[knots]
        start = np.clip(found[-1].at(t) if found else t, *family.ends)
        found.append(Bent(t, fit(*rows, t, start, family, RIDGE, MOST_STEPS)[0]))
    return found


def loss(cells: Cells, weight: Floats, hits: Floats, family: Family, bent: Bent) -> float:
    """The family's loss, summed over these weights and hits."""
    fit = fit_heights.plain if len(cells.x) < COMPILE_FROM else fit_heights
    return float(fit(cells.x, weight, hits, bent.t, bent.h, family, 0.0, 0)[1])


def crossed(cells: Cells, family: Family, most: int) -> tuple[list[list[Bent]], Floats, float]:
    """Every fold's path, fitted without its rows; the held-out losses of 1 … `most`
    pieces; the loss of the identity."""
    weight, hits = cells.weight.sum(axis=1), cells.hits.sum(axis=1)
    identity = Bent(cells.t[[0, -1]], cells.t[[0, -1]])
    paths, losses = [], np.zeros(most)
    for w, s in zip(cells.weight.T.copy(), cells.hits.T.copy(), strict=True):
        paths.append(path(cells, weight - w, hits - s, family, most))
        losses += [loss(cells, w, s, family, bent) for bent in paths[-1]]
    return paths, losses, loss(cells, weight, hits, family, identity)
