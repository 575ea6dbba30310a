"""Ensemble temperature scaling: a mixture of the tempered prediction, the prediction itself and a uniform guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.kernels.fit.newton import fit_mixture
from calibrant.kernels.logits import inside, probabilities, two_columns
from calibrant.kernels.rows.keep_order import ranked_as
from calibrant.maps.calibration_map import CalibrationMap, Fit
from calibrant.maps.log_space import label_entries, reading_of_zero
from calibrant.maps.recipe import Recipe
from calibrant.maps.temperature import Temperature, TemperatureMap
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.problems import MapError
from calibrant.results import kind
from calibrant.types import Array, Floats


@method("map", name="ensemble_temperature")
@dataclass(frozen=True, slots=True)
class EnsembleTemperature(Recipe["EnsembleMap"]):
    """w₁·softmax(z/T) + w₂·p + w₃/K with weights that sum to 1 (ETS).

    The temperature is fitted first, then the weights, both by the log score. A safe choice
    for few rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> round(float(cal.maps.EnsembleTemperature().fit(valid).weights.sum()), 12)
    1.0
    """

    def fit_predictions(self, predictions: Predictions) -> EnsembleMap:
        """A temperature, then three weights."""
        base = Temperature().fit(predictions)
        parts = [base.apply(predictions).probs, predictions.probs]
        parts = [two_columns(part) if predictions.is_binary else part for part in parts]
        parts.append(np.full_like(parts[1], 1 / predictions.n_classes))
        row, column, w = label_entries(predictions)
        found = fit_mixture(np.stack([part[row, column].astype(np.float64) for part in parts], axis=1), w)
        _, cautions = reading_of_zero(predictions)
        fit = Fit(predictions.n, found.loss, base.fit.converged and found.converged, cautions or base.fit.cautions)
        return EnsembleMap(predictions.classes, predictions.is_binary, fit, base, found.coefficients)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class EnsembleMap(CalibrationMap):
    """w₁·softmax(z/T) + w₂·p + w₃/K."""

    base: TemperatureMap | None = None
    weights: Floats = (1.0, 0.0, 0.0)  # type: ignore[assignment]

    method: ClassVar[str] = "ensemble_temperature"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.base, TemperatureMap):
            raise MapError(f"base must be a temperature map; it is {self.base!r}")
        if self.weights.shape != (3,) or (self.weights < 0).any() or abs(self.weights.sum() - 1) > 1e-9:
            raise MapError(f"weights must be three shares that add up to 1; they are {self.weights!r}")

    @property
    def injective(self) -> bool:
        """Both predictions are, unless the uniform guess has all the weight."""
        return bool(self.weights[:2].sum() > 0)

    keeps_ranking = keeps_accuracy = injective

    @property
    def parameters(self) -> dict[str, Any]:
        assert self.base is not None
        return {"temperature": self.base.temperature, "weights": self.weights}

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The sum of the three parts."""
        assert self.base is not None
        wide = predictions.astype(np.float64)
        p = probabilities(wide) if are_logits else wide
        first, second, third = self.weights
        mixed = first * self.base.recalibrated(wide, are_logits) + second * p + third / len(self.classes)
        found = inside(mixed, predictions.dtype)
        return ranked_as(found, predictions) if predictions.ndim == 2 and self.keeps_ranking else found
