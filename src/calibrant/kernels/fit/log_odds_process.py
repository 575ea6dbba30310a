"""Logistic regression with a Gaussian process around the model's own log-odds, averaged
over a grid of priors.

Cells with log-odds z, weight w and hits s have η = z + f. The prior of f has covariance
a²(1 + zz′) + q²·R, R an RBF in p or in z. As ΦΦᵀ with f = Φβ and β ~ N(0, I), the
posterior of β is found by Newton's method and taken as normal there (Laplace).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.types import Floats

LINES = (0.0, 0.1, 0.3, 0.8)
"""a: how far a straight line in log-odds may lie from the identity."""

BENDS = (0.15, 0.3, 0.6, 1.2)
"""q: how far the map may bend away from that line; 0 is tried too."""

LENGTHS_IN_P = (0.1, 0.2, 0.4)
LENGTHS_IN_Z = (1.0, 2.0, 4.0)
"""Lengths of the RBF in probability and in log-odds: a few bends within the usual range
of predictions."""

NEGLIGIBLE = 1e-9
"""Variance of R in a cell that may be left out."""

MOST_STEPS, ENOUGH = 50, 1e-9
"""Newton steps at most; a relative gain below `ENOUGH` is the last."""


@dataclass(frozen=True, slots=True, eq=False)
class Posteriors:
    """Of each prior: mean and root of the covariance of η in the cells, and how well
    the prior predicts the data."""

    mean: Floats
    """`(priors, cells)`"""
    roots: tuple[Floats, ...]
    """`(features, cells)` for each prior: standard normal numbers times this are η −
    mean"""
    evidence: Floats
    """logarithms of the marginal likelihoods"""

    @property
    def variance(self) -> Floats:
        """Of η in each cell, `(priors, cells)`."""
        return np.stack([np.einsum("km,km->m", root, root) for root in self.roots])

    def share(self, straight: float) -> Floats:
        """The share of each prior in an average, if the straight lines have the prior
        probability `straight`."""
        lines = np.arange(len(self.mean)) < len(LINES)
        before = np.where(lines, straight / lines.sum(), (1 - straight) / (~lines).sum())
        share = before * np.exp(self.evidence - self.evidence.max())
        return share / share.sum()

    def drawn(self, share: Floats, count: int, rng: np.random.Generator) -> Floats:
        """`count` joint draws of η in all cells, `(draws, cells)`; each prior has its
        share, rounded at random."""
        at = (np.arange(count) + rng.random()) / count
        parts = np.bincount(np.searchsorted(np.cumsum(share)[:-1], at, side="right"), minlength=len(share))
        found = [
            self.mean[k] + rng.standard_normal((parts[k], len(self.roots[k]))) @ self.roots[k]
            for k in np.flatnonzero(parts)
        ]
        return np.concatenate(found)


def posteriors(z: Floats, w: Floats, s: Floats) -> Posteriors:
    """The posterior of every prior of the grid; the straight lines come first."""
    return posteriors_of(prior_features(z), z, w, s)


def posteriors_of(priors: list[Floats], z: Floats, w: Floats, s: Floats) -> Posteriors:
    """The posterior of every prior with these features."""
    mean, roots, evidence = zip(*(laplace(features, z, w, s) for features in priors), strict=True)
    return Posteriors(np.concatenate(mean), tuple(root for stack in roots for root in stack), np.concatenate(evidence))


def prior_features(z: Floats) -> list[Floats]:
    """Φ of every prior, those with the same R stacked: `(priors, cells, features)`."""
    return stacked_features(z, LINES, BENDS, map(rbf_root, scaled_places(z, LENGTHS_IN_P, LENGTHS_IN_Z)))


def scaled_places(z: Floats, in_p: Iterable[float], in_z: Iterable[float]) -> list[Floats]:
    """Places of the cells in units of each length, in probability and in log-odds."""
    return [sigmoid(z) / length for length in in_p] + [z / length for length in in_z]


def stacked_features(
    z: Floats, lines: Sequence[float], scales: Sequence[float], roots: Iterable[Floats]
) -> list[Floats]:
    """Φ of the lines alone, then of each root of R with every line and scale."""
    line = np.stack([np.ones_like(z), z], axis=1)
    bent = [np.stack([np.hstack([a * line, q * root]) for a in lines for q in scales]) for root in roots]
    return [np.stack([a * line for a in lines]), *bent]


def rbf_root(place: Floats, negligible: float = NEGLIGIBLE) -> Floats:
    """Φ with ΦΦᵀ = exp(−½(x − x′)²): the cell least explained so far gives the next
    column, until all are explained.

    A pivoted Cholesky factor: few columns, and no matrix large enough for BLAS to use
    threads, which wait for each other.
    """
    columns = np.zeros((len(place), len(place)))
    rest = np.ones(len(place))
    for k in range(len(place)):
        pivot = int(np.argmax(rest))
        if rest[pivot] < negligible:
            return columns[:, :k]
        near = np.exp(-0.5 * (place - place[pivot]) ** 2)
        columns[:, k] = (near - columns[:, :k] @ columns[pivot, :k]) / np.sqrt(rest[pivot])
        rest = np.maximum(rest - columns[:, k] ** 2, 0.0)
    return columns


def laplace(features: Floats, z: Floats, w: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean of η, roots of its covariance, and the logarithm of the marginal likelihood,
    for each prior."""
    beta, value = _climb(features, z, w, s)
    mean = z + _times(features, beta)
    mu = sigmoid(mean)
    root = np.linalg.cholesky(_curvature(features, w * mu * (1 - mu)))
    spread = np.linalg.solve(root, features.transpose(0, 2, 1))
    evidence = value - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    return mean, spread, evidence


def _climb(features: Floats, z: Floats, w: Floats, s: Floats) -> tuple[Floats, Floats]:
    """β of the largest posterior density for every prior, and its logarithm: Newton
    steps, halved until it rises."""
    beta = np.zeros((len(features), features.shape[2]))
    value = _log_density(features, beta, z, w, s)
    left = np.arange(len(features))
    for _ in range(MOST_STEPS):
        phi, b = features[left], beta[left]
        mu = sigmoid(z + _times(phi, b))
        slope = np.einsum("gmk,gm->gk", phi, s - w * mu) - b
        step = np.linalg.solve(_curvature(phi, w * mu * (1 - mu)), slope[:, :, None])[:, :, 0]
        new = _log_density(phi, b + step, z, w, s)
        while (worse := new < value[left] - ENOUGH).any():
            step[worse] /= 2
            new[worse] = _log_density(phi[worse], (b + step)[worse], z, w, s)
        gained = new - value[left]
        beta[left], value[left] = b + step, new
        left = left[gained > ENOUGH * (1 + np.abs(new))]
        if not len(left):
            break
    return beta, value


def _times(features: Floats, beta: Floats) -> Floats:
    return np.einsum("gmk,gk->gm", features, beta)


def _curvature(features: Floats, weight: Floats) -> Floats:
    """I + ΦᵀWΦ."""
    return np.eye(features.shape[2]) + features.transpose(0, 2, 1) @ (weight[:, :, None] * features)


def _log_density(features: Floats, beta: Floats, z: Floats, w: Floats, s: Floats) -> Floats:
    eta = z + _times(features, beta)
    return (s * eta - w * np.logaddexp(0.0, eta)).sum(axis=1) - 0.5 * (beta**2).sum(axis=1)
