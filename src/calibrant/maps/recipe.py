"""What recipes of maps share: options now, data later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from calibrant.maps.calibration_map import CalibrationMap, admit_fit
from calibrant.maps.log_space import rows_that_count
from calibrant.predictions import Predictions

Map_co = TypeVar("Map_co", bound=CalibrationMap, covariant=True)


class Recipe(ABC, Generic[Map_co]):
    """A recipe for a map of one kind."""

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> Map_co:
        """The map that recalibrates these predictions best.

        Parameters
        ----------
        labels
            Outcomes or classes, one per row; or `Predictions`, which carry everything.
        probs
            Probabilities: `(n,)` of the event, or `(n, K)`, one column per class.
        logits
            Logits instead of probabilities.
        weights
            How often each row counts: weight 2 equals the row twice.
        """
        return self.fit_predictions(rows_that_count(admit_fit(labels, probs, logits, weights)))

    @abstractmethod
    def fit_predictions(self, predictions: Predictions) -> Map_co:
        """The map fitted on checked predictions without rows of weight 0."""
