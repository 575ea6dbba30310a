"""What maps of a single event share: the event's log-odds, and the way to several classes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from calibrant.kernels.logits import inside, log_odds
from calibrant.kernels.rows.pooling import grouped
from calibrant.maps.calibration_map import CalibrationMap
from calibrant.maps.recipe import Recipe
from calibrant.predictions import Predictions
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Floats

FAR, LAST = 1e30, 745.0
"""Logits beyond the first are read as it, so that products of them stay finite. The second is the log-odds of the smallest
positive float64, and of 0."""


class BinaryRecipe(Recipe[CalibrationMap]):
    """A recipe for the map of a single event. Data with several columns are fitted one class against the rest."""

    def fit_predictions(self, predictions: Predictions) -> CalibrationMap:
        """The map of the event, or one map per class."""
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
        """Recalibrated probabilities of log-odds, which may be infinite."""

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Through the log-odds, in the precision of the predictions."""
        wide = predictions.astype(np.float64)
        z = wide if are_logits else np.clip(log_odds(wide), -LAST, LAST)
        return inside(self.of_log_odds(z), predictions.dtype)


def pooled_log_odds(predictions: Predictions) -> tuple[Pooled, Floats, float, tuple[str, ...]]:
    """Rows pooled by equal prediction, their log-odds, the limit of these, and warnings.

    Predictions of exactly 0 or 1 have no log-odds; they are read as one rounding unit away, and so is everything beyond
    that, in the fit and after it.
    """
    if predictions.logits is not None:
        pooled = pooled_logits(predictions)
        return pooled, np.clip(pooled.values, -FAR, FAR), FAR, ()
    event = predictions.event("binary")
    unit, z = float(np.finfo(event.probs.dtype).eps), log_odds(event.pooled.values)
    if np.isfinite(z).all():
        return event.pooled, z, FAR, ()
    limit = float(-np.log(unit))
    return event.pooled, np.clip(z, -limit, limit), limit, (_read_as(unit),)


def pooled_logits(predictions: Predictions) -> Pooled:
    """Rows pooled by equal logit: `values` are logits."""
    assert predictions.logits is not None  # the caller has looked
    z = predictions.logits.astype(np.float64)
    outcomes = predictions.event("binary").outcomes.astype(np.float64)  # not packed: logits are not in [0, 1]
    return grouped(z, outcomes, predictions.weights)


def last_log_odds(predictions: Predictions) -> float:
    """The log-odds of the last probability before 1 in the given precision; for logits, of the first one after 0."""
    if predictions.logits is not None:
        return LAST
    return float(-np.log(np.finfo(predictions.probs.dtype).epsneg))


def beyond(x: Floats, limit: float) -> tuple[str, ...]:
    """The warning that sorted log-odds go beyond a limit."""
    return (_read_as(np.exp(-limit)),) if (np.abs(x[[0, -1]]) > limit).any() else ()


def _read_as(distance: float) -> str:
    return f"predictions within {distance:.1e} of 0 or 1 are read as so far away"


def one_outcome(hits: float, total: float) -> tuple[str, ...]:
    """The warning that only one outcome occurred."""
    if hits not in (0.0, total):
        return ()
    return ("the event " + ("never" if hits == 0 else "always") + " happened: the map says little else",)
