"""Gaussian forecasts: a mean and a variance per row, as predicted or recalibrated by a bent CDF."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from calibrant import inputs
from calibrant.arrays import common_index, read_only
from calibrant.forecasts.base import LARGEST, Forecasts, checked_column
from calibrant.types import Floats, Seed

HERMITE = 64
"""Points that represent a Gaussian; exact for polynomials up to degree 127."""


def checked_moments(mean: Any, variance: Any, n: int | None = None) -> tuple[Floats, Floats]:
    """Means and positive variances in float64, as many of each and of the same rows."""
    centre = checked_column(mean, "mean", n)
    spread = checked_column(variance, "variance", len(centre))
    if not spread.item(spread.argmin()) >= 1 / LARGEST:
        inputs.check_all_positive(spread, "variance")
        least = f"must be at least {1 / LARGEST:g}"
        inputs.refuse(spread < 1 / LARGEST, spread, "variance", least, "Use a smaller unit")
    common_index(mean=mean, variance=variance)
    return centre, spread


class GaussianForecasts(Forecasts):
    """A mean and a variance per row.

    Parameters
    ----------
    labels
        The numbers observed, `(n,)`.
    mean, variance
        The mean and the variance of each forecast, `(n,)`; variances are positive.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.
    groups
        The cluster of each row, if rows depend on each other.

    Examples
    --------
    >>> from calibrant.forecasts import GaussianForecasts
    >>> forecasts = GaussianForecasts([1.0, 0.0], mean=[0.0, 0.0], variance=[1.0, 4.0])
    >>> forecasts.pit().round(4), forecasts.quantile(0.5)
    (array([0.8413, 0.5   ]), array([0., 0.]))
    """

    kind: ClassVar[str] = "Gaussian"
    per_row: ClassVar[tuple[str, ...]] = ("_mean", "_variance")

    def __init__(
        self, labels: Any, mean: Any, variance: Any, *, counts: Any = None, weights: Any = None, groups: Any = None
    ) -> None:
        self._set(mean, variance)
        self._fill(labels, len(self._mean), counts, weights, groups, mean=mean, variance=variance)

    def _set(self, mean: Any, variance: Any, n: int | None = None) -> None:
        self._mean, self._variance = map(read_only, checked_moments(mean, variance, n))

    @property
    def outputs(self) -> Floats:
        return np.stack([self._mean, self._variance], axis=1)

    width = 2

    @property
    def mean(self) -> Floats:
        return self._mean

    @property
    def variance(self) -> Floats:
        return self._variance

    @property
    def z(self) -> Floats:
        """Standardised residuals (y − μ)/σ."""
        return self.standardised(self.labels)

    def standardised(self, values: Floats) -> Floats:
        """(x − μ)/σ for one value x per row."""
        with np.errstate(over="ignore"):
            return np.asarray((values - self._mean) / np.sqrt(self._variance))

    def _at(self, z: Any) -> Floats:
        """μ + zσ."""
        return np.asarray(self._mean + np.sqrt(self._variance) * z)

    def cdf(self, at: Any) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(self.standardised(self._column(at, "at"))))

    def quantile(self, level: Any) -> Floats:
        from scipy.special import ndtri

        return self._at(ndtri(self._levels(level)))

    def draw(self, seed: Seed) -> Floats:
        return self._at(inputs.generator_of(seed).standard_normal(len(self.labels)))

    def nodes(self) -> tuple[Floats, Floats]:
        """The nodes of Gauss–Hermite quadrature."""
        x, w = np.polynomial.hermite_e.hermegauss(HERMITE)
        return self._mean[:, None] + np.sqrt(self._variance)[:, None] * x, w / w.sum()

    def with_gaussian(self, mean: Any, variance: Any, *, made_by: Any = None) -> GaussianForecasts:
        """The same rows with other means and variances, such as the output of a map.

        Parameters
        ----------
        mean, variance
            One number per row each.
        made_by
            The map that computed them, which `source` then names.
        """
        common_index(forecasts=self, mean=mean, variance=variance)
        changed = copy(self)
        changed._set(mean, variance, self.n)
        changed.source = None if made_by is None else (self, made_by)
        return changed


class BentForecasts(Forecasts):
    """Gaussian forecasts with distribution functions F = R∘Φ((· − μ)/σ), from `QuantileRecalibration`.

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
        self.labels, self.groups, self.index = base.labels, base.groups, base.index
        self.weights, self.squares = base.weights, base.squares
        self.source = None if made_by is None else (base, made_by)

    def _facts(self) -> list[str]:
        return [f"{len(self.x)} knots"]

    @property
    def outputs(self) -> Floats:
        return self.base.outputs

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
