"""Quantile recalibration: forecasts are transformed until their PIT values are uniform."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant import inputs
from calibrant.forecasts import BentForecasts, GaussianForecasts, checked_moments
from calibrant.maps.calibration_map import Fit, map_recipe, map_record
from calibrant.maps.regression import EPS, FEW, RegressionMap, admit_fit, gaussian
from calibrant.predictions import check_mass
from calibrant.problems import InputError
from calibrant.results.constraints import Holds, Rising, Shape
from calibrant.types import Floats


@map_recipe("quantile_recalibration", kind="forecast map")
class QuantileRecalibration:
    """An increasing map R of u = F(y) that makes R(u) uniform (Kuleshov et al. 2018).

    R runs in straight lines from (0, 0) through the observed u, each at the share of the
    data below it and half its own, to (1, 1).

    Parameters
    ----------
    n_points
        Largest number of observed u that are kept; more are thinned out evenly.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.regression.QuantileRecalibration().fit([2.0, -2.0, 3.0, -3.0], mean=[0.0] * 4, variance=[1.0] * 4)
    >>> low, high = fitted.quantile([0.1, 0.9], mean=[0.0, 0.0], variance=[1.0, 1.0])
    >>> bool(low < -2 and high > 2)  # wider than ±1.28, as the errors were
    True
    """

    n_points: int = 1000

    def __post_init__(self) -> None:
        inputs.check_count(self.n_points, "n_points")

    def fit(
        self, labels: Any, mean: Any = None, variance: Any = None, counts: Any = None, weights: Any = None
    ) -> QuantileMap:
        """From Gaussian forecasts.

        Parameters
        ----------
        labels
            Observed numbers, one per row; or `GaussianForecasts`, which carry everything.
        mean, variance
            Mean and variance of each forecast.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        data = admit_fit(labels, mean, variance, counts, weights)
        return self.fit_pit(data.pit(), weights=data.weights)

    def fit_pit(self, pit: Any, counts: Any = None, weights: Any = None) -> QuantileMap:
        """From the values F(y) of any forecast distributions.

        Parameters
        ----------
        pit
            One value in [0, 1] per row.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        u = unit_values(pit, "pit")
        found = check_mass(counts, weights, len(u))
        weight = np.ones(len(u)) if found is None else found.weights
        values, which = np.unique(np.clip(u[weight > 0], EPS, 1 - EPS), return_inverse=True)
        mass = np.bincount(which, weight[weight > 0])
        heights = (np.cumsum(mass) - mass / 2) / mass.sum()
        rises = np.maximum.accumulate(heights) > np.maximum.accumulate(np.concatenate([[0.0], heights[:-1]]))
        rises &= heights < 1  # but for values of so little weight that it is lost in rounding
        values, heights = values[rises], heights[rises]
        if len(values) > self.n_points:
            kept = np.unique(np.searchsorted(heights, (np.arange(self.n_points) + 0.5) / self.n_points))
            values, heights = values[kept[kept < len(values)]], heights[kept[kept < len(values)]]
        few = (f"{len(which)} rows: the shape of the errors is hardly known",) if len(which) < FEW else ()
        x, y = np.concatenate([[0.0], values, [1.0]]), np.concatenate([[0.0], heights, [1.0]])
        return QuantileMap(Fit(len(which), None, True, few), x, y)


ENDS = "must go from 0 to 1"


@map_record
class QuantileMap(RegressionMap):
    """F ↦ R∘F, with R in straight lines between knots."""

    x: Annotated[Floats, Shape(least=2), Rising(), Holds(ENDS, lambda x, **_: (x[0], x[-1]) == (0, 1))] = (0.0, 1.0)  # type: ignore[assignment]
    y: Annotated[Floats, Shape("x"), Rising(), Holds(ENDS, lambda y, **_: (y[0], y[-1]) == (0, 1))] = (0.0, 1.0)  # type: ignore[assignment]

    method: ClassVar[str] = "quantile_recalibration"
    parameter_names: ClassVar[tuple[str, ...]] = ("x", "y")

    def apply(self, mean: GaussianForecasts) -> BentForecasts:
        """The recalibrated forecasts.

        Parameters
        ----------
        mean
            `GaussianForecasts`.
        """
        return BentForecasts(gaussian(mean), self.x, self.y, made_by=self)

    def apply_pit(self, u: Any) -> Floats:
        """R(u).

        Parameters
        ----------
        u
            Cumulative probabilities.
        """
        return np.interp(unit_values(u, "u"), self.x, self.y)

    def cdf(self, y: Any, mean: Any, variance: Any) -> Floats:
        """The recalibrated probability of at most y.

        Parameters
        ----------
        y
            One number per row.
        mean, variance
            Mean and variance of each Gaussian forecast.
        """
        from scipy.special import ndtr

        centre, spread = checked_moments(mean, variance)
        with np.errstate(over="ignore"):
            standardised = (inputs.check_column(y, "y", len(centre)) - centre) / np.sqrt(spread)
        return np.interp(ndtr(standardised), self.x, self.y)

    def quantile(self, q: Any, mean: Any, variance: Any) -> Floats:
        """The q-quantile of the recalibrated forecast.

        Parameters
        ----------
        q
            One probability per row.
        mean, variance
            Mean and variance of each Gaussian forecast.
        """
        from scipy.special import ndtri

        centre, spread = checked_moments(mean, variance)
        share = unit_values(q, "q", len(centre))
        return centre + np.sqrt(spread) * ndtri(np.interp(share, self.y, self.x))


def unit_values(values: Any, argument: str, n: int | None = None) -> Floats:
    """A column of numbers in [0, 1]."""
    column = inputs.check_column(values, argument, n)
    outside = (column < 0) | (column > 1)
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(argument, "must lie in [0, 1]", f"{argument}[{row}] is {column[row]}")
    return column
