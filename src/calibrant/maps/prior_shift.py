"""Prior shift: the same classes, seen the same way, in other proportions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.arrays import to_numpy
from calibrant.kernels.fit.softmax_regression import Data, Linear, fit
from calibrant.kernels.logits import inside, log_odds, probabilities, two_columns
from calibrant.maps.binary import LAST
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, Fit, Recipe, map_recipe, map_record
from calibrant.maps.identity import IdentityMap
from calibrant.maps.log_space import normalised_columns, prevalence_of, prior_share, reading_of_zero
from calibrant.maps.unlabelled import Source, estimated
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Interval
from calibrant.results.constraints import Above, Like, Shape, SumsTo
from calibrant.types import Array, Floats

Prevalence = float | tuple[float, ...] | None


@map_recipe("prior_shift")
class PriorShift(Recipe["PriorShiftMap"]):
    """p_k·new_k/old_k, normalised: the model stays, the prevalences of the classes change.

    Right where the classes look the same in both populations and only their proportions
    differ. Without options the factors are those that fit the labels best.

    Parameters
    ----------
    new
        Prevalences where the map will be used: of the event, or one per class. None: as in
        the rows of the fit.
    old
        Prevalences of the rows that the model was trained or calibrated on. None: with
        `new`, those of the rows of the fit; alone, those for which the labels fit best.
    kept
        Share of the rows of each class that training kept, instead of prevalences; for an
        event the share of its non-events, or both shares (non-events, events). The rows of
        the fit are taken to be as the map will meet them, none left out.
    prior
        Number of rows with outcomes as predicted that are counted beside the labels, where
        these are fitted: a class that never occurred keeps a chance.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.PriorShift(new=0.1, old=0.5).fit([0, 1], [0.3, 0.6])
    >>> fitted.apply([0.5, 0.9]).round(3)
    array([0.1, 0.5])
    >>> cal.maps.PriorShift(kept=0.1).fit([0, 1], [0.3, 0.6]).apply([0.5]).round(3)
    array([0.091])
    """

    new: Prevalence = None
    old: Prevalence = None
    kept: Prevalence = None
    prior: float = 2.0

    def __post_init__(self) -> None:
        if self.kept is not None and (self.new is not None or self.old is not None):
            raise InputError("kept", "says how prevalences change", "new or old is given too", "Pass one of them")
        if self.old is not None and self.new is None:
            raise InputError("old", "needs new as well", f"it is {self.old!r} alone")
        for name, value in (("new", self.new), ("old", self.old), ("kept", self.kept)):
            if value is not None:
                _numbers(value, name)
        if isinstance(self.prior, bool) or not isinstance(self.prior, float | int) or not 0 < self.prior < math.inf:
            raise InputError("prior", "must be a number of rows above 0", f"it is {self.prior!r}")

    def fit_predictions(self, predictions: Predictions) -> PriorShiftMap:
        """The factors as given, or those of lowest log loss."""
        k, single = predictions.n_classes, predictions.is_binary
        share = prior_share(predictions, self.prior)
        now = _normalised((1 - share) * prevalence_of(predictions) + share * _mean_prediction(predictions))
        cautions: tuple[str, ...] = ()
        if self.kept is not None:
            kept = _numbers(self.kept, "kept")
            kept = np.append(kept, 1.0) if single and len(kept) == 1 else kept
            new, old = now, _normalised(now * _one_each(kept, "kept", k))
        elif self.new is not None:
            new = prevalences(self.new, "new", k, single)
            old = now if self.old is None else prevalences(self.old, "old", k, single)
        else:
            zero, cautions = reading_of_zero(predictions, always=True)
            new, old = now, _normalised(now * np.exp(-_offsets(predictions, share, zero)))
        fit = Fit(predictions.n, cautions=cautions, prevalence=prevalence_of(predictions))
        base = IdentityMap(predictions.classes, single, fit)
        return PriorShiftMap(predictions.classes, single, fit, base, old, new)


def _offsets(predictions: Predictions, share: float, zero: float) -> Floats:
    """The offsets of ln p that fit the labels best."""
    from calibrant.maps.linear import regression_weights

    x = normalised_columns(predictions.outputs, zero, predictions.logits is not None)
    k = predictions.n_classes
    start, held = Linear(np.ones(k), np.zeros(k)), Linear(np.full(k, HELD), np.full(k, 1e-12))
    return fit(Data(x, *regression_weights(predictions)), start, start, held, share).at.bias


HELD = 1e8
"""Penalty of the scales, which stay 1."""


def _mean_prediction(predictions: Predictions) -> Floats:
    p = two_columns(predictions.probs) if predictions.is_binary else predictions.probs
    return np.average(p.astype(np.float64), axis=0, weights=predictions.weights)


def _normalised(values: Floats) -> Floats:
    """Prevalences of positive sizes; one that is 0 by rounding becomes a rounding unit."""
    shares = np.maximum(values / values.sum(), np.finfo(np.float64).eps)
    return np.asarray(shares / shares.sum())


def _numbers(value: Any, name: str) -> Floats:
    """Positive numbers."""
    found = np.atleast_1d(np.asarray(value) if np.ndim(value) == 0 else to_numpy(value, name))
    if (
        found.dtype.kind not in "fiu"
        or found.ndim != 1
        or not found.size
        or not ((found > 0) & np.isfinite(found)).all()
    ):
        raise InputError(name, "must be above 0: a number for an event, or one per class", f"it is {_shown(value)}")
    if found.max() > 1:
        raise InputError(name, "must be at most 1", f"it is {_shown(value)}")
    return found.astype(np.float64)


def _shown(value: Any) -> str:
    """As plain Python shows it, whichever library the numbers are of."""
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def _one_each(values: Floats, name: str, k: int) -> Floats:
    if len(values) != k:
        raise InputError(name, f"must have one number for each of the {k} classes", f"it has {len(values)}")
    return values


def prevalences(value: Any, name: str, k: int, single: bool) -> Floats:
    """Checked prevalences, one per class; of an event by one number."""
    found = _numbers(value, name)
    if single and len(found) == 1:
        found = np.array([1 - found[0], found[0]])
    if (found <= 0).any() or abs(_one_each(found, name, k).sum() - 1) > 1e-6:
        what = "lie between 0 and 1" if single else "sum to 1, as the prevalences of all classes"
        raise InputError(name, f"must {what}", f"it is {_shown(value)}")
    return _normalised(found)


@map_record
class PriorShiftMap(CalibrationMap):
    """m(p)_k·new_k/old_k, normalised, after another map m."""

    base: Annotated[CalibrationMap, Like("classes", "single")] = None  # type: ignore[assignment]
    """m"""
    old: Annotated[Floats, Shape("classes"), Above(0, 1), SumsTo(1)] = ARRAY
    new: Annotated[Floats, Shape("classes"), Above(0, 1), SumsTo(1)] = ARRAY
    intervals: tuple[Interval, ...] = ()
    """of the new prevalences, class by class, where they were estimated"""

    method: ClassVar[str] = "prior_shift"

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """If m is."""
        return self.base.injective

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        """For a single event as m does; for several classes only where nothing is shifted."""
        return self.base.keeps_ranking and (self.single or bool((self.shifts == self.shifts[0]).all()))

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        return self.base.keeps_accuracy and bool((self.shifts == self.shifts[0]).all())

    @property
    def made_for(self) -> Floats:
        """The new prevalences."""
        return self.new

    @property
    def shifts(self) -> Floats:
        """ln(new/old) of each class."""
        return np.log(self.new / self.old)

    @property
    def parameters(self) -> dict[str, Any]:
        return self.base.parameters | {"old": self.old, "new": self.new}

    def _shifted(self, predictions: Array, are_logits: bool) -> Floats:
        """Logits, or log-odds of a single event, after the shift."""
        wide = predictions.astype(np.float64)
        z = self.base.new_logits(wide) if are_logits else None
        if z is None:
            p = self.base.recalibrated(wide, are_logits)
            z = np.clip(log_odds(p), -LAST, LAST) if p.ndim == 1 else np.log(np.maximum(p, np.finfo(np.float64).tiny))
        return np.asarray(z + (self.shifts[1] - self.shifts[0] if self.single else self.shifts))

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The shifted odds as probabilities."""
        return inside(probabilities(self._shifted(predictions, are_logits)), predictions.dtype)

    def new_logits(self, logits: Array) -> Array:
        """The logits of m, shifted."""
        most = np.finfo(logits.dtype).max
        return np.clip(self._shifted(logits, are_logits=True), -most, most).astype(logits.dtype)


def shifted(base: CalibrationMap, new: Any, unlabelled: Any, old: Any, level: float) -> PriorShiftMap:
    """A map followed by a shift to given prevalences, or to those of unlabelled rows, recalibrated by the map.

    A map that is shifted already is shifted anew from where it was made.
    """
    k, single = len(base.classes), base.single
    if (new is None) == (unlabelled is None):
        raise InputError("new", "or unlabelled must be given, one of the two")
    root, before = _at_old(base, old)
    if new is not None:
        return PriorShiftMap(base.classes, single, root.fit, root, before, prevalences(new, "new", k, single))
    weights = groups = None
    if isinstance(unlabelled, Predictions):
        p, weights, groups = root.apply(unlabelled).probs, unlabelled.weights, unlabelled.groups
    else:
        p = root.apply(unlabelled)
    p = (two_columns(p) if single else p).astype(np.float64)
    found = estimated(p, before, weights, level, groups, Source(root.fit.n, _is_fitted(root), old is None))
    fit = replace(root.fit, cautions=(*root.fit.cautions, *found.cautions))
    return PriorShiftMap(base.classes, single, fit, root, before, found.prevalences, found.intervals)


def _at_old(base: CalibrationMap, old: Any) -> tuple[CalibrationMap, Floats]:
    """The map that is shifted, and the prevalences at which it is calibrated: as given, or as it knows them."""
    k, single = len(base.classes), base.single
    if old is not None:
        return base, prevalences(old, "old", k, single)
    if isinstance(base, PriorShiftMap):
        return base.base, base.old
    known, advice = base.made_for, "Pass the prevalence, or one per class, at which the map is calibrated"
    if known is None:
        raise InputError("old", "must be given", "the map does not know the prevalences of its rows", advice)
    if not known.all():
        without = base.classes[int(np.argmin(known))]
        raise InputError("old", "must be given", f"no row of the fit was of class {without!r}", advice)
    return base, _normalised(known)


def _is_fitted(base: CalibrationMap) -> bool:
    """Were numbers of the map fitted, other than prevalences?"""
    return _is_fitted(base.base) if isinstance(base, PriorShiftMap) else base.n_parameters > 0
