"""What maps that read the probability itself share: no log-odds in between, so that predictions and cuts compare exactly."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.kernels.logits import inside, probabilities, sigmoid
from calibrant.maps.binary import BinaryMap, one_outcome
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Floats


@dataclass(frozen=True, eq=False, repr=False)
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

    margin: float

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
    """How far a map stays from 0 and 1: half of 1/(n+1), where `steps.bounded` ends too; 0 if it may reach them."""
    return max(0.5 / (total + 1), float(np.finfo(np.float64).epsneg)) if bounded else 0.0


def doubts(pooled: Pooled) -> tuple[str, ...]:
    """Warnings about data that hold little information."""
    equal = ("all predictions are equal: one rate is all that can be learned",) if len(pooled.values) == 1 else ()
    return one_outcome(float(pooled.hits.sum()), pooled.total) + equal
