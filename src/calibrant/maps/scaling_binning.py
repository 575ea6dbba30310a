"""Scaling-binning: a parametric fit first, then the mean of that fit in each bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.bins import Binning, EqualMass
from calibrant.maps.binary import BinaryMap, BinaryRecipe
from calibrant.maps.calibration_map import ARRAY, Fit
from calibrant.maps.logistic import Platt
from calibrant.maps.pointwise import narrowed
from calibrant.maps.steps import check_step_bins
from calibrant.methods import method
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.results import kind
from calibrant.types import Array, Floats


@method("map", name="scaling_binning", state="pooled")
@dataclass(frozen=True, slots=True)
class ScalingBinning(BinaryRecipe):
    """A few levels near a smooth fit: the mean of the fitted values in each bin.

    A bin's height is a mean of fitted values, not of outcomes, so it varies less than a
    histogram's. Kumar et al. 2019 bound the error of this map when the fit, the bins and
    the means come from three separate parts of the data. Here all rows serve for all three:
    less noise, but their proof does not cover it.

    Parameters
    ----------
    bins
        A rule for bins of the fitted values that are closed on the right, hold every row
        and keep ties together.
    recipe
        The recipe of the smooth fit, for a single event.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.maps.ScalingBinning(cal.EqualMass(3)).fit(valid.labels == 3, valid.probs[:, 3])
    >>> len(fitted.heights)
    3
    """

    bins: Binning = EqualMass(15)  # noqa: RUF009  (frozen)
    recipe: BinaryRecipe = Platt()  # noqa: RUF009  (frozen)

    def __post_init__(self) -> None:
        check_step_bins(self.bins)
        if not isinstance(self.recipe, BinaryRecipe):
            raise InputError("recipe", "must be a recipe for a single event, such as Platt()", f"it is {self.recipe!r}")

    def fit_event(self, predictions: Predictions) -> ScalingBinningMap:
        """The fit, then per-bin sums of its outputs; an empty bin is joined to the filled one above it."""
        scaling = self.recipe.fit_event(predictions)
        scaled = scaling.recalibrated(predictions.said.astype(np.float64), predictions.logits is not None)
        event = predictions.event("binary")
        state = self.bins.collect(Event(scaled, event.outcomes, event.weights, event.name))
        filled = state.weight[0] > 0
        fit = Fit(predictions.n, None, scaling.fit.converged, scaling.fit.cautions)
        cuts, heights = state.high[0][filled][:-1], state.mean_prob[0][filled]
        return ScalingBinningMap(predictions.classes, True, fit, scaling, cuts, heights)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ScalingBinningMap(BinaryMap):
    """p ↦ the height of the bin in which g(p) lies; bins are closed on the right."""

    scaling: BinaryMap | None = None
    cuts: Floats = ARRAY
    heights: Floats = ARRAY

    method: ClassVar[str] = "scaling_binning"

    @property
    def parameters(self) -> dict[str, Any]:
        scaling = {f"scaling: {name}": value for name, value in self._g.parameters.items()}
        return scaling | {"cuts": self.cuts, "heights": self.heights}

    @property
    def _g(self) -> BinaryMap:
        assert self.scaling is not None
        return self.scaling

    def of_log_odds(self, z: Floats) -> Floats:
        """The height of the bin of the scaled value."""
        return self._height(self._g.of_log_odds(z))

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Scaled in float64, as in the fit, whatever their precision."""
        scaled = self._g.recalibrated(predictions.astype(np.float64), are_logits)
        return narrowed(self._height(scaled), predictions.dtype)

    def _height(self, scaled: Floats) -> Floats:
        return self.heights[np.searchsorted(self.cuts, scaled, side="left")]
