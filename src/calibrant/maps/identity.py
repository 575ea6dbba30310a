"""The identity: predictions as they are."""

from __future__ import annotations

from typing import ClassVar

from calibrant.kernels.logits import probabilities
from calibrant.maps.calibration_map import CalibrationMap, Fit, Recipe, map_recipe, map_record
from calibrant.predictions import Predictions
from calibrant.types import Array


@map_recipe("identity")
class Identity(Recipe["IdentityMap"]):
    """Leave the predictions as they are: the candidate every map must beat.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.maps.Identity().fit([0, 1], [0.2, 0.7]).apply([0.4])
    array([0.4])
    """

    def fit_predictions(self, predictions: Predictions) -> IdentityMap:
        """A map with no parameters."""
        return IdentityMap(predictions.classes, predictions.is_binary, Fit(predictions.n))


@map_record
class IdentityMap(CalibrationMap):
    """p ↦ p."""

    method: ClassVar[str] = "identity"
    injective = keeps_ranking = keeps_accuracy = True

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The same probabilities, or those of the logits."""
        return probabilities(predictions) if are_logits else predictions.copy()

    def new_logits(self, logits: Array) -> Array:
        """The same numbers."""
        return logits
