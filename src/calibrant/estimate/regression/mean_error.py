"""The mean error: are the forecast means too high or too low on average?"""

from __future__ import annotations

from typing import Any

from calibrant.forecasts import admit_forecasts
from calibrant.interval import mean_with_interval
from calibrant.methods import FORECASTS, method
from calibrant.results import Estimate


@method("forecast estimator", title="mean error", views=FORECASTS, also_called=("bias",))
def mean_error(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """Are the means too high or too low on average? The mean of μ − y with its interval; 0 if calibrated.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    level
        Confidence of the interval.

    Notes
    -----
    Estimates: mean of μ − y: positive where the forecasts are too high on the whole.
    Bias: none.
    Cost: one pass.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.mean_error import mean_error
    >>> mean_error(cal.Predictions.from_gaussian([1.0, 2.0], mean=[1.5, 3.0], variance=[1.0, 1.0])).value
    0.75
    """
    said = admit_forecasts(forecasts)
    value, interval, cautions = mean_with_interval(said.mean - said.labels, said.weights, level)
    described = {"forecasts": said.kind}
    return Estimate("mean_error", "mean error", value, said.n, interval, 0.0, described, {}, cautions)
