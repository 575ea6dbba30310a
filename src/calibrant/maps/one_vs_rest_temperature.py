"""A temperature for each class against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.logits import class_log_odds, inside, sigmoid, tamed
from calibrant.maps.calibration_map import CalibrationMap, Fit, admit_fit
from calibrant.maps.log_space import log_columns, reading_of_zero, rows_that_count, soft_shares
from calibrant.maps.temperature import Temperature
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.problems import MapError
from calibrant.results import kind

Floats = NDArray[np.float64]


@method("map", name="one_vs_rest_temperature")
@dataclass(frozen=True, slots=True)
class OneVsRestTemperature:
    """Divide each class's log-odds against the rest by a temperature of its own, then divide rows by their sum (1-Temp).

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.OneVsRestTemperature().fit(valid).n_parameters
    10
    """

    def fit(
        self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None
    ) -> OneVsRestTemperatureMap:
        """One temperature a class."""
        predictions = rows_that_count(admit_fit(labels, probs, logits, weights))
        zero, cautions = reading_of_zero(predictions, always=True)
        odds = said_odds(predictions.said, zero, are_logits=predictions.logits is not None)
        events = (
            Predictions.from_logits(y, z, weights=predictions.weights, soft=predictions.soft)
            for y, z in _events(predictions, odds)
        )
        fits = [Temperature().fit(event) for event in events]
        names = [f"class {name}: " for name in predictions.classes] if len(fits) > 1 else [""]
        cautions += tuple(n + text for n, m in zip(names, fits, strict=True) for text in m.fit.cautions)
        fit = Fit(predictions.n, None, all(m.fit.converged for m in fits), cautions)
        temperatures = np.array([m.temperature for m in fits])
        return OneVsRestTemperatureMap(predictions.classes, predictions.is_binary, fit, temperatures, zero)


def _events(predictions: Predictions, odds: Floats) -> Any:
    """What happened and the log-odds, for each class."""
    if predictions.is_binary:
        yield predictions.labels, odds[:, 0]
        return
    shares = soft_shares(predictions) if predictions.soft else None
    for k in range(predictions.n_classes):
        yield (shares[:, k] if shares is not None else predictions.labels == k), np.ascontiguousarray(odds[:, k])


def said_odds(said: NDArray[Any], zero: float, are_logits: bool) -> Floats:
    """Log-odds of each class against the rest, `(n, K)`, or `(n, 1)` for a single event."""
    wide = tamed(said.astype(np.float64)) if are_logits else said.astype(np.float64)
    if are_logits:
        return wide[:, None] if wide.ndim == 1 else class_log_odds(wide)
    columns = log_columns(wide, zero)
    return (columns[:, 1] - columns[:, 0])[:, None] if wide.ndim == 1 else class_log_odds(columns)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class OneVsRestTemperatureMap(CalibrationMap):
    """σ(logit p_k / T_k), divided by the sum over k."""

    temperatures: NDArray[np.float64] = ()  # type: ignore[assignment]
    zero: float = 0.0
    """what a probability of 0 is read as"""

    method: ClassVar[str] = "one_vs_rest_temperature"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("temperatures")
        if self.temperatures.shape != (1 if self.single else len(self.classes),) or not (self.temperatures > 0).all():
            raise MapError(f"temperatures must be positive, one a class; they are {self.temperatures!r}")

    @property
    def injective(self) -> bool:
        """For a single event; dividing by the sum can bring two rows together."""
        return self.single

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        """Where the temperatures are alike."""
        return bool(np.ptp(self.temperatures) == 0)

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        return self.keeps_ranking

    @property
    def parameters(self) -> dict[str, Any]:
        return {"temperatures": self.temperatures}

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Class by class, then divided by the sum."""
        return self._mended(probs, are_logits=False)

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Class by class, then divided by the sum."""
        return self._mended(logits, are_logits=True)

    def _mended(self, said: NDArray[Any], are_logits: bool) -> NDArray[Any]:
        mended = sigmoid(said_odds(said, self.zero, are_logits) / self.temperatures)
        if said.ndim == 1:
            return inside(mended[:, 0], said.dtype)
        mended = np.maximum(mended, np.finfo(np.float64).tiny)
        return inside(mended / mended.sum(axis=1, keepdims=True), said.dtype)
