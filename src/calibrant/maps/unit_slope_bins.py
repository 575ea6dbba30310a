"""Unit slope within each bin: the map whose distance from the identity is the binned calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant.bins import Binning, EqualMass
from calibrant.maps.binary import BinaryRecipe
from calibrant.maps.calibration_map import ARRAY, Fit
from calibrant.maps.pointwise import ShiftMap, doubts, margin
from calibrant.maps.steps import check_step_bins
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.results import kind
from calibrant.types import Floats


@method("map", name="unit_slope_bins", state="pooled")
@dataclass(frozen=True, slots=True)
class UnitSlopeBins(BinaryRecipe):
    """p + ȳ_k − p̄_k in the k-th bin: all of a bin is shifted until its mean prediction is its rate.

    On the data of the fit the mean of |shift|^α is the binned error of order α (Kängsepp et
    al. 2023, Theorem 2): `fitted.shift(probs)` is that shift. A bin without rows is left as
    it is.

    Parameters
    ----------
    bins
        A rule for bins that are closed on the right, hold every row and keep ties together.
    bounded
        Keep the map ½/(n+1) away from 0 and 1, so that the log score stays finite; else it
        is cut off at 0 and 1.

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
        """Per-bin sums."""
        event = predictions.event("binary")
        state = self.bins.collect(event)
        kept = (state.weight[0] > 0) | (state.high[0] > state.low[0])  # an empty bin of no width holds nothing
        shifts = (state.label_rate[0] - state.mean_prob[0])[kept]
        fit = Fit(predictions.n, cautions=doubts(event.pooled))
        edge = margin(float(state.total[0]), self.bounded)
        return UnitSlopeMap(predictions.classes, True, fit, state.high[0][kept][:-1], shifts, edge)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class UnitSlopeMap(ShiftMap):
    """p ↦ p + δ of its bin, kept `margin` away from 0 and 1; bins are closed on the right."""

    cuts: Floats = ARRAY
    shifts: Floats = ARRAY
    margin: float = 0.0

    method: ClassVar[str] = "unit_slope_bins"
    parameter_names: ClassVar[tuple[str, ...]] = ("cuts", "shifts")

    def shift_at(self, p: Floats) -> Floats:
        """δ of the bin."""
        return self.shifts[np.searchsorted(self.cuts, p, side="left")]
