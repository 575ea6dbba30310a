"""Where does the score of forecast means or quantiles come from?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.interval import mean_with_interval
from calibrant.kernels.fit.isotonic import isotonic_quantile
from calibrant.kernels.sums.stable_sums import inner
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.pinball import PinballScore, own_levels, pinball
from calibrant.types import Floats
from calibrant.verbs.decompose import Decomposition


def decompose_forecasts(forecasts: Forecasts, *, score: Any, by: Any, level: float) -> Decomposition:
    """score = miscalibration − discrimination + uncertainty, through isotonic regression on the means or quantiles.

    Parameters
    ----------
    forecasts
        Forecasts of a real number with their labels.
    score
        `"auto"` or `"squared"`, `"pinball"`, or a `PinballScore` with levels.
    by
        Must be `"isotonic"`.
    level
        Confidence of the score's interval.
    """
    if not isinstance(by, str) or by != "isotonic":
        raise InputError("by", "must be 'isotonic' for forecasts of a number", f"it is {by!r}")
    w = np.ones(forecasts.n) if forecasts.weights is None else forecasts.weights
    described: dict[str, Any]
    if isinstance(score, str) and score in ("auto", "squared"):
        described = {"score": "squared", "forecasts": forecasts.kind}
        rows, fitted, overall = _squared(forecasts, w)
        name, title = "mse", "mean squared error"
    else:
        levels = _levels(score, forecasts)
        described = {"score": "pinball", "forecasts": forecasts.kind, "levels": levels}
        parts = [_pinball(forecasts, w, tau) for tau in levels]
        rows, fitted, overall = (np.mean(each, axis=0) for each in zip(*parts, strict=True))
        name, title = "pinball_score", PinballScore.title
    value, interval, cautions = mean_with_interval(rows, forecasts.weights, level)
    left, none = (inner(w, each) / float(w.sum()) for each in (fitted, overall))
    found = Estimate(name, title, value, forecasts.n, interval, None, described, {}, cautions)
    settings = {**described, "by": "isotonic", "how": "by isotonic on the same rows"}
    return Decomposition(found, value - left, none - left, none, settings)


def _levels(score: Any, forecasts: Forecasts) -> tuple[float, ...]:
    if isinstance(score, PinballScore):
        return score.levels or own_levels(forecasts)
    if isinstance(score, str) and score == "pinball":
        return own_levels(forecasts)
    raise InputError("score", "must be 'squared', 'pinball' or a PinballScore for forecasts", f"it is {score!r}")


def _squared(forecasts: Forecasts, w: Floats) -> tuple[Floats, Floats, Floats]:
    """Squared errors of the means as they are, recalibrated by isotonic regression, and of the overall mean."""
    from scipy.optimize import isotonic_regression

    labels, counted = forecasts.labels, w > 0
    _, at = np.unique(forecasts.mean[counted], return_inverse=True)
    mass = np.bincount(at, w[counted])
    rates = np.bincount(at, (w * labels)[counted]) / mass
    fitted = labels.copy()
    fitted[counted] = isotonic_regression(rates, weights=mass).x[at]
    overall = inner(w, labels) / float(w.sum())
    return (labels - forecasts.mean) ** 2, (labels - fitted) ** 2, (labels - overall) ** 2


def _pinball(forecasts: Forecasts, w: Floats, tau: float) -> tuple[Floats, Floats, Floats]:
    """Pinball scores of a quantile as it is, recalibrated by isotonic quantile regression, and of the overall quantile."""
    labels, predicted, counted = forecasts.labels, forecasts.quantile(tau), w > 0
    fitted = labels.copy()
    fitted[counted] = isotonic_quantile(predicted[counted], labels[counted], w[counted], tau)
    overall = np.zeros(forecasts.n)
    overall[counted] = isotonic_quantile(np.zeros(int(counted.sum())), labels[counted], w[counted], tau)
    return pinball(labels, predicted, tau), pinball(labels, fitted, tau), pinball(labels, overall, tau)
