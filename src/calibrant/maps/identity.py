"""The map that changes nothing: the candidate every repair must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from calibrant.kernels.logits import probabilities
from calibrant.maps.calibration_map import CalibrationMap, Fit, admit_fit
from calibrant.methods import method
from calibrant.results import kind


@method("map", name="identity")
@dataclass(frozen=True, slots=True)
class Identity:
    """Leave the predictions as they are: the candidate every repair must beat.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.maps.Identity().fit([0, 1], [0.2, 0.7]).apply([0.4])
    array([0.4])
    """

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> IdentityMap:
        """A map with no parameters."""
        predictions = admit_fit(labels, probs, logits, weights)
        return IdentityMap(predictions.classes, predictions.is_binary, Fit(predictions.n))


@kind
@dataclass(frozen=True, eq=False, repr=False)
class IdentityMap(CalibrationMap):
    """p ↦ p."""

    method: ClassVar[str] = "identity"
    keeps_ranking: ClassVar[bool] = True
    keeps_accuracy: ClassVar[bool] = True

    @property
    def injective(self) -> bool:
        return True

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """The same numbers."""
        return probs.copy()

    def new_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """The same numbers."""
        return logits

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Their softmax or sigmoid."""
        return probabilities(logits)
