"""Scores of mean and variance alone: Dawid–Sebastiani, and the log score of the Gaussian that has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.methods import method
from calibrant.results import Estimate
from calibrant.score.forecast_score import ForecastScore, positive_variance
from calibrant.types import Floats


@method("forecast score")
class DawidSebastianiScore(ForecastScore):
    """(μ−y)²/σ² + ln σ², of the mean and the variance of any forecast.

    It has no lower bound: only differences are meaningful.

    Examples
    --------
    >>> from calibrant.forecasts import GaussianForecasts
    >>> from calibrant.score import DawidSebastianiScore
    >>> narrow, wide = (GaussianForecasts([0.0], [0.0], [v]) for v in (1.0, 2.0))
    >>> DawidSebastianiScore().divergence(narrow, wide).round(6)  # 2 − 1 − ln 2
    array([0.306853])
    """

    name, title = "dawid_sebastiani", "Dawid–Sebastiani score"

    def of_labels(self, forecasts: Forecasts, labels: Floats) -> Floats:
        variance = positive_variance(forecasts)
        return ((labels - forecasts.mean) / np.sqrt(variance)) ** 2 + np.log(variance)

    def expected(self, forecasts: Forecasts, truth: Forecasts) -> Floats:
        """((μ−m)² + s²)/σ² + ln σ², with m and s² those of the truth."""
        variance = positive_variance(forecasts)
        square: Floats = (forecasts.mean - truth.mean) ** 2 + truth.variance
        return square / variance + np.log(variance)


def dawid_sebastiani_score(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """How good are mean and variance? Mean of (μ−y)²/σ² + ln σ², lower is better.

    Parameters
    ----------
    forecasts
        Forecasts of a real number with their labels: `Predictions.from_gaussian`,
        `from_quantiles` or `from_samples`.
    level
        Confidence of the interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.score import dawid_sebastiani_score
    >>> dawid_sebastiani_score(cal.Predictions.from_gaussian([1.0, 3.0], [0.0, 1.0], [1.0, 1.0])).value
    2.5
    """
    return DawidSebastianiScore().score(forecasts, level=level)


OF_MOMENTS = DawidSebastianiScore()
CONSTANT = math.log(2 * math.pi)


@method("forecast score")
class GaussianLogScore(ForecastScore):
    """½(DSS + ln 2π): −ln of the density at y of the Gaussian with the same mean and variance.

    Examples
    --------
    >>> from calibrant.forecasts import GaussianForecasts
    >>> from calibrant.score import GaussianLogScore
    >>> narrow, wide = (GaussianForecasts([0.0], [0.0], [v]) for v in (1.0, 2.0))
    >>> GaussianLogScore().divergence(narrow, wide).round(6)  # that of Kullback and Leibler
    array([0.153426])
    """

    name, title = "gaussian_log", "Gaussian log score"

    def of_labels(self, forecasts: Forecasts, labels: Floats) -> Floats:
        return (OF_MOMENTS.of_labels(forecasts, labels) + CONSTANT) / 2

    def expected(self, forecasts: Forecasts, truth: Forecasts) -> Floats:
        return (OF_MOMENTS.expected(forecasts, truth) + CONSTANT) / 2


def gaussian_log_score(forecasts: Any, *, level: float = 0.95) -> Estimate:
    """How surprised was the model?

    Mean of −ln of a Gaussian density at the label, in nats; lower is better.

    Parameters
    ----------
    forecasts
        Forecasts of a real number with their labels: `Predictions.from_gaussian`,
        `from_quantiles` or `from_samples`.
    level
        Confidence of the interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.score import gaussian_log_score
    >>> round(gaussian_log_score(cal.Predictions.from_gaussian([0.0], [0.0], [1.0])).value, 6)
    0.918939
    """
    return GaussianLogScore().score(forecasts, level=level)
