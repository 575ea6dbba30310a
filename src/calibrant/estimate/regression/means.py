"""Means over rows of errors, squared errors and predicted variances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts, SampleForecasts, admit_forecasts
from calibrant.interval import SkewedMean
from calibrant.methods import FORECASTS, method
from calibrant.results import Estimate
from calibrant.score.forecast_score import positive_variance, possible_values
from calibrant.types import Floats


@method("forecast estimator", title="mean error", views=FORECASTS, also_called=("bias",))
def mean_error(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """Are the means too high or too low on average?

    The mean of μ − y with its interval; 0 if calibrated.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    level
        Confidence of the interval.

    Notes
    -----
    Estimates: mean of μ − y: positive where the forecasts are too high on average.
    Bias: none.
    Cost: one pass.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.means import mean_error
    >>> mean_error(cal.Predictions.from_gaussian([1.0, 2.0], mean=[1.5, 3.0], variance=[1.0, 1.0])).value
    0.75
    """
    data = admit_forecasts(forecasts)
    return mean_of("mean_error", "mean error", lambda rows, labels: rows.mean - labels, data, level, 0.0)


@method("forecast estimator", title="average variance − MSE", views=FORECASTS)
def variance_gap(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """Is the average predicted variance as large as the mean squared error?

    Their difference, with a paired interval.

    Negative for an over-confident model. `parts` holds both, `average_variance` and
    `mse`, each with its interval. The value can be 0 while large variances are too large
    and small ones too small: see `ence`. The mean and the variance of m samples are not
    those of the distribution they come from: `noise_floor` is then −2/(m−1) times the
    average variance.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    level
        Confidence of the interval.

    Notes
    -----
    Estimates: average predicted variance less mean squared error; negative for an over-
      confident model.
    Bias: none.
    Cost: one pass.
    Source: Gruber & Buettner 2022, Table 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.means import variance_gap
    >>> found = variance_gap(cal.Predictions.from_gaussian([1.0, -3.0], mean=[0.0, 0.0], variance=[1.0, 2.0]))
    >>> found.value, found.parts["average_variance"].value, found.parts["mse"].value
    (-3.5, 1.5, 5.0)
    """
    data = admit_forecasts(forecasts)
    average = mean_of("average_variance", "average variance", lambda rows, _: rows.variance, data, level)
    parts = {"average_variance": average, "mse": mean_of("mse", "mean squared error", squared_error, data, level)}
    floor = 0.0
    if isinstance(data, SampleForecasts) and data.n_samples > 1:
        floor = -2 * average.value / (data.n_samples - 1)

    def gap(rows: Forecasts, labels: Floats) -> Floats:
        return rows.variance - squared_error(rows, labels)

    return mean_of("variance_gap", "average variance − MSE", gap, data, level, floor, parts)


@method("forecast estimator", title="SE/variance ratio", views=FORECASTS)
def variance_ratio(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """How large are squared errors relative to the predicted variances?

    The mean of (y−μ)²/σ²; 1 if calibrated.

    A value of 10 means that squared errors are ten times as large as predicted:
    over-confident. A few rows with a very small variance can dominate the mean, and then
    its interval is wide. `parts["sd"]` is the standard deviation over rows, what
    Gruber & Buettner print behind ±; for normal errors that are as predicted it is √2.
    Where forecasts are m samples, a calibrated model shows (m+1)/(m−3) rather than 1
    (normal errors): that is the `noise_floor`.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    level
        Confidence of the interval.

    Notes
    -----
    Estimates: mean of squared error over predicted variance; 1 if calibrated, more if
      over-confident.
    Bias: none.
    Cost: one pass.
    Source: Gruber & Buettner 2022, Table 2.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.means import variance_ratio
    >>> variance_ratio(cal.Predictions.from_gaussian([1.0, -4.0], mean=[0.0, 0.0], variance=[1.0, 2.0])).value
    4.5
    """
    data = admit_forecasts(forecasts)
    variance = positive_variance(data)

    def ratio(rows: Forecasts, labels: Floats) -> Floats:
        return squared_error(rows, labels) / variance

    parts = {"sd": float(np.sqrt(np.cov(ratio(data, data.labels), aweights=data.weights, ddof=0)))}
    return mean_of("variance_ratio", "SE/variance ratio", ratio, data, level, expected_ratio(data), parts)


def expected_ratio(data: Forecasts) -> float | None:
    """1; for m samples (m+1)/(m−3), as their mean and variance are not those of the distribution they come from."""
    if not isinstance(data, SampleForecasts):
        return 1.0
    m = data.n_samples
    return (m + 1) / (m - 3) if m > 3 else None


def squared_error(forecasts: Forecasts, labels: Floats) -> Floats:
    """(y − μ)² of each row."""
    return (labels - forecasts.mean) ** 2


def mean_of(
    name: str,
    title: str,
    of_labels: Callable[[Forecasts, Floats], Floats],
    data: Forecasts,
    level: float,
    floor: float | None = None,
    parts: Any = None,
) -> Estimate:
    """The mean over rows of a function of their labels, with its interval."""
    possible = possible_values(data, of_labels)
    found = SkewedMean.of(of_labels(data, data.labels), data.weights, data.squares, possible)
    interval, cautions = found.interval(level)
    described = {"forecasts": data.kind}
    return Estimate(name, title, found.mean, data.n, interval, floor, described, parts or {}, cautions)
