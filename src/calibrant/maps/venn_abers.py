"""Venn–Abers prediction: two isotonic fits, one for either outcome of the row that is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.fit.one_more_row import rates_if_hit, rates_if_missed
from calibrant.maps.binary import BinaryRecipe, Floats
from calibrant.maps.calibration_map import Fit
from calibrant.maps.pointwise import PointwiseMap, one_sided
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.results import kind


@method("map", name="venn_abers", state="pooled")
@dataclass(frozen=True, slots=True)
class VennAbers(BinaryRecipe):
    """Isotonic regression that shows its own uncertainty: one rate if the event does not happen, one if it does.

    The row asked about joins the data with weight 1, once as not happened and once as happened, and the two isotonic fits
    at its score are p₀ < p₁: `fitted.interval(probs)`. The map says p₁/(1 − p₀ + p₁), which never is 0 or 1. For rows
    exchangeable with those of the fit, one of the pair, the one for what does happen, is perfectly calibrated, whatever the
    model (Vovk, Petej, Fedorova 2015).

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.VennAbers().fit([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9])
    >>> low, high = fitted.interval([0.1, 0.8])
    >>> low.round(3), high.round(3)
    (array([0. , 0.5]), array([0.333, 1.   ]))
    >>> fitted.apply([0.1, 0.8]).round(3)
    array([0.25 , 0.667])
    """

    def fit_event(self, predictions: Predictions) -> VennAbersMap:
        """Both fits for every score in two passes; runs of equal rates are kept as one step."""
        groups = predictions.event("binary").groups
        low = np.concatenate([[0.0], rates_if_missed(groups.weight, groups.hits)])
        high = np.append(rates_if_hit(groups.weight, groups.hits), 1.0)
        rises, ends = np.flatnonzero(np.diff(low)), np.flatnonzero(np.diff(high))
        steps = (
            groups.values[rises],
            low[np.append(0, rises + 1)],
            groups.values[ends],
            high[np.append(ends, len(high) - 1)],
        )
        return VennAbersMap(predictions.classes, True, Fit(predictions.n, cautions=one_sided(groups)), *steps)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class VennAbersMap(PointwiseMap):
    """Two step functions. The lower one has its new height at a cut, the upper one only after it."""

    low_cuts: NDArray[np.float64] = ()  # type: ignore[assignment]
    low: NDArray[np.float64] = ()  # type: ignore[assignment]
    high_cuts: NDArray[np.float64] = ()  # type: ignore[assignment]
    high: NDArray[np.float64] = ()  # type: ignore[assignment]

    method: ClassVar[str] = "venn_abers"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("low_cuts", "low", "high_cuts", "high")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"low_cuts": self.low_cuts, "low": self.low, "high_cuts": self.high_cuts, "high": self.high}

    def interval(self, probs: Any = None, *, logits: Any = None) -> tuple[Floats, Floats]:
        """p₀ and p₁ of each row: its rate if it does not happen, and if it does."""
        return self._pair(self._said(probs, logits))

    def at(self, p: Floats) -> Floats:
        """p₁/(1 − p₀ + p₁), the value whose largest regret in log score over the two outcomes is least."""
        low, high = self._pair(p)
        return high / (1 - low + high)

    def _pair(self, p: Floats) -> tuple[Floats, Floats]:
        low = self.low[np.searchsorted(self.low_cuts, p, side="right")]
        return low, self.high[np.searchsorted(self.high_cuts, p, side="left")]
