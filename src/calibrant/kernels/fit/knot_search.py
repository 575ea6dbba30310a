"""The knots and heights with the smallest loss for a given number of pieces: a search from many starts.

The loss of the best heights is rough in the knots, with a kink wherever a knot passes a
row, so it is searched rather than differentiated: all sets of knots on three coarse grids
where there are few enough, grown sets where there are more, then knots moved one by one
by ever smaller steps. Knots may come as close as they like.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from calibrant.kernels.compiled import worth_compiling
from calibrant.kernels.fit.knot_heights import Family, fit_each
from calibrant.kernels.fit.knot_paths import CELLS, MOST_STEPS, NEAR, Bent, Cells, cells_of, path
from calibrant.kernels.logits import log_odds
from calibrant.types import Floats

LEAST_RIDGE = 1e-6
"""In rows: heights that no row decides stay near the identity, all others are those of the
smallest loss."""

GRID = 20
"""Steps of 5 % on the grids: of the probabilities, of the range of the data and of the rows."""

MOST_SETS = 1000
"""Sets of knots on a grid up to which all are tried; beyond, knots are added to the best."""

BEAM = 10
STARTS = 4
"""Sets that are grown at once, and sets from which knots are moved."""

SHARES, SIDES = np.repeat(2.0 ** -np.arange(1, 10), 2), np.tile([-1, 1], 9)
"""A knot is moved by shares of the way to the next knot, on either side."""

MOST_PASSES = 20
WORTH = 1e-6
"""Nats by which a move must lower the loss."""

FINE_CELLS = 20_000
"""Cells of the last moves; the search before works on those of the default fits."""

COMPILE_FROM = 100
"""Cells from which the heights are fitted by compiled loops: there are thousands of fits."""


class Found(NamedTuple):
    """A set of knots with its best heights and their loss."""

    loss: float
    t: Floats
    h: Floats


class Rows(NamedTuple):
    """Cells of one fold and the family that is fitted to them."""

    x: Floats
    weight: Floats
    hits: Floats
    family: Family

    def each(self, t: Floats, start: Bent, enough: float = -np.inf) -> tuple[Floats, Floats]:
        """The best heights of each row of knots, from those of another line, and their losses up to the first below `enough`."""
        # rising heights are found by many sweeps, however few the rows
        fast = self.family.rising or worth_compiling(len(self.x), COMPILE_FROM)
        heights, how = np.clip(start.at(t), *self.family.ends), (self.family, LEAST_RIDGE, MOST_STEPS, fast)
        return fit_each(self.x, self.weight, self.hits, t, heights, *how, enough)

    def fitted(self, t: Floats, start: Bent) -> Found:
        """Knots with their best heights."""
        return self.best(t[None], start, 1)[0]

    def best(self, t: Floats, start: Bent, most: int) -> list[Found]:
        """The rows of knots with the smallest losses."""
        h, losses = self.each(t, start)
        return [Found(float(losses[i]), t[i], h[i]) for i in np.argsort(losses, kind="stable")[:most]]


def best_line(x: Floats, y: Floats, w: Floats, family: Family, n_pieces: int) -> Bent:
    """The piecewise-linear function of sorted rows with the smallest loss that the search finds."""
    fold = np.zeros(len(x), dtype=np.intp)
    coarse, fine = (cells_of(x, y, w, fold, 1, most) for most in (CELLS, FINE_CELLS))
    rows = _rows(coarse, family)
    ends = coarse.t[[0, -1]]
    straight = rows.fitted(ends, Bent(ends, ends))
    n_inner = min(n_pieces - 1, max(len(coarse.x) - 2, 0))
    if not n_inner:
        return _line(min((_rows(fine, family).fitted(ends, _line(straight)), straight), key=_loss))
    grids = _grids(x, w, ends, family.logit)
    on_grids = [found for grid in grids for found in _on_grid(rows, grid, straight, n_inner)]
    quick = path(coarse, rows.weight, rows.hits, family, n_inner + 1, among_many=False)[-1]
    starts = [rows.fitted(quick.t, quick), *sorted(on_grids, key=_loss)[:STARTS]]
    moved = [_moved(rows, found, np.concatenate(grids)) for found in starts]
    if len(fine.x) == len(coarse.x):
        return _line(min(moved + on_grids, key=_loss))
    rows = _rows(fine, family)
    again = [rows.fitted(found.t, _line(found)) for found in sorted(moved, key=_loss)[:2] + on_grids]
    return _line(min((_moved(rows, found) for found in sorted(again, key=_loss)[:2]), key=_loss))


def _rows(cells: Cells, family: Family) -> Rows:
    return Rows(cells.x, cells.weight[:, 0].copy(), cells.hits[:, 0].copy(), family)


def _loss(found: Found) -> float:
    return found.loss


def _line(found: Found) -> Bent:
    return Bent(found.t, found.h)


def _grids(x: Floats, w: Floats, ends: Floats, logit: bool) -> list[Floats]:
    """Places every 5 % of the probabilities, of the range of the data and of the rows, between the ends."""
    shares = np.arange(1, GRID) / GRID
    below = np.cumsum(w)
    places: list[Floats] = [
        log_odds(shares) if logit else shares,
        ends[0] + shares * (ends[1] - ends[0]),
        x[np.searchsorted(below, shares * below[-1])],
    ]
    kept = (np.unique(grid[(grid > ends[0] + NEAR) & (grid < ends[1] - NEAR)]) for grid in places)
    return [grid[np.concatenate([[True], np.diff(grid) > NEAR])] for grid in kept if len(grid)]


def _on_grid(rows: Rows, grid: Floats, straight: Found, n_inner: int) -> list[Found]:
    """The best sets of `n_inner` knots on a grid: of all sets, or grown from the best smaller ones."""
    n_inner, size = min(n_inner, len(grid)), min(n_inner, len(grid))
    while math.comb(len(grid), size) > MOST_SETS:
        size -= 1
    best = _best(rows, grid, list(combinations(range(len(grid)), size)), straight)
    for _ in range(size, n_inner):
        known = [set(np.searchsorted(grid, found.t[1:-1]).tolist()) for found in best]
        grown = {tuple(sorted(at | {k})) for at in known for k in range(len(grid)) if k not in at}
        best = _best(rows, grid, sorted(grown), straight)
    return best[:STARTS]


def _best(rows: Rows, grid: Floats, sets: list[tuple[int, ...]], straight: Found) -> list[Found]:
    """Sets of places with the smallest losses."""
    return rows.best(_with(straight.t, grid[np.array(sets)]), _line(straight), BEAM)


def _with(t: Floats, more: Floats) -> Floats:
    """Rows of knots: those of `t` and a row of `more`."""
    return np.sort(np.concatenate([np.broadcast_to(t, (len(more), len(t))), more], axis=1), axis=1)


def _moved(rows: Rows, found: Found, places: Floats | None = None) -> Found:
    """Knots moved one by one while that lowers the loss, by steps and, where given, to other places."""
    for _ in range(MOST_PASSES):
        before = found.loss
        for q in range(1, len(found.t) - 1):
            found = _stepped(rows, found, q)
        if places is not None and before - found.loss < 1e3 * WORTH:
            found = _placed(rows, found, places)
        if before - found.loss < 1e2 * WORTH:
            break
    return found


def _stepped(rows: Rows, found: Found, q: int) -> Found:
    """One knot moved towards its neighbours by ever smaller steps."""
    left = np.arange(len(SHARES))
    while len(left):
        t = np.repeat(found.t[None], len(left), axis=0)
        t[:, q] += SHARES[left] * (found.t[q + SIDES[left]] - found.t[q])
        free = np.flatnonzero(np.minimum(t[:, q] - t[:, q - 1], t[:, q + 1] - t[:, q]) > NEAR)
        enough = found.loss - WORTH
        h, losses = rows.each(t[free], _line(found), enough)
        better = np.flatnonzero(losses < enough)
        if not len(better):
            break
        i = better[0]
        found, left = Found(float(losses[i]), t[free[i]], h[i]), left[free[i] + 1 :]
    return found


def _placed(rows: Rows, found: Found, places: Floats) -> Found:
    """Each knot taken away and put where, of all places, the loss is then smallest."""
    for q in range(1, len(found.t) - 1):
        rest = np.delete(found.t, q)
        free = places[np.abs(places[:, None] - rest).min(axis=1) > NEAR]
        trials = rows.best(_with(rest, free[:, None]), _line(found), 1)
        found = trials[0] if trials and trials[0].loss < found.loss - WORTH else found
    return found
