"""Piecewise-linear fits with one piece more at a time: the next knot, paths, held-out losses.

Rows are pooled into cells, folds are columns. Heights come from `knot_heights`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import compiled, many_calls, worth_compiling
from calibrant.kernels.fit.knot_heights import Family, fit_heights
from calibrant.kernels.logits import clipped, sigmoid
from calibrant.types import Floats, Indices

RIDGE = 1e-3
"""In rows: far below what one row says, enough to decide what no row decides."""

SEARCH_FLOOR = 0.01
"""Probabilities are kept this far from 0 and 1 in the weights of the knot search, which
would explode there."""

TIE = 1e-9
"""Places that explain the same but for rounding: the first is taken."""


def parabola(x: Floats, w: Floats, s: Floats, f: Floats, family: Family) -> tuple[Floats, Floats]:
    """ω and the response of each cell: its loss around f is ω·g²/2 − response·g, g = value − x."""
    if family.logit:
        mu = sigmoid(f)
        v = mu * (1 - mu)
        omega = w * v * v if family.brier else w * v
        return omega, omega * (f - x) + (v if family.brier else 1.0) * (s - w * mu)
    if family.brier:
        return w, s - w * x
    c = clipped(f, SEARCH_FLOOR, 1 - SEARCH_FLOOR)
    v = 1 / (c * (1 - c))
    return w * v, v * (s - w * x)


def prefix_sums(
    rows: tuple[Floats, Floats, Floats], fitted: Floats, cut: Indices, middle: float, family: Family
) -> Floats:
    """(places, 5): Σω, Σωd, Σωd², Σresponse, Σresponse·d over the cells before each place; d = x − middle."""
    at, terms = rows[0] - middle, np.empty((5, len(rows[0])))
    terms[0], terms[3] = parabola(*rows, fitted, family)
    np.multiply(terms[0], at, terms[1])
    np.multiply(terms[1], at, terms[2])
    np.multiply(terms[3], at, terms[4])
    sums = np.zeros((len(cut), 5))
    np.cumsum(np.add.reduceat(terms, cut[:-1], axis=1).T, axis=0, out=sums[1:])
    return sums


@compiled
def carried(t: Any, sums: Any, middle: float, start: int, stop: int, d: float, u: float, gain: float) -> Any:
    """The knot at place `start` eliminated: what the one at `stop` inherits, by the normal equations of the piece.

    A knot has a diagonal, a right side, and what is explained so far.
    """
    i = start if start < stop else stop
    j = start + stop - i
    left, length = t[i] - middle, t[j] - t[i]
    s0, s1, s2 = sums[j, 0] - sums[i, 0], sums[j, 1] - sums[i, 1], sums[j, 2] - sums[i, 2]
    r0, r1 = sums[j, 3] - sums[i, 3], sums[j, 4] - sums[i, 4]
    u1 = (s1 - left * s0) / length
    far = max((s2 - 2 * left * s1 + left * left * s0) / (length * length), 0.0)
    near, across, r_far = max(s0 - 2 * u1 + far, 0.0), u1 - far, (r1 - left * r0) / length
    r_near = r0 - r_far
    if start > stop:
        near, far, r_near, r_far = far, near, r_far, r_near
    d, u = d + near, u + r_near
    return max(far - across * across / d, 0.0), r_far - across * u / d, gain + u * u / d


@compiled
def carry(t: Any, sums: Any, middle: float, knots: Any, at: Any, p: int, q: int) -> None:
    """Eliminate the knot p, a neighbour of q."""
    d, r, gain = carried(t, sums, middle, knots[p], knots[q], at[p, 0], at[p, 1], at[p, 2])
    at[q, 0], at[q, 1], at[q, 2] = RIDGE + d, r, gain


@compiled
def best_between(
    t: Any, sums: Any, middle: float, mass: Any, gap: float, knots: Any, left: Any, right: Any, p: int, q: int
) -> Any:
    """The best place for a knot between the knots p and q, and what all knots then explain.

    −1 where none is possible.
    """
    best, where = -1.0, -1
    i, j = knots[p], knots[q]
    for k in range(i + 1, j):
        if mass[k] - mass[i] < gap or mass[j] - mass[k] < gap:
            continue
        d, r, gain = carried(t, sums, middle, i, k, left[p, 0], left[p, 1], left[p, 2])
        d, r, gain = carried(t, sums, middle, k, j, RIDGE + d, r, gain)
        r += right[q, 1]
        gain += right[q, 2] + r * r / (right[q, 0] + d)
        if where < 0 or gain > best * (1 + TIE):
            best, where = gain, k
    return best, where


@best_between.in_numpy
def best_between_in_numpy(
    t: Floats,
    sums: Floats,
    middle: float,
    mass: Floats,
    gap: float,
    knots: Indices,
    left: Floats,
    right: Floats,
    p: int,
    q: int,
) -> tuple[float, int]:
    """The same, all places at a time."""
    i, j = knots[p], knots[q]
    k = np.arange(i + 1, j)
    k = k[(mass[k] - mass[i] >= gap) & (mass[j] - mass[k] >= gap)]
    if not len(k):
        return -1.0, -1
    d, r, gain = carried_forward(t, sums, middle, np.full_like(k, i), k, *left[p])
    d, r, gain = carried_forward(t, sums, middle, k, np.full_like(k, j), RIDGE + d, r, gain)
    r = r + right[q, 1]
    gain = gain + right[q, 2] + r * r / (right[q, 0] + d)
    first = int(np.argmax(gain * (1 + TIE) >= gain.max()))
    return float(gain[first]), int(k[first])


def carried_forward(
    t: Floats, sums: Floats, middle: float, start: Indices, stop: Indices, d: Any, u: Any, gain: Any
) -> tuple[Floats, Floats, Floats]:
    """`carried` to later places, all at a time."""
    left, length = t[start] - middle, t[stop] - t[start]
    s0, s1, s2, r0, r1 = (sums[stop] - sums[start]).T
    u1 = (s1 - left * s0) / length
    far = np.maximum((s2 - 2 * left * s1 + left * left * s0) / (length * length), 0.0)
    near, across, r_far = np.maximum(s0 - 2 * u1 + far, 0.0), u1 - far, (r1 - left * r0) / length
    d, u = d + near, u + r0 - r_far
    return np.maximum(far - across * across / d, 0.0), r_far - across * u / d, gain + u * u / d


@compiled
def insert_knot(t: Any, mass: Any, gap: float, middle: float, sums: Any, left: Any, right: Any, found: Any) -> bool:
    """One knot more in `found`, whose last place is free, and all moved; False if no place is left.

    `left` and `right` are zeros at first.
    """
    n_knots = len(found) - 1
    left[0, 0] = right[n_knots - 1, 0] = right[n_knots, 0] = RIDGE
    for q in range(1, n_knots):
        carry(t, sums, middle, found, left, q - 1, q)
    best, new, at = -1.0, -1, 0
    for q in range(n_knots - 1, 0, -1):
        gain, k = best_between(t, sums, middle, mass, gap, found, left, right, q - 1, q)
        if k >= 0 and gain > best * (1 + TIE):
            best, new, at = gain, k, q
        carry(t, sums, middle, found, right, q, q - 1)
    if new < 0:
        return False
    for q in range(n_knots, at, -1):
        found[q] = found[q - 1]
    found[at] = new
    right[n_knots, 0], right[n_knots, 1], right[n_knots, 2] = RIDGE, 0.0, 0.0
    for q in range(n_knots - 1, 0, -1):
        carry(t, sums, middle, found, right, q + 1, q)
    for q in range(1, n_knots):
        found[q] = best_between(t, sums, middle, mass, gap, found, left, right, q - 1, q + 1)[1]
        carry(t, sums, middle, found, left, q - 1, q)
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
    x, (t, cut, mass) = rows[0], places
    middle, found, insert = float(x[0] + x[-1]) / 2, np.append(knots, len(t) - 1), insert_knot
    sums, (left, right) = prefix_sums(rows, fitted, cut, middle, family), np.zeros((2, len(found), 3))
    return found if (insert if fast else insert.looped)(t, mass, gap, middle, sums, left, right, found) else knots


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
"""Cells from which the loops are compiled: NumPy takes some 30 ms for fewer, the compiler a second or more."""


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


def path(cells: Cells, weight: Floats, hits: Floats, family: Family, most: int, among_many: bool = True) -> list[Bent]:
    """The fits with 1, 2, …, `most` pieces; where no other knot fits, the last one again.

    The loops that search for knots are compiled for a path `among_many`.
    """
    fast = worth_compiling(len(cells.x), COMPILE_FROM)
    rows, places = (cells.x, weight, hits), (cells.t, cells.cut, cells.mass)
    knots = np.array([0, len(cells.t) - 1])
    found: list[Bent] = []
    while len(found) < most:
        if found:
            gap = LEAST_GAP * float(cells.mass[-1])
            grown = better_knots(rows, found[-1].at(cells.x), places, knots, gap, family, fast and among_many)
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


def crossed(cells: Cells, family: Family, most: int, n_folds: int | None = None) -> tuple[list[list[Bent]], Floats]:
    """Paths of all folds, or the first ones, each without its rows; held-out losses by fold and by 0 (the identity), 1, … pieces."""
    weight, hits = cells.weight.sum(axis=1), cells.hits.sum(axis=1)
    identity = Bent(cells.t[[0, -1]], cells.t[[0, -1]])
    paths, losses = [], []
    for w, s in zip(cells.weight.T[:n_folds].copy(), cells.hits.T[:n_folds].copy(), strict=True):
        paths.append(path(cells, weight - w, hits - s, family, most))
        losses.append([loss(cells, w, s, family, bent) for bent in (identity, *paths[-1])])
    return paths, np.array(losses)


@contextmanager
def loops_beside(worth: bool = True) -> Iterator[None]:
    """Within this context the loops of default fits are compiled, or loaded, beside what else is computed, if that is worth it.

    Once in a process; the compiler leaves a core to NumPy for some of its time.
    """
    thread = _loading() if worth else None
    try:
        yield
    finally:
        if thread is not None:
            thread.join()


@cache
def _loading() -> Thread:
    thread = Thread(target=_few_fits, name="calibrant loops")
    thread.start()
    return thread


def _few_fits() -> None:
    """Fits of log-odds by the log loss to a few cells."""
    x = np.linspace(-1.0, 1.0, 8)
    cells = cells_of(x, np.where(x > 0, 1.0, 0.0), np.ones(8), np.zeros(8, np.intp), 1)
    with many_calls():  # of this thread
        crossed(cells, Family(True, False, (-np.inf, np.inf), False), 2)
