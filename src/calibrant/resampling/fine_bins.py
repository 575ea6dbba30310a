"""Statistics of one event on a fine grid of bins: sums of errors per bin say all they need, however many rows there are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.bins import EqualMass
from calibrant.kernels.draws.null_sums import rising_gains
from calibrant.methods import method
from calibrant.problems import InputError
from calibrant.resampling.draw import Statistic
from calibrant.resampling.rows import Atoms
from calibrant.resampling.statistics import Collect, Cuts, between, bin_variances, clearest_words, cuts_of, per
from calibrant.types import Floats

N_BINS = 120
"""Bins of the grid: ten per period of a wave with twelve periods."""

N_WAVES = 40
"""Cosines of the adaptive χ²: up to twenty periods."""

DEGREES = 6
"""Largest degree of the polynomials of ranks: two or three bends, the most that an error in a tail or a slow wave has."""

MAX_PERIODS = 12
"""Periods of the fastest wave in the periodogram."""

NEARBY = 0.03
"""Share of the rows over which the kernel of ranks fades by a factor e."""

LEAST_VARIANCE = 1e-290
"""Of a bin where anything can happen: squares of errors over it stay finite."""

SMALLEST = float(np.finfo(np.float64).tiny)
"""What a probability of 0 is read as in a likelihood ratio."""

DEPENDENT = 1e-9
"""A cosine of which less than this is left, relatively, is a sum of the ones before it."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Filled equal-mass bins of an event, and what a null draw does not change about them."""

    atoms: Atoms
    along: Atoms | None = None
    """the same rows with the predictions that bins are cut along, where these are not the probabilities under the null"""

    @cached_property
    def cuts(self) -> Cuts:
        return np.unique(cuts_of(self.along or self.atoms, EqualMass(N_BINS)))

    @cached_property
    def sums(self) -> Collect:
        """Per-bin sums of errors."""
        return between(self.cuts)

    @cached_property
    def variance(self) -> Floats:
        found = bin_variances(self.atoms, self.cuts)
        return np.where(found > 0, np.maximum(found, LEAST_VARIANCE), 0.0)

    @cached_property
    def weight(self) -> Floats:
        return np.add.reduceat(self.atoms.weight, self.cuts[:-1])

    @cached_property
    def p(self) -> Floats:
        """Mean prediction of each bin."""
        expected = np.add.reduceat(self.atoms.weight * self.atoms.p, self.cuts[:-1])
        return np.asarray(per(expected, self.weight))

    @cached_property
    def rank(self) -> Floats:
        """Share of the weight below the middle of each bin."""
        return np.asarray(per(np.cumsum(self.weight) - self.weight / 2, self.atoms.total))

    @cached_property
    def place(self) -> Floats:
        """Where the mean prediction lies between that of the first and that of the last bin."""
        return np.asarray(per(self.p - self.p[0], self.p[-1] - self.p[0]))

    def words(self, _: Floats) -> str:
        return clearest_words(self.atoms)


@method("statistic", name="neyman")
def neyman(atoms: Atoms, grid: Grid | None = None) -> Statistic:
    """Adaptive Neyman test: the largest (z₁² + … + z_k² − k) / √(2k) over k, of the scores z of k cosines.

    A cosine runs along the mean of rank and prediction, so that waves are seen in either,
    and is made uncorrelated with those before it under calibration.
    """
    grid = grid or Grid(atoms)
    basis = cosines(grid)

    def finish(states: Floats) -> Floats:
        squares = np.einsum("rb,bj->rj", states, basis, optimize=True) ** 2
        k = np.arange(1, basis.shape[1] + 1)
        return np.asarray((np.cumsum(squares - 1, axis=1) / np.sqrt(2 * k)).max(axis=1, initial=-1.0))

    return Statistic("neyman", "adaptive Neyman χ²", grid.sums, finish, grid.words)


def cosines(grid: Grid) -> Floats:
    """(B, J): factors of the bins' errors whose sums are uncorrelated with variance 1 under calibration."""
    angle = np.pi * (grid.rank + grid.place) / 2
    found = uncorrelated(grid, np.cos(np.arange(min(N_WAVES, int((grid.variance > 0).sum()))) * angle[:, None]))
    return found[:, found.any(axis=0)]


def uncorrelated(grid: Grid, shapes: Floats) -> Floats:
    """Columns of `(…, B, J)` made uncorrelated with variance 1 under calibration; 0 if the columns before say it all."""
    spread = np.sqrt(grid.variance)[:, None]
    found, left = np.linalg.qr(spread * shapes)
    own = np.abs(np.diagonal(left, axis1=-2, axis2=-1))
    kept = own > DEPENDENT * np.abs(left).max(axis=(-2, -1), initial=0.0)[..., None]
    return np.asarray(per(found, spread) * kept[..., None, :])


@method("statistic", name="rank_polynomials")
def rank_polynomials(atoms: Atoms, grid: Grid | None = None) -> Statistic:
    """Neyman's smooth test: the χ² of polynomials of the ranks up to degree 6, all of them always."""
    grid = grid or Grid(atoms)
    shapes = np.polynomial.legendre.legvander(2 * grid.rank - 1, min(DEGREES, len(grid.rank) - 1))
    basis = uncorrelated(grid, np.asarray(shapes, dtype=np.float64))

    def finish(states: Floats) -> Floats:
        return np.asarray((np.einsum("rb,bj->rj", states, basis, optimize=True) ** 2).sum(axis=1))

    return Statistic("rank_polynomials", "polynomials of ranks χ²", grid.sums, finish, grid.words)


@method("statistic", name="waves")
def waves(atoms: Atoms, grid: Grid | None = None) -> Statistic:
    """Largest ordinate of the periodogram along the predictions: sine and cosine of ½, 1, … 12 periods, any phase."""
    grid = grid or Grid(atoms)
    angle = np.pi * np.arange(1, 2 * MAX_PERIODS + 1)[:, None] * grid.place
    pairs = uncorrelated(grid, np.stack([np.cos(angle), np.sin(angle)], axis=2))

    def finish(states: Floats) -> Floats:
        squares = (np.einsum("rb,jb->rj", states, each, optimize=True) ** 2 for each in np.moveaxis(pairs, 2, 0))
        return np.asarray(sum(squares, np.zeros(1)).max(axis=1))

    return Statistic("waves", "largest periodogram ordinate", grid.sums, finish, grid.words)


@method("statistic", name="rank_kernel")
def rank_kernel(atoms: Atoms, grid: Grid | None = None) -> Statistic:
    """Σ E E' exp(−|rank − rank'| / 0.03) over pairs of bins, over the variance: do errors of neighbours agree?"""
    grid = grid or Grid(atoms)
    kernel = per(np.exp(-np.abs(grid.rank[:, None] - grid.rank) / NEARBY), float(grid.variance.sum()))

    def finish(states: Floats) -> Floats:
        return np.einsum("rb,rb->r", np.einsum("rb,bc->rc", states, kernel, optimize=True), states)

    return Statistic("rank_kernel", "kernel of ranks", grid.sums, finish, grid.words)


@method("statistic", name="isotonic_ratio")
def isotonic_ratio(atoms: Atoms, grid: Grid | None = None) -> Statistic:
    """Twice the gain in log-likelihood of the best rising rates over the predictions, bin by bin."""
    if atoms.dependence == "any":  # flipped errors are not those of rates between 0 and 1
        raise InputError("cluster", "must be 'same' or False for this statistic", "it is 'any'", "Use is_calibrated")
    grid = grid or Grid(atoms)
    # in bins of predictions 0 or 1 alone nothing is left to chance: what happens there nevertheless counts as next to impossible
    yes, no = (np.log(np.maximum(share, SMALLEST)) for share in (grid.p, 1 - grid.p))
    expected, weight = grid.weight * grid.p, grid.weight

    def finish(states: Floats) -> Floats:
        hits, found = np.clip(expected - states, 0.0, weight), np.empty(len(states))
        rising_gains(hits, weight, found)
        return np.asarray(2 * (found - hits @ yes - (weight - hits) @ no))

    return Statistic("isotonic_ratio", "isotonic likelihood ratio", grid.sums, finish, grid.words)
