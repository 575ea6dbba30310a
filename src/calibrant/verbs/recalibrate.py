"""How do I repair it?"""

from __future__ import annotations

from typing import Any

from calibrant.maps import METHODS, CalibrationMap
from calibrant.predictions import Predictions
from calibrant.problems import InputError


def recalibrate(predictions: Predictions, method: Any = "temperature") -> CalibrationMap:
    """Fit a map on validation data that repairs the model's probabilities.

    `method` is a name or a recipe such as `Temperature(bounds=(0.1, 10))`. Apply the map to other data than it was fitted
    on before judging it: see `compare`.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.recalibrate(valid)
    >>> fitted.temperature > 1  # the example is over-confident
    True
    >>> repaired = fitted.apply(test)
    """
    if not isinstance(predictions, Predictions):
        raise InputError(
            "predictions",
            "must be a Predictions",
            f"it is a {type(predictions).__name__}",
            "Wrap labels and probs: Predictions(labels, probs)",
        )
    if not isinstance(method, type | CalibrationMap) and callable(getattr(method, "fit", None)):
        fitted: CalibrationMap = method.fit(predictions)
        return fitted
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(
            "method", f"must be one of {', '.join(map(repr, METHODS))}, or a recipe with fit", f"it is {method!r}"
        )
    return METHODS[method]().fit(predictions)
