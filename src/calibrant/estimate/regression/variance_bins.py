"""Errors over bins of σ, the predicted standard deviation: ENCE and UCE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts, admit_forecasts
from calibrant.inputs import check_count
from calibrant.interval import normal_quantile
from calibrant.kernels.sums.folded_normal import folded_normal_mean
from calibrant.methods import FORECASTS, method
from calibrant.results import Curve, Estimate
from calibrant.score.forecast_score import positive_variance
from calibrant.types import Floats

LEFT = 2 - 2**0.5
"""The share of pure noise that debiasing leaves: two folded normals of one variance less one of twice the variance."""


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
        with np.errstate(divide="ignore", over="ignore"):  # no upper limit where there is hardly a row
            ratios = (np.sqrt(self.degrees / chdtri(self.degrees, at)) for at in (tail, 1 - tail))
            low, high = (observed * np.minimum(ratio, np.finfo(float).max) for ratio in ratios)
        return Curve(predicted, observed, low, high, self.shares, level)


def variance_bins(forecasts: Forecasts, n_bins: Any) -> VarianceBins:
    """Bins of rows by σ; fewer of them where variances are equal."""
    check_count(n_bins)
    variance = positive_variance(forecasts)
    square = (forecasts.labels - forecasts.mean) ** 2
    w = np.ones(len(forecasts.labels)) if forecasts.weights is None else forecasts.weights
    _, at = np.unique(variance, return_inverse=True)
    mass = np.bincount(at, w)
    middle = np.cumsum(mass) - mass / 2
    bins = np.minimum((n_bins * (middle / mass.sum())).astype(np.intp), n_bins - 1)[at]
    spread = w if forecasts.squares is None else forecasts.squares
    rows = (w, w * variance, w * square, w * square / variance, spread * variance**2)
    sums = [np.bincount(bins, each, n_bins).astype(np.float64) for each in rows]
    weight, *others, fourth = (each[sums[0] > 0] for each in sums)
    mean_variance, mean_square, ratio = (each / weight for each in others)
    return VarianceBins(weight, mean_variance, mean_square, ratio, (weight * mean_variance) ** 2 / fourth)


@method("forecast estimator", title="ENCE", views=FORECASTS, also_called=("ENCE",))
def ence(forecasts: Any, *, n_bins: int = 15, debiased: bool = False, level: float = 0.95) -> Estimate:
    """Are errors as large as predicted, per bin of σ? The mean over bins of |RMV − RMSE| / RMV.

    RMV is the root of a bin's mean predicted variance, RMSE that of its mean squared
    error. Noise alone makes it positive: `noise_floor` is the expected value for a
    calibrated model with normal errors, exact where the variances of a bin are equal.
    `parts["curve"]` holds RMV and RMSE of each bin with intervals.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    n_bins
        Number of bins of σ with equally many rows.
    debiased
        Subtract what the noise of each bin adds, normal errors assumed; never below 0.
        A share of 0.59 of pure noise is left, and nothing where gaps are clear.
    level
        Confidence of each bin's interval.

    Notes
    -----
    Estimates: mean relative gap between predicted and observed size of the errors, over
      bins of σ.
    Bias: up by noise: see the noise floor; less so for the debiased form.
    Cost: one sort.
    Source: Levi, Gispan, Giladi, Fetaya 2020.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.variance_bins import ence
    >>> forecasts = cal.Predictions.from_gaussian([2.0, -2.0, 3.0, -3.0], mean=[0.0] * 4, variance=[1.0, 1.0, 9.0, 9.0])
    >>> ence(forecasts, n_bins=2).value  # RMSE of 2 and 3 where 1 and 3 are predicted
    0.5
    """
    data = admit_forecasts(forecasts)
    normal_quantile(level)
    bins = variance_bins(data, n_bins)
    ratio = np.sqrt(bins.square / bins.variance)
    plain = float(np.abs(1 - ratio).mean())
    floor = float(root_noise(bins.degrees).mean())
    if debiased:
        expected = folded_normal_mean(1 - ratio, ratio / np.sqrt(2 * bins.degrees))
        plain, floor = max(2 * plain - float(expected.mean()), 0.0), LEFT * floor
    described = {"bins": f"{len(ratio)} equal-mass bins of σ", "forecasts": data.kind, "debiased": debiased}
    title = "debiased ENCE" if debiased else "ENCE"
    return Estimate("ence", title, plain, data.n, None, floor, described, {"curve": bins.curve(level)})


def root_noise(degrees: Floats) -> Floats:
    """E|1 − χ_ν/√ν|: the expected gap of a bin with ν normal errors of the predicted variance."""
    from scipy.special import gammainc, gammaln

    half = degrees / 2
    mean = np.exp(gammaln(half + 0.5) - gammaln(half)) / np.sqrt(half)  # of χ_ν/√ν
    below, shifted = gammainc(half, half), gammainc(half + 0.5, half)
    found: Floats = 2 * (below - mean * shifted) + mean - 1
    return found


@method("forecast estimator", title="UCE", views=FORECASTS, also_called=("UCE",))
def uncertainty_error(forecasts: Any, *, n_bins: int = 15) -> Estimate:
    """How far are squared errors from the predicted variances, per bin of σ?

    Weighted mean of |MSE − mean variance|.

    Noise alone makes it positive: `noise_floor` is the expected value for a calibrated
    model with normal errors, exact where the variances of a bin are equal.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    n_bins
        Number of bins of σ with equally many rows.

    Notes
    -----
    Estimates: mean gap between squared error and predicted variance, over bins of σ.
    Bias: up by noise: see the noise floor.
    Cost: one sort.
    Source: Laves, Ihler, Fast, Kahrs, Ortmaier 2020.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.variance_bins import uncertainty_error
    >>> forecasts = cal.Predictions.from_gaussian([2.0, -2.0, 3.0, -3.0], mean=[0.0] * 4, variance=[1.0, 1.0, 9.0, 9.0])
    >>> uncertainty_error(forecasts, n_bins=2).value  # half of 4 − 1
    1.5
    """
    data = admit_forecasts(forecasts)
    bins = variance_bins(data, n_bins)
    value = float(bins.shares @ np.abs(bins.square - bins.variance))
    floor = float(bins.shares @ (bins.variance * square_noise(bins.degrees)))
    described = {"bins": f"{len(bins.weight)} equal-mass bins of σ", "forecasts": data.kind}
    return Estimate("uncertainty_error", "UCE", value, data.n, None, floor, described)


def square_noise(degrees: Floats) -> Floats:
    """E|χ²_ν/ν − 1|: the expected relative gap of a bin with ν normal errors of the predicted variance."""
    from scipy.special import gammaln, xlogy

    half = degrees / 2
    found: Floats = 2 * np.exp(xlogy(half, half) - half - gammaln(half + 1))
    return found
