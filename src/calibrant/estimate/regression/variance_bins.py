"""Bins of rows by predicted variance: the mean variance and the mean squared error of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.inputs import check_count
from calibrant.results import Curve
from calibrant.score.forecast_score import positive_variance
from calibrant.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class VarianceBins:
    """Bins of about equal weight in the order of σ; equal variances are never split."""

    weight: Floats
    variance: Floats
    """mean predicted variance"""
    square: Floats
    """mean squared error"""
    ratio: Floats
    """mean of (y−μ)²/σ²"""
    degrees: Floats
    """the ν for which square/variance has variance 2/ν if errors are normal with the predicted variances"""

    @property
    def shares(self) -> Floats:
        return self.weight / self.weight.sum()

    def curve(self, level: float) -> Curve:
        """Root mean variance against root mean squared error, with intervals for normal errors."""
        from scipy.special import chdtri

        tail = (1 - level) / 2
        predicted, observed = np.sqrt(self.variance), np.sqrt(self.square)
        low, high = (observed * np.sqrt(self.degrees / chdtri(self.degrees, at)) for at in (tail, 1 - tail))
        return Curve(predicted, observed, low, high, self.shares, level)


def variance_bins(forecasts: Forecasts, n_bins: Any) -> VarianceBins:
    """Bins of rows by σ; fewer of them where variances are equal."""
    check_count(n_bins)
    variance = positive_variance(forecasts)
    square = (forecasts.labels - forecasts.mean) ** 2
    w = np.ones(forecasts.n) if forecasts.weights is None else forecasts.weights
    _, at = np.unique(variance, return_inverse=True)
    mass = np.bincount(at, w)
    middle = np.cumsum(mass) - mass / 2
    bins = np.minimum((n_bins * (middle / mass.sum())).astype(np.intp), n_bins - 1)[at]
    sums = [
        np.bincount(bins, w * x, n_bins).astype(np.float64)
        for x in (np.ones(len(w)), variance, square, square / variance, variance**2)
    ]
    weight, *others = (each[sums[0] > 0] for each in sums)
    mean_variance, mean_square, ratio, fourth = (each / weight for each in others)
    return VarianceBins(weight, mean_variance, mean_square, ratio, weight * mean_variance**2 / fourth)
