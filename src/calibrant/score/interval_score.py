"""The interval score of Winkler: narrow is good, missing the label is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts, GaussianForecasts
from calibrant.methods import method
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.forecast_score import ForecastScore
from calibrant.score.pinball import expected_pinball
from calibrant.types import Floats


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
