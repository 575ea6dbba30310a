"""What maps of a single event share: the event's log-odds and the road to several classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.logits import inside, log_odds
from calibrant.kernels.rows.pooling import Groups, grouped
from calibrant.maps.calibration_map import CalibrationMap, admit_fit
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]


class BinaryRecipe(ABC):
    """A recipe for the map of a single event. Data with several columns are fitted one class against the rest."""

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> CalibrationMap:
        """The map that repairs these predictions best."""
        predictions = admit_fit(labels, probs, logits, weights)
        if predictions.is_binary:
            return self.fit_event(predictions)
        from calibrant.maps.several import OneVsRest  # which is made of binary recipes

        return OneVsRest(self).fit(predictions)

    @abstractmethod
    def fit_event(self, predictions: Predictions) -> BinaryMap:
        """The map of a single event; `predictions` have one column."""


@dataclass(frozen=True, eq=False, repr=False)
class BinaryMap(CalibrationMap):
    """A function of the probability of an event. Here the ranking is that of the rows."""

    @abstractmethod
    def of_log_odds(self, z: Floats) -> Floats:
        """Repaired probabilities for log-odds, which may be infinite."""

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Logits to repaired probabilities, in their own precision."""
        return inside(self.of_log_odds(logits.astype(np.float64)), logits.dtype)

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Probabilities to repaired ones, in their own precision."""
        z = np.clip(log_odds(probs.astype(np.float64)), -LAST, LAST)
        return inside(self.of_log_odds(z), probs.dtype)


FAR, LAST = 1e30, 745.0
"""Logits beyond the first count as it: products of them stay finite. The second is the log-odds of the smallest positive float64,
and of 0."""


def event_groups(predictions: Predictions) -> tuple[Groups, Floats, float, tuple[str, ...]]:
    """Rows pooled by equal prediction, the log-odds of each group, their limit, and what had to be assumed.

    Predictions of exactly 0 or 1 have no log-odds; they are read as one rounding unit away, and so is what lies beyond that, in
    the fit and after it.
    """
    event = predictions.event("binary")
    groups = event.groups
    if predictions.logits is not None:
        groups = grouped_logits(predictions)
        return groups, np.clip(groups.values, -FAR, FAR), FAR, ()
    unit = float(np.finfo(event.probs.dtype).eps)
    z = log_odds(groups.values)
    if np.isfinite(z).all():
        return groups, z, FAR, ()
    limit = float(-np.log(unit))
    return (
        groups,
        np.clip(z, -limit, limit),
        limit,
        (f"predictions within {unit:.1e} of 0 or 1 are read as so far away",),
    )


def grouped_logits(predictions: Predictions) -> Groups:
    """Rows pooled by equal logit: `values` are logits."""
    assert predictions.logits is not None  # the caller has looked
    z = predictions.logits.astype(np.float64)
    outcomes = predictions.event("binary").outcomes.astype(np.float64)  # not packed: logits are not in [0, 1]
    return grouped(z, outcomes, predictions.weights)
