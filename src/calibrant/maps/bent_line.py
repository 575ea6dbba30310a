"""A bent line in log-odds: what piecewise-linear and Gaussian-process maps share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.logits import sigmoid
from calibrant.maps.binary import BinaryMap, Floats
from calibrant.problems import MapError


@dataclass(frozen=True, eq=False, repr=False)
class BentLineMap(BinaryMap):
    """Straight lines between knots in log-odds, slope one beyond. Log-odds beyond `limit` count as `limit`."""

    knots: NDArray[np.float64] = ()  # type: ignore[assignment]
    heights: NDArray[np.float64] = ()  # type: ignore[assignment]
    limit: float = np.inf

    keeps_accuracy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("knots", "heights")
        if self.knots.shape != self.heights.shape or self.knots.ndim != 1:
            raise MapError(
                f"knots and heights must be as long as each other; not {self.knots.shape}, {self.heights.shape}"
            )

    @property
    def injective(self) -> bool:
        """Only if it rises all the way."""
        return bool((np.diff(self.heights) > 0).all())

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        return self.injective

    @property
    def parameters(self) -> dict[str, Any]:
        return {"knots": self.knots, "heights": self.heights}

    def of_log_odds(self, z: Floats) -> Floats:
        """Interpolated in log-odds."""
        z = np.clip(z, -self.limit, self.limit)
        within = np.clip(z, self.knots[0], self.knots[-1])
        return sigmoid(self._at(within) + (z - within))

    def _at(self, x: Floats) -> Floats:
        return np.interp(x, self.knots, self.heights)
