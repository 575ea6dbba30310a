"""Where does the squared error of forecast means come from?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.interval import mean_with_interval
from calibrant.kernels.sums import inner
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.verbs.decompose import Decomposition


def decompose_forecasts(forecasts: Forecasts, *, score: Any, by: Any, level: float) -> Decomposition:
    """MSE = miscalibration − discrimination + uncertainty, through isotonic regression of the labels on the means."""
    for argument, given, allowed in (("score", score, ("auto", "squared")), ("by", by, ("isotonic",))):
        if not isinstance(given, str) or given not in allowed:
            raise InputError(argument, f"must be {allowed[-1]!r} for forecasts of a number", f"it is {given!r}")
    labels, mean = forecasts.labels, forecasts.mean
    value, interval, cautions = mean_with_interval((labels - mean) ** 2, forecasts.weights, level)
    w = np.ones(forecasts.n) if forecasts.weights is None else forecasts.weights
    left = _mended(mean[w > 0], labels[w > 0], w[w > 0])
    overall = inner(w, labels) / w.sum()
    none = inner(w, (labels - overall) ** 2) / float(w.sum())
    settings = {"score": "squared", "by": "isotonic", "how": "by isotonic on the same rows"}
    described = {"score": "squared", "forecasts": forecasts.kind}
    found = Estimate("mse", "mean squared error", value, forecasts.n, interval, None, described, {}, cautions)
    return Decomposition(found, value - left, none - left, none, settings)


def _mended(mean: Any, labels: Any, w: Any) -> float:
    """The mean squared error of the best rising function of the means; equal means stay equal."""
    from scipy.optimize import isotonic_regression

    _, at = np.unique(mean, return_inverse=True)
    mass = np.bincount(at, w)
    rates = np.bincount(at, w * labels) / mass
    fitted = isotonic_regression(rates, weights=mass).x[at]
    return inner(w, (labels - fitted) ** 2) / float(w.sum())
