"""Ensemble temperature scaling: the tempered prediction, the prediction itself and a uniform guess, mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.fit.mixture import fit_mixture
from calibrant.kernels.logits import inside, probabilities, two_columns
from calibrant.kernels.rows.keep_order import ranked_as
from calibrant.maps.calibration_map import CalibrationMap, Fit, admit_fit
from calibrant.maps.log_space import happened, reading_of_zero, rows_that_count
from calibrant.maps.temperature import Temperature, TemperatureMap
from calibrant.methods import method
from calibrant.problems import MapError
from calibrant.results import kind


@method("map", name="ensemble_temperature")
@dataclass(frozen=True, slots=True)
class EnsembleTemperature:
    """w₁·softmax(z/T) + w₂·p + w₃/K with weights that add up to 1 (ETS).

    The temperature comes first, then the weights, both by the log score. A safe choice for few rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> round(float(cal.maps.EnsembleTemperature().fit(valid).weights.sum()), 12)
    1.0
    """

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> EnsembleMap:
        """A temperature, then three weights."""
        predictions = rows_that_count(admit_fit(labels, probs, logits, weights))
        base = Temperature().fit(predictions)
        said = two_columns(predictions.probs) if predictions.is_binary else predictions.probs
        tempered = base.apply(predictions).probs
        tempered = two_columns(tempered) if predictions.is_binary else tempered
        parts = [tempered, said, np.full_like(said, 1 / predictions.n_classes)]
        row, column, w = happened(predictions)
        chances = np.stack([part[row, column].astype(np.float64) for part in parts], axis=1)
        found = fit_mixture(chances, w)
        _, cautions = reading_of_zero(predictions)
        fit = Fit(predictions.n, found.loss, base.fit.converged and found.converged, cautions or base.fit.cautions)
        return EnsembleMap(predictions.classes, predictions.is_binary, fit, base, found.weights)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class EnsembleMap(CalibrationMap):
    """w₁·softmax(z/T) + w₂·p + w₃/K."""

    base: TemperatureMap | None = None
    weights: NDArray[np.float64] = (1.0, 0.0, 0.0)  # type: ignore[assignment]

    method: ClassVar[str] = "ensemble_temperature"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("weights")
        if not isinstance(self.base, TemperatureMap):
            raise MapError(f"base must be a temperature map; it is {self.base!r}")
        if self.weights.shape != (3,) or (self.weights < 0).any() or abs(self.weights.sum() - 1) > 1e-9:
            raise MapError(f"weights must be three shares that add up to 1; they are {self.weights!r}")

    @property
    def injective(self) -> bool:
        """Both parts pull apart what differs, unless the guess has all the weight."""
        return bool(self.weights[:2].sum() > 0)

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        return self.injective

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        return self.injective

    @property
    def parameters(self) -> dict[str, Any]:
        assert self.base is not None
        return {"temperature": self.base.temperature, "weights": self.weights}

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """The three parts, added."""
        assert self.base is not None
        wide = probs.astype(np.float64)
        return self._mixed(self.base.from_probs(wide), wide, probs)

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """The three parts, added."""
        assert self.base is not None
        wide = logits.astype(np.float64)
        return self._mixed(self.base.from_logits(wide), probabilities(wide), logits)

    def _mixed(self, tempered: NDArray[np.float64], said: NDArray[np.float64], given: NDArray[Any]) -> NDArray[Any]:
        first, second, third = self.weights
        mended = inside(first * tempered + second * said + third / len(self.classes), given.dtype)
        return ranked_as(mended, given) if given.ndim == 2 and self.keeps_ranking else mended
