"""Unit slope within each bin: the map whose size on its own rows is the binned error."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np

from calibrant.bins import Binning, EqualMass
from calibrant.bins.number import MOST_CROSSVALIDATED, best_bins, rising_bins
from calibrant.inputs import check_seed, check_tolerance
from calibrant.kernels.rows.sorted_folds import FEWER_WITHIN
from calibrant.maps.binary import BinaryRecipe, ShiftMap, doubts, margin
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.maps.steps import step_bins
from calibrant.predictions import Event, Predictions
from calibrant.results.constraints import Rising, Shape, Within
from calibrant.types import Floats, Seed

N_FOLDS = 10


@map_recipe("unit_slope_bins", state="pooled")
class UnitSlopeBins(BinaryRecipe):
    """p + ȳ_k − p̄_k in the k-th bin: all of a bin is shifted until its mean prediction is its rate.

    On the data of the fit the mean of |shift|^α is the binned error of order α (Kängsepp et
    al. 2023, Theorem 2): `fitted.shift(probs)` is that shift. A bin without rows is left as
    it is.

    Parameters
    ----------
    bins
        A rule for bins that are closed on the right, hold every row and keep ties together;
        or how many bins of equal mass: a number, `"sweep"`, the most whose rates rise
        (ES_sweep), or `"cv"`, the best of up to 40 on ten held-out folds (ES_CV).
    bounded
        Keep the map ½/(n+1) away from 0 and 1, so that the log score stays finite; else it
        is cut off at 0 and 1.
    tolerance
        For `"cv"`: fewer bins are taken if their loss is, relatively, this near the
        smallest; 0 takes the smallest.
    seed
        For `"cv"`: shuffles the folds of rows with equal predictions.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.UnitSlopeBins(cal.EqualWidth(2)).fit([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.8])
    >>> fitted.apply([0.1, 0.6]).round(3)
    array([0.35, 0.9 ])
    """

    bins: Literal["sweep", "cv"] | int | Binning = EqualMass(15)
    bounded: bool = True
    tolerance: float = FEWER_WITHIN
    seed: Seed = 0

    def __post_init__(self) -> None:
        if not (isinstance(self.bins, str) and self.bins in ("sweep", "cv")):
            step_bins(self.bins)
        check_tolerance(self.tolerance)
        object.__setattr__(self, "seed", check_seed(self.seed))

    def fit_event(self, predictions: Predictions) -> UnitSlopeMap:
        """Per-bin sums."""
        event = predictions.event("binary")
        state = self._rule(event).collect(event)
        kept = (state.weight[0] > 0) | (state.high[0] > state.low[0])  # an empty bin of no width holds nothing
        shifts = (state.label_rate[0] - state.mean_prob[0])[kept]
        fit = Fit(predictions.n, cautions=doubts(event.pooled))
        edge = margin(float(state.total[0]), self.bounded)
        return UnitSlopeMap(predictions.classes, True, fit, state.high[0][kept][:-1], shifts, edge)

    def _rule(self, event: Event) -> Binning:
        """The bins as they were given, or as many as the data choose."""
        if self.bins == "sweep":
            return EqualMass(rising_bins(event, "mass"))
        if self.bins == "cv":
            asked = {"n_folds": N_FOLDS, "most": MOST_CROSSVALIDATED, "seed": check_seed(self.seed)}
            return EqualMass(best_bins(event, "mass", **asked, tolerance=self.tolerance))
        return step_bins(self.bins)


@map_record
class UnitSlopeMap(ShiftMap):
    """p ↦ p + δ of its bin, kept `margin` away from 0 and 1; bins are closed on the right."""

    cuts: Annotated[Floats, Shape(), Within(0, 1), Rising(strictly=False)] = ARRAY
    shifts: Annotated[Floats, Shape("cuts+1"), Within(-1, 1)] = ARRAY
    margin: Annotated[float, Within(0, 0.5)] = 0.0

    method: ClassVar[str] = "unit_slope_bins"
    parameter_names: ClassVar[tuple[str, ...]] = ("cuts", "shifts")

    def shift_at(self, p: Floats) -> Floats:
        """δ of the bin."""
        return self.shifts[np.searchsorted(self.cuts, p, side="left")]
