"""Gaussian forecasts whose cumulative probabilities were recalibrated by an increasing function."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from calibrant.forecasts.base import Forecasts
from calibrant.forecasts.gaussian import GaussianForecasts
from calibrant.types import Floats


class BentForecasts(Forecasts):
    """Gaussian forecasts with the distribution functions F = R∘Φ((· − μ)/σ), as `QuantileRecalibration` makes them.

    Parameters
    ----------
    base
        The Gaussian forecasts.
    x, y
        Knots between which R is linear, increasing from (0, 0) to (1, 1).
    made_by
        The map that computed them, which `source` then names.

    Examples
    --------
    >>> from calibrant.forecasts import BentForecasts, GaussianForecasts
    >>> forecasts = BentForecasts(GaussianForecasts([0.0], [0.0], [1.0]), x=[0, 0.1, 0.9, 1], y=[0, 0.3, 0.7, 1])
    >>> bool(forecasts.variance > 1), forecasts.quantile(0.3).round(4)
    (True, array([-1.2816]))
    """

    kind: ClassVar[str] = "bent Gaussian"

    def __init__(self, base: GaussianForecasts, x: Any, y: Any, *, made_by: Any = None) -> None:
        self.base = base
        self.x, self.y = (np.array(knots, dtype=np.float64) for knots in (x, y))
        self.labels, self.weights, self.groups = base.labels, base.weights, base.groups
        self.source = None if made_by is None else (base, made_by)

    def _facts(self) -> list[str]:
        return [f"{len(self.x)} knots"]

    @property
    def said(self) -> Floats:
        return self.base.said

    @property
    def knots(self) -> Floats:
        """The knots of R in standard deviations from the mean; infinite at the ends."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.x))

    @property
    def slopes(self) -> Floats:
        """The slope of R between its knots."""
        return np.diff(self.y) / np.diff(self.x)

    def _moments(self) -> tuple[float, float]:
        """Mean and variance of the standardised distribution, from those of the Gaussian between the knots."""
        z = self.knots
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        tilted = np.where(np.isfinite(z), z, 0.0) * density
        first = float(-(self.slopes * np.diff(density)).sum())
        second = float((self.slopes * (np.diff(self.x) - np.diff(tilted))).sum())
        return first, second - first**2

    @property
    def mean(self) -> Floats:
        return self.base.mean + np.sqrt(self.base.variance) * self._moments()[0]

    @property
    def variance(self) -> Floats:
        return self.base.variance * self._moments()[1]

    def cdf(self, at: Any) -> Floats:
        return np.interp(self.base.cdf(at), self.x, self.y)

    def quantile(self, level: Any) -> Floats:
        return self.base.quantile(np.interp(self._levels(level), self.y, self.x))

    def rows(self, which: Any) -> Self:
        """The forecasts of some rows: a mask, a slice or indices."""
        return type(self)(self.base.rows(which), self.x, self.y)
