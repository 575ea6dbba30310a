"""The distribution of each segment's sum of errors.

Its scale, intervals and detectable errors, from moments of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.kernels.sums.segment_sums import add_members, cluster_powers, deviations, gap_scores, range_scores
from calibrant.types import Bools, Floats
from calibrant.verbs.auditing.family import Family

HALVINGS = 60
"""Of an interval in search of a root: to the last digit."""

NOTHING = 1e-30
"""Standard deviation of a mean below which nothing is left to chance."""

MIN_SURPRISES = 1.0
"""Expected number of surprises below which draws do not show how far the errors of a segment may go."""


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """What is known of each segment before any draw: sums, and scales of its statistics."""

    weight: Floats
    predicted: Floats
    """Σ wp"""
    observed: Floats
    """Σ wy"""
    sigma: Floats
    skew: Floats
    """of Σ wy"""
    step: Floats
    """between neighbouring values of the sum, 0 where they lie close"""
    spread: Floats
    """standard deviation of the sum as estimated from the errors, its own or, relative
    to σ, those of all rows; σ at least"""
    effective: Floats | None
    """(ΣE²)² / ΣE⁴ over the clusters' sums of errors: the number of equal clusters that
    would vary as much; None without clusters"""
    cubes: Floats
    """Σ w³p(1 − p)"""
    powers: Floats
    """(2, 2, S): Σ w²c and Σ w³c, first for c = p, then for c = 1 − p; with clusters Σ(Σwc)² and 0"""

    def gap_scores(self, sums: Floats) -> Floats:
        """|z| of Σ(p − y), for the last axis over segments."""
        return self._certain(sums, gap_scores(sums, self._sigma, self.skew, self.step))

    def range_scores(self, ranges: Floats) -> Floats:
        """|z| of the range of the running sum."""
        return self._certain(ranges, range_scores(ranges, self._sigma, self.skew))

    def direction_scores(self, sums: Floats) -> Floats:
        """|z| of Σ(p − y) if it varies as the errors themselves show.

        For claims about the gap rather than about calibration.
        """
        return self.gap_scores(sums / self.inflation)

    @property
    def inflation(self) -> Floats:
        """By how much the errors vary more than the predictions imply; never less than 1."""
        return np.divide(self.spread, self.sigma, out=np.ones_like(self.sigma), where=self.sigma > 0)

    def critical_sums(self, z: float | Floats, upward: bool) -> Floats:
        """How far Σ(y − p) must lie above 0 (or below) to score z."""
        far = np.maximum(deviations(z, self.skew if upward else -self.skew), 0.0)
        return np.multiply(self.sigma, far, out=np.zeros_like(self.sigma), where=self.sigma > 0) + self.step / 2

    def critical_ranges(self, z: float) -> Floats:
        """The range that scores z, by halving."""
        low, high = np.zeros_like(self.sigma), (10 + 10 * z) * (1 + np.abs(self.skew) * z) * self._sigma
        _, high = _halved(lambda middle: range_scores(middle, self._sigma, self.skew) < z, low, high)
        return np.where(self.sigma > 0, high, 0.0)

    @property
    def uninformative(self) -> Bools:
        """Segments that leave so little to chance that null draws do not show how errors vary."""
        if self.effective is not None:
            return self.effective < MIN_SURPRISES
        return self.sigma**6 < MIN_SURPRISES * self.cubes**2 + (self.sigma == 0)

    @property
    def half_a_row(self) -> Floats:
        """Half the mean weight of a row, below which no sum is detected; 0 with clusters."""
        return self.powers[:, 0].sum(axis=0) / self.weight / 2 if self.effective is None else np.zeros_like(self.weight)

    def largest(self, upward: bool) -> Floats:
        """The largest possible mean of Σ(y − p) above 0 (or below)."""
        return self.weight - self.predicted if upward else self.predicted

    def wrong(self, share: Floats, upward: bool) -> Laws:
        """The same segments of a model whose gap is `share` of the largest.

        Every label is certain with that probability.
        """
        left, (squares, cubes) = 1 - share, self.powers[int(upward)]
        variance = left**2 * self.sigma**2 + share * left * squares
        if self.effective is not None:
            return replace(self, sigma=np.sqrt(np.maximum(variance, self.sigma**2)))
        side = -1 if upward else 1
        third = side * left**3 * self.skew * self.sigma**3 + 3 * left**2 * share * self.cubes
        third += share * left * (1 - 2 * left) * cubes
        skew = np.divide(side * third, variance**1.5, out=np.zeros_like(third), where=_some(variance, self.weight))
        return replace(self, sigma=np.sqrt(variance), skew=skew)

    def farthest(self, sums: Floats, z: Floats, upward: bool) -> Floats:
        """The largest mean above 0 (or below) that Σ(y − p) = `sums` does not refute.

        The sum is taken to vary as one with that mean does. −∞ where every such mean is refuted.
        """
        side = 1 if upward else -1

        def excess(share: Floats) -> Floats:
            wrong = self.wrong(share, upward)
            wrong = replace(wrong, sigma=np.maximum(wrong.sigma, self.spread))
            return self.largest(upward) * share - wrong.critical_sums(z, upward=not upward) - side * sums

        share = last_below(excess, len(sums))
        return np.where(excess(share) > 0, -np.inf, self.largest(upward) * share)

    def detectable(self, critical: Floats, z: float, upward: bool) -> Floats:
        """The smallest mean of Σ(y − p) above 0 (or below) that is found with probability Φ(z).

        Found means that the sum exceeds the critical value; ∞ if that holds for no mean.

        Clusters are judged by the errors that they show: their critical value is in
        units of these.
        """
        needed = np.maximum(critical, self.half_a_row)

        def excess(share: Floats) -> Floats:
            wrong = self.wrong(share, upward)
            lost = wrong.sigma * deviations(z, -wrong.skew if upward else wrong.skew)
            return self.largest(upward) * share - lost - needed * (1.0 if self.effective is None else wrong.sigma)

        share = last_below(excess, len(self.weight))
        return np.where(share < 1, self.largest(upward) * share, np.inf)

    @property
    def _sigma(self) -> Floats:
        return np.where(self.sigma > 0, self.sigma, 1.0)

    def _certain(self, values: Floats, scores: Floats) -> Floats:
        """Where calibration leaves no error at all, any error is infinitely far."""
        return np.where(self.sigma > 0, scores, np.where(np.abs(values) > NOTHING * self.weight, np.inf, 0.0))


def _some(variance: Floats, weight: Floats) -> Bools:
    """Does the variance of a sum leave anything to chance?"""
    return variance > (NOTHING * weight) ** 2


def last_below(function: Callable[[Floats], Floats], n: int) -> Floats:
    """The largest shares in [0, 1] up to which functions are at most 0; 0 where they are above.

    They are found to a factor of 2 first, then by halving.
    """
    low = np.zeros(n)
    for share in 2.0 ** np.arange(-HALVINGS, 1):
        low = np.where(function(np.full(n, share)) <= 0, share, low)
    return _halved(lambda middle: function(middle) <= 0, low, np.minimum(2 * low, 1.0))[0]


def _halved(below: Callable[[Floats], Bools], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends of intervals around the largest values for which `below` is true, by halving."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = below(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low, high


def laws_of(family: Family) -> Laws:
    """One pass over the members of every segment."""
    atoms, n = family.atoms, family.n_segments
    p, unit, count, hits, own = atoms.p, atoms.unit, atoms.count, atoms.hits, atoms.variance
    squares = unit**2 * (count * p**2 + hits * (1 - 2 * p))  # Σ w²(p − y)² of each atom
    heavy = unit * atoms.weight
    columns = np.column_stack(
        [
            atoms.weight,
            atoms.weight * p,
            unit * hits,
            own,
            unit * (1 - 2 * p) * own,
            squares,
            unit * own,
            heavy * p,
            unit * heavy * p,
            heavy * (1 - p),
            unit * heavy * (1 - p),
        ]
    )
    sums = np.zeros((n, columns.shape[1]))
    add_members(columns, family.members, family.starts, sums)
    weight, predicted, observed, variance, third, squares, cubes = sums.T[:7]
    if atoms.cluster is not None:
        square, fourth = _cluster_powers(family, atoms.errors)
        sigma, zero = np.sqrt(np.where(_some(square, weight), square, 0.0)), np.zeros(n)
        effective = np.divide(sigma**4, fourth, out=np.zeros(n), where=sigma > 0)
        powers = np.stack([[_cluster_powers(family, unit * c)[0], zero] for c in (p, 1 - p)])
        return Laws(weight, predicted, observed, sigma, zero, zero, sigma, effective, zero, powers)
    sigma = np.sqrt(np.where(_some(variance, weight), variance, 0.0))
    skew = np.divide(third, sigma**3, out=np.zeros(n), where=sigma > 0)
    everywhere = columns.sum(axis=0)
    overall = max(1.0, float(everywhere[5] / everywhere[3])) if _some(everywhere[3], everywhere[0]) else 1.0
    if not atoms.fixed:
        squares = np.maximum(squares - (predicted - observed) ** 2 / weight, 0.0)
    step, spread = np.full(n, 0.0 if atoms.fixed else 1.0), np.sqrt(np.maximum(overall * variance, squares))
    powers = sums.T[7:].reshape(2, 2, n)
    return Laws(weight, predicted, observed, sigma, skew, step, spread, None, cubes, powers)


def _cluster_powers(family: Family, values: Floats) -> Floats:
    """Σ of the squares and of the fourth powers of the clusters' sums, in each segment."""
    powers = np.zeros((family.n_segments, 2))
    cluster = np.asarray(family.atoms.cluster)
    cluster_powers(values, cluster, family.members, family.starts, np.zeros(int(cluster.max()) + 1), powers)
    return powers.T
