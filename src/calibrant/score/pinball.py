"""Scores of quantiles: pinball, and the interval score of Winkler for the two ends of a central interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts, GaussianForecasts, QuantileForecasts, checked_levels
from calibrant.methods import method
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.forecast_score import ForecastScore
from calibrant.types import Floats

DECILES = tuple((np.arange(1, 10) / 10).tolist())
"""The levels scored unless others are given, or the forecasts have their own."""


@method("forecast score")
class PinballScore(ForecastScore):
    """Mean over levels τ of (y − q)(τ − [y < q]), with q the forecast's quantile at τ.

    Parameters
    ----------
    levels
        By default those of the forecasts where these are quantiles, else the nine
        deciles.

    Examples
    --------
    >>> from calibrant.forecasts import QuantileForecasts
    >>> from calibrant.score import PinballScore
    >>> forecasts = QuantileForecasts([2.0, 0.0], [0.9], [[1.0], [1.0]])
    >>> PinballScore().rows(forecasts).round(6)  # above the 90 % quantile costs nine times what below it does
    array([0.9, 0.1])
    """

    name, title, infimum = "pinball", "pinball score", 0.0

    def __init__(self, levels: Any = None) -> None:
        self.levels = None if levels is None else tuple(checked_levels(np.atleast_1d(levels)).tolist())

    def settled(self, forecasts: Forecasts) -> PinballScore:
        return self if self.levels is not None else PinballScore(own_levels(forecasts))

    def describe(self) -> dict[str, Any]:
        return {"levels": self.levels}

    def of_labels(self, forecasts: Forecasts, labels: Floats) -> Floats:
        return self._mean(forecasts, lambda quantile, level: pinball(labels, quantile, level))

    def expected(self, forecasts: Forecasts, truth: Forecasts) -> Floats:
        """In closed form where the truth is Gaussian."""
        if not isinstance(truth, GaussianForecasts):
            return super().expected(forecasts, truth)
        return self._mean(forecasts, lambda quantile, level: expected_pinball(quantile, level, truth))

    def _mean(self, forecasts: Forecasts, score: Callable[[Floats, float], Floats]) -> Floats:
        """The mean over levels of a score of a quantile and its level."""
        levels, total = self.levels or own_levels(forecasts), np.zeros(len(forecasts.labels))
        for level in levels:
            total += score(forecasts.quantile(level), level)
        return total / len(levels)


def own_levels(forecasts: Forecasts) -> tuple[float, ...]:
    """The levels of quantile forecasts, else the deciles."""
    return tuple(forecasts.levels.tolist()) if isinstance(forecasts, QuantileForecasts) else DECILES


def pinball(labels: Floats, quantile: Floats, level: float) -> Floats:
    """(y − q)(τ − [y < q])."""
    apart = labels - quantile
    return np.maximum(level * apart, (level - 1) * apart)


def expected_pinball(quantile: Floats, level: float, truth: GaussianForecasts) -> Floats:
    """σ(z(Φ(z) − τ) + φ(z)) with z = (q − μ)/σ: the mean of the pinball score for a Gaussian label."""
    from scipy.special import ndtr

    z = truth.standardised(quantile)
    found: Floats = np.sqrt(truth.variance) * (z * (ndtr(z) - level) + np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
    return found


def pinball_score(forecasts: Any, *, levels: Any = None, level: float = 0.95) -> Estimate:
    """How good are the quantiles?

    Mean over rows and levels of (y − q)(τ − [y < q]), lower is better.

    Parameters
    ----------
    forecasts
        Forecasts of a real number with their labels: `Predictions.from_gaussian`,
        `from_quantiles` or `from_samples`.
    levels
        Levels of the quantiles; by default those of the forecasts, or the nine deciles.
    level
        Confidence of the interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.score import pinball_score
    >>> forecasts = cal.Predictions.from_quantiles([2.0, 0.0], [0.5], [[1.0], [1.0]])
    >>> pinball_score(forecasts).value  # half the absolute error
    0.5
    """
    return PinballScore(levels).score(forecasts, level=level)


@method("forecast score")
class IntervalScore(ForecastScore):
    """Width of the central interval plus 2/α times how far the label lies outside it.

    Parameters
    ----------
    coverage
        Share 1 − α of the labels that the interval should contain.

    Examples
    --------
    >>> from calibrant.forecasts import QuantileForecasts
    >>> from calibrant.score import IntervalScore
    >>> forecasts = QuantileForecasts([0.5, 3.0], [0.1, 0.9], [[0.0, 2.0], [0.0, 2.0]])
    >>> IntervalScore(coverage=0.8).rows(forecasts).round(6)  # 2, and 2 + 1·2/0.2
    array([ 2., 12.])
    """

    name, title, infimum = "interval", "interval score", 0.0

    def __init__(self, coverage: float = 0.9) -> None:
        if isinstance(coverage, bool) or not isinstance(coverage, float | np.floating) or not 0 < coverage < 1:
            raise InputError("coverage", "must lie between 0 and 1", f"it is {coverage!r}")
        self.coverage = float(coverage)

    @property
    def ends(self) -> tuple[float, float]:
        """The levels of the interval's ends, rounded so that 0.9 gives 0.05 and 0.95 exactly."""
        tail = round((1 - self.coverage) / 2, 12)
        return tail, round(1 - tail, 12)

    def describe(self) -> dict[str, Any]:
        return {"coverage": self.coverage}

    def of_labels(self, forecasts: Forecasts, labels: Floats) -> Floats:
        low, high = (forecasts.quantile(level) for level in self.ends)
        outside = np.maximum(low - labels, 0) + np.maximum(labels - high, 0)
        return high - low + outside / self.ends[0]

    def expected(self, forecasts: Forecasts, truth: Forecasts) -> Floats:
        """1/tail times the pinball scores of both ends, in closed form where the truth is Gaussian."""
        if not isinstance(truth, GaussianForecasts):
            return super().expected(forecasts, truth)
        both = sum(expected_pinball(forecasts.quantile(level), level, truth) for level in self.ends)
        found: Floats = np.asarray(both) / self.ends[0]
        return found


def interval_score(forecasts: Any, *, coverage: float = 0.9, level: float = 0.95) -> Estimate:
    """How good are the central intervals?

    Mean width, with a penalty for labels outside; lower is better.

    Parameters
    ----------
    forecasts
        Forecasts of a real number with their labels: `Predictions.from_gaussian`,
        `from_quantiles` or `from_samples`.
    coverage
        Share of the labels that the central interval should contain.
    level
        Confidence of the interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.score import interval_score
    >>> round(interval_score(cal.Predictions.from_gaussian([0.0], [0.0], [1.0])).value, 4)  # 2·1.6449
    3.2897
    """
    return IntervalScore(coverage).score(forecasts, level=level)
