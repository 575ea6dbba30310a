"""Unit slope within each bin: the map whose distance from the identity is the binned calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import Binning, EqualMass
from calibrant.maps.binary import BinaryRecipe, Floats
from calibrant.maps.calibration_map import Fit
from calibrant.maps.pointwise import PointwiseMap, margin, one_sided
from calibrant.maps.steps import check_step_bins
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.results import kind


@method("map", name="unit_slope_bins", state="pooled")
@dataclass(frozen=True, slots=True)
class UnitSlopeBins(BinaryRecipe):
    """p + ȳ_k − p̄_k in the k-th bin: every bin is shifted as a whole until its mean prediction is its rate.

    On the data of the fit the mean of |shift|^α is the binned error of order α (Kängsepp et al. 2023, Theorem 2):
    `fitted.shift(probs)` is that shift. A bin without rows is left as it is. What would leave [0, 1] stops at the end;
    `bounded=True` stops ½/(n+1) before it, so that the log score stays finite.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.UnitSlopeBins(cal.EqualWidth(2)).fit([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.8])
    >>> fitted.apply([0.1, 0.6]).round(3)
    array([0.35, 0.9 ])
    """

    bins: Binning = EqualMass(15)  # noqa: RUF009  (frozen)
    bounded: bool = True

    def __post_init__(self) -> None:
        check_step_bins(self.bins)

    def fit_event(self, predictions: Predictions) -> UnitSlopeMap:
        """Sums a bin."""
        event = predictions.event("binary")
        state = self.bins.collect(event)
        kept = (state.weight[0] > 0) | (state.high[0] > state.low[0])  # an empty bin of no width holds nothing
        shifts = (state.label_rate[0] - state.mean_prob[0])[kept]
        fit = Fit(predictions.n, cautions=one_sided(event.groups))
        edge = margin(float(state.total[0]), self.bounded)
        return UnitSlopeMap(predictions.classes, True, fit, state.high[0][kept][:-1], shifts, edge)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class UnitSlopeMap(PointwiseMap):
    """p ↦ p + δ of its bin, kept `margin` away from 0 and 1; bins are closed on the right."""

    cuts: NDArray[np.float64] = ()  # type: ignore[assignment]
    shifts: NDArray[np.float64] = ()  # type: ignore[assignment]
    margin: float = 0.0

    method: ClassVar[str] = "unit_slope_bins"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("cuts", "shifts")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"cuts": self.cuts, "shifts": self.shifts}

    def shift(self, probs: Any = None, *, logits: Any = None) -> Floats:
        """δ of each row's bin, before anything is kept within [0, 1]."""
        return self._shift(self._said(probs, logits))

    def moves(self, probs: NDArray[Any]) -> Floats:
        """The shift of each prediction."""
        return self._shift(probs.astype(np.float64))

    def at(self, p: Floats) -> Floats:
        """Shifted, and kept within the margin."""
        return np.clip(p + self._shift(p), self.margin, 1 - self.margin)

    def _shift(self, p: Floats) -> Floats:
        return self.shifts[np.searchsorted(self.cuts, p, side="left")]
