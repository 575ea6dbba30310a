"""Scaling-binning: a parametric fit first, then the mean of that fit in each bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import Binning, EqualMass
from calibrant.maps.binary import BinaryMap, BinaryRecipe, Floats
from calibrant.maps.calibration_map import Fit
from calibrant.maps.logistic import Platt
from calibrant.maps.pointwise import narrowed
from calibrant.maps.steps import check_step_bins
from calibrant.methods import method
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.results import kind


@method("map", name="scaling_binning", state="pooled")
@dataclass(frozen=True, slots=True)
class ScalingBinning(BinaryRecipe):
    """A few levels near a smooth fit: `recipe` is fitted, its outputs are put into `bins`, and each bin says their mean.

    A bin's height is a mean of fitted values, not of outcomes, so it varies less than a histogram's. Kumar et al. 2019
    bound the error of this map when the fit, the bins and the means come from three separate parts of the data. Here all
    rows serve for all three: less noise, but their proof does not cover it.

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
        """The fit, then sums a bin of its outputs; an empty bin goes with the filled one above it."""
        scaling = self.recipe.fit_event(predictions)
        scale = scaling.from_probs if predictions.logits is None else scaling.from_logits
        scaled = scale(predictions.said.astype(np.float64))
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
    cuts: NDArray[np.float64] = ()  # type: ignore[assignment]
    heights: NDArray[np.float64] = ()  # type: ignore[assignment]

    method: ClassVar[str] = "scaling_binning"
    keeps_ranking: ClassVar[bool] = False
    keeps_accuracy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("cuts", "heights")

    @property
    def injective(self) -> bool:
        return False

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

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Scaled in float64, as in the fit, whatever they come in."""
        return narrowed(self._height(self._g.from_probs(probs.astype(np.float64))), probs.dtype)

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Scaled in float64, as in the fit, whatever they come in."""
        return narrowed(self._height(self._g.from_logits(logits.astype(np.float64))), logits.dtype)

    def _height(self, scaled: Floats) -> Floats:
        return self.heights[np.searchsorted(self.cuts, scaled, side="left")]
