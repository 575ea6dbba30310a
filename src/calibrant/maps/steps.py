"""Maps made of observed rates: isotonic regression and histogram binning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.bins import Binning, EqualMass
from calibrant.maps.binary import BinaryRecipe
from calibrant.maps.calibration_map import ARRAY, Fit
from calibrant.maps.pointwise import PointwiseMap
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.problems import InputError, MapError
from calibrant.results import kind
from calibrant.types import Floats


@method("map", name="isotonic", state="pooled")
@dataclass(frozen=True, slots=True)
class Isotonic(BinaryRecipe):
    """The increasing step function closest to the data, joined by straight lines.

    Equal predictions are pooled first.

    Parameters
    ----------
    centred
        Put one knot at the middle of each step, so that the map rises strictly between its
        ends.
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

    centred: bool = False
    bounded: bool = True

    def fit_event(self, predictions: Predictions) -> KnotMap:
        """Pool adjacent violators on the pooled rows."""
        from scipy.optimize import isotonic_regression

        pooled = predictions.event("binary").pooled
        fitted = isotonic_regression(pooled.hits / pooled.weight, weights=pooled.weight)
        starts = fitted.blocks[:-1]
        if self.centred:
            mass = np.add.reduceat(pooled.weight, starts)
            x, y = np.add.reduceat(pooled.weight * pooled.values, starts) / mass, fitted.x[starts]
        else:
            ends = np.unique(np.concatenate([starts, fitted.blocks[1:] - 1]))
            x, y = pooled.values[ends], fitted.x[ends]
        y = np.clip(y, 0, 1)
        y = bounded(y, pooled.total) if self.bounded else y
        return KnotMap(predictions.classes, True, Fit(predictions.n), x, y)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class KnotMap(PointwiseMap):
    """Straight lines between knots, level beyond the first and the last."""

    x: Floats = ARRAY
    y: Floats = ARRAY

    method: ClassVar[str] = "isotonic"
    parameter_names: ClassVar[tuple[str, ...]] = ("x", "y")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.x.shape != self.y.shape or self.x.ndim != 1:
            raise MapError(f"x and y must be as long as each other; they are {self.x.shape} and {self.y.shape}")

    @property
    def injective(self) -> bool:
        """Only if it rises all the way from 0 to 1."""
        return bool(self.x[0] == 0 and self.x[-1] == 1 and (np.diff(self.y) > 0).all())

    def at(self, p: Floats) -> Floats:
        """Linear interpolation in the probability."""
        return np.interp(p, self.x, self.y)


@method("map", name="histogram", state="pooled")
@dataclass(frozen=True, slots=True)
class Histogram(BinaryRecipe):
    """The observed rate of the prediction's bin.

    Parameters
    ----------
    bins
        A rule for bins that are closed on the right, hold every row and keep ties together.
    bounded
        Shrink the rates towards ½ by 1/(n+1), so that no probability is 0.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Histogram(cal.EqualWidth(2), bounded=False).fit([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fitted.apply([0.2, 0.7])
    array([0.5, 1. ])
    """

    bins: Binning = EqualMass(15)  # noqa: RUF009  (frozen)
    bounded: bool = True

    def fit_event(self, predictions: Predictions) -> HistogramMap:
        """Per-bin sums; an empty bin is joined to the filled one above it."""
        check_step_bins(self.bins)
        state = self.bins.collect(predictions.event("binary"))
        filled = state.weight[0] > 0
        high, rate = state.high[0][filled], state.label_rate[0][filled]
        heights = bounded(rate, float(state.total[0])) if self.bounded else rate
        fit = Fit(predictions.n)
        return HistogramMap(predictions.classes, True, fit, high[:-1], heights, state.weight[0][filled])


@dataclass(frozen=True, eq=False, repr=False)
class StepMap(PointwiseMap):
    """One height per bin; bins are closed on the right."""

    cuts: Floats = ARRAY
    heights: Floats = ARRAY

    parameter_names: ClassVar[tuple[str, ...]] = ("cuts", "heights")

    def at(self, p: Floats) -> Floats:
        """The height of the bin."""
        return self.heights[np.searchsorted(self.cuts, p, side="left")]


@kind
@dataclass(frozen=True, eq=False, repr=False)
class HistogramMap(StepMap):
    """Steps that remember the weight of each bin, for a certificate."""

    weight: Floats = ARRAY

    method: ClassVar[str] = "histogram"

    def certificate(self, risk: float = 0.1) -> float:
        """The distance within which every bin is calibrated, whatever the model (Gupta & Ramdas 2021).

        Parameters
        ----------
        risk
            The statement holds with probability 1 − risk.
        """
        if not 0 < risk < 1:
            raise InputError("risk", "must lie between 0 and 1", f"it is {risk!r}")
        fewest = float(self.weight.min())
        return 1.0 if fewest < 2 else min(1.0, math.sqrt(math.log(2 * len(self.weight) / risk) / (2 * (fewest - 1))))


def check_step_bins(bins: Any) -> None:
    """Bins that a step function of the prediction can hold."""
    if not isinstance(bins, Binning):
        raise InputError("bins", "must be a rule for bins, such as EqualMass(15)", f"it is {bins!r}")
    if getattr(bins, "closed", "right") != "right" or getattr(bins, "ties", "keep") != "keep":
        raise InputError("bins", "must be closed on the right and keep ties together", f"it is {bins!r}")
    if not getattr(bins, "ends", True):
        raise InputError("bins", "must hold every row", f"it is {bins!r}", "Use ends=True")


def bounded(heights: Floats, total: float) -> Floats:
    """Shrunk towards ½ by 1/(n+1): no probability is 0 or 1."""
    share = max(1 / (total + 1), float(np.finfo(np.float64).eps))
    return (1 - share) * heights + share / 2
