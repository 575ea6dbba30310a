"""Is the average predicted variance as large as the mean squared error?"""

from __future__ import annotations

from typing import Any

from calibrant.forecasts import SampleForecasts, admit_forecasts
from calibrant.interval import mean_with_interval
from calibrant.methods import FORECASTS, method
from calibrant.results import Estimate


@method("forecast estimator", title="average variance − MSE", views=FORECASTS)
def variance_gap(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """Is the average predicted variance as large as the mean squared error? Their difference, with a paired interval.

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
    >>> from calibrant.estimate.regression.variance_gap import variance_gap
    >>> found = variance_gap(cal.Predictions.from_gaussian([1.0, -3.0], mean=[0.0, 0.0], variance=[1.0, 2.0]))
    >>> found.value, found.parts["average_variance"].value, found.parts["mse"].value
    (-3.5, 1.5, 5.0)
    """
    said = admit_forecasts(forecasts)
    variance, squares = said.variance, (said.labels - said.mean) ** 2
    described = {"forecasts": said.kind}
    parts = {}
    for name, title, values in (
        ("average_variance", "average variance", variance),
        ("mse", "mean squared error", squares),
    ):
        value, interval, cautions = mean_with_interval(values, said.weights, level)
        parts[name] = Estimate(name, title, value, said.n, interval, None, described, {}, cautions)
    value, interval, cautions = mean_with_interval(variance - squares, said.weights, level)
    title, floor = "average variance − MSE", 0.0
    if isinstance(said, SampleForecasts) and said.n_samples > 1:
        floor = -2 * parts["average_variance"].value / (said.n_samples - 1)
    return Estimate("variance_gap", title, value, said.n, interval, floor, described, parts, cautions)
