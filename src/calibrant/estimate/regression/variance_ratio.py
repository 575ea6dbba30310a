"""The ratio of squared errors to predicted variances, row by row."""

from __future__ import annotations

from typing import Any

from calibrant.forecasts import Forecasts, SampleForecasts, admit_forecasts
from calibrant.interval import mean_with_interval
from calibrant.methods import FORECASTS, method
from calibrant.results import Estimate
from calibrant.score.forecast_score import positive_variance


@method("forecast estimator", title="SE/variance ratio", views=FORECASTS)
def variance_ratio(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """How large are squared errors relative to the predicted variances? The mean of (y−μ)²/σ²; 1 if calibrated.

    A value of 10 means that squared errors are ten times as large as predicted:
    over-confident. A few rows with a very small variance can dominate the mean, and then
    its interval is wide. Where forecasts are m samples, a calibrated model shows
    (m+1)/(m−3) rather than 1 (normal errors): that is the `noise_floor`.

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
    >>> from calibrant.estimate.regression.variance_ratio import variance_ratio
    >>> variance_ratio(cal.Predictions.from_gaussian([1.0, -4.0], mean=[0.0, 0.0], variance=[1.0, 2.0])).value
    4.5
    """
    data = admit_forecasts(forecasts)
    ratio = (data.labels - data.mean) ** 2 / positive_variance(data)
    value, interval, cautions = mean_with_interval(ratio, data.weights, level)
    described = {"forecasts": data.kind}
    floor = expected_ratio(data)
    return Estimate("variance_ratio", "SE/variance ratio", value, data.n, interval, floor, described, {}, cautions)


def expected_ratio(data: Forecasts) -> float | None:
    """1; for m samples (m+1)/(m−3), as their mean and variance are not those of the distribution they come from."""
    if not isinstance(data, SampleForecasts):
        return 1.0
    m = data.n_samples
    return (m + 1) / (m - 3) if m > 3 else None
