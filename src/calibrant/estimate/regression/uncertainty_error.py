"""Uncertainty calibration error: the gap between mean squared error and predicted variance, in squared units."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.regression.variance_bins import variance_bins
from calibrant.forecasts import admit_forecasts
from calibrant.methods import FORECASTS, method
from calibrant.results import Estimate
from calibrant.types import Floats


@method("forecast estimator", title="UCE", views=FORECASTS, also_called=("UCE",))
def uncertainty_error(forecasts: Any, *, n_bins: int = 15) -> Estimate:
    """How far are squared errors from the predicted variances, per bin of σ? Weighted mean of |MSE − mean variance|.

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
    >>> from calibrant.estimate.regression.uncertainty_error import uncertainty_error
    >>> forecasts = cal.Predictions.from_gaussian([2.0, -2.0, 3.0, -3.0], mean=[0.0] * 4, variance=[1.0, 1.0, 9.0, 9.0])
    >>> uncertainty_error(forecasts, n_bins=2).value  # half of 4 − 1
    1.5
    """
    data = admit_forecasts(forecasts)
    bins = variance_bins(data, n_bins)
    value = float(bins.shares @ np.abs(bins.square - bins.variance))
    floor = float(bins.shares @ (bins.variance * noise(bins.degrees)))
    described = {"bins": f"{len(bins.weight)} equal-mass bins of σ", "forecasts": data.kind}
    return Estimate("uncertainty_error", "UCE", value, data.n, None, floor, described)


def noise(degrees: Floats) -> Floats:
    """E|χ²_ν/ν − 1|: the expected relative gap of a bin with ν normal errors of the predicted variance."""
    from scipy.special import gammaln, xlogy

    half = degrees / 2
    found: Floats = 2 * np.exp(xlogy(half, half) - half - gammaln(half + 1))
    return found
