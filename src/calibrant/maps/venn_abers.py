"""Venn–Abers prediction: two isotonic fits, one for either outcome of the new row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.kernels.fit.isotonic import rates_if_hit, rates_if_missed
from calibrant.maps.binary import BinaryRecipe
from calibrant.maps.calibration_map import ARRAY, Fit
from calibrant.maps.pointwise import PointwiseMap, doubts
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.results import kind
from calibrant.types import Floats


@method("map", name="venn_abers", state="pooled")
@dataclass(frozen=True, slots=True)
class VennAbers(BinaryRecipe):
    """Isotonic regression that shows its own uncertainty: one rate if the event does not happen, one if it does.

    The new row joins the data with weight 1, once as a non-event and once as an event, and
    the two isotonic fits at its prediction are p₀ < p₁: `fitted.interval(probs)`. The map is
    p₁/(1 − p₀ + p₁), which is never 0 or 1. For rows exchangeable with those of the fit, the
    one of the pair that belongs to the actual outcome is perfectly calibrated, whatever the
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
        pooled = predictions.event("binary").pooled
        low = np.concatenate([[0.0], rates_if_missed(pooled.weight, pooled.hits)])
        high = np.append(rates_if_hit(pooled.weight, pooled.hits), 1.0)
        rises, ends = np.flatnonzero(np.diff(low)), np.flatnonzero(np.diff(high))
        lower = pooled.values[rises], low[np.append(0, rises + 1)]
        upper = pooled.values[ends], high[np.append(ends, len(high) - 1)]
        fit = Fit(predictions.n, cautions=doubts(pooled))
        return VennAbersMap(predictions.classes, True, fit, *lower, *upper)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class VennAbersMap(PointwiseMap):
    """Two step functions. The lower one has its new height at a cut, the upper one only after it."""

    low_cuts: Floats = ARRAY
    low: Floats = ARRAY
    high_cuts: Floats = ARRAY
    high: Floats = ARRAY

    method: ClassVar[str] = "venn_abers"
    parameter_names: ClassVar[tuple[str, ...]] = ("low_cuts", "low", "high_cuts", "high")

    def interval(self, probs: Any = None, *, logits: Any = None) -> tuple[Floats, Floats]:
        """p₀ and p₁ of each row: its rate if the event does not happen, and if it does.

        Parameters
        ----------
        probs
            Probabilities of the event.
        logits
            Logits instead of probabilities.
        """
        return self._pair(self._probs(probs, logits))

    def at(self, p: Floats) -> Floats:
        """p₁/(1 − p₀ + p₁), the value whose largest regret in log score over the two outcomes is least."""
        low, high = self._pair(p)
        return high / (1 - low + high)

    def _pair(self, p: Floats) -> tuple[Floats, Floats]:
        low = self.low[np.searchsorted(self.low_cuts, p, side="right")]
        return low, self.high[np.searchsorted(self.high_cuts, p, side="left")]
