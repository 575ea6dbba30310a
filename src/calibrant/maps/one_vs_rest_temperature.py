"""A temperature for each class against the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant.kernels.logits import class_log_odds, inside, sigmoid, tamed
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, Fit
from calibrant.maps.log_space import log_columns, reading_of_zero
from calibrant.maps.recipe import Recipe
from calibrant.maps.temperature import Temperature
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.problems import MapError
from calibrant.results import kind
from calibrant.types import Array, Floats


@method("map", name="one_vs_rest_temperature")
@dataclass(frozen=True, slots=True)
class OneVsRestTemperature(Recipe["OneVsRestTemperatureMap"]):
    """Divide each class's log-odds against the rest by its own temperature, then normalise the rows (1-Temp).

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.OneVsRestTemperature().fit(valid).n_parameters
    10
    """

    def fit_predictions(self, predictions: Predictions) -> OneVsRestTemperatureMap:
        """One temperature per class."""
        zero, cautions = reading_of_zero(predictions, always=True)
        fits = [Temperature().fit(event) for event in _class_events(predictions, zero)]
        names = [f"class {name}: " for name in predictions.classes] if len(fits) > 1 else [""]
        cautions += tuple(n + text for n, m in zip(names, fits, strict=True) for text in m.fit.cautions)
        fit = Fit(predictions.n, None, all(m.fit.converged for m in fits), cautions)
        temperatures = np.array([m.temperature for m in fits])
        return OneVsRestTemperatureMap(predictions.classes, predictions.is_binary, fit, temperatures, zero)


def _class_events(predictions: Predictions, zero: float) -> Iterator[Predictions]:
    """Each class against the rest, with log-odds as logits."""
    labels, columns = predictions.labels, _log_odds(predictions.said, zero, predictions.logits is not None).T
    for k, z in enumerate(columns):
        y = labels if predictions.is_binary else labels[:, k] if predictions.soft else labels == k
        yield Predictions.from_logits(y, np.ascontiguousarray(z), weights=predictions.weights, soft=predictions.soft)


def _log_odds(predictions: Array, zero: float, are_logits: bool) -> Floats:
    """Log-odds of each class against the rest, `(n, K)`, or `(n, 1)` for a single event."""
    wide = predictions.astype(np.float64)
    columns = tamed(wide) if are_logits else log_columns(wide, zero)
    if wide.ndim == 2:
        return class_log_odds(columns)
    return (columns if are_logits else columns[:, 1] - columns[:, 0])[:, None]


@kind
@dataclass(frozen=True, eq=False, repr=False)
class OneVsRestTemperatureMap(CalibrationMap):
    """σ(logit p_k / T_k), divided by the sum over k."""

    temperatures: Floats = ARRAY
    zero: float = 0.0
    """what a probability of 0 is read as"""

    method: ClassVar[str] = "one_vs_rest_temperature"
    parameter_names: ClassVar[tuple[str, ...]] = ("temperatures",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperatures.shape != (1 if self.single else len(self.classes),) or not (self.temperatures > 0).all():
            raise MapError(f"temperatures must be positive, one per class; they are {self.temperatures!r}")

    @property
    def injective(self) -> bool:
        """For a single event; normalising can make two rows equal."""
        return self.single

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        """If all temperatures are equal."""
        return bool(np.ptp(self.temperatures) == 0)

    keeps_accuracy = keeps_ranking

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Class by class, then divided by the sum."""
        found = sigmoid(_log_odds(predictions, self.zero, are_logits) / self.temperatures)
        if predictions.ndim == 1:
            return inside(found[:, 0], predictions.dtype)
        found = np.maximum(found, np.finfo(np.float64).tiny)
        return inside(found / found.sum(axis=1, keepdims=True), predictions.dtype)
