"""How do I repair it?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.maps import CalibrationMap, RegressionMap, recipe_of
from calibrant.methods import methods
from calibrant.predictions import Predictions
from calibrant.problems import InputError


@overload
def recalibrate(predictions: Predictions, method: Any = "usual") -> CalibrationMap: ...
@overload
def recalibrate(predictions: Forecasts, method: Any = "usual") -> RegressionMap: ...
def recalibrate(predictions: Predictions | Forecasts, method: Any = "usual") -> CalibrationMap | RegressionMap:
    """Fit a map on validation data that repairs the model's probabilities.

    `method` is a name or a recipe such as `Temperature(bounds=(0.1, 10))`; `"usual"` is temperature. `"auto"` tries the maps that suit the amount of data
    and keeps the simplest that held-out rows vouch for; `fit.choice` of the map says why. Apply the map to other data than it
    was fitted on before judging it: see `compare`.

    Forecasts of a real number have `variance_platt` (the usual one), `std_scaling` and `quantile_recalibration`.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.recalibrate(valid)
    >>> fitted.temperature > 1  # the example is over-confident
    True
    >>> repaired = fitted.apply(test)
    """
    if isinstance(predictions, Forecasts):
        return _of_forecasts(predictions, "variance_platt" if _usual(method) else method)
    if not isinstance(predictions, Predictions):
        raise InputError(
            "predictions",
            "must be a Predictions",
            f"it is a {type(predictions).__name__}",
            "Wrap labels and probs: Predictions(labels, probs)",
        )
    fitted: CalibrationMap = recipe_of("temperature" if _usual(method) else method).fit(predictions)
    told = light_weights(predictions)
    return fitted if not told else replace(fitted, fit=replace(fitted.fit, cautions=fitted.fit.cautions + told))


def _usual(method: Any) -> bool:
    return isinstance(method, str) and method == "usual"


def _of_forecasts(forecasts: Forecasts, method: Any) -> RegressionMap:
    known = methods("forecast map")
    if isinstance(method, str) and method in known:
        method = known[method].function()
    if isinstance(method, str | type) or not callable(getattr(method, "fit", None)):
        names = ", ".join(map(repr, known))
        raise InputError("method", f"must be one of {names} for forecasts, or a recipe with fit", f"it is {method!r}")
    fitted: RegressionMap = method.fit(forecasts)
    told = light_weights(forecasts)
    return fitted if not told else replace(fitted, fit=replace(fitted.fit, cautions=fitted.fit.cautions + told))


def light_weights(predictions: Predictions | Forecasts) -> tuple[str, ...]:
    """Weights count rows; those that were scaled to add up to 1 make many rows look like one."""
    w = predictions.weights
    rows = 0 if w is None else int(np.count_nonzero(w))
    if w is None or w.sum() >= rows / 2:
        return ()
    return (f"weights count rows, and {rows:,} rows weigh {w.sum():.3g}: scale them to 1 on average if they do not",)
