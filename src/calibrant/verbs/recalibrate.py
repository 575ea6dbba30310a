"""How do I repair it?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.maps import CalibrationMap, recipe_of
from calibrant.predictions import Predictions
from calibrant.problems import InputError


def recalibrate(predictions: Predictions, method: Any = "temperature") -> CalibrationMap:
    """Fit a map on validation data that repairs the model's probabilities.

    `method` is a name or a recipe such as `Temperature(bounds=(0.1, 10))`. `"auto"` tries the maps that suit the amount of data
    and keeps the simplest that held-out rows vouch for; `fit.choice` of the map says why. Apply the map to other data than it
    was fitted on before judging it: see `compare`.

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
    fitted: CalibrationMap = recipe_of(method).fit(predictions)
    told = light_weights(predictions)
    return fitted if not told else replace(fitted, fit=replace(fitted.fit, cautions=fitted.fit.cautions + told))


def light_weights(predictions: Predictions) -> tuple[str, ...]:
    """Weights count rows; those that were scaled to add up to 1 make many rows look like one."""
    w = predictions.weights
    rows = 0 if w is None else int(np.count_nonzero(w))
    if w is None or w.sum() >= rows / 2:
        return ()
    return (f"weights count rows, and {rows:,} rows weigh {w.sum():.3g}: scale them to 1 on average if they do not",)
