"""All segments on the same draws: labels redrawn from the predictions, every statistic of every segment, judged against the largest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.detect.atoms import Atoms, cluster_codes, counts_rows
from calibrant.detect.draws import content_seed
from calibrant.kernels.blocks import over_blocks
from calibrant.kernels.null_draws import (
    STEP,
    Seeds,
    binomial_tables,
    draw_pooled,
    draw_single,
    flip_signs,
    replicate_seeds,
)
from calibrant.kernels.segments import (
    add_members,
    add_tile,
    cluster_powers,
    deviations,
    gap_scores,
    range_scores,
    walk_tile,
)
from calibrant.predictions import Event, Predictions
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

    def critical_sums(self, z: float, upward: bool) -> Floats:
        """How far Σ(y − p) must lie above 0 (or below) to score z."""
        return self.sigma * deviations(z, self.skew if upward else -self.skew) + self.step / 2

    def critical_ranges(self, z: float) -> Floats:
        """The range that scores z, by halving."""
        low, high = np.zeros_like(self.sigma), (10 + 10 * z) * (1 + np.abs(self.skew) * z) * self._sigma
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            short = range_scores(middle, self._sigma, self.skew) < z
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.where(self.sigma > 0, high, np.inf)

    @property
    def _sigma(self) -> Floats:
        return np.where(self.sigma > 0, self.sigma, 1.0)

    def _impossible(self, values: Floats, scores: Floats) -> Floats:
        """Where calibration leaves no error at all, any error is infinitely far."""
        return np.where(self.sigma > 0, scores, np.where(np.abs(values) > 0, np.inf, 0.0))


def laws_of(family: Family) -> Laws:
    """One pass over the members of every segment."""
    atoms, n = family.atoms, family.n_segments
    p, unit, count, hits = atoms.p, atoms.unit, atoms.count, atoms.hits
    own = atoms.variance
    squares = unit**2 * (count * p**2 + hits * (1 - 2 * p))  # Σ w²(p − y)² of each atom
    columns = np.stack([atoms.weight, atoms.weight * p, unit * hits, own, unit * (1 - 2 * p) * own, squares], axis=1)
    sums = np.zeros((n, columns.shape[1]))
    add_members(columns, family.members, family.starts, sums)
    weight, said, happened, variance, third, squares = sums.T
    sigma = np.sqrt(variance)
    step = np.full(n, 0.0 if atoms.fixed else 1.0)
    if atoms.cluster is not None:
        powers = np.zeros((n, 2))
        scratch = np.zeros(int(atoms.cluster.max()) + 1)
        cluster_powers(atoms.errors, atoms.cluster, family.members, family.starts, scratch, powers)
        sigma, fourth = np.sqrt(powers[:, 0]), powers[:, 1]
        erring = np.divide(sigma**4, fourth, out=np.zeros(n), where=fourth > 0)
        return Laws(weight, said, happened, sigma, np.zeros(n), np.zeros(n), sigma, erring)
    skew = np.divide(third, sigma**3, out=np.zeros(n), where=sigma > 0)
    everywhere = columns.sum(axis=0)
    pooled = max(1.0, float(everywhere[5] / everywhere[3])) if everywhere[3] > 0 else 1.0
    if not atoms.fixed:
        squares = np.maximum(squares - (said - happened) ** 2 / weight, 0.0)
    return Laws(weight, said, happened, sigma, skew, step, np.sqrt(np.maximum(pooled * variance, squares)), None)


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
    critical_gap: float
    """score that no gap of a calibrated model reaches, with probability `level`"""


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
    critical_gap = critical_score(gaps, level)
    return Look(
        laws, found.sums[0], observed, gaps[0], ranges, scores[0], alone, step_down(scores, level), critical_gap
    )
