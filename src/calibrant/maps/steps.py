"""Maps made of observed rates: Venn–Abers prediction and bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.bins import Binning, EqualMass, bins_of
from calibrant.kernels.fit.isotonic import rates_if_hit, rates_if_missed
from calibrant.maps.binary import BinaryMap, BinaryRecipe, PointwiseMap, doubts, narrowed
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.maps.folds import Folds
from calibrant.maps.logistic import Platt
from calibrant.maps.several import event_recipe
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.results.constraints import Above, Holds, Rising, Shape, Within
from calibrant.types import Array, Floats


@map_recipe("histogram", state="pooled")
class Histogram(BinaryRecipe):
    """The observed rate of the prediction's bin.

    Parameters
    ----------
    bins
        A rule for bins that are closed on the right, hold every row and keep ties together.
    bounded
        Shrink the rates towards ½ by 1/(n+1), so that no probability is 0.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Histogram(cal.EqualWidth(2), bounded=False).fit([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fitted.apply([0.2, 0.7])
    array([0.5, 1. ])
    """

    bins: int | Binning = EqualMass(15)
    bounded: bool = True

    def fit_event(self, predictions: Predictions) -> HistogramMap:
        """Per-bin sums; an empty bin is joined to the filled one above it."""
        state = step_bins(self.bins).collect(predictions.event("binary"))
        filled = state.weight[0] > 0
        high, rate = state.high[0][filled], state.label_rate[0][filled]
        heights = bounded(rate, float(state.total[0])) if self.bounded else rate
        fit = Fit(predictions.n)
        return HistogramMap(predictions.classes, True, fit, high[:-1], heights, state.weight[0][filled])


@dataclass(frozen=True, eq=False, repr=False)
class StepMap(PointwiseMap):
    """One height per bin; bins are closed on the right."""

    cuts: Annotated[Floats, Shape(), Within(0, 1), Rising(strictly=False)] = ARRAY
    heights: Annotated[Floats, Shape("cuts+1"), Within(0, 1)] = ARRAY

    parameter_names: ClassVar[tuple[str, ...]] = ("cuts", "heights")

    def at(self, p: Floats) -> Floats:
        """The height of the bin."""
        return self.heights[self.cuts.searchsorted(p)]


@map_record
class HistogramMap(StepMap):
    """Steps that remember the weight of each bin, for a certificate."""

    weight: Annotated[Floats, Shape("heights"), Above(0)] = ARRAY

    method: ClassVar[str] = "histogram"

    def certificate(self, risk: float = 0.1) -> float:
        """The distance within which every bin is calibrated, whatever the model (Gupta & Ramdas 2021).

        Parameters
        ----------
        risk
            The statement holds with probability 1 − risk.
        """
        if not 0 < risk < 1:
            raise InputError("risk", "must lie between 0 and 1", f"it is {risk!r}")
        fewest = float(self.weight.min())
        return 1.0 if fewest < 2 else min(1.0, math.sqrt(math.log(2 * len(self.weight) / risk) / (2 * (fewest - 1))))


def step_bins(bins: Any) -> Binning:
    """Bins that a step function of the prediction can hold; a number means bins of equal mass."""
    rule = bins_of(bins, EqualMass)
    if getattr(rule, "closed", "right") != "right" or getattr(rule, "ties", "keep") != "keep":
        raise InputError("bins", "must be closed on the right and keep ties together", f"it is {bins!r}")
    if not getattr(rule, "ends", True):
        raise InputError("bins", "must hold every row", f"it is {bins!r}", "Use ends=True")
    return rule


def bounded(heights: Floats, total: float) -> Floats:
    """Shrunk towards ½ by 1/(n+1): no probability is 0 or 1."""
    share = max(1 / (total + 1), float(np.finfo(np.float64).eps))
    return (1 - share) * heights + share / 2


@map_recipe("scaling_binning", state="pooled")
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
    method
        The recipe of the smooth fit, a map of a single event, or its name.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.maps.ScalingBinning(cal.EqualMass(3)).fit(valid.labels == 3, valid.probs[:, 3])
    >>> len(fitted.heights)
    3
    """

    bins: int | Binning = EqualMass(15)
    method: BinaryRecipe = Platt()

    def __post_init__(self) -> None:
        step_bins(self.bins)
        object.__setattr__(self, "method", event_recipe(self.method))

    def fit_event(self, predictions: Predictions) -> ScalingBinningMap:
        """The fit, then per-bin sums of its outputs; an empty bin is joined to the filled one above it."""
        scaling = self.method.fit_event(predictions)
        scaled = scaling.recalibrated(predictions.outputs.astype(np.float64), predictions.logits is not None)
        event = predictions.event("binary")
        state = step_bins(self.bins).collect(Event(scaled, event.outcomes, event.weights, event.name))
        filled = state.weight[0] > 0
        fit = Fit(predictions.n, None, scaling.fit.converged, scaling.fit.cautions)
        cuts, heights = state.high[0][filled][:-1], state.mean_prob[0][filled]
        return ScalingBinningMap(predictions.classes, True, fit, scaling, cuts, heights)


@map_record
class ScalingBinningMap(BinaryMap):
    """p ↦ the height of the bin in which g(p) lies; bins are closed on the right."""

    scaling: BinaryMap = None  # type: ignore[assignment]
    cuts: Annotated[Floats, Shape(), Within(0, 1), Rising(strictly=False)] = ARRAY
    heights: Annotated[Floats, Shape("cuts+1"), Within(0, 1)] = ARRAY

    method: ClassVar[str] = "scaling_binning"

    @property
    def parameters(self) -> dict[str, Any]:
        scaling = {f"scaling: {name}": value for name, value in self.scaling.parameters.items()}
        return scaling | {"cuts": self.cuts, "heights": self.heights}

    def of_log_odds(self, z: Floats) -> Floats:
        """The height of the bin of the scaled value."""
        return self._height(self.scaling.of_log_odds(z))

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Scaled in float64, as in the fit, whatever their precision."""
        scaled = self.scaling.recalibrated(predictions.astype(np.float64), are_logits)
        return narrowed(self._height(scaled), predictions.dtype)

    def _height(self, scaled: Floats) -> Floats:
        return self.heights[np.searchsorted(self.cuts, scaled, side="left")]


@map_recipe("venn_abers", state="pooled")
class VennAbers(BinaryRecipe):
    """Isotonic regression with its own uncertainty: a rate for either outcome of the new row.

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
        fit = Fit(predictions.n, cautions=doubts(pooled))
        return VennAbersMap(predictions.classes, True, fit, *_steps(pooled.values, pooled.weight, pooled.hits))

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """From one table of all rows, less those of each fold."""
        if not folded.every.is_binary or folded.every.squares is not None:
            return BinaryRecipe.held_out(self, folded, fitted)  # super() does not know a class with slots
        values, weights, hits, judged = _tables(folded)
        found = np.empty(len(judged))
        for weight, hit, mask in zip(weights, hits, folded.masks, strict=True):
            there = weight > 0
            steps = _steps(values[there], weight[there], hit[there])
            found[mask] = _least_regret(*pair_at(judged[mask], *steps))
            folded.step()
        return found


def _tables(folded: Folds) -> tuple[Floats, Floats, Floats, Floats]:
    """Different predictions, or cells of them, the weight and hits of the other rows of each fold there, and the judged rows."""
    if folded.event is not None and folded.event.cells:
        return folded.event.z, folded.event.weight, folded.event.hits, folded.event.judged
    event = folded.every.event("binary")
    values, mass = event.pooled.values, np.ones(len(event.probs)) if event.weights is None else event.weights
    at = np.searchsorted(values, event.probs) + len(values) * folded.fold
    n_folds = int(folded.fold.max()) + 1
    sums = (np.bincount(at, each, n_folds * len(values)).reshape(n_folds, -1) for each in (mass, mass * event.outcomes))
    weights, hits = (
        np.stack([np.delete(each, f, axis=0).sum(axis=0) for f in range(folded.n_judged)]) for each in sums
    )
    return values, weights, hits, event.probs[folded.judged]


def _steps(values: Floats, weight: Floats, hits: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Cuts and heights of the lower and of the upper step function."""
    low = np.concatenate([[0.0], rates_if_missed(weight, hits)])
    high = np.append(rates_if_hit(weight, hits), 1.0)
    rises, ends = np.flatnonzero(np.diff(low)), np.flatnonzero(np.diff(high))
    return values[rises], low[np.append(0, rises + 1)], values[ends], high[np.append(ends, len(high) - 1)]


def _least_regret(low: Floats, high: Floats) -> Floats:
    """The value between the two rates whose largest regret in log score over both outcomes is least."""
    return high / (1 - low + high)


ORDER = "must nowhere be less than low"


@map_record
class VennAbersMap(PointwiseMap):
    """Two step functions. The lower one has its new height at a cut, the upper one only after it."""

    low_cuts: Annotated[Floats, Shape(), Within(0, 1), Rising()] = ARRAY
    low: Annotated[Floats, Shape("low_cuts+1"), Within(0, 1), Rising()] = ARRAY
    high_cuts: Annotated[Floats, Shape(), Within(0, 1), Rising()] = ARRAY
    high: Annotated[Floats, Shape("high_cuts+1"), Within(0, 1), Rising(), Holds(ORDER, in_order)] = ARRAY

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
        """p₁/(1 − p₀ + p₁)."""
        return _least_regret(*self._pair(p))

    def _pair(self, p: Floats) -> tuple[Floats, Floats]:
        return pair_at(p, self.low_cuts, self.low, self.high_cuts, self.high)


def pair_at(p: Floats, low_cuts: Floats, low: Floats, high_cuts: Floats, high: Floats) -> tuple[Floats, Floats]:
    """p₀ and p₁ of probabilities."""
    return low[np.searchsorted(low_cuts, p, side="right")], high[np.searchsorted(high_cuts, p, side="left")]


def in_order(low_cuts: Floats, low: Floats, high_cuts: Floats, high: Floats, **_: Any) -> bool:
    """Does p₀ nowhere exceed p₁? Both are level between cuts."""
    lower, upper = pair_at(np.append(low_cuts, high_cuts), low_cuts, low, high_cuts, high)
    return low[0] <= high[0] and bool((lower <= upper).all())
