"""A piecewise-linear function of the log-odds: what piecewise-linear and Gaussian-process maps share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.maps.binary import BinaryMap, beyond, one_outcome
from calibrant.maps.calibration_map import ARRAY
from calibrant.problems import MapError
from calibrant.types import Floats


@dataclass(frozen=True, eq=False, repr=False)
class BentLineMap(BinaryMap):
    """Straight lines between knots in log-odds, slope one beyond. Log-odds beyond `limit` are read as `limit`."""

    knots: Floats = ARRAY
    heights: Floats = ARRAY
    limit: float = np.inf

    parameter_names: ClassVar[tuple[str, ...]] = ("knots", "heights")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.knots.shape != self.heights.shape or self.knots.ndim != 1:
            raise MapError(
                f"knots and heights must be as long as each other; not {self.knots.shape}, {self.heights.shape}"
            )

    @property
    def injective(self) -> bool:
        """Only if it rises all the way."""
        return bool((np.diff(self.heights) > 0).all())

    keeps_ranking = injective

    def of_log_odds(self, z: Floats) -> Floats:
        """Interpolated in log-odds."""
        z = np.clip(z, -self.limit, self.limit)
        within = np.clip(z, self.knots[0], self.knots[-1])
        return sigmoid(self._at(within) + (z - within))

    def _at(self, x: Floats) -> Floats:
        return np.interp(x, self.knots, self.heights)


def doubts(x: Floats, hits: float, total: float, limit: float) -> tuple[str, ...]:
    """Warnings about sorted predictions that hold little information."""
    equal = ("all predictions are equal: elsewhere the map is a guess",) if x[0] == x[-1] else ()
    return beyond(x, limit) + equal + one_outcome(hits, total)
