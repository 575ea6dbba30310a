"""Isotonic regression, and its centered form, as maps: straight lines between knots."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from calibrant.kernels.interpolation import interpolated
from calibrant.maps.binary import BinaryRecipe, PointwiseMap
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.maps.steps import bounded
from calibrant.predictions import Predictions
from calibrant.results.constraints import Rising, Shape, Within
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices


@map_recipe("isotonic", state="pooled")
class Isotonic(BinaryRecipe):
    """The increasing step function closest to the data, joined by straight lines.

    Equal predictions are pooled first.

    Parameters
    ----------
    bounded
        Shrink the heights towards ½ by 1/(n+1), so that no probability is 0 and the log
        score stays finite; `False` gives the plain least-squares fit, as in scikit-learn.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Isotonic(bounded=False).fit([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fitted.apply([0.1, 0.5, 0.9])
    array([0. , 0.5, 1. ])
    """

    bounded: bool = True

    def fit_event(self, predictions: Predictions) -> KnotMap:
        """Pool adjacent violators on the pooled rows; a knot at both ends of each step."""
        pooled = predictions.event("binary").pooled
        rates, starts, lasts = _steps(pooled)
        ends = np.unique(np.concatenate([starts, lasts]))
        y = bounded(rates[ends], pooled.total) if self.bounded else rates[ends]
        return KnotMap(predictions.classes, True, Fit(predictions.n), pooled.values[ends], y)


@map_recipe("centered_isotonic", state="pooled")
class CenteredIsotonic(BinaryRecipe):
    """Isotonic regression with one knot in the middle of each step: it rises strictly (CIR).

    Each step of the isotonic fit becomes one knot, at the mean of its predictions and at its
    rate, and straight lines join the knots; steps of rate 0 and 1 stay steps (Oron and
    Flournoy 2017). Beyond the first and the last knot it is level. It follows a rising
    truth more closely than steps do.

    Parameters
    ----------
    bounded
        Shrink the heights towards ½ by 1/(n+1), so that no probability is 0 and the log
        score stays finite.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.CenteredIsotonic(bounded=False).fit([0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.9])
    >>> fitted.x.round(3), fitted.y.round(3)
    (array([0.1 , 0.25, 0.6 , 0.9 ]), array([0.   , 0.5  , 0.667, 1.   ]))
    """

    bounded: bool = True

    def fit_event(self, predictions: Predictions) -> KnotMap:
        """Pool adjacent violators on the pooled rows; a knot at the mean of each step."""
        pooled = predictions.event("binary").pooled
        rates, starts, lasts = _steps(pooled)
        mass = np.add.reduceat(pooled.weight, starts)
        middle = np.add.reduceat(pooled.weight * pooled.values, starts) / mass
        level = (rates[starts] <= 0) | (rates[starts] >= 1)
        x = np.concatenate([middle[~level], pooled.values[starts[level]], pooled.values[lasts[level]]])
        y = np.concatenate([rates[starts[~level]], rates[starts[level]], rates[starts[level]]])
        x, first = np.unique(x, return_index=True)
        y = bounded(y[first], pooled.total) if self.bounded else y[first]
        return KnotMap(predictions.classes, True, Fit(predictions.n), x, y, centered=True)


def _steps(pooled: Pooled) -> tuple[Floats, Indices, Indices]:
    """The isotonic rate of each distinct prediction, and the places where its steps start and end."""
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(pooled.hits / pooled.weight, weights=pooled.weight)
    return np.clip(fitted.x, 0, 1), fitted.blocks[:-1], fitted.blocks[1:] - 1


@map_record
class KnotMap(PointwiseMap):
    """Straight lines between knots, level beyond the first and the last."""

    x: Annotated[Floats, Shape(least=1), Within(0, 1), Rising()] = ARRAY
    y: Annotated[Floats, Shape("x"), Within(0, 1), Rising(strictly=False)] = ARRAY
    centered: bool = False
    """was each step made one knot?"""

    parameter_names: ClassVar[tuple[str, ...]] = ("x", "y")

    @property
    def method(self) -> str:  # type: ignore[override]
        return "centered_isotonic" if self.centered else "isotonic"

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """Only if it rises all the way from 0 to 1."""
        return bool(self.x[0] == 0 and self.x[-1] == 1 and (np.diff(self.y) > 0).all())

    def at(self, p: Floats) -> Floats:
        """Linear interpolation in the probability."""
        return interpolated(p, self.x, self.y)
