"""A mixture of maps: the weighted mean of their log-probabilities."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.kernels.logits import inside, log_probabilities, two_columns
from calibrant.kernels.rows.keep_order import ranked_as
from calibrant.maps.binary import BentLineMap
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, map_record
from calibrant.maps.ensemble_temperature import EnsembleMap
from calibrant.maps.identity import IdentityMap
from calibrant.maps.isotonic import KnotMap
from calibrant.maps.steps import VennAbersMap
from calibrant.maps.temperature import TemperatureMap
from calibrant.results.constraints import Above, Holds, Shape, SumsTo, Within
from calibrant.types import Array, Floats

ALIKE = "must be maps of the same classes"


def alike(parts: tuple[CalibrationMap, ...], classes: tuple[Any, ...], single: bool, **_: Any) -> bool:
    """Are all parts maps of these classes?"""
    return all(part.classes == classes and part.single == single for part in parts)


@map_record
class MixtureMap(CalibrationMap):
    """softmax(Σ w_j ln q_j) with q_j = (1−a)·m_j(p) + a/K, the answers of its parts.

    A mean of logarithms, so its log loss is at most the weighted mean of the parts' losses,
    for every outcome. The share a of a uniform guess keeps the logarithms finite.
    """

    parts: Annotated[tuple[CalibrationMap, ...], Shape(least=1), Holds(ALIKE, alike)] = ()
    weights: Annotated[Floats, Shape("parts"), Above(0, 1), SumsTo(1)] = ARRAY
    lift: Annotated[float, Within(0, 1)] = 0.0
    """a, the share of a uniform guess in every part"""

    method: ClassVar[str] = "mixture"

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """Can different predictions not become equal?

        For a single event, if no part falls and one rises. For several classes, if every
        part raises the probability of the class whose probability has grown most from one
        row to another, and lowers that of the class that has lost most: then so does the
        mixture. Matrices need not.
        """
        if not self.single:
            return all(part.injective and isinstance(part, RAISES_THE_MOST_RAISED) for part in self.parts)
        return self.keeps_ranking

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        """If every part does; for a single event, if no part falls and one rises."""
        if not self.single:
            return all(part.keeps_ranking for part in self.parts)
        rises = [part.keeps_ranking and part.injective for part in self.parts]
        return any(rises) and all(map(never_falls, self.parts))

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        """If every part does: what is on top, or above ½, in every part is so in the mean."""
        return all(part.keeps_accuracy for part in self.parts)

    @property
    def parameters(self) -> dict[str, Any]:
        named = zip(part_names(self.parts), self.parts, strict=True)
        return {"weights": self.weights} | {f"{n}: {k}": v for n, part in named for k, v in part.parameters.items()}

    def logs(self, predictions: Array, are_logits: bool) -> Floats:
        """ln q of the mixture, `(n, K)`; a single event has two columns."""
        wide = predictions.astype(np.float64)
        total = 0.0
        for weight, part in zip(self.weights, self.parts, strict=True):
            total = total + weight * lifted_logs(part.recalibrated(wide, are_logits), self.lift)
        return log_probabilities(np.asarray(total))

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The mean of the logarithms, normalised."""
        found = np.exp(self.logs(predictions, are_logits))
        if predictions.ndim == 1:
            return inside(found[:, 1], predictions.dtype)
        new = inside(found, predictions.dtype)
        return ranked_as(new, predictions) if self.keeps_ranking else new

    def new_logits(self, logits: Array) -> Array:
        """ln q, or the log-odds of a single event."""
        found = self.logs(logits, are_logits=True)
        return (found[:, 1] - found[:, 0] if logits.ndim == 1 else found).astype(logits.dtype)


RAISES_THE_MOST_RAISED = (IdentityMap, TemperatureMap, EnsembleMap)
"""Maps for which the class of the largest ratio p_k/p′_k of two rows becomes likelier, the one of the smallest less."""


def never_falls(part: CalibrationMap) -> bool:
    """Does the map of a single event give no larger prediction a smaller value? Equal ones may be."""
    if part.keeps_ranking or isinstance(part, VennAbersMap | KnotMap):
        return True
    return isinstance(part, BentLineMap) and bool((np.diff(part.heights) >= 0).all())


def lifted_logs(probs: Array, lift: float) -> Floats:
    """ln((1−a)·p + a/K), `(n, K)`."""
    columns = two_columns(probs) if probs.ndim == 1 else probs
    columns = np.maximum(columns, np.finfo(np.float64).tiny)
    return np.log((1 - lift) * columns + lift / columns.shape[1])


def part_names(parts: tuple[CalibrationMap, ...]) -> list[str]:
    """The methods of the parts, numbered where one occurs twice."""
    names = [part.method for part in parts]
    return [name if names.count(name) == 1 else f"{name} {i + 1}" for i, name in enumerate(names)]
