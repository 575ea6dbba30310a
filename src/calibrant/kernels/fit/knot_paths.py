"""Piecewise-linear fits with one piece more at a time: the next knot, paths, held-out losses.

Rows are pooled into cells, folds are columns. Heights come from `knot_heights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import compiled, in_caller, worth_compiling
from calibrant.kernels.fit.knot_heights import Family, fit_heights, sigmoid
from calibrant.types import Floats, Indices

RIDGE = 1e-3
"""In rows: far below what one row says, enough to decide what no row decides."""

SEARCH_FLOOR = 0.01
"""Probabilities are kept this far from 0 and 1 in the weights of the knot search, which
would explode there."""

TIE = 1e-9
"""Places that explain the same but for rounding: the first is taken."""


@in_caller
def parabola(x: float, w: float, s: float, f: float, family: Any) -> Any:
    """ω and the response of a cell: its loss around f is ω·g²/2 − response·g, g = value − x."""
    if family.logit:
        mu = sigmoid(f)[0]
        v = mu * (1 - mu)
        omega = w * v * v if family.brier else w * v
        return omega, omega * (f - x) + (v if family.brier else 1.0) * (s - w * mu)
    c = min(max(f, SEARCH_FLOOR), 1 - SEARCH_FLOOR)
    v = 1.0 if family.brier else 1 / (c * (1 - c))
    return w * v, v * (s - w * x)


@compiled
def prefix_sums(x: Any, w: Any, s: Any, fitted: Any, cut: Any, middle: float, family: Any, sums: Any) -> None:
    """(places, 5), zeros at first: Σω, Σωd, Σωd², Σresponse, Σresponse·d over the cells before each place.

    d = x − middle.
    """
    place = 1
    t0, t1, t2, t3, t4 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(x) + 1):
        while place < len(cut) and (i == len(x) or (place < len(cut) - 1 and cut[place] <= i)):
            sums[place, 0], sums[place, 1], sums[place, 2], sums[place, 3], sums[place, 4] = t0, t1, t2, t3, t4
            place += 1
        if i < len(x):
            at = x[i] - middle
            omega, response = parabola(x[i], w[i], s[i], fitted[i], family)
            t0 += omega
            t1 += omega * at
            t2 += omega * at * at
            t3 += response
            t4 += response * at


@compiled
def piece(t: Any, sums: Any, middle: float, i: int, j: int) -> Any:
    """Normal equations of the piece from place i to place j.

    Three entries of the matrix, two of the right side.
    """
    left, length = t[i] - middle, t[j] - t[i]
    s0, s1, s2 = sums[j, 0] - sums[i, 0], sums[j, 1] - sums[i, 1], sums[j, 2] - sums[i, 2]
    r0, r1 = sums[j, 3] - sums[i, 3], sums[j, 4] - sums[i, 4]
    u1 = (s1 - left * s0) / length
    u2 = max((s2 - 2 * left * s1 + left * left * s0) / (length * length), 0.0)
    r1 = (r1 - left * r0) / length
    return max(s0 - 2 * u1 + u2, 0.0), u1 - u2, u2, r0 - r1, r1


@compiled
def eliminate(
    d: float, u: float, gain: float, near: float, across: float, far: float, r_near: float, r_far: float
) -> Any:
    """One end of a piece eliminated.

    An end has a diagonal, a right side, and what is explained so far. Returns what the
    far end inherits.
    """
    d, u = d + near, u + r_near
    return max(far - across * across / d, 0.0), r_far - across * u / d, gain + u * u / d


@compiled
def pass_right(t: Any, sums: Any, middle: float, knots: Any, left: Any, q: int) -> None:
    """Eliminate the knot before q."""
    aa, ab, bb, ra, rb = piece(t, sums, middle, knots[q - 1], knots[q])
    d, r, gain = eliminate(left[q - 1, 0], left[q - 1, 1], left[q - 1, 2], aa, ab, bb, ra, rb)
    left[q, 0], left[q, 1], left[q, 2] = RIDGE + d, r, gain


@compiled
def pass_left(t: Any, sums: Any, middle: float, knots: Any, right: Any, q: int) -> None:
    """Eliminate the knot after q."""
    aa, ab, bb, ra, rb = piece(t, sums, middle, knots[q], knots[q + 1])
    d, r, gain = eliminate(right[q + 1, 0], right[q + 1, 1], right[q + 1, 2], bb, ab, aa, rb, ra)
    right[q, 0], right[q, 1], right[q, 2] = RIDGE + d, r, gain


@compiled
def best_between(t: Any, sums: Any, middle: float, mass: Any, gap: float, left: Any, right: Any, i: int, j: int) -> Any:
    """The best place for a knot between those at i and j, and what all knots then explain.

    −1 where none is possible.
    """
    best, where = -1.0, -1
    for k in range(i + 1, j):
        if mass[k] - mass[i] < gap or mass[j] - mass[k] < gap:
            continue
        aa, ab, bb, ra, rb = piece(t, sums, middle, i, k)
        d, r, gain = eliminate(left[0], left[1], left[2], aa, ab, bb, ra, rb)
        aa, ab, bb, ra, rb = piece(t, sums, middle, k, j)
        d, r, gain = eliminate(RIDGE + d, r, gain, aa, ab, bb, ra, rb)
        r += right[1]
        gain += right[2] + r * r / (right[0] + d)
        if where < 0 or gain > best * (1 + TIE):
            best, where = gain, k
    return best, where


@compiled
def insert_knot(t: Any, mass: Any, gap: float, middle: float, sums: Any, left: Any, right: Any, found: Any) -> bool:
    """One knot more in `found`, whose last place is free, and all moved; False if no place is left.

    `left` and `right` are zeros at first.
    """
    n_knots = len(found) - 1
    left[0, 0] = right[n_knots - 1, 0] = right[n_knots, 0] = RIDGE
    for q in range(1, n_knots):
        pass_right(t, sums, middle, found, left, q)
    best, new, at = -1.0, -1, 0
    for q in range(n_knots - 1, 0, -1):
        gain, k = best_between(t, sums, middle, mass, gap, left[q - 1], right[q], found[q - 1], found[q])
        if k >= 0 and gain > best * (1 + TIE):
            best, new, at = gain, k, q
        pass_left(t, sums, middle, found, right, q - 1)
    if new < 0:
        return False
    for q in range(n_knots, at, -1):
        found[q] = found[q - 1]
    found[at] = new
    right[n_knots, 0], right[n_knots, 1], right[n_knots, 2] = RIDGE, 0.0, 0.0
    for q in range(n_knots - 1, 0, -1):
        pass_left(t, sums, middle, found, right, q)
    for q in range(1, n_knots):
        found[q] = best_between(t, sums, middle, mass, gap, left[q - 1], right[q + 1], found[q - 1], found[q + 1])[1]
        pass_right(t, sums, middle, found, left, q)
    return True


def better_knots(
    rows: tuple[Floats, Floats, Floats],
    fitted: Floats,
    places: tuple[Floats, Indices, Floats],
    knots: Indices,
    gap: float,
    family: Family,
    fast: bool = True,
) -> Indices:
    """One knot more, where it explains most, then every inner knot moved once to its best place.

    `rows` are place, weight and hits of the cells; `places` are those where a knot may
    stand, the cells and the weight before each; `knots` are indices of places, the ends
    included; `fitted` are the values of the present fit at the cells. The loss is
    replaced by its parabola there, so that with prefix sums the normal equations of a
    piece cost O(1). They are tridiagonal: eliminated from the left and from the right up
    to two neighbours, a knot between these is tried in O(1). Returns `knots` as they are
    if no place is left. `fast` compiles the loops.
    """
    (x, w, s), (t, cut, mass) = rows, places
    add, insert = (prefix_sums, insert_knot) if fast else (prefix_sums.plain, insert_knot.plain)
    middle, sums, found = float(x[0] + x[-1]) / 2, np.zeros((len(cut), 5)), np.append(knots, len(t) - 1)
    add(x, w, s, fitted, cut, middle, family, sums)
    left, right = (np.zeros((len(found), 3)) for _ in "12")
    return found if insert(t, mass, gap, middle, sums, left, right, found) else knots


CELLS = 1000
PLACES = 100
"""Cells of about equal mass, and places between them where a knot may stand."""

LEAST_GAP = 0.04
"""Share of the mass that must lie between two knots."""

NEAR = 1e-9
"""Rows closer than this share a cell: a knot between them would make a cliff."""

MOST_STEPS = 60
"""Newton steps of a fit at most; a handful are enough on most data."""

COMPILE_FROM = 500
"""Cells from which the loops are compiled: plain Python takes half a second for fewer, the
compiler ten or more."""


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
    """Rows pooled by place: weight and hits per fold `(cells, folds)`; where knots may stand."""

    x: Floats
    weight: Floats
    hits: Floats
    t: Floats
    cut: NDArray[np.int64]
    """cells before each place"""
    mass: Floats
    """weight before each place"""


def cells_of(x: Floats, y: Floats, w: Floats, fold: Indices, n_folds: int, most: int = CELLS) -> Cells:
    """Sorted rows as at most so many cells.

    The first and the last place are the ends of the data.
    """
    starts = _starts(x, w, most)
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


def _starts(x: Floats, w: Floats, most: int) -> Indices:
    """Where each cell begins: near-ties share a cell, then masses are made equal."""
    new = np.flatnonzero(np.concatenate([[True], np.diff(x) > NEAR]))
    if len(new) <= most:
        return new
    below = np.cumsum(np.add.reduceat(w, new))
    before = np.concatenate([[0.0], below[:-1]])
    cell = (before * (most / below[-1]) * (1 + 1e-12)).astype(np.intp)
    return new[np.concatenate([[True], np.diff(cell) > 0])]


def path(cells: Cells, weight: Floats, hits: Floats, family: Family, most: int) -> list[Bent]:
    """The fits with 1, 2, …, `most` pieces; where no other knot fits, the last one again."""
    fast = worth_compiling(len(cells.x), COMPILE_FROM)
    rows, places = (cells.x, weight, hits), (cells.t, cells.cut, cells.mass)
    knots = np.array([0, len(cells.t) - 1])
    found: list[Bent] = []
    while len(found) < most:
        if found:
            gap = LEAST_GAP * float(cells.mass[-1])
            grown = better_knots(rows, found[-1].at(cells.x), places, knots, gap, family, fast)
            if len(grown) == len(knots):
                return found + found[-1:] * (most - len(found))
            knots = grown
        t = cells.t[knots]
        start = np.clip(found[-1].at(t) if found else t, *family.ends)
        found.append(Bent(t, fit_heights(*rows, t, start, family, RIDGE, MOST_STEPS, fast)[0]))
    return found


def loss(cells: Cells, weight: Floats, hits: Floats, family: Family, bent: Bent) -> float:
    """The family's loss, summed over these weights and hits."""
    fast = worth_compiling(len(cells.x), COMPILE_FROM)
    return fit_heights(cells.x, weight, hits, bent.t, bent.h, family, 0.0, 0, fast)[1]


def crossed(cells: Cells, family: Family, most: int) -> tuple[list[list[Bent]], Floats]:
    """Paths of all folds, each without its rows; held-out losses by fold and by 0 (the identity), 1, 2, … pieces."""
    weight, hits = cells.weight.sum(axis=1), cells.hits.sum(axis=1)
    identity = Bent(cells.t[[0, -1]], cells.t[[0, -1]])
    paths, losses = [], []
    for w, s in zip(cells.weight.T.copy(), cells.hits.T.copy(), strict=True):
        paths.append(path(cells, weight - w, hits - s, family, most))
        losses.append([loss(cells, w, s, family, bent) for bent in (identity, *paths[-1])])
    return paths, np.array(losses)
