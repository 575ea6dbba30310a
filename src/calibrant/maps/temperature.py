"""Temperature scaling: one number that makes all predictions of a model more or less confident."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from calibrant.kernels.fit import inverse_temperature as kernel
from calibrant.kernels.logits import inside, probabilities
from calibrant.kernels.rows.keep_order import ranked_as
from calibrant.maps.calibration_map import CalibrationMap, Fit
from calibrant.maps.log_space import label_logits, log_columns, raw_or_log_columns, reading_of_zero
from calibrant.maps.recipe import Recipe
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.problems import InputError, MapError
from calibrant.results import kind
from calibrant.types import Array, Floats

SAMPLE_ROWS = 2048
"""Rows of the first, rough search, which saves full passes on large data."""

STEP = {"float32": 1e-4, "float64": 1e-5}
"""A Newton step in ln T this small ends the search; the error left is about its square, below rounding."""


@method("map", name="temperature")
@dataclass(frozen=True, slots=True)
class Temperature(Recipe["TemperatureMap"]):
    """Divide the logits by T > 0, chosen to minimise the log score.

    T above 1 makes an over-confident model less confident. The ranking of classes and
    the accuracy stay as they are.

    Parameters
    ----------
    bounds
        Smallest and largest T. Data that are fitted better the smaller T is (all rows
        classified right) end at the bound, with a warning.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Temperature().fit([0, 1, 1, 0], logits=[-3.0, 4.0, -2.0, 1.0])
    >>> round(fitted.temperature, 3)
    3.476
    >>> fitted.apply([0.01, 0.99]).round(3)
    array([0.21, 0.79])
    """

    bounds: tuple[float, float] = (1e-3, 1e3)

    def __post_init__(self) -> None:
        pair = self.bounds if isinstance(self.bounds, tuple | list) and len(self.bounds) == 2 else (0, 0)
        if not all(isinstance(b, float | int) for b in pair) or not 0 < pair[0] < 1 < pair[1] < math.inf:
            raise InputError("bounds", "must be (low, high) with 0 < low < 1 < high", f"it is {self.bounds!r}")

    def fit_predictions(self, predictions: Predictions) -> TemperatureMap:
        """The temperature that minimises the log score of these predictions."""
        zero, cautions = reading_of_zero(predictions)
        z = raw_or_log_columns(predictions, zero)
        found = self._search(z, label_logits(z, predictions), predictions.weights)
        if found.at_bound == 2 and (z.max(axis=1) != z.min(axis=1)).any():
            found = replace(found, log_beta=-math.log(self.bounds[0]), at_bound=1)  # saturated from the start
        cautions += _cautions(found, self.bounds)
        fit = Fit(predictions.n, found.loss, found.converged, cautions)
        return TemperatureMap(predictions.classes, predictions.is_binary, fit, math.exp(-found.log_beta), zero)

    def _search(self, z: Array, of_label: Floats, weights: Array | None) -> kernel.Found:
        low, high = -math.log(self.bounds[1]), -math.log(self.bounds[0])
        start, every = 0.0, len(z) // SAMPLE_ROWS
        if every >= 8:
            few = slice(None, None, every)
            rough = partial(kernel.slopes, z[few], of_label[few], None if weights is None else weights[few])
            start = kernel.search(rough, 0.0, low, high, 1e-2).log_beta
        return kernel.search(partial(kernel.slopes, z, of_label, weights), start, low, high, STEP[str(z.dtype)])


@kind
@dataclass(frozen=True, eq=False, repr=False)
class TemperatureMap(CalibrationMap):
    """softmax(z/T), or σ(z/T) for a single event."""

    temperature: float = 1.0
    zero: float = 0.0
    """what a probability of 0 is read as; 0 leaves it as small as the precision allows"""

    method: ClassVar[str] = "temperature"
    parameter_names: ClassVar[tuple[str, ...]] = ("temperature",)
    keeps_ranking: ClassVar[bool] = True
    keeps_accuracy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.temperature < math.inf:
            raise MapError(f"temperature must be a positive number; it is {self.temperature!r}")
        check_zero(self.zero)

    @property
    def injective(self) -> bool:
        return True

    def new_logits(self, logits: Array) -> Array:
        """z/T, with the largest of each row at 0 so that nothing overflows."""
        with np.errstate(over="ignore"):
            centred = logits - logits.max(axis=1, keepdims=True) if logits.ndim == 2 else logits
            most = np.finfo(logits.dtype).max
            return np.clip(centred / logits.dtype.type(self.temperature), -most, most)

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """softmax(z/T), or p^(1/T), normalised."""
        z = predictions if are_logits else log_columns(predictions, self.zero)
        if predictions.ndim == 1:
            return inside(probabilities(self.new_logits(z if are_logits else z[:, 1] - z[:, 0])))
        return ranked_as(inside(probabilities(self.new_logits(z))), predictions)


def check_zero(zero: float) -> None:
    """What a probability of 0 is read as is one itself, below 1."""
    if not 0 <= zero < 1:
        raise MapError(f"zero must lie in [0, 1); it is {zero!r}")


def _cautions(found: kernel.Found, bounds: tuple[float, float]) -> tuple[str, ...]:
    smaller = "every row is fitted better the smaller T is; stopped at the bound"
    at_bound = {
        1: f"{smaller} {bounds[0]:g}. Use more validation data",
        -1: f"the predictions help less than a uniform guess; T stopped at the bound {bounds[1]:g}",
        2: "every row gives all classes the same probability; T does not matter and was set to 1",
    }
    if found.at_bound:
        return (at_bound[found.at_bound],)
    return () if found.converged else ("the search did not converge; the last temperature is returned",)
