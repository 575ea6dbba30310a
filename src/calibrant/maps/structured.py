"""Structured scaling: temperature first, then a matrix or vector held close to doing nothing, the closer the fewer the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.fit.softmax_regression import Data, Linear, fit
from calibrant.kernels.logits import inside, probabilities
from calibrant.maps.calibration_map import CalibrationMap, Fit, admit_fit
from calibrant.maps.linear import doubts, one_to_one, regression_weights
from calibrant.maps.log_space import rows_that_count
from calibrant.maps.temperature import Temperature, TemperatureMap
from calibrant.methods import method
from calibrant.problems import MapError
from calibrant.results import kind

Floats = NDArray[np.float64]


@method("map", name="structured_vector")
@dataclass(frozen=True, slots=True)
class StructuredVector:
    """Temperature scaling, then a scale and an offset for each class with a ridge of K/n.

    With few rows it stays temperature scaling; with many it becomes vector scaling. The choice for hundreds of classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.StructuredVector().fit(valid).method
    'structured_vector'
    """

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> StructuredMap:
        """Two convex fits, one after the other."""
        return _fitted(admit_fit(labels, probs, logits, weights), diagonal=True)


@method("map", name="structured_matrix")
@dataclass(frozen=True, slots=True)
class StructuredMatrix:
    """Temperature scaling, then a matrix with a ridge of K/n on its diagonal and offsets, K(K−1)/n on the rest.

    With few rows it stays temperature scaling; with many it becomes matrix scaling.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.StructuredMatrix().fit(valid).n_parameters
    111
    """

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> StructuredMap:
        """Two convex fits, one after the other."""
        return _fitted(admit_fit(labels, probs, logits, weights), diagonal=False)


def _fitted(predictions: Any, diagonal: bool) -> StructuredMap:
    predictions = rows_that_count(predictions)
    base = Temperature().fit(predictions)
    total = float(predictions.n if predictions.weights is None else predictions.weights.sum())
    mixed = StructuredMap(predictions.classes, predictions.is_binary, base=base, mix=1 / (total + 1))
    k = predictions.n_classes
    x = mixed.features(predictions.said, are_logits=predictions.logits is not None)
    start = Linear(np.ones(k) if diagonal else np.eye(k), np.zeros(k))
    off = np.where(np.eye(k) > 0, k / total, k * (k - 1) / total)
    ridge = Linear(np.full(k, k / total) if diagonal else off, np.full(k, k / total))
    found = fit(Data(x, *regression_weights(predictions)), start, start, ridge)
    how = Fit(predictions.n, found.loss, found.converged, base.fit.cautions + doubts(predictions, found))
    at = found.at
    return StructuredMap(predictions.classes, predictions.is_binary, how, base, mixed.mix, at.weight, at.bias)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class StructuredMap(CalibrationMap):
    """softmax(W ln q + b) with q = (1−a)·softmax(z/T) + a/K; `weight` is W or its diagonal."""

    base: TemperatureMap | None = None
    mix: float = 0.0
    """a, the share of a uniform guess: 1/(n+1)"""
    weight: NDArray[np.float64] | None = None
    bias: NDArray[np.float64] | None = None

    keeps_ranking: ClassVar[bool] = False
    keeps_accuracy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        k = len(self.classes)
        if self.weight is None or self.bias is None:
            object.__setattr__(self, "weight", np.ones(k))
            object.__setattr__(self, "bias", np.zeros(k))
        self._hold("weight", "bias")
        if not isinstance(self.base, TemperatureMap):
            raise MapError(f"base must be a temperature map; it is {self.base!r}")

    @property
    def _linear(self) -> Linear:
        assert self.weight is not None
        assert self.bias is not None
        return Linear(self.weight, self.bias)

    @property
    def method(self) -> str:  # type: ignore[override]
        return "structured_vector" if self._linear.diagonal else "structured_matrix"

    @property
    def injective(self) -> bool:
        """As the matrix is; the first step always is."""
        return one_to_one(self._linear.weight)

    @property
    def parameters(self) -> dict[str, Any]:
        assert self.base is not None
        return {"temperature": self.base.temperature, "weight": self.weight, "bias": self.bias}

    def features(self, said: NDArray[Any], are_logits: bool) -> Floats:
        """ln q, `(n, K)`."""
        assert self.base is not None
        wide = said.astype(np.float64)
        tempered = self.base.from_logits(wide) if are_logits else self.base.from_probs(wide)
        columns = np.stack([1 - tempered, tempered], axis=1) if tempered.ndim == 1 else tempered
        return np.log((1 - self.mix) * columns + self.mix / columns.shape[1])

    def _scores(self, said: NDArray[Any], are_logits: bool) -> Floats:
        return self._linear.scores(self.features(said, are_logits))

    def _mended(self, said: NDArray[Any], are_logits: bool) -> NDArray[Any]:
        mended = probabilities(self._scores(said, are_logits))
        return inside(mended[:, 1] if said.ndim == 1 else mended, said.dtype)

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Through ln p."""
        return self._mended(probs, are_logits=False)

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """From the logits."""
        return self._mended(logits, are_logits=True)

    def new_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """W ln q + b."""
        scores = self._scores(logits, are_logits=True)
        return (scores[:, 1] - scores[:, 0] if logits.ndim == 1 else scores).astype(logits.dtype)
