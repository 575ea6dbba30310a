"""The continuous ranked probability score: squared distance of the distribution function from the step at the label."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.forecasts import BentForecasts, Forecasts, GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.kernels.sums.folded_normal import folded_normal_mean
from calibrant.methods import method
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.forecast_score import ForecastScore
from calibrant.score.pinball import PinballScore
from calibrant.types import Floats

ROOT_PI = float(np.sqrt(np.pi))

MANY_LEVELS = PinballScore((np.arange(200) + 0.5) / 200)
"""For forecasts of a kind that has no closed form."""


@method("forecast score")
class CRPS(ForecastScore):
    """∫(F(x) − [y ≤ x])² dx, in the unit of the label: the absolute error of a single number.

    In closed form for Gaussian forecasts, bent ones, and samples. Quantile forecasts
    have the quantile form, twice the mean pinball score over their levels, which is
    close to the integral where the levels are many and evenly spread.

    Parameters
    ----------
    fair
        True: score the distribution that samples were drawn from, without the penalty
        for their small number.
    levels
        Levels of the quantile form, for forecasts of every kind.

    Examples
    --------
    >>> from calibrant.forecasts import GaussianForecasts, SampleForecasts
    >>> from calibrant.score import CRPS
    >>> CRPS().rows(GaussianForecasts([0.0], [0.0], [1.0])).round(6)  # (√2 − 1)/√π
    array([0.233695])
    >>> CRPS().rows(SampleForecasts([1.0], [[0.0, 2.0]]))
    array([0.5])
    """

    name, title, infimum = "crps", "CRPS", 0.0

    def __init__(self, *, fair: bool = False, levels: Any = None) -> None:
        self.fair = bool(fair)
        self.levels = None if levels is None else PinballScore(levels).levels

    def settled(self, forecasts: Forecasts) -> CRPS:
        if self.levels is None and isinstance(forecasts, QuantileForecasts):
            return CRPS(fair=self.fair, levels=forecasts.levels)
        return self

    def describe(self) -> dict[str, Any]:
        return {} if self.levels is None else {"levels": self.levels}

    def check_alike(self, before: Forecasts, after: Forecasts) -> None:
        """The quantile form is no exact integral: it must not be compared with one."""
        if self.levels is None and isinstance(after, QuantileForecasts) and not isinstance(before, QuantileForecasts):
            raise InputError(
                "score",
                "'crps' of quantiles is a sum over levels, and before has an exact CRPS",
                advice="Use CRPS(levels=after.levels)",
            )

    def of_labels(self, forecasts: Forecasts, labels: Floats) -> Floats:
        if self.levels is None and isinstance(forecasts, GaussianForecasts):
            return gaussian_crps(labels, forecasts)
        if self.levels is not None or isinstance(forecasts, QuantileForecasts):
            return 2 * PinballScore(self.levels).of_labels(forecasts, labels)
        if isinstance(forecasts, BentForecasts):
            return bent_crps(labels, forecasts)
        if isinstance(forecasts, SampleForecasts):
            return ensemble_crps(labels, forecasts, self.fair)
        return 2 * MANY_LEVELS.of_labels(forecasts, labels)

    def expected(self, forecasts: Forecasts, truth: Forecasts) -> Floats:
        """E|X − Y| − ½E|X − X'| in closed form for two Gaussians."""
        if self.levels is not None or isinstance(forecasts, QuantileForecasts):
            return 2 * PinballScore(self.levels).expected(forecasts, truth)
        if isinstance(forecasts, GaussianForecasts) and isinstance(truth, GaussianForecasts):
            apart = folded_normal_mean(forecasts.mean - truth.mean, np.sqrt(forecasts.variance + truth.variance))
            return apart - np.sqrt(forecasts.variance) / ROOT_PI
        return super().expected(forecasts, truth)


def gaussian_crps(labels: Floats, forecasts: GaussianForecasts) -> Floats:
    """E|X − y| − σ/√π."""
    sd = np.sqrt(forecasts.variance)
    return folded_normal_mean(labels - forecasts.mean, sd) - sd / ROOT_PI


def ensemble_crps(labels: Floats, forecasts: SampleForecasts, fair: bool) -> Floats:
    """mean|x − y| − ½ mean|x − x'|; the fair one leaves out a sample's distance from itself."""
    x, m = forecasts.samples, forecasts.n_samples
    if fair and m < 2:
        raise InputError("forecasts", "must hold at least two samples per row for the fair CRPS", "they hold one")
    spread = x @ (2.0 * np.arange(1, m + 1) - m - 1)  # Σ_i<j |x_i − x_j| of sorted samples
    found: Floats = np.abs(x - labels[:, None]).mean(axis=1) - spread / (m * (m - 1) if fair else m * m)
    return found


def bent_crps(labels: Floats, forecasts: BentForecasts) -> Floats:
    """σ(∫ G² up to z and ∫ (1−G)² from z on) with G = R∘Φ the standardised distribution, the same for all rows."""
    sd, z = np.sqrt(forecasts.base.variance), forecasts.base.standardised(labels)
    return sd * (
        _square_below(z, forecasts.x, forecasts.y) + _square_below(-z, 1 - forecasts.x[::-1], 1 - forecasts.y[::-1])
    )


def _square_below(z: Floats, x: Floats, y: Floats) -> Floats:
    """∫ G² from −∞ to z, piece by piece: between knots G is a + bΦ."""
    from scipy.special import ndtri

    knots = ndtri(x)
    slope = np.diff(y) / np.diff(x)
    start = y[:-1] - slope * x[:-1]
    pieces = _piece(knots[1:-1], start[:-1], slope[:-1]) - _piece(knots[:-2], start[:-1], slope[:-1])
    before = np.concatenate([[0.0], np.cumsum(pieces)])
    k = np.searchsorted(knots[1:-1], z)
    return before[k] + _piece(z, start[k], slope[k]) - _piece(knots[k], start[k], slope[k])


def _piece(z: Floats, a: Floats, b: Floats) -> Floats:
    """A function whose slope is (a + bΦ)²; 0 at −∞, where a is 0."""
    from scipy.special import ndtr

    known = np.isfinite(z)
    at = np.where(known, z, 0.0)
    cdf, density = ndtr(at), np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    linear = at * cdf + density  # its slope is Φ
    square = at * cdf**2 + 2 * density * cdf - ndtr(np.sqrt(2) * at) / ROOT_PI  # its slope is Φ²
    found: Floats = np.where(known, a * a * at + 2 * a * b * linear + b * b * square, 0.0)
    return found


def crps(forecasts: Any, *, fair: bool = False, level: float = 0.95) -> Estimate:
    """How good are the distributions? Mean of ∫(F(x) − [y ≤ x])² dx; lower is better.

    In the unit of the label.

    Parameters
    ----------
    forecasts
        Forecasts of a real number with their labels: `Predictions.from_gaussian`,
        `from_quantiles` or `from_samples`.
    fair
        True: score the distribution that samples were drawn from, without the penalty
        for their small number.
    level
        Confidence of the interval.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.score import crps
    >>> round(crps(cal.Predictions.from_gaussian([0.0, 1.0], [0.0, 1.0], [1.0, 1.0])).value, 6)
    0.233695
    """
    return CRPS(fair=fair).score(forecasts, level=level)
