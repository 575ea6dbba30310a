"""What maps that read the probability itself share: no log-odds in between, so that a score and a cut compare as they are."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant import inputs
from calibrant.kernels.logits import inside, probabilities, sigmoid
from calibrant.kernels.rows.pooling import Groups
from calibrant.maps.binary import BinaryMap, Floats
from calibrant.problems import InputError


@dataclass(frozen=True, eq=False, repr=False)
class PointwiseMap(BinaryMap):
    """A function of the probability. It promises nothing about ranking, as heights may be equal or fall."""

    keeps_ranking: ClassVar[bool] = False
    keeps_accuracy: ClassVar[bool] = False

    @abstractmethod
    def at(self, p: Floats) -> Floats:
        """Repaired probabilities for probabilities."""

    @property
    def injective(self) -> bool:
        return False

    def of_log_odds(self, z: Floats) -> Floats:
        """Through the sigmoid."""
        return self.at(sigmoid(z))

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Through the sigmoid in the precision of the logits, as in the fit."""
        return self.from_probs(probabilities(logits))

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Straight from the probabilities, without a detour."""
        return narrowed(self.at(probs.astype(np.float64)), probs.dtype)

    def _said(self, probs: Any, logits: Any) -> Floats:
        """Checked probabilities, whichever of the two was given."""
        if (probs is None) == (logits is None):
            raise InputError("probs", "or logits must be given, one of the two")
        argument = "probs" if logits is None else "logits"
        said = inputs.floats(probs if logits is None else logits, argument)
        if logits is None:
            inputs.check_probabilities(said)
        else:
            inputs.check_finite(said, "logits")
        self._check_shape(said, argument)
        return (said if logits is None else probabilities(said)).astype(np.float64)


def narrowed(values: Floats, dtype: Any) -> NDArray[Any]:
    """In the wanted precision; what is neither 0 nor 1 does not become so by rounding."""
    if dtype == np.float64:
        return values
    return np.where((values > 0) & (values < 1), inside(values, dtype), values.astype(dtype))


def margin(total: float, bounded: bool) -> float:
    """How far a map stays from 0 and 1: half of 1/(n+1), where `steps.bounded` ends too; nothing if it may reach them."""
    return max(0.5 / (total + 1), float(np.finfo(np.float64).epsneg)) if bounded else 0.0


def one_sided(groups: Groups) -> tuple[str, ...]:
    """What a user should know of data that say little."""
    happened, told = float(groups.hits.sum()), []
    if happened in (0.0, groups.total):
        told.append("the event " + ("never" if happened == 0 else "always") + " happened: the map says little else")
    if len(groups.values) == 1:
        told.append("all predictions are equal: one rate is all that can be learned")
    return tuple(told)
