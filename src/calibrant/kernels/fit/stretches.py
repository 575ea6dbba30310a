"""Calibration curves that are right in some stretches of the predictions and off by a constant log-odds in others.

Cells with log-odds z, rows w and hits s are cut into stretches, in every possible way. A
stretch is right, or its log-odds are moved by x ~ N(0, τ²). The evidence of each of the
m(m + 1)/2 possible stretches, and a recursion over where the last stretch begins, give the
evidence of all partitions together and draws from the posterior, without search.

The same evidence answers a simpler question with fewer rows: is the model far off in one short
stretch and right elsewhere? Partitions pay for both ends of it and for the stretches beside it;
one stretch alone has a place and a width, and every order of magnitude of the width is equally
probable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.types import Floats, Indices

RIGHT = 0.5
"""Prior probability that a stretch is right."""

SCALES = (0.2, 0.6, 2.0, 6.0)
"""τ, equally probable; the largest is for predictions next to 0 and 1."""

FAR, LONGEST = SCALES.index(2.0), 0.1
"""The scale of a stretch alone, and its largest share of the cells."""

KNOTS = np.arange(-24.0, 24.5, 0.5)
"""Moves x at which sums over cells are known; a cubic between them is exact enough for a billion rows."""

STEP = 0.5
NEWTON = 4
"""Steps within one interval of knots."""


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """The posterior of all partitions, for one or more hazards."""

    evidence: Floats
    """logarithm of the marginal likelihood for each hazard, then of one stretch alone; 0 is a model right everywhere"""
    begin: tuple[Floats, ...]
    """for each end, `(hazards, starts)`: cumulative probability of where the stretch that ends there begins"""
    kind: Floats
    """`(1 + τ, start, end)`: cumulative probability that a stretch is right, or was moved on the scale τ"""
    move: Floats
    """`(τ, start, end)`: most probable move"""
    spread: Floats
    """its standard deviation"""
    alone: Floats
    """`(start, end)`, flat: cumulative probability of a stretch alone"""

    def drawn(self, which: int, count: int, rng: np.random.Generator) -> Floats:
        """`count` joint draws of the moves in all cells, `(draws, cells)`, in the order of the evidence."""
        if which == len(self.evidence) - 1:
            return self._one(count, rng)
        m = len(self.begin)
        end, found = np.full(count, m), []
        for last in range(m, 0, -1):
            draw = np.flatnonzero(end == last)
            if len(draw):
                first = np.searchsorted(self.begin[last - 1][which], rng.random(len(draw)), side="right")
                end[draw] = first = np.minimum(first, last - 1)
                found.append(np.stack([draw, first, np.full(len(draw), last)]))
        draw, first, last = np.concatenate(found, axis=1)
        kind = (self.kind[:, first, last - 1] < rng.random(len(first))).sum(axis=0)
        scale = np.minimum(kind, len(SCALES)) - 1
        moved = self.move[scale, first, last - 1] + self.spread[scale, first, last - 1] * rng.standard_normal(
            len(first)
        )
        order = np.lexsort((first, draw))
        values: Floats = np.repeat(np.where(kind == 0, 0.0, moved)[order], (last - first)[order])
        return values.reshape(count, m)

    def _one(self, count: int, rng: np.random.Generator) -> Floats:
        """Draws of one stretch alone."""
        m = len(self.begin)
        at = np.minimum(np.searchsorted(self.alone, rng.random(count), side="right"), m * m - 1)
        first, last = np.divmod(at[:, None], m)
        move = self.move[FAR].flat[at] + self.spread[FAR].flat[at] * rng.standard_normal(count)
        return np.where((first <= np.arange(m)) & (np.arange(m) <= last), move[:, None], 0.0)


def stretches(z: Floats, w: Floats, s: Floats, hazards: Floats) -> Stretches:
    """The posterior of the stretches.

    Parameters
    ----------
    z, w, s
        Log-odds, rows and hits of each cell.
    hazards
        Prior probabilities that a new stretch begins at a cell.
    """
    m = len(z)
    first, last = np.triu_indices(m + 1, 1)
    evidence, moves, spreads = _moved(z, w, s, first, last)
    each = np.log((1 - RIGHT) / len(SCALES)) + evidence
    kinds = np.concatenate([np.full((1, len(first)), np.log(RIGHT)), each])
    top = kinds.max(axis=0)
    chances = np.cumsum(np.exp(kinds - top), axis=0)
    table = np.full((m, m), -np.inf)  # from the first cell to the last one
    table[first, last - 1] = np.log(chances[-1]) + top
    kind, move, spread = (np.zeros((len(v), m, m)) for v in (kinds, moves, spreads))
    for square, packed in ((kind, chances / chances[-1]), (move, moves), (spread, spreads)):
        square[:, first, last - 1] = packed
    partitions, begin = _partitions(table, np.asarray(hazards))
    one, alone = _alone(evidence[FAR], first, last, m)
    return Stretches(np.append(partitions, one), begin, kind, move, spread, alone)


def _alone(evidence: Floats, first: Indices, last: Indices, m: int) -> tuple[float, Floats]:
    """Evidence of one stretch alone, and the chances of each `(start, end)`, flat and summed up."""
    width = last - first
    before = np.where(width <= max(LONGEST * m, 1), 1 / (width * (m + 1.0 - width)), 0.0)
    top = evidence[before > 0].max()
    chance = np.zeros((m, m))
    chance[first, last - 1] = before / before.sum() * np.exp(np.minimum(evidence - top, 0.0))
    total = chance.sum()
    return float(np.log(total) + top), np.cumsum(chance / total)


def _moved(z: Floats, w: Floats, s: Floats, first: Indices, last: Indices) -> tuple[Floats, Floats, Floats]:
    """For every τ and stretch: the evidence of a move against none, the most probable move and its spread (Laplace)."""
    at = z + KNOTS[:, None]
    mu = sigmoid(at)
    terms = np.logaddexp(0, at) - np.logaddexp(0, z), mu, mu * (1 - mu)
    fall, slope, bend = (np.pad(np.cumsum(w * term, axis=1), ((0, 0), (1, 0))) for term in terms)
    sums = np.append(0.0, np.cumsum(s))
    hits, precision = sums[last] - sums[first], 1 / np.square(SCALES)[:, None]

    def over(table: Floats, k: Indices) -> Floats:
        """Sums over the cells of each stretch at its knot."""
        difference: Floats = table[k, last] - table[k, first]
        return difference

    low, high = np.zeros((len(SCALES), len(first)), int), np.full((len(SCALES), len(first)), len(KNOTS) - 1)
    for _ in range(int(np.ceil(np.log2(len(KNOTS) - 1)))):  # the knots around the mode
        middle = (low + high) // 2
        rises = hits > over(slope, middle) + KNOTS[middle] * precision
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    high = low + 1
    f0, f1, g0, g1 = over(slope, low), over(slope, high), STEP * over(bend, low), STEP * over(bend, high)
    b, c = 3 * (f1 - f0) - 2 * g0 - g1, 2 * (f0 - f1) + g0 + g1  # the cubic f0 + g0·t + b·t² + c·t³ between them
    t = np.full(low.shape, 0.5)
    for _ in range(NEWTON):
        more = hits - f0 - t * (g0 + t * (b + t * c)) - (KNOTS[low] + STEP * t) * precision
        t = np.clip(t + more / (g0 + t * (2 * b + 3 * c * t) + STEP * precision), 0.0, 1.0)
    move = KNOTS[low] + STEP * t
    curved = np.maximum(g0 + t * (2 * b + 3 * c * t), 0.0) / STEP
    lost = over(fall, low) + STEP * t * (f0 + t * (g0 / 2 + t * (b / 3 + t * c / 4)))
    evidence = hits * move - lost - 0.5 * move**2 * precision - 0.5 * np.log1p(curved / precision)
    return evidence, move, 1 / np.sqrt(curved + precision)


def _partitions(table: Floats, hazards: Floats) -> tuple[Floats, tuple[Floats, ...]]:
    """Evidence of all partitions for each hazard, and the chances of each start given the end."""
    m = len(table)
    total, begin = np.zeros((len(hazards), m + 1)), []
    on, new = np.log1p(-hazards)[:, None], np.log(hazards)[:, None]
    for end in range(1, m + 1):
        start = np.arange(end)
        each = total[:, :end] + table[:end, end - 1] + on * (end - 1 - start) + np.where(start > 0, new, 0.0)
        top = each.max(axis=1, keepdims=True)
        sums = np.cumsum(np.exp(each - top), axis=1)
        total[:, end] = np.log(sums[:, -1]) + top[:, 0]
        begin.append(sums / sums[:, -1:])
    return total[:, m], tuple(begin)
