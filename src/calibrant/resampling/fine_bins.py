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

NEARBY = 0.03
"""Share of the rows over which the kernel of ranks fades by a factor e."""

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
        return bin_variances(self.atoms, self.cuts)

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
    spread = np.sqrt(grid.variance)
    place = (grid.rank + per(grid.p - grid.p[0], grid.p[-1] - grid.p[0])) / 2
    waves = np.cos(np.pi * np.arange(min(N_WAVES, int((spread > 0).sum()))) * place[:, None])
    found, left = np.linalg.qr(spread[:, None] * waves)
    kept = np.abs(np.diag(left)) > DEPENDENT * np.abs(left).max(initial=0.0)
    return np.asarray(per(found[:, kept], spread[:, None]))


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
    with np.errstate(divide="ignore"):
        # bins of predictions 0 or 1 alone leave nothing to chance, and count with what the rates gain
        yes, no = (np.where(share > 0, np.log(share), 0.0) for share in (grid.p, 1 - grid.p))
    expected, weight = grid.weight * grid.p, grid.weight

    def finish(states: Floats) -> Floats:
        hits, found = np.clip(expected - states, 0.0, weight), np.empty(len(states))
        rising_gains(hits, weight, found)
        return np.asarray(2 * (found - hits @ yes - (weight - hits) @ no))

    return Statistic("isotonic_ratio", "isotonic likelihood ratio", grid.sums, finish, grid.words)
