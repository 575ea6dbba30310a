"""All segments on the same draws: labels redrawn from the predictions, every statistic of every segment, judged against the largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.interval import normal_quantile
from calibrant.kernels.draws.null_draws import (
    STEP,
    Seeds,
    binomial_tables,
    draw_pooled,
    draw_single,
    flip_signs,
    replicate_seeds,
)
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.sums.segment_sums import (
    add_members,
    add_tile,
    cluster_powers,
    deviations,
    gap_scores,
    range_scores,
    walk_tile,
)
from calibrant.predictions import Event, Predictions
from calibrant.resampling.draw import content_seed
from calibrant.resampling.rows import Atoms, cluster_codes, counts_rows
from calibrant.verbs.auditing.segments import Codes, Segments

Floats = NDArray[np.float64]

DRAWS_AT_ONCE = 32
"""Draws side by side: four cache lines of a row."""

TILE = 1024
"""Rows drawn at a time: with all their draws a quarter of a megabyte, which stays in a core's cache."""

CLOSE = 1e-9
"""Scores closer than this, relative to the larger, are equal: sums of the same errors in another order."""

HALVINGS = 60
"""Of an interval in search of a root: to the last digit."""

NOTHING = 1e-30
"""Standard deviation of a mean below which nothing is left to chance."""

SCARCE = 1.0
"""Surprises to be expected below which draws do not tell how far the errors of a segment may go."""


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Rows in order of the prediction, and the segments they belong to."""

    atoms: Atoms
    cells: Codes
    members: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def n_segments(self) -> int:
        return len(self.starts) - 1

    def independent(self) -> Family:
        """The same rows without their clusters."""
        return replace(self, atoms=replace(self.atoms, cluster=None))

    @property
    def work(self) -> int:
        """Steps of one draw."""
        return len(self.atoms.p) + len(self.members)


def family_of(event: Event, predictions: Predictions, segments: Segments, kept: Any, cluster: bool) -> Family:
    """Rows with the same prediction, in the same cell, are pooled unless weights or clusters keep them apart."""
    p, y = event.probs[kept].astype(np.float64), event.outcomes[kept].astype(np.float64)
    w = np.ones(len(p)) if event.weights is None else event.weights[kept]
    cells = segments.cells
    if not cluster and counts_rows(event.weights, "auto"):
        order = np.lexsort((cells, p))
        p, cells = p[order], cells[order]
        first = np.flatnonzero(np.concatenate([[True], (p[1:] != p[:-1]) | (cells[1:] != cells[:-1])]))
        counts = np.round(np.add.reduceat(w[order], first)).astype(np.int64)
        hits, p, cells = np.add.reduceat((w * y)[order], first), p[first], cells[first]
        atoms = Atoms(p, np.ones(len(p)), counts, hits, None, event.name, event.n)
    else:
        of = cluster_codes(predictions)[kept] if cluster else np.zeros(len(p), np.int64)
        order = np.lexsort((y, w, of, cells, p))
        ones, cells = np.ones(len(p), np.int64), cells[order]
        of = np.unique(of, return_inverse=True)[1][order] if cluster else None
        atoms = Atoms(p[order], w[order], ones, y[order], of, event.name, event.n)
    return Family(atoms, cells, *segments.members(cells))


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """What is known of each segment before any draw: sums over its rows, and the scale of its statistics."""

    weight: Floats
    said: Floats
    """Σ wp"""
    happened: Floats
    """Σ wy"""
    sigma: Floats
    skew: Floats
    """of the hits"""
    step: Floats
    """between neighbouring values of the sum, 0 where they lie close"""
    spread: Floats
    """standard deviation of the sum as the errors show it, its own or, relative to σ, those of all rows; σ at least"""
    erring: Floats | None
    """(ΣE²)² / ΣE⁴ over the sums of the clusters' errors: how many equal ones would vary as they do; None without clusters"""
    cubes: Floats
    """Σ w³p(1 − p)"""
    room: Floats
    """(2, 2, S): Σ w²c and Σ w³c, first for c = p, then for c = 1 − p; with clusters Σ(Σwc)² and 0"""

    def gap_scores(self, sums: Floats) -> Floats:
        """|z| of Σ(p − y), for the last axis over segments."""
        return self._impossible(sums, gap_scores(sums, self._sigma, self.skew, self.step))

    def range_scores(self, ranges: Floats) -> Floats:
        """|z| of the range of the running sum."""
        return self._impossible(ranges, range_scores(ranges, self._sigma, self.skew))

    def sure_scores(self, sums: Floats) -> Floats:
        """|z| of Σ(p − y) if it varies as the errors themselves show: for claims about the gap rather than about calibration."""
        return self.gap_scores(sums / self.wider)

    @property
    def wider(self) -> Floats:
        """By how much the errors vary more than the predictions say; never less than 1."""
        return np.divide(self.spread, self.sigma, out=np.ones_like(self.sigma), where=self.sigma > 0)

    def critical_sums(self, z: float | Floats, upward: bool) -> Floats:
        """How far Σ(y − p) must lie above 0 (or below) to score z."""
        return self.sigma * np.maximum(deviations(z, self.skew if upward else -self.skew), 0.0) + self.step / 2

    def critical_ranges(self, z: float) -> Floats:
        """The range that scores z, by halving."""
        low, high = np.zeros_like(self.sigma), (10 + 10 * z) * (1 + np.abs(self.skew) * z) * self._sigma
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            short = range_scores(middle, self._sigma, self.skew) < z
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.where(self.sigma > 0, high, 0.0)

    @property
    def scarce(self) -> NDArray[np.bool_]:
        """Segments that hardly leave anything to chance, so that calibration says little about errors of a wrong model."""
        if self.erring is not None:
            return self.erring < SCARCE
        return self.sigma**6 < SCARCE * self.cubes**2 + (self.sigma == 0)

    @property
    def half_a_hit(self) -> Floats:
        """Half the weight of a row, on average over hits and misses: below it nothing is seen. 0 with clusters."""
        return self.room[:, 0].sum(axis=0) / self.weight / 2 if self.erring is None else np.zeros_like(self.weight)

    def reach(self, upward: bool) -> Floats:
        """The largest possible Σ(y − p) above 0 (or below), on average."""
        return self.weight - self.said if upward else self.said

    def wrong(self, share: Floats, upward: bool) -> Laws:
        """The same segments of a model that errs by `share` of its reach: every row is a sure hit (or miss) with that probability."""
        left, (squares, cubes) = 1 - share, self.room[int(upward)]
        variance = left**2 * self.sigma**2 + share * left * squares
        if self.erring is not None:
            return replace(self, sigma=np.sqrt(np.maximum(variance, self.sigma**2)))
        side = -1 if upward else 1
        third = side * left**3 * self.skew * self.sigma**3 + 3 * left**2 * share * self.cubes
        third += share * left * (1 - 2 * left) * cubes
        skew = np.divide(side * third, variance**1.5, out=np.zeros_like(third), where=_some(variance, self.weight))
        return replace(self, sigma=np.sqrt(variance), skew=skew)

    def farthest(self, sums: Floats, z: Floats, upward: bool) -> Floats:
        """The largest mean above 0 (or below) that Σ(y − p) = `sums` does not refute; as if it varied as one of that size does.

        Where sums refute every such mean, −∞.
        """
        side = 1 if upward else -1

        def short(share: Floats) -> Floats:
            wrong = self.wrong(share, upward)
            wrong = replace(wrong, sigma=np.maximum(wrong.sigma, self.spread))
            return self.reach(upward) * share - wrong.critical_sums(z, upward=not upward) - side * sums

        share = last_below(short, len(sums))
        return np.where(short(share) > 0, -np.inf, self.reach(upward) * share)

    def seen(self, critical: Floats, z: float, upward: bool) -> Floats:
        """The mean of Σ(y − p) above 0 (or below) from which on it exceeds what is critical with the probability below z; ∞ where none does.

        Clusters are judged by the errors that they show: what is critical is told in units of these.
        """
        needed = np.maximum(critical, self.half_a_hit)

        def short(share: Floats) -> Floats:
            wrong = self.wrong(share, upward)
            lost = wrong.sigma * deviations(z, -wrong.skew if upward else wrong.skew)
            return self.reach(upward) * share - lost - needed * (1.0 if self.erring is None else wrong.sigma)

        share = last_below(short, len(self.weight))
        return np.where(share < 1, self.reach(upward) * share, np.inf)

    @property
    def _sigma(self) -> Floats:
        return np.where(self.sigma > 0, self.sigma, 1.0)

    def _impossible(self, values: Floats, scores: Floats) -> Floats:
        """Where calibration leaves no error at all, any error is infinitely far."""
        return np.where(self.sigma > 0, scores, np.where(np.abs(values) > NOTHING * self.weight, np.inf, 0.0))


def _some(variance: Floats, weight: Floats) -> NDArray[np.bool_]:
    """Does the variance of a sum leave anything to chance?"""
    return variance > (NOTHING * weight) ** 2


def last_below(function: Callable[[Floats], Floats], n: int) -> Floats:
    """The largest shares in [0, 1] up to which functions are at most 0, 0 where they are above; to a factor 2 first, then by halving."""
    low = np.zeros(n)
    for share in 2.0 ** np.arange(-HALVINGS, 1):
        low = np.where(function(np.full(n, share)) <= 0, share, low)
    high = np.minimum(2 * low, 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = function(middle) <= 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def laws_of(family: Family) -> Laws:
    """One pass over the members of every segment."""
    atoms, n = family.atoms, family.n_segments
    p, unit, count, hits = atoms.p, atoms.unit, atoms.count, atoms.hits
    own = atoms.variance
    squares = unit**2 * (count * p**2 + hits * (1 - 2 * p))  # Σ w²(p − y)² of each atom
    heavy = unit * atoms.weight
    columns = np.stack(
        [
            atoms.weight, atoms.weight * p, unit * hits, own, unit * (1 - 2 * p) * own, squares,
            unit * own, heavy * p, unit * heavy * p, heavy * (1 - p), unit * heavy * (1 - p),
        ],
        axis=1,
    )  # fmt: skip
    sums = np.zeros((n, columns.shape[1]))
    add_members(columns, family.members, family.starts, sums)
    weight, said, happened, variance, third, squares, cubes = sums.T[:7]
    room = sums.T[7:].reshape(2, 2, n)
    sigma = np.sqrt(np.where(_some(variance, weight), variance, 0.0))
    step = np.full(n, 0.0 if atoms.fixed else 1.0)
    if atoms.cluster is not None:
        square, fourth = _cluster_powers(family, atoms.errors)
        sigma, flat = np.sqrt(np.where(_some(square, weight), square, 0.0)), np.zeros(n)
        erring = np.divide(sigma**4, fourth, out=np.zeros(n), where=sigma > 0)
        room = np.stack([[_cluster_powers(family, unit * c)[0], flat] for c in (p, 1 - p)])
        return Laws(weight, said, happened, sigma, flat, flat, sigma, erring, flat, room)
    skew = np.divide(third, sigma**3, out=np.zeros(n), where=sigma > 0)
    everywhere = columns.sum(axis=0)
    pooled = max(1.0, float(everywhere[5] / everywhere[3])) if _some(everywhere[3], everywhere[0]) else 1.0
    if not atoms.fixed:
        squares = np.maximum(squares - (said - happened) ** 2 / weight, 0.0)
    return Laws(
        weight, said, happened, sigma, skew, step, np.sqrt(np.maximum(pooled * variance, squares)), None, cubes, room
    )


def _cluster_powers(family: Family, values: Floats) -> Floats:
    """Σ of the squares and of the fourth powers of the clusters' sums, in each segment."""
    powers = np.zeros((family.n_segments, 2))
    cluster = np.asarray(family.atoms.cluster)
    cluster_powers(values, cluster, family.members, family.starts, np.zeros(int(cluster.max()) + 1), powers)
    return powers.T


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Σ(p − y) and the range of the running sum, `(1 + M, S)`; row 0 is what was observed."""

    sums: Floats
    ranges: Floats | None


def drawn(family: Family, n_draws: int, seed: int, ranged: bool) -> Drawn:
    """Every segment on every draw. The answer depends neither on the number of cores nor on the order of rows."""
    atoms = family.atoms
    arrays = (atoms.p, atoms.unit, atoms.count, atoms.hits, atoms.cluster, family.cells)
    seeds = replicate_seeds(content_seed(seed, *arrays)[0], n_draws)
    observed, redrawn = atoms.errors, _Redrawn(atoms)

    def part(block: slice) -> tuple[Floats, Floats]:
        mine = seeds[block]
        return _collected(family, len(mine), ranged, lambda rows: redrawn.errors(rows, mine))

    parts = [_collected(family, 1, ranged, lambda rows: observed[rows][:, None])]
    parts += over_blocks(n_draws, part, DRAWS_AT_ONCE)
    sums = np.concatenate([each[0] for each in parts], axis=1).T
    return Drawn(sums, np.concatenate([each[1] for each in parts], axis=1).T if ranged else None)


class _Redrawn:
    """Errors under calibration, a tile of rows at a time; for clusters the observed ones with their signs turned."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms, self.observed, self.expected = atoms, atoms.errors, atoms.count * atoms.p
        self.plain = atoms.plain
        self.tables = binomial_tables(atoms.p, atoms.count)

    def errors(self, rows: slice, seeds: Seeds) -> Floats:
        """(T, D), one column a draw. A draw is number i of its stream, so a tile starts its streams further on."""
        atoms, tables = self.atoms, self.tables
        errors = np.empty((len(seeds), rows.stop - rows.start))
        further = seeds + np.uint64(rows.start * int(STEP) % 2**64)
        if atoms.cluster is not None:
            flip_signs(self.observed[rows], atoms.cluster[rows], seeds, errors)
        elif self.plain:
            draw_single(atoms.p[rows], tables.thresholds[rows], further, errors)
        else:
            starts = tables.starts[rows.start : rows.stop + 1]
            draw_pooled(
                self.expected[rows], atoms.unit[rows], starts, tables.lowest[rows], tables.thresholds, further, errors
            )
        return np.ascontiguousarray(errors.T)


def _collected(family: Family, n_draws: int, ranged: bool, errors: Any) -> tuple[Floats, Floats]:
    """Sums and ranges `(S, D)` of some draws, tile by tile."""
    p, members, starts = family.atoms.p, family.members, family.starts
    at = starts[:-1].copy()
    total = np.zeros((family.n_segments, n_draws))
    high, low = (np.zeros_like(total) for _ in range(2)) if ranged else (total, total)
    for base in range(0, len(p), TILE):
        tile = errors(slice(base, min(base + TILE, len(p))))
        if ranged:
            walk_tile(tile, p, base, members, starts, at, total, high, low)
        else:
            add_tile(tile, base, members, starts, at, total)
    return total, high - low


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Adjusted p-values, and the score from which each segment is called wrong once those worse than it are."""

    adjusted: Floats
    needed: Floats
    critical: float
    """score that no segment of a calibrated model reaches, with probability `level`"""


def step_down(scores: Floats, level: float) -> Judged:
    """The columns of `(1 + M, S)`, row 0 observed, judged together (Westfall and Young 1993).

    A segment is compared with the largest score of itself and those less suspicious than it: once the worst is named, it no longer stands in
    the way of the next. Whoever acts on p-values up to α errs at all with a probability of at most α, whichever segments are really wrong.
    """
    order = np.argsort(-scores[0], kind="stable")
    largest = np.full(len(scores), -np.inf)
    adjusted, needed = np.empty(len(order)), np.empty(len(order))
    place = critical_place(len(scores), level)
    for s in order[::-1]:
        largest = np.maximum(largest, scores[:, s])
        adjusted[s] = (largest >= scores[0, s] * (1 - CLOSE)).mean()
        needed[s] = np.partition(largest, place)[place]
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return Judged(adjusted, needed, float(needed[order[0]]))


def critical_score(scores: Floats, level: float) -> float:
    """The score that no segment of a calibrated model reaches, with probability `level`: counted among the draws and what was observed."""
    largest, place = scores.max(axis=1), critical_place(len(scores), level)
    return float(np.partition(largest, place)[place])


def joint_scores(scores: Floats, scarce: NDArray[np.bool_], level: float) -> Floats:
    """How far gaps may vary: as the draws tell, and where they cannot, with an equal share of the errors that are allowed (Bonferroni)."""
    alone = 1 - (1 - level) / len(scarce)
    if scarce.all():
        return np.full(len(scarce), normal_quantile(alone))
    together = 1 - (1 - level) * (1 - scarce.mean())
    drawn_ = critical_score(scores[:, ~scarce], together)
    return np.where(scarce, normal_quantile(alone), max(drawn_, normal_quantile(together)))


def critical_place(total: int, level: float) -> int:
    """Where it lies in the order of `total` scores."""
    return min(math.ceil((level - CLOSE) * total), total - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What was observed in each segment, scored and judged against draws from one null."""

    laws: Laws
    sums: Floats
    """Σ(p − y)"""
    ranges: Floats | None
    gap_scores: Floats
    range_scores: Floats | None
    scores: Floats
    alone: Floats
    """p-value of each segment as if there were no other"""
    judged: Judged
    reaching: Floats
    """scores up to which gaps may vary, so that all do with probability `level`"""


def look(family: Family, statistic: str, level: float, n_draws: int, seed: int) -> Look:
    """Draw, score and judge all segments."""
    laws, found = laws_of(family), drawn(family, n_draws, seed, statistic != "gap")
    gaps = laws.gap_scores(found.sums)
    scores, ranges, observed = gaps, None, None
    if found.ranges is not None:
        courses = laws.range_scores(found.ranges)
        scores = courses if statistic == "range" else np.maximum(gaps, courses)
        ranges, observed = courses[0], found.ranges[0]
    alone = (scores >= scores[0] * (1 - CLOSE)).mean(axis=0)
    judged, reaching = step_down(scores, level), joint_scores(gaps, laws.scarce, level)
    return Look(laws, found.sums[0], observed, gaps[0], ranges, scores[0], alone, judged, reaching)
