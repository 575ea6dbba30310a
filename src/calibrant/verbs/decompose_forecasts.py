"""The parts of a proper score of forecasts of a real number (Gruber & Buettner 2022, lemma 4.1).

The distribution of the label given the forecast is estimated by recalibrating the forecasts on the same rows; that
without a forecast is the distribution of all labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.regression.means import squared_error
from calibrant.forecasts import Forecasts, GaussianForecasts, SampleForecasts
from calibrant.interval import SkewedMean
from calibrant.kernels.fit.isotonic import isotonic_quantile
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.regression import RegressionMap
from calibrant.methods import methods
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.crps import CRPS
from calibrant.score.dawid_sebastiani import DawidSebastianiScore, GaussianLogScore
from calibrant.score.forecast_score import ForecastScore, check_forecast_score, possible_values
from calibrant.score.pinball import PinballScore, own_levels, pinball
from calibrant.types import Floats
from calibrant.verbs.recalibrate import forecast_recipe

Parts = tuple[Estimate, float, float, dict[str, Any]]
"""The score, that of the recalibrated forecasts, that of the distribution of all labels, and the settings."""

MOST_QUANTILES, MOST_NUMBERS = 400, 1 << 25
"""Quantiles per row that represent a recalibrated distribution, fewer where rows are many."""


class _SquaredError(ForecastScore):
    """Of the mean."""

    name, title = "squared", "mean squared error"

    def of_labels(self, forecasts: Forecasts, labels: Floats) -> Floats:
        return squared_error(forecasts, labels)


def forecast_parts(forecasts: Forecasts, score: Any, method: Any, level: float) -> Parts:
    """Score, refinement and uncertainty of forecasts."""
    rule = _rule(score, forecasts)
    w = np.ones(len(forecasts.labels)) if forecasts.weights is None else forecasts.weights
    settings: dict[str, Any] = {"score": rule.name, "forecasts": forecasts.kind}
    levels = getattr(rule, "levels", None)
    settings |= {} if levels is None else {"levels": levels}
    rows = rule.by_blocks(forecasts)
    possible = possible_values(forecasts, rule.of_labels)
    mean = SkewedMean.of(rows, forecasts.weights, forecasts.squares, possible)
    interval, cautions = mean.interval(level)
    named = {"squared": "mse", "crps": "crps"}.get(rule.name, f"{rule.name}_score")
    found = Estimate(named, rule.title, mean.mean, forecasts.n, interval, None, settings, {}, cautions)
    known = isinstance(method, str)
    none = _overall(forecasts, rule, w)
    left = _isotonic(forecasts, rule, w) if known and method == "isotonic" else _mapped(forecasts, rule, method)
    shown = method if known else repr(method)
    described = {**settings, "method": shown, "how": f"by {shown} on the same rows"}
    total = float(w.sum())
    return found, inner(w, left) / total, inner(w, none) / total, described


def _rule(score: Any, forecasts: Forecasts) -> ForecastScore:
    if isinstance(score, str) and score in ("auto", "squared"):
        return _SquaredError()
    if isinstance(score, str) and score not in (known := methods("forecast score")):
        names = ", ".join(map(repr, ("squared", *known)))
        raise InputError("score", f"must be one of {names}, or a ForecastScore, for forecasts", f"it is {score!r}")
    rule = check_forecast_score(score, forecasts)
    return PinballScore(rule.levels or own_levels(forecasts)) if isinstance(rule, PinballScore) else rule


def _mapped(forecasts: Forecasts, rule: ForecastScore, method: Any) -> Floats:
    """Scores after a map of forecasts that was fitted on them."""
    recipe = forecast_recipe(method, "isotonic")
    fitted = recipe.fit(forecasts)
    if not isinstance(fitted, RegressionMap):
        raise InputError("method", "must make a map of forecasts", f"it makes a {type(fitted).__name__}")
    return rule.by_blocks(fitted.apply(forecasts))


def _isotonic(forecasts: Forecasts, rule: ForecastScore, w: Floats) -> Floats:
    """Scores of the forecasts recalibrated by isotonic regression, each part of them rising with what was predicted."""
    labels, counted = forecasts.labels, w > 0
    if isinstance(rule, _SquaredError):
        return (labels - rising(forecasts.mean, labels, w)) ** 2
    if isinstance(rule, DawidSebastianiScore | GaussianLogScore):
        mean = rising(forecasts.mean, labels, w)
        square = (labels - mean) ** 2
        variance = np.where(counted, positive(rising(forecasts.variance, square, w), square, w), 1.0)
        return rule.of_labels(GaussianForecasts(labels, mean, variance), labels)
    levels = getattr(rule, "levels", None)
    if levels is not None:
        return _factor(rule) * np.mean([_rising_pinball(forecasts, w, tau) for tau in levels], axis=0)
    count = max(min(len(labels), MOST_QUANTILES, MOST_NUMBERS // len(labels)), 20)
    samples = np.stack([_rising_quantile(forecasts, w, (k + 0.5) / count) for k in range(count)], axis=1)
    return rule.by_blocks(SampleForecasts(labels, samples))


def _overall(forecasts: Forecasts, rule: ForecastScore, w: Floats) -> Floats:
    """Scores of the distribution of all labels."""
    labels, total = forecasts.labels, float(w.sum())
    mean = inner(w, labels) / total
    if isinstance(rule, _SquaredError):
        return (labels - mean) ** 2
    if isinstance(rule, DawidSebastianiScore | GaussianLogScore):
        variance = inner(w, (labels - mean) ** 2) / total
        if not variance > 0:
            raise InputError("labels", "must differ for this score", f"they are all {labels[0]:g}")
        same = GaussianForecasts(labels, np.full(len(labels), mean), np.full(len(labels), variance))
        return rule.of_labels(same, labels)
    levels = getattr(rule, "levels", None)
    none = np.zeros(len(labels))
    if levels is not None:
        overall = [pinball(labels, _fitted(none, labels, w, tau), tau) for tau in levels]
        return _factor(rule) * np.mean(overall, axis=0)
    if isinstance(rule, CRPS):
        return _crps_of_all(labels, w)
    count = max(min(len(labels), MOST_QUANTILES, MOST_NUMBERS // len(labels)), 20)
    samples = np.stack([_fitted(none, labels, w, (k + 0.5) / count) for k in range(count)], axis=1)
    return rule.by_blocks(SampleForecasts(labels, samples))


def _factor(rule: ForecastScore) -> float:
    """CRPS in quantile form is twice the mean pinball score."""
    return 2.0 if isinstance(rule, CRPS) else 1.0


def _crps_of_all(labels: Floats, w: Floats) -> Floats:
    """E|Y − y| − ½E|Y − Y'| for each y, Y drawn from all labels, with weights; by sorting, exactly."""
    order = np.argsort(labels, kind="stable")
    y, v = labels[order], w[order] / w.sum()
    below, first = np.cumsum(v), np.cumsum(v * y)
    apart = np.empty(len(y))
    apart[order] = y * below - first + (first[-1] - first) - y * (1 - below)
    return apart - inner(w, apart) / float(w.sum()) / 2


def rising(x: Floats, y: Floats, w: Floats) -> Floats:
    """The weighted means of y that rise with x and fit best; y itself for rows of weight 0."""
    from scipy.optimize import isotonic_regression

    counted = w > 0
    _, at = np.unique(x[counted], return_inverse=True)
    mass = np.bincount(at, w[counted])
    means = np.bincount(at, (w * y)[counted]) / mass
    fitted = y.copy()
    fitted[counted] = isotonic_regression(means, weights=mass).x[at]
    return fitted


def positive(variance: Floats, squares: Floats, w: Floats) -> Floats:
    """Rising variances, those of 0 pooled with the smallest that is positive; refused if none is."""
    counted = w > 0
    if not (variance[counted] > 0).any():
        raise InputError("forecasts", "must leave residuals for this score", "isotonic regression leaves none")
    if (variance[counted] > 0).all():
        return variance
    pooled = counted & (variance <= variance[counted & (variance > 0)].min())
    return np.where(pooled, inner(w[pooled], squares[pooled]) / float(w[pooled].sum()), variance)


def _fitted(x: Floats, labels: Floats, w: Floats, tau: float) -> Floats:
    counted = w > 0
    fitted = labels.copy()
    fitted[counted] = isotonic_quantile(x[counted], labels[counted], w[counted], tau)
    return fitted


def _rising_quantile(forecasts: Forecasts, w: Floats, tau: float) -> Floats:
    return _fitted(forecasts.quantile(tau), forecasts.labels, w, tau)


def _rising_pinball(forecasts: Forecasts, w: Floats, tau: float) -> Floats:
    return pinball(forecasts.labels, _rising_quantile(forecasts, w, tau), tau)
