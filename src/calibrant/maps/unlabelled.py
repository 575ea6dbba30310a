"""Prevalences estimated from unlabelled rows, with intervals that count clusters of rows and the error of the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.interval.mean import FEW_ROWS, normal_quantile
from calibrant.kernels.fit.newton import fit_mixture
from calibrant.results import Interval
from calibrant.types import Array, Floats

MOST_PROFILES = 10
"""Classes up to which intervals are likelihood-ratio intervals; with more, those of the curvature."""


@dataclass(frozen=True, slots=True)
class Source:
    """How the predictions and the old prevalences came about, as far as it makes them uncertain."""

    n: int
    """labelled rows; with none their error is not known"""
    map_fitted: bool
    """was the map fitted to them?"""
    old_counted: bool
    """are the old prevalences the shares of the classes among them?"""


@dataclass(frozen=True, slots=True)
class Found:
    """Prevalences, their intervals class by class, and what a reader should know."""

    prevalences: Floats
    intervals: tuple[Interval, ...]
    cautions: tuple[str, ...] = ()


EXACT = Source(0, False, False)


def estimated(
    probs: Floats,
    old: Floats,
    weights: Array | None,
    level: float,
    groups: Array | None = None,
    source: Source = EXACT,
) -> Found:
    """The prevalences of the largest likelihood, which EM tends to (Saerens et al. 2002), with their intervals.

    One row at the old prevalences is counted too, so that none is 0. An interval holds the
    prevalences that lower twice the log-likelihood by at most z² times a factor: the variance
    of the estimate divided by that of independent rows with exact probabilities.
    """
    w = np.ones(len(probs)) if weights is None else weights.astype(np.float64)
    ratio, n = np.maximum(probs / old, 1e-300), float(w.sum())
    best = fit_mixture(ratio, w)
    u = best.coefficients
    prevalences = (n * u + old) / (n + 1)
    clusters = None if groups is None else _Clusters.of(groups, w)
    if clusters is not None and clusters.n < 2:
        return Found(prevalences, (), ("one cluster has no interval",))
    rows = _Rows(ratio, w, u)
    alone = rows.variance(rows.information)
    sampled = alone if clusters is None else rows.variance(clusters.spread(rows.scores))
    of_map = rows.variance_of_source(old, source)
    crit = normal_quantile(level) if clusters is None else clusters.quantile(level)
    widths = crit * np.sqrt(np.divide(sampled + of_map, alone, out=np.ones_like(alone), where=alone > 0))
    ends = _by_profile if len(old) <= MOST_PROFILES else _by_curvature
    method = ("likelihood ratio" if ends is _by_profile else "curvature") + ", clusters" * (clusters is not None)
    intervals = tuple(Interval(low, high, level, method) for low, high in ends(ratio, w, u, best.loss, widths, alone))
    return Found(prevalences, intervals, _cautions(source, sampled, of_map, clusters))


def _cautions(source: Source, sampled: Floats, of_map: Floats, clusters: _Clusters | None) -> tuple[str, ...]:
    """What the intervals rest on."""
    found = []
    if not source.map_fitted:
        found.append("the intervals take the predictions as calibrated at the old prevalences: no map was fitted")
    if (of_map > sampled).any():
        rows = f"the {source.n:,} labelled rows of the fit"
        found.append(f"most of the width of the intervals is due to {rows}: more unlabelled rows narrow them little")
    if clusters is not None and clusters.n < FEW_ROWS:
        found.append(f"{clusters.n} clusters are few for intervals of prevalences: they may be too short")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Rows that may depend on each other in any way within a cluster."""

    at: Array
    n: int
    weights: Floats

    @classmethod
    def of(cls, groups: Array, w: Floats) -> _Clusters:
        """Clusters of rows that have a weight."""
        names, at = np.unique(groups[w > 0], return_inverse=True)
        every = np.zeros(len(w), dtype=np.intp)
        every[w > 0] = at.ravel()
        return cls(every, len(names), np.bincount(every, w, len(names)).astype(np.float64))

    def spread(self, scores: Floats) -> Floats:
        """The variance matrix of the sum of weighted scores, by the sums of the clusters."""
        sums = np.stack([np.bincount(self.at, column, self.n) for column in scores.T], axis=1)
        sums -= self.weights[:, None] * (sums.sum(axis=0) / self.weights.sum())
        return np.asarray(sums.T @ sums * (self.n / (self.n - 1)))

    def quantile(self, level: float) -> float:
        """Student's, with one degree of freedom less than there are clusters."""
        from scipy.special import stdtrit

        return float(stdtrit(self.n - 1, (1 + level) / 2))


class _Rows:
    """Scores of the rows at the estimate u, among prevalences that add up to 1."""

    def __init__(self, ratio: Floats, w: Floats, u: Floats) -> None:
        self.part, self.w, self.u = ratio / (ratio @ u)[:, None], w, u
        self.scores = self.part * w[:, None]
        self.information = self.part.T @ self.scores
        tangent = np.linalg.svd(np.ones((1, len(u))))[2][1:]
        self.inverse = tangent.T @ np.linalg.pinv(tangent @ self.information @ tangent.T) @ tangent

    def variance(self, of_scores: Floats) -> Floats:
        """Of each prevalence, where the sum of the scores has this variance matrix."""
        return np.maximum(np.einsum("ij,jk,ki->i", self.inverse, of_scores, self.inverse), 0.0)

    def variance_of_source(self, old: Floats, source: Source) -> Floats:
        """Of each prevalence, because a map free to bend anywhere, and the old prevalences, come from labelled rows.

        A labelled row of class y with predictions x moves the scores per unlabelled row by
        (e_y − u_y s(x))/old_y through the map, s being the scores, and by (u_y M_y − e_y)/old_y
        through the old prevalences, M being the mean of s s': together by u_y/old_y (M_y − s(x)),
        as if the density of each class were known by its own labelled rows alone. Means over
        rows of class y are those of unlabelled rows with weights s_y.
        """
        if not source.n or not (source.map_fitted or source.old_counted):
            return np.zeros(len(old))
        total = float(self.w.sum())
        mean = self.information / total
        moved = np.zeros_like(mean)
        for y, (share, before) in enumerate(zip(self.u, old, strict=True)):
            own = np.eye(len(old))[y]
            fixed = own * source.map_fitted + (share * mean[y] - own) * source.old_counted
            each = (fixed - share * self.part * source.map_fitted) / before
            moved += before * (each.T * self.scores[:, y]) @ each / max(float(self.scores[:, y].sum()), 1e-300)
        return self.variance(moved * total**2 / source.n)


def _by_profile(
    ratio: Floats, w: Floats, u: Floats, least: float, widths: Floats, _: Floats
) -> list[tuple[float, float]]:
    """Where twice the log-likelihood falls by the squared width, the other prevalences fitted anew."""
    from scipy.optimize import brentq

    found, n = [], float(w.sum())
    for k in range(len(u)):
        rest = np.delete(ratio, k, axis=1)

        def excess(share: float, own: Floats = ratio[:, k : k + 1], rest: Floats = rest, k: int = k) -> float:
            chances = share * own + (1 - share) * rest
            loss = fit_mixture(chances, w).loss if rest.shape[1] > 1 else -float(np.dot(w, np.log(chances[:, 0]))) / n
            return 2 * n * (loss - least) - float(widths[k]) ** 2

        at = float(u[k])
        low = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, at, xtol=1e-6, rtol=1e-3))
        high = 1.0 if excess(1.0) <= 0 else float(brentq(excess, at, 1.0, xtol=1e-6, rtol=1e-3))
        found.append((low, high))
    return found


def _by_curvature(
    _: Floats, __: Floats, u: Floats, ___: float, widths: Floats, variances: Floats
) -> list[tuple[float, float]]:
    """Standard errors from the curvature of the log-likelihood."""
    reach = widths * np.sqrt(variances)
    return [(max(0.0, at - r), min(1.0, at + r)) for at, r in zip(u.tolist(), reach.tolist(), strict=True)]
