"""What maps of a single event share, and their extension to several classes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.kernels.interpolation import interpolated
from calibrant.kernels.logits import clipped, inside, log_odds, probabilities, sigmoid
from calibrant.kernels.rows.pooling import grouped
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, Recipe
from calibrant.predictions import Predictions
from calibrant.results.constraints import BIG, Above, OneOf, Rising, Shape, Within
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Floats

FAR, LAST = 1e30, 745.0
"""Logits beyond the first are read as it, so that products of them stay finite. The second is the log-odds of the
smallest positive float64, and of 0."""


class BinaryRecipe(Recipe[CalibrationMap]):
    """A recipe for the map of a single event; several columns are fitted one class against the rest."""

    def fit_predictions(self, predictions: Predictions) -> CalibrationMap:
        """The map of the event, or one map per class."""
        if predictions.is_binary:
            return self.fit_event(predictions)
        from calibrant.maps.several import OneVsRest  # which is made of binary recipes

        return OneVsRest(self).fit(predictions)

    @abstractmethod
    def fit_event(self, predictions: Predictions) -> BinaryMap:
        """The map of a single event; `predictions` have one column."""


class BinaryMap(CalibrationMap):
    """A function of the probability of an event. Here the ranking is that of the rows."""

    single: Annotated[bool, OneOf(True)]

    @abstractmethod
    def of_log_odds(self, z: Floats) -> Floats:
        """Recalibrated probabilities of log-odds, which may be infinite."""

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Through the log-odds, in the precision of the predictions."""
        wide = predictions.astype(np.float64, copy=False)
        z = wide if are_logits else clipped(log_odds(wide), -LAST, LAST)
        return inside(self.of_log_odds(z), predictions.dtype)


class LimitedMap(BinaryMap):
    """A function of log-odds up to `limit`, beyond which they are read as this."""

    limit: float

    @abstractmethod
    def of_limited(self, z: Floats) -> Floats:
        """Recalibrated probabilities of log-odds within the limit; they may be written to."""

    def of_log_odds(self, z: Floats) -> Floats:
        """Of those within the limit."""
        return self.of_limited(clipped(z, -self.limit, self.limit))

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The same as for any map, with one limit."""
        if are_logits:
            return super().recalibrated(predictions, are_logits)
        wide, limit = predictions.astype(np.float64, copy=False), min(self.limit, LAST)
        return inside(self.of_limited(clipped(log_odds(wide), -limit, limit)), predictions.dtype)


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
    return grouped(z, outcomes, predictions.weights, predictions.squares)


def last_log_odds(predictions: Predictions) -> float:
    """The log-odds of the last probability before 1 in this precision; for logits, `LAST`."""
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
    return ("the event " + ("never" if hits == 0 else "always") + " occurred: the map says little else",)


class PointwiseMap(BinaryMap):
    """A function of the probability. It promises nothing about ranking, as heights may be equal or fall."""

    @abstractmethod
    def at(self, p: Floats) -> Floats:
        """Recalibrated probabilities of probabilities."""

    def of_log_odds(self, z: Floats) -> Floats:
        """Through the sigmoid."""
        return self.at(sigmoid(z))

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """From the probabilities; logits through the sigmoid in their own precision, as in the fit."""
        p = probabilities(predictions) if are_logits else predictions
        return narrowed(self.at(p.astype(np.float64)), p.dtype)

    def _probs(self, probs: Any, logits: Any) -> Floats:
        """Checked probabilities, whichever of the two was given."""
        values, are_logits = self._admitted(probs, logits)
        return (probabilities(values) if are_logits else values).astype(np.float64)


class ShiftMap(PointwiseMap):
    """p plus a shift, kept `margin` away from 0 and 1."""

    margin: Annotated[float, Within(0, 0.5)]

    @abstractmethod
    def shift_at(self, p: Floats) -> Floats:
        """The shift of each probability."""

    def shift(self, probs: Any = None, *, logits: Any = None) -> Floats:
        """The shift of each row, before anything is kept within [0, 1].

        Parameters
        ----------
        probs
            Probabilities of the event.
        logits
            Logits instead of probabilities.
        """
        return self.shift_at(self._probs(probs, logits))

    def moves(self, probs: Array) -> Floats:
        """The shift of each checked probability."""
        return self.shift_at(probs.astype(np.float64))

    def at(self, p: Floats) -> Floats:
        """Shifted, and kept within the margin."""
        return np.clip(p + self.shift_at(p), self.margin, 1 - self.margin)


def narrowed(values: Floats, dtype: Any) -> Array:
    """In the wanted precision; what is neither 0 nor 1 does not become so by rounding."""
    if dtype == np.float64:
        return values
    return np.where((values > 0) & (values < 1), inside(values, dtype), values.astype(dtype))


def margin(total: float, bounded: bool) -> float:
    """How far a map stays from 0 and 1: ½/(n+1), as in `steps.bounded`; 0 if it is not bounded."""
    return max(0.5 / (total + 1), float(np.finfo(np.float64).epsneg)) if bounded else 0.0


def doubts(pooled: Pooled) -> tuple[str, ...]:
    """Warnings about data that hold little information."""
    equal = ("all predictions are equal: one rate is all that can be learned",) if len(pooled.values) == 1 else ()
    return one_outcome(float(pooled.hits.sum()), pooled.total) + equal


@dataclass(frozen=True, eq=False, repr=False)
class BentLineMap(BinaryMap):
    """Straight lines between knots in log-odds, slope one beyond, up to log-odds of `limit`."""

    knots: Annotated[Floats, Shape(least=1), Within(-BIG, BIG), Rising(strictly=False)] = ARRAY
    heights: Annotated[Floats, Shape("knots")] = ARRAY
    limit: Annotated[float, Above(0, np.inf)] = np.inf

    parameter_names: ClassVar[tuple[str, ...]] = ("knots", "heights")

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """Only if it rises all the way."""
        return bool((np.diff(self.heights) > 0).all())

    keeps_ranking = injective

    def of_log_odds(self, z: Floats) -> Floats:
        """Interpolated in log-odds."""
        z = np.clip(z, -self.limit, self.limit)
        within = np.clip(z, self.knots[0], self.knots[-1])
        return sigmoid(self._at(within) + (z - within))

    def _at(self, x: Floats) -> Floats:
        return interpolated(x, self.knots, self.heights)


def line_doubts(x: Floats, hits: float, total: float, limit: float) -> tuple[str, ...]:
    """Warnings about sorted predictions that hold little information."""
    equal = ("all predictions are equal: elsewhere the map is a guess",) if x[0] == x[-1] else ()
    return beyond(x, limit) + equal + one_outcome(hits, total)
