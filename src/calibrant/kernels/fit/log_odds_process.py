"""Logistic regression with a Gaussian process around the model's own log-odds.

It is averaged over a grid of priors.

Cells with log-odds z, weight w and hits s have η = z + f. The prior of f has covariance
a²(1 + zz′) + q²·R, R an RBF in p or in z. As ΦΦᵀ with f = Φβ and β ~ N(0, I), the
posterior of β is found by Newton's method and taken as normal there (Laplace).

The same priors, fewer of them, give a path of calibration curves from "calibrated"
through what the data show and beyond: c_t(p) = σ(logit p + t·d(p)). The direction d is
the mean over the smooth curves that the data support. Its length does not matter: the
path goes all the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.types import Bools, Floats, Indices


class Priors(NamedTuple):
    """A grid of priors."""

    lines: tuple[float, ...]
    """a: how far a straight line in log-odds may lie from the identity"""
    bends: tuple[float, ...]
    """q: how far the map may bend away from that line; 0 is tried too"""
    in_p: tuple[float, ...]
    in_z: tuple[float, ...]
    """lengths of the RBF in probability and in log-odds: a few bends within the usual
    range of predictions"""
    negligible: float
    """variance of R in a cell that may be left out"""


MAP_PRIORS = Priors((0.0, 0.1, 0.3, 0.8), (0.15, 0.3, 0.6, 1.2), (0.1, 0.2, 0.4), (1.0, 2.0, 4.0), 1e-9)
PATH_PRIORS = Priors((0.1, 0.8), (0.2, 0.8), (0.1, 0.3), (2.0,), 1e-4)
"""Small and large scales. No change itself has no direction, and is left out."""

MOST_STEPS, ENOUGH, NEARLY = 50, 1e-9, 1e-5
"""Newton steps at most; a relative gain below `ENOUGH` is the last, or below `NEARLY` in fits without a fold."""


@dataclass(frozen=True, slots=True, eq=False)
class Posteriors:
    """Per prior: mean and root of the covariance of η in the cells, and the evidence."""

    mean: Floats
    """`(priors, cells)`"""
    roots: tuple[Floats, ...]
    """`(features, cells)` for each prior: standard normal numbers times this are η − mean"""
    evidence: Floats
    """logarithms of the marginal likelihoods"""

    def variance(self, used: Indices | None = None) -> Floats:
        """Of η in each cell, `(priors, cells)`, of all priors or of those used."""
        roots = self.roots if used is None else [self.roots[i] for i in used]
        return np.stack([np.einsum("km,km->m", root, root) for root in roots])

    def share(self, straight: float) -> Floats:
        """The share of each prior in an average; straight lines have the prior `straight`."""
        lines = np.arange(len(self.mean)) < len(MAP_PRIORS.lines)
        before = np.where(lines, straight / lines.sum(), (1 - straight) / (~lines).sum())
        share = before * np.exp(self.evidence - self.evidence.max())
        return share / share.sum()

    def drawn(self, counts: Indices, rng: np.random.Generator) -> Floats:
        """Joint draws of η in all cells, so many from each prior: `(draws, cells)`."""
        drawn, at = np.repeat(self.mean, counts, axis=0), 0
        for k in np.flatnonzero(counts):  # most priors have no share
            root = self.roots[k]
            drawn[at : at + counts[k]] += rng.standard_normal((counts[k], len(root))) @ root
            at += counts[k]
        return drawn


def dealt(share: Floats, count: int, rng: np.random.Generator) -> Indices:
    """How many of `count` draws each prior gives: its share, rounded at random."""
    at = (np.arange(count) + rng.random()) / count
    return np.bincount(np.searchsorted(np.cumsum(share)[:-1], at, side="right"), minlength=len(share))


def refitted(z: Floats, w: Floats, s: Floats, used: Bools, near: tuple[Floats, ...] = ()) -> list[Posteriors]:
    """The posteriors of data sets over the same cells, `w` and `s` being `(data sets, cells)`, all at once.

    Only the priors of `MAP_PRIORS` that are `used` are fitted; the others have no evidence. `near` are means of
    the posteriors of similar data over these cells, with the `w` and `s` of those: the search begins there.
    """
    sets, cells, at = len(w), len(z), 0
    mean, evidence = np.zeros((sets, len(used), cells)), np.full((sets, len(used)), -np.inf)
    roots: list[list[Floats]] = [[np.zeros((0, cells))] * len(used) for _ in range(sets)]
    for stack in prior_features(z, used=used):
        which = at + np.flatnonzero(used[at : at + len(stack)])
        phi, at = np.tile(stack[which - at], (sets, 1, 1)), at + len(stack)
        if not len(which):
            continue
        start = None
        if near:  # where the density is largest, β = Φᵀ(hits − expected hits)
            known, weight, sums = near
            start = np.einsum("gmk,gm->gk", phi, np.tile(sums - weight * sigmoid(known[which]), (sets, 1)))
        rows, hits = (np.repeat(v, len(which), axis=0) for v in (w, s))
        found, root, value = laplace(phi, z, rows, hits, start, NEARLY)
        mean[:, which], evidence[:, which] = found.reshape(sets, -1, cells), value.reshape(sets, -1)
        for i, each in enumerate(root):
            roots[i // len(which)][which[i % len(which)]] = each
    return [Posteriors(*each) for each in zip(mean, map(tuple, roots), evidence, strict=True)]


def posteriors(z: Floats, w: Floats, s: Floats, priors: Priors = MAP_PRIORS, more: Sequence[Floats] = ()) -> Posteriors:
    """The posterior of every prior of the grid; the straight lines come first.

    `more` are other roots of R.
    """
    stacks = prior_features(z, priors, more)
    mean, roots, evidence = zip(*(laplace(features, z, w, s) for features in stacks), strict=True)
    return Posteriors(np.concatenate(mean), tuple(root for stack in roots for root in stack), np.concatenate(evidence))


def averaged(z: Floats, w: Floats, s: Floats, priors: Priors, more: Sequence[Floats] = ()) -> tuple[Floats, Floats]:
    """Mean and standard deviation of η over all priors, each with its marginal likelihood.

    `w` and `s` are `(data sets, cells)`, several data sets over the same cells, fitted
    all at once; so are the results.
    """
    found, sets = [], len(w)
    for stack in prior_features(z, priors, more):
        rows, hits = (np.repeat(v, len(stack), axis=0) for v in (w, s))
        mean, root, evidence = laplace(np.tile(stack, (sets, 1, 1)), z, rows, hits)
        variance = np.einsum("gkm,gkm->gm", root, root)
        found.append([v.reshape(sets, len(stack), -1) for v in (mean, variance, evidence)])
    mean, variance, evidence = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    share = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    centre = (share * mean).sum(axis=1)
    return centre, np.sqrt((share * (variance + (mean - centre[:, None]) ** 2)).sum(axis=1))


def prior_features(
    z: Floats, priors: Priors = MAP_PRIORS, more: Sequence[Floats] = (), used: Bools | None = None
) -> list[Floats]:
    """Φ of the lines alone, then of each root of R with every line and bend.

    One stack `(priors, cells, features)` per root. A root none of whose priors is `used` is left empty.
    """
    line = np.stack([np.ones_like(z), z], axis=1)
    places = [sigmoid(z) / length for length in priors.in_p] + [z / length for length in priors.in_z]
    if used is None:
        roots = [rbf_root(place, priors.negligible) for place in places]
    else:
        groups = zip(places, used[len(priors.lines) :].reshape(len(places), -1), strict=True)
        roots = [rbf_root(x, priors.negligible) if each.any() else np.zeros((len(z), 0)) for x, each in groups]
    roots += more
    lines, n_bends = np.multiply.outer(priors.lines, line), len(priors.bends)
    found = [lines]
    for root in roots:
        stack = np.empty((len(lines), n_bends, len(z), 2 + root.shape[1]))
        stack[..., :2] = lines[:, None]
        stack[..., 2:] = np.multiply.outer(priors.bends, root)
        found.append(stack.reshape(-1, *stack.shape[2:]))
    return found


def rbf_root(place: Floats, negligible: float) -> Floats:
    """Φ with ΦΦᵀ = exp(−½(x − x′)²).

    The cell least explained so far gives the next column, until all are explained.

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


def laplace(
    features: Floats, z: Floats, w: Floats, s: Floats, start: Floats | None = None, enough: float = ENOUGH
) -> tuple[Floats, Floats, Floats]:
    """Per prior: mean of η, root of its covariance, logarithm of the marginal likelihood.

    `w` and `s` are the same for all priors, or one row per prior; so is β where the search begins.
    """
    w, s = (np.broadcast_to(each, features.shape[:2]) for each in (w, s))
    mean, value = _climb(
        features, z, w, s, np.zeros((len(features), features.shape[2])) if start is None else start, enough
    )
    mu = sigmoid(mean)
    root = np.linalg.cholesky(_curvature(features, w * mu * (1 - mu)))
    spread = np.linalg.solve(root, features.transpose(0, 2, 1))
    evidence = value - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    return mean, spread, evidence


def _climb(features: Floats, z: Floats, w: Floats, s: Floats, beta: Floats, enough: float) -> tuple[Floats, Floats]:
    """η of the largest posterior density for every prior, and the logarithm of that.

    Newton steps in β, halved until it rises.
    """
    eta = z + _times(features, beta)
    value = _log_density(eta, beta, w, s)
    left: Any = slice(None)  # a view of all priors until the first is found
    for _ in range(MOST_STEPS):
        phi, b, at, rows, hits = (each[left] for each in (features, beta, eta, w, s))
        mu = sigmoid(at)
        slope = np.einsum("gmk,gm->gk", phi, hits - rows * mu) - b
        step = np.linalg.solve(_curvature(phi, rows * mu * (1 - mu)), slope[:, :, None])[:, :, 0]
        moved = _times(phi, step)
        new = _log_density(at + moved, b + step, rows, hits)
        while (worse := new < value[left] - ENOUGH).any():
            step[worse] /= 2
            moved[worse] /= 2
            new[worse] = _log_density((at + moved)[worse], (b + step)[worse], rows[worse], hits[worse])
        on = new - value[left] > enough * (1 + np.abs(new))
        beta[left], eta[left], value[left] = b + step, at + moved, new
        if not on.any():
            break
        left = left if on.all() else np.arange(len(features))[left][on]
    return eta, value


def _times(features: Floats, beta: Floats) -> Floats:
    return np.einsum("gmk,gk->gm", features, beta)


def _curvature(features: Floats, weight: Floats) -> Floats:
    """I + ΦᵀWΦ."""
    return np.eye(features.shape[2]) + features.transpose(0, 2, 1) @ (weight[:, :, None] * features)


def _log_density(eta: Floats, beta: Floats, w: Floats, s: Floats) -> Floats:
    loss = np.abs(eta)
    np.exp(np.negative(loss, out=loss), out=loss)
    loss += 1
    np.log(loss, out=loss)
    loss += np.maximum(eta, 0)  # ln(1 + e^η)
    return np.einsum("gm,gm->g", s, eta) - np.einsum("gm,gm->g", w, loss) - 0.5 * np.einsum("gk,gk->g", beta, beta)


FARTHEST = 30.0
"""Log-odds beyond which a prediction is as good as certain."""

FLAT = 1e-9
"""A curve closer to "no change" than this has no direction."""


def direction(z: Floats, n: Floats, hits: Floats, rough: bool = False) -> Floats:
    """d at cells with log-odds z (finite), rows n and hits, its largest size 1.

    All one where the data show nothing.

    `rough` lets each cell go its own way too, if the data ask for it.
    """
    found = posteriors(z, n, hits, PATH_PRIORS, [np.eye(len(z))] if rough else [])
    share = np.exp(found.evidence - found.evidence.max())
    return unit_sized((share / share.sum()) @ found.mean - z)


def unit_sized(away: Floats) -> Floats:
    """A direction with largest size 1; all one where there is none."""
    largest = np.abs(away).max()
    return away / largest if largest > FLAT else np.ones_like(away)


def bounded_log_odds(probs: Floats) -> Floats:
    """ln p − ln(1 − p) within what counts as certain."""
    return np.clip(log_odds(probs), -FARTHEST, FARTHEST)
