"""The interval of a mean of rows that come in clusters, such as several images per patient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.interval.mean import FEW_ROWS, around, two_sided
from calibrant.kernels.sums.stable_sums import inner
from calibrant.results import Interval
from calibrant.types import Array, Floats


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """A mean with the standard error of the clusters' sums: rows of a cluster may depend in any way."""

    mean: float
    clusters: int
    squares: float
    """Σ over clusters of (Σ w(x − mean))², divided by the squared total weight"""

    @property
    def error(self) -> float | None:
        """Standard error of the mean; None for a single cluster."""
        return None if self.clusters < 2 else float((self.squares * self.clusters / (self.clusters - 1)) ** 0.5)

    @property
    def degrees(self) -> float:
        return self.clusters - 1.0

    def p_value(self) -> float | None:
        """Student's two-sided p-value of a true mean of 0."""
        return None if self.error is None else two_sided(self.mean, self.error, self.degrees)

    def interval(self, level: float) -> tuple[Interval | None, tuple[str, ...]]:
        """Student's interval with one degree of freedom less than there are clusters, and warnings."""
        if self.error is None:
            return None, ("one cluster has no interval",)
        few = f"{self.clusters} clusters are few for an interval of a mean: it may be too short"
        found = around(self.mean, self.error, self.degrees, level, "Student t, clusters")
        return found, (few,) if self.clusters < FEW_ROWS else ()


def cluster_mean(values: Array, weights: Array | None, clusters: Array) -> ClusterMean:
    """The weighted mean of rows in clusters; with one row per cluster, the ordinary mean and its error."""
    mean, total, sums = cluster_sums(values, weights, clusters)
    return ClusterMean(mean, len(sums), inner(sums, sums) / total**2)


def cluster_sums(values: Array, weights: Array | None, clusters: Array) -> tuple[float, float, Floats]:
    """The mean, the total weight, and Σ w(x − mean) of each cluster."""
    if weights is not None:
        kept = weights > 0
        values, weights, clusters = values[kept], weights[kept], clusters[kept]
    names, at = np.unique(clusters, return_inverse=True)
    mean = float(np.average(values, weights=weights))
    centred = (values - mean) if weights is None else weights * (values - mean)
    total = float(len(values) if weights is None else weights.sum())
    return mean, total, np.bincount(at.ravel(), centred, len(names)).astype(np.float64)


def design_effect(errors: Array, weights: Array | None, squares: Array | None, clusters: Array) -> float:
    """How many times as large clusters make the variance of the mean error: 1 for independent rows, their size for equal ones.

    At least 1. Errors are one number a row or one per class; `squares` are those of weights that are not numbers of rows.
    """
    mass = np.ones(len(errors)) if weights is None else weights
    centred = errors.reshape(len(errors), -1)
    centred = centred - np.average(centred, axis=0, weights=mass)
    names, at = np.unique(clusters, return_inverse=True)
    order = np.argsort(at.ravel(), kind="stable")
    sums = np.add.reduceat((mass[:, None] * centred)[order], np.searchsorted(at.ravel()[order], np.arange(len(names))))
    alone = float(((mass if squares is None else squares)[:, None] * centred**2).sum())
    if alone == 0:
        return float(mass.sum()) / len(names)
    return max(1.0, float((sums**2).sum()) / alone)
