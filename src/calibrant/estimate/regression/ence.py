"""Expected normalised calibration error: are errors as large as predicted, where small and where large ones are?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.regression.variance_bins import variance_bins
from calibrant.forecasts import admit_forecasts
from calibrant.interval import normal_quantile
from calibrant.methods import FORECASTS, method
from calibrant.results import Estimate
from calibrant.types import Floats

LEFT = 2 - 2**0.5
"""The share of pure noise that debiasing leaves: two folded normals of one variance less one of twice the variance."""


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
    >>> from calibrant.estimate.regression.ence import ence
    >>> forecasts = cal.Predictions.from_gaussian([2.0, -2.0, 3.0, -3.0], mean=[0.0] * 4, variance=[1.0, 1.0, 9.0, 9.0])
    >>> ence(forecasts, n_bins=2).value  # RMSE of 2 and 3 where 1 and 3 are predicted
    0.5
    """
    data = admit_forecasts(forecasts)
    normal_quantile(level)
    bins = variance_bins(data, n_bins)
    ratio = np.sqrt(bins.square / bins.variance)
    plain = float(np.abs(1 - ratio).mean())
    floor = float(noise(bins.degrees).mean())
    if debiased:
        expected = folded(1 - ratio, ratio / np.sqrt(2 * bins.degrees))
        plain, floor = max(2 * plain - float(expected.mean()), 0.0), LEFT * floor
    described = {"bins": f"{len(ratio)} equal-mass bins of σ", "forecasts": data.kind, "debiased": debiased}
    title = "debiased ENCE" if debiased else "ENCE"
    return Estimate("ence", title, plain, data.n, None, floor, described, {"curve": bins.curve(level)})


def noise(degrees: Floats) -> Floats:
    """E|1 − χ_ν/√ν|: the expected gap of a bin with ν normal errors of the predicted variance."""
    from scipy.special import gammainc, gammaln

    half = degrees / 2
    mean = np.exp(gammaln(half + 0.5) - gammaln(half)) / np.sqrt(half)  # of χ_ν/√ν
    below, shifted = gammainc(half, half), gammainc(half + 0.5, half)
    found: Floats = 2 * (below - mean * shifted) + mean - 1
    return found


def folded(mean: Floats, sd: Floats) -> Floats:
    """E|X| for X ~ N(mean, sd²), also where sd is 0."""
    from scipy.special import erf

    z = np.divide(mean, sd, out=np.full(len(mean), np.inf), where=sd > 0)
    found: Floats = sd * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + np.abs(mean) * np.abs(erf(z / np.sqrt(2)))
    return found
