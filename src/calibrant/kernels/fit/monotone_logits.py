"""Functions of a row of log-probabilities that keep the order of its entries, and their log loss.

A row is sorted, largest first: s_1 ≥ … ≥ s_K, with gaps d_j = s_j − s_(j+1). The new
row, its top at 0, is z_j = f(s_j) − f(s_1) − Σ_(i<j) m_i d_i, where f rises and every
m_i is positive:

- f is linear between cuts, with positive slopes;
- m_i = rate of the gap's place i at the row's top log-odds (linear between knots) + rate
  of the class above the gap + rate of the class below it.

z is linear in all slopes and rates, so the log loss is convex in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from calibrant.kernels.fit.lbfgs import NEARLY, Smooth
from calibrant.kernels.logits import BLOCK, row_sums, running_sums
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.types import Floats, Indices

PLACES = 3
"""Places of a gap that are distinguished: between the first and the second entry, the
next two gaps, and all below."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Slopes of f, and rates.

    By place and knot `(places, knots)`, of the class above and of the class below a
    gap.
    """

    slopes: Floats
    rates: Floats
    above: Floats
    below: Floats

    def flat(self) -> Floats:
        """All in one vector."""
        return np.concatenate([self.slopes, self.rates.ravel(), self.above, self.below])

    def like(self, flat: Floats) -> Coefficients:
        """A vector cut into these shapes."""
        ends = np.cumsum([self.slopes.size, self.rates.size, self.above.size])
        slopes, rates, above, below = np.split(flat, ends)
        return Coefficients(slopes, rates.reshape(self.rates.shape), above, below)


@dataclass(frozen=True)
class SortedRows:
    """Rows of log-probabilities, largest first, with what a fit reads repeatedly."""

    logs: Floats
    order: Indices
    """the class of each entry"""
    cuts: Floats
    knots: Floats
    """of the top log-odds; none: places do not matter"""

    @cached_property
    def gaps(self) -> Floats:
        """d_j ≥ 0, `(n, K−1)`."""
        return self.logs[:, :-1] - self.logs[:, 1:]

    @cached_property
    def piece(self) -> Indices:
        """The piece of f that each entry lies in."""
        return np.searchsorted(self.cuts, self.logs)

    @cached_property
    def into(self) -> Floats:
        """How far into its piece.

        From the cut below, and for the first piece from the cut above.
        """
        return self.logs - self.cuts[np.maximum(self.piece - 1, 0)] if len(self.cuts) else self.logs

    @cached_property
    def between(self) -> tuple[Indices, Indices, Floats]:
        """The knots on either side of the row's top log-odds, and the share of the right one."""
        odds = np.clip(top_odds(self.logs), self.knots[0], self.knots[-1])
        left = np.minimum(np.searchsorted(self.knots, odds, side="right") - 1, max(0, len(self.knots) - 2))
        right = np.minimum(left + 1, len(self.knots) - 1)
        width = self.knots[right] - self.knots[left]
        share = np.divide(odds - self.knots[left], width, out=np.zeros_like(odds), where=width > 0)
        return left, right, share

    @cached_property
    def ends(self) -> tuple[Indices, Indices]:
        """The class above and the class below each gap."""
        above, below = (np.ascontiguousarray(each, np.intp) for each in (self.order[:, :-1], self.order[:, 1:]))
        return above, below

    @cached_property
    def place(self) -> Indices:
        """The place of each gap."""
        return places(self.logs.shape[1])

    def heights(self, c: Coefficients) -> Floats:
        """The new row z, largest first and with its top at 0."""
        if len(c.slopes):
            z = c.slopes.take(self.piece)
            z *= self.into
            z += at_cuts(self.cuts, c.slopes).take(self.piece)
            z -= z[:, :1].copy()
        else:
            z = np.zeros_like(self.logs)
        if c.rates.size or len(c.above):
            moved = self.factors(c)
            moved *= self.gaps
            z[:, 1:] -= running_sums(moved)
        return z

    def factors(self, c: Coefficients) -> Floats:
        """m_j, `(n, K−1)`."""
        m: Floats | float = 0.0
        if c.rates.size:
            left, right, share = self.between
            at_places = c.rates.take(left, axis=1) * (1 - share) + c.rates.take(right, axis=1) * share
            m = np.ascontiguousarray(at_places.T).take(self.place, axis=1)
        if len(c.above):
            own = c.above.take(self.ends[0])
            own += c.below.take(self.ends[1])
            m = own if isinstance(m, float) else np.add(m, own, out=m)
        return np.asarray(m)

    def pull(self, r: Floats, c: Coefficients) -> Coefficients:
        """Σ r_ij ∂z_ij by every coefficient, for r whose rows sum to 0."""
        gap = -running_sums(r[:, :0:-1].copy())[:, ::-1] * self.gaps
        rates = np.zeros_like(c.rates)
        if c.rates.size:
            left, right, share = self.between
            for at in range(len(rates)):
                mine = row_sums(gap[:, self.place == at])[:, 0]
                rates[at] = summed(left, mine * (1 - share), len(self.knots))
                rates[at] += summed(right, mine * share, len(self.knots))
        above, below = np.zeros_like(c.above), np.zeros_like(c.below)
        if len(above):
            above, below = (summed(each.ravel(), gap.ravel(), c.above.size) for each in self.ends)
        return Coefficients(self._pull_slopes(r, len(c.slopes)), rates, above, below)

    def _pull_slopes(self, r: Floats, n_slopes: int) -> Floats:
        if not n_slopes:
            return np.zeros(0)
        piece = self.piece.ravel()
        slopes = summed(piece, (r * self.into).ravel(), n_slopes)
        beyond = np.cumsum(summed(piece, r.ravel(), n_slopes)[::-1])[::-1]  # entries in this piece or above
        slopes[1:-1] += np.diff(self.cuts) * beyond[2:]
        return slopes


def summed(which: Indices, values: Floats, size: int) -> Floats:
    """Σ values by index."""
    return np.asarray(np.bincount(which, values, size), np.float64)


def places(n_classes: int) -> Indices:
    """The place of each of K−1 gaps: 1, then 2 and 3, then the rest."""
    return np.minimum(np.log2(np.arange(1, n_classes)).astype(np.intp), PLACES - 1)


def top_odds(logs: Floats) -> Floats:
    """Log-odds of the first entry of sorted rows, without overflow however confident the row is."""
    below = logs[:, 1:] - logs[:, 1:2]
    return logs[:, 0] - logs[:, 1] - np.log(row_sums(np.exp(below))[:, 0])


def at_cuts(cuts: Floats, slopes: Floats) -> Floats:
    """f at the cut that each piece is measured from; 0 at the first cut."""
    rises = np.cumsum(slopes[1:-1] * np.diff(cuts)) if len(cuts) else np.zeros(0)
    return np.concatenate([np.zeros(min(2, len(slopes))), rises])


def design(rows: SortedRows, shapes: Coefficients) -> Floats:
    """∂z/∂coefficient, `(coefficients, n, K)`."""
    (n, k), n_slopes, n_rates = rows.logs.shape, shapes.slopes.size, shapes.rates.size
    found = np.zeros((shapes.flat().size, n, k))
    if n_slopes:
        each, width = np.arange(n_slopes)[:, None, None], np.zeros((n_slopes, 1, 1))
        width[1:-1, 0, 0] = np.diff(rows.cuts)  # of the pieces that lie between two cuts
        found[:n_slopes] = np.where(rows.piece == each, rows.into, (rows.piece > each) * width)
        found[:n_slopes] -= found[:n_slopes, :, :1].copy()
    row, below, rest = np.arange(n)[:, None], np.arange(1, k), found[n_slopes:]
    if n_rates:  # a rate or a class moves all entries below its gap
        left, right, share = (each[:, None] for each in rows.between)
        at = rows.place * shapes.rates.shape[1]
        rest[at + left, row, below] = -rows.gaps * (1 - share)
        rest[at + right, row, below] -= rows.gaps * share
    if len(shapes.above):
        for start, classes in zip((n_rates, n_rates + len(shapes.above)), rows.ends, strict=True):
            rest[start + classes, row, below] = -rows.gaps
    np.cumsum(rest, axis=2, out=rest)
    return found


class Without:
    """Rows in folds: what is best without one of them is near what is best of all rows.

    Searches without a fold begin there, and keep to the curvature there.
    """

    def __init__(self, rows: SortedRows, shares: Floats, weights: Floats, fold: Indices, near: Coefficients) -> None:
        self.order, self.near = np.argsort(fold, kind="stable"), near
        given = rows.logs[self.order], rows.order[self.order], shares[self.order], weights[self.order]
        ends = np.searchsorted(fold[self.order], np.arange(fold.max() + 2))
        self.parts = [slice(*pair) for pair in pairwise(ends.tolist())]
        self.rows = [SortedRows(given[0][at], given[1][at], rows.cuts, rows.knots) for at in self.parts]
        self.shares, self.weights = ([each[at] for at in self.parts] for each in given[2:])
        some = slice(None, None, -(-rows.logs.size * near.flat().size // FEW_DESIGN))
        z = design(SortedRows(given[0][some], given[1][some], rows.cuts, rows.knots), near)
        mine = [fold[self.order][some] == part for part in range(len(self.parts))]
        self.curvatures = [_curvature(z[:, at], given[3][some][at], near.flat()) for at in mine]
        self.designs = [np.ascontiguousarray(z[:, at]) for at in self.parts] if some.step == 1 else None
        self.first = [self._sums(part, near.flat()) for part in range(len(self.parts))]

    def best(self, f: int, unit: Floats, least: float, penalty: float) -> Floats:
        """The coefficients without a fold, penalised as in a fit: steps of one curvature, above a least value."""
        others = [g for g in range(len(self.parts)) if g != f]
        total = float(sum(self.weights[g].sum() for g in others))
        curvature, weight = (sum(each) for each in zip(*(self.curvatures[g] for g in others), strict=True))
        curvature = curvature / weight * np.outer(unit, unit)
        curvature[np.diag_indices_from(curvature)] += 2 * penalty / total

        def penalised(at: Floats, sums: Iterable[Floats]) -> tuple[float, Floats]:
            found, off = np.sum(list(sums), axis=0) / total, at - 1
            return float(found[0]) + penalty / total * float(off @ off), found[1:] * unit + 2 * penalty / total * off

        at = np.maximum(self.near.flat() / unit, least)
        value, slope = penalised(at, [self.first[g] for g in others])
        for _ in range(STEPS):
            free, new = (at > least) | (slope < 0), at.copy()
            new[free] -= np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
            new = np.maximum(new, least)
            found = penalised(new, [self._sums(g, new * unit) for g in others])
            if not found[0] < value:
                break
            gained, at, (value, slope) = value - found[0], new, found
            if gained * total <= NEARLY:
                break
        return at * unit

    def answers(self, f: int, coefficients: Floats) -> tuple[Indices, Floats]:
        """Which rows a fold has, and the softmax of their new heights."""
        e = np.exp(self.rows[f].heights(self.near.like(coefficients)))
        return self.order[self.parts[f]], e / row_sums(e)

    def _sums(self, part: int, coefficients: Floats) -> Floats:
        """Σ w·loss and its slopes over a fold."""
        rows, t, w = self.rows[part], self.shares[part], self.weights[part]
        if self.designs is None:
            return block_loss(rows, t, w, self.near.like(coefficients))
        return designed_loss(self.designs[part], t, w, coefficients)


def designed_loss(z: Floats, shares: Floats, weight: Floats, coefficients: Floats) -> Floats:
    """`block_loss`, given ∂z: of few rows this takes less time."""
    heights = _heights(z, coefficients)
    r, size = _shares(heights)
    loss = weight @ (np.log(size) - np.einsum("ij,ij->i", shares, heights))
    r -= shares
    r *= weight[:, None]
    return np.concatenate([[loss], z.reshape(len(z), -1) @ r.ravel()])


def _heights(z: Floats, coefficients: Floats) -> Floats:
    return np.asarray(coefficients @ z.reshape(len(z), -1)).reshape(z.shape[1:])


def _curvature(z: Floats, w: Floats, coefficients: Floats) -> tuple[Floats, float]:
    """Σ w Zᵀ(diag(q) − q qᵀ)Z and Σ w."""
    q, _ = _shares(_heights(z, coefficients))
    own = z - np.einsum("nk,cnk->cn", q, z)[:, :, None]
    own *= np.sqrt(w[:, None] * q)
    flat = own.reshape(len(z), -1)
    return flat @ flat.T, float(w.sum())


def _shares(heights: Floats) -> tuple[Floats, Floats]:
    """The softmax of rows whose top is 0, and Σ e^z of each."""
    e = np.exp(heights)
    size = row_sums(e)
    return e / size, size[:, 0]


STEPS = 2
"""Steps of a search without a fold."""

MOST_DESIGN, FEW_DESIGN = 1 << 20, 1 << 19
"""Rows times classes times parameters up to which a fit keeps the derivatives, and up to which searches without a fold
do, which take few steps: of more, some rows give the curvature."""


def log_loss(rows: SortedRows, shares: Floats, weights: Floats | None, shapes: Coefficients) -> Smooth:
    """The mean log loss and its slopes, as a function of all coefficients in one vector.

    `shares` are the labels, sorted as the rows are; each row sums to 1.
    """
    n, k = rows.logs.shape
    total, each = float(n if weights is None else weights.sum()), np.ones(n) if weights is None else weights
    if rows.logs.size * shapes.flat().size <= MOST_DESIGN:
        z = design(rows, shapes)

        def designed(flat: Floats) -> tuple[float, Floats]:
            sums = designed_loss(z, shares, each, flat) / total
            return float(sums[0]), sums[1:]

        return designed
    step = max(1, BLOCK // k)
    parts = (slice(start, start + step) for start in range(0, n, step))
    blocks = [SortedRows(rows.logs[at], rows.order[at], rows.cuts, rows.knots) for at in parts]

    def loss(flat: Floats) -> tuple[float, Floats]:
        c = shapes.like(flat)

        def part(at: slice) -> Floats:
            return block_loss(blocks[at.start // step], shares[at], each[at], c)

        sums = added_over_blocks(n, part, step) / total
        return float(sums[0]), sums[1:]

    return loss


def block_loss(rows: SortedRows, shares: Floats, weight: Floats, c: Coefficients) -> Floats:
    """Σ w (ln Σ e^z − Σ t z), followed by its slopes."""
    z = rows.heights(c)
    e = np.exp(z)
    size = row_sums(e)
    chosen = np.einsum("ij,ij->i", shares, z)
    r = np.divide(e, size, out=e)
    r -= shares
    r *= weight[:, None]
    loss = np.einsum("i,i->", weight, np.log(size[:, 0]) - chosen)
    return np.concatenate([[loss], rows.pull(r, c).flat()])
