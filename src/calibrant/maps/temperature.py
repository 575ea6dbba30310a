"""Temperature scaling: one number that makes a model more or less sure of everything it says."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.fit import inverse_temperature as kernel
from calibrant.kernels.logits import inside, probabilities
from calibrant.kernels.rows.keep_order import ranked_as
from calibrant.maps.calibration_map import CalibrationMap, Fit, admit_fit
from calibrant.maps.log_space import label_logits, log_columns, raw_or_log_columns, reading_of_zero, rows_that_count
from calibrant.methods import method
from calibrant.problems import InputError, MapError
from calibrant.results import kind

SAMPLE_ROWS = 2048
"""Rows of the first, rough search, which saves full passes on large data."""

STEP = {"float32": 1e-4, "float64": 1e-5}
"""A Newton step in ln T this small ends the search; the error left is about its square, below rounding."""


@method("map", name="temperature")
@dataclass(frozen=True, slots=True)
class Temperature:
    """Divide the logits by T > 0, chosen to minimise the log score.

    T above 1 makes an over-confident model humbler. The ranking of classes and the accuracy stay as they are.
    `bounds` limits T; data that every T down to 0 fits better (all rows classified right) end there with a caution.

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

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> TemperatureMap:
        """The temperature that minimises the log score of these predictions."""
        predictions = rows_that_count(admit_fit(labels, probs, logits, weights))
        zero, cautions = reading_of_zero(predictions)
        z = raw_or_log_columns(predictions, zero)
        said = label_logits(z, predictions)
        found = self._search(z, said, predictions.weights)
        if found.at_bound == 2 and (z.max(axis=1) != z.min(axis=1)).any():
            found = replace(found, log_beta=-math.log(self.bounds[0]), at_bound=1)  # saturated from the start
        cautions += _cautions(found, self.bounds)
        fit = Fit(predictions.n, found.loss, found.converged, cautions)
        return TemperatureMap(predictions.classes, predictions.is_binary, fit, math.exp(-found.log_beta), zero)

    def _search(self, z: NDArray[Any], said: NDArray[np.float64], weights: NDArray[Any] | None) -> kernel.Found:
        low, high = -math.log(self.bounds[1]), -math.log(self.bounds[0])
        step = STEP[str(z.dtype)]
        start, every = 0.0, len(z) // SAMPLE_ROWS
        if every >= 8:
            few = slice(None, None, every)
            rough = partial(kernel.slopes, z[few], said[few], None if weights is None else weights[few])
            start = kernel.search(rough, 0.0, low, high, 1e-2).log_beta
        return kernel.search(partial(kernel.slopes, z, said, weights), start, low, high, step)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class TemperatureMap(CalibrationMap):
    """softmax(z/T), or σ(z/T) for a single event."""

    temperature: float = 1.0
    zero: float = 0.0
    """what a probability of 0 is read as; 0 leaves it as small as the precision allows"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.temperature, float | int) or not 0 < self.temperature < math.inf:
            raise MapError(f"temperature must be a positive number; it is {self.temperature!r}")
        if not isinstance(self.zero, float | int) or not 0 <= self.zero < 1:
            raise MapError(f"zero must lie in [0, 1); it is {self.zero!r}")

    method: ClassVar[str] = "temperature"
    keeps_ranking: ClassVar[bool] = True
    keeps_accuracy: ClassVar[bool] = True

    @property
    def injective(self) -> bool:
        return True

    @property
    def parameters(self) -> dict[str, Any]:
        return {"temperature": self.temperature}

    def new_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """z/T, with the largest of each row at 0 so that nothing overflows."""
        with np.errstate(over="ignore"):
            centred = logits - logits.max(axis=1, keepdims=True) if logits.ndim == 2 else logits
            most = np.finfo(logits.dtype).max
            return np.clip(centred / logits.dtype.type(self.temperature), -most, most)

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """softmax(z/T)."""
        mended = inside(probabilities(self.new_logits(logits)))
        return mended if logits.ndim == 1 else ranked_as(mended, logits)

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """p^(1/T), normalised."""
        columns = log_columns(probs, self.zero)
        if probs.ndim == 1:
            return self.from_logits(columns[:, 1] - columns[:, 0])
        return ranked_as(inside(probabilities(self.new_logits(columns))), probs)


def _cautions(found: kernel.Found, bounds: tuple[float, float]) -> tuple[str, ...]:
    if found.at_bound == 1:
        return (
            f"every row is fitted better the smaller T is; stopped at the bound {bounds[0]:g}. Use more validation data",
        )
    if found.at_bound == -1:
        return (f"the predictions help less than a uniform guess; T stopped at the bound {bounds[1]:g}",)
    if found.at_bound == 2:
        return ("every row says the same for all classes; T does not matter and was set to 1",)
    return () if found.converged else ("the search did not converge; the last temperature is returned",)
