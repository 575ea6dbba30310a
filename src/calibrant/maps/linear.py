"""Softmax regression on the logits or log-probabilities: vector, matrix and Dirichlet scaling."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice, check_count
from calibrant.kernels.fit.softmax_regression import Data, Found, Linear, few_rows, fit, loss, minutes
from calibrant.kernels.logits import inside, probabilities, tamed
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, Fit, Recipe, map_recipe, map_record
from calibrant.maps.folds import in_folds, n_units
from calibrant.maps.log_space import normalised_columns, raw_or_log_columns, reading_of_zero, soft_shares
from calibrant.maps.temperature import Temperature
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results.constraints import Shape, Within
from calibrant.types import Array, Floats

Space = Literal["logits", "log_probs"]

STEADY = 1e-9
"""Penalty that keeps separable data finite; it moves other fits by less than their rounding."""

STRENGTHS = tuple(10.0**power for power in range(0, -7, -1))
"""Penalties that cross-validation tries, strongest first."""


@map_recipe("vector")
class VectorScaling(Recipe["LinearMap"]):
    """softmax(v∘z + b): every class has its own scale and offset.

    Given logits, it works on them as they are; given probabilities, on their logarithms. The
    map remembers which.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.VectorScaling().fit(valid).n_parameters
    20
    """

    def fit_predictions(self, predictions: Predictions) -> LinearMap:
        """The lowest log loss over 2K parameters."""
        zero, cautions = reading_of_zero(predictions, always=True)
        space, k = _space(predictions), predictions.n_classes
        start = tempered(predictions, diagonal=True)
        factors = Linear(np.full(k, STEADY), np.full(k, STEADY))
        found = fit(regression_data(predictions, space, zero), start, start, factors)
        return _made(predictions, found, cautions, space, zero, None, "vector")


@dataclass(frozen=True, slots=True)
class _FullMatrix(Recipe["LinearMap"]):
    """A matrix with a penalty: what matrix scaling and Dirichlet calibration share."""

    penalty: Literal["odir", "l2"] | None = "odir"
    strength: float | Literal["cv"] = "cv"
    intercept: float | Literal["cv"] = "cv"
    n_folds: int = 5

    recipe: ClassVar[str]

    def __post_init__(self) -> None:
        if self.penalty is not None:
            check_choice("penalty", self.penalty, ("odir", "l2"))
        check_count(self.n_folds, "n_folds", 2)
        for name, value in (("strength", self.strength), ("intercept", self.intercept)):
            number = isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= 1e100
            if not number and value != "cv":
                raise InputError(name, "must be a number from 0 to 1e100, or 'cv'", f"it is {value!r}")

    def fit_predictions(self, predictions: Predictions) -> LinearMap:
        """The lowest penalised log loss."""
        space: Space = "log_probs" if self.recipe == "dirichlet" else _space(predictions)
        chosen = [self.strength == "cv", self.penalty == "odir" and self.intercept == "cv"]
        check_size(predictions, 1 + self.n_folds * len(STRENGTHS) * sum(chosen) * (self.penalty is not None))
        zero, cautions = reading_of_zero(predictions, always=True)
        strength, intercept, doubt = _strengths(predictions, space, zero, self)
        start = tempered(predictions, diagonal=False)
        factors = _factors(predictions.n_classes, self.penalty, strength, intercept)
        found = fit(regression_data(predictions, space, zero), start, _centre(start, self.penalty), factors)
        used = {"odir": {"strength": strength, "intercept": intercept}, "l2": {"strength": strength}}
        penalty = None if self.penalty is None else used[self.penalty]
        return _made(predictions, found, cautions + doubt, space, zero, penalty, self.recipe)


@map_recipe("matrix")
class MatrixScaling(_FullMatrix):
    """softmax(Wz + b): K² + K parameters, so a penalty is needed unless rows are many.

    Logits are taken as they are, probabilities by their logarithms.

    Parameters
    ----------
    penalty
        `"odir"` shrinks the off-diagonal entries of W (by `strength`) and b (by `intercept`)
        towards 0; `"l2"` shrinks all of them by `strength`; `None` shrinks nothing.
    strength
        Factor of the sum of squares beside the mean log loss, or `"cv"`: chosen by
        cross-validation, on a part of the rows if there are many.
    intercept
        The same for b.
    n_folds
        Number of folds of the cross-validation.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.MatrixScaling(strength=0.01, intercept=0.01).fit(valid).n_parameters
    110
    """

    recipe: ClassVar[str] = "matrix"


@map_recipe("dirichlet")
class Dirichlet(_FullMatrix):
    """softmax(W ln p + b): Dirichlet calibration, matrix scaling on log-probabilities.

    For a single event it is beta calibration without its bounds.

    Parameters
    ----------
    penalty
        `"odir"` shrinks the off-diagonal entries of W (by `strength`) and b (by `intercept`)
        towards 0; `"l2"` shrinks all of them by `strength`; `None` shrinks nothing.
    strength
        Factor of the sum of squares beside the mean log loss, or `"cv"`: chosen by
        cross-validation, on a part of the rows if there are many.
    intercept
        The same for b.
    n_folds
        Number of folds of the cross-validation.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.Dirichlet(strength=0.01, intercept=0.01).fit(valid).space
    'log_probs'
    """

    recipe: ClassVar[str] = "dirichlet"


class SoftmaxMap(CalibrationMap):
    """softmax(W x + b), x a function of the predictions; `weight` is W or its diagonal."""

    weight: Floats
    bias: Floats

    @abstractmethod
    def features(self, predictions: Array, are_logits: bool) -> Floats:
        """x, `(n, K)`."""

    def scores(self, predictions: Array, are_logits: bool) -> Floats:
        """W x + b, `(n, K)`."""
        return Linear(self.weight, self.bias).scores(self.features(predictions, are_logits))

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The softmax of W x + b."""
        found = probabilities(self.scores(predictions, are_logits))
        return inside(found[:, 1] if predictions.ndim == 1 else found, predictions.dtype)

    def new_logits(self, logits: Array) -> Array:
        """W x + b."""
        scores = self.scores(logits, are_logits=True)
        most = np.finfo(logits.dtype).max
        return np.clip(scores[:, 1] - scores[:, 0] if logits.ndim == 1 else scores, -most, most).astype(logits.dtype)


@map_record
class LinearMap(SoftmaxMap):
    """softmax(W x + b), x the logits or ln p; `weight` is W or, for vector scaling, its diagonal."""

    weight: Annotated[Floats, Shape("classes", other=Shape("classes", "classes"))] = ARRAY
    bias: Annotated[Floats, Shape("classes")] = ARRAY
    space: Space = "log_probs"
    """what x is; a map of logits as they were given cannot be applied to probabilities"""
    zero: Annotated[float, Within(0, 0.5)] = 0.0
    """what a probability of 0 is read as"""
    penalty: dict[str, float] | None = None
    """factors of the sums of squares in the fit"""
    recipe: str = "matrix"

    parameter_names: ClassVar[tuple[str, ...]] = ("weight", "bias")

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.recipe

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """Not for logits as they were given: rows with different probabilities can become equal."""
        return one_to_one(self.weight, raw=self.space == "logits")

    def features(self, predictions: Array, are_logits: bool) -> Floats:
        """Logits as they were given, or ln p."""
        if self.space == "log_probs":
            return normalised_columns(predictions, self.zero, are_logits)
        if are_logits:
            return tamed(predictions.astype(np.float64))
        advice = "Pass logits=, or fit the map on probabilities"
        raise InputError("probs", "cannot be recalibrated by a map of logits", advice=advice)


def one_to_one(weight: Floats, raw: bool = False) -> bool:
    """Do different rows x stay different after softmax(W x + b)?

    Two become equal only where W maps their difference to a constant. Log-probabilities of
    two rows cannot differ by numbers of one sign, as both sum to 1; logits as they were given
    (`raw`) may differ by anything.
    """
    if weight.ndim == 1 and (weight == 0).any():
        return False
    try:
        with np.errstate(over="ignore"):
            apart = 1 / weight if weight.ndim == 1 else np.linalg.solve(weight, np.ones(len(weight)))
    except np.linalg.LinAlgError:
        return False
    return bool((apart == apart[0]).all()) if raw else bool((apart >= 0).all() or (apart <= 0).all())


MOST_CLASSES = 4000
"""Classes up to which the search for a matrix, which keeps 64 of its size, needs less than 9 GB."""

LONG = 2.0
"""Minutes from which a fit is announced."""


def check_size(predictions: Predictions, n_fits: int = 1) -> None:
    """Refuse a matrix that is too large for the memory; warn where its fit takes minutes."""
    n, k = predictions.n, predictions.n_classes
    if k > MOST_CLASSES and not few_rows(n, k, diagonal=False):
        needed = f"it has {k}, and the search would need {64 * 8 * k * k / 1e9:.0f} GB"
        advice = "Use StructuredVector() or Temperature()"
        raise InputError("probs", f"must have at most {MOST_CLASSES} columns for a full matrix", needed, advice)
    time = n_fits * minutes(min(n, max(MOST_ROWS, ROWS_PER_CLASS * k)), k)
    if time > LONG:
        text = f"a matrix of {k} classes from {n} rows takes {n_fits} fits of {k * (k + 1)} parameters, about {time:.0f} min"
        shorter = "a given strength= and intercept= takes one fit, StructuredVector() seconds"
        warnings.warn(f"{text}; {shorter}", RuntimeWarning, stacklevel=4)


def _space(predictions: Predictions) -> Space:
    return "log_probs" if predictions.logits is None or predictions.is_binary else "logits"


def regression_data(predictions: Predictions, space: Space, zero: float) -> Data:
    """The rows as data of the softmax regression."""
    if space == "logits":
        x = raw_or_log_columns(predictions, zero).astype(np.float64)
    else:
        x = normalised_columns(predictions.outputs, zero, are_logits=predictions.logits is not None)
    return Data(x, *regression_weights(predictions))


def regression_weights(predictions: Predictions) -> tuple[Array, Floats]:
    """Labels or shares, and weights that sum to 1."""
    labels = soft_shares(predictions) if predictions.soft else predictions.labels
    w = np.ones(len(predictions.labels)) if predictions.weights is None else predictions.weights.astype(np.float64)
    return labels, w / w.sum()


def tempered(predictions: Predictions, diagonal: bool) -> Linear:
    """The start of the search: temperature scaling."""
    k = predictions.n_classes
    scale = np.full(k, 1 / Temperature().fit(predictions).temperature)
    return Linear(scale if diagonal else np.diag(scale), np.zeros(k))


def _factors(k: int, penalty: str | None, strength: float, intercept: float) -> Linear:
    """The penalty of each parameter."""
    diagonal, rest, bias = {
        None: (0.0, 0.0, 0.0),
        "l2": (strength, strength, strength),
        "odir": (0.0, strength, intercept),
    }[penalty]
    weight = np.where(np.eye(k) > 0, max(diagonal, STEADY), max(rest, STEADY))
    return Linear(weight, np.full(k, max(bias, STEADY)))


def _centre(start: Linear, penalty: str | None) -> Linear:
    """Penalties shrink towards 0; parameters without penalty are held at the start of the search."""
    if penalty == "l2":
        return Linear(np.zeros_like(start.weight), np.zeros_like(start.bias))
    return start


def _made(predictions: Predictions, found: Found, cautions: tuple[str, ...], *options: Any) -> LinearMap:
    how = Fit(predictions.n, found.loss, found.converged, cautions + doubts(predictions, found))
    return LinearMap(predictions.classes, predictions.is_binary, how, found.at.weight, found.at.bias, *options)


def _strengths(
    predictions: Predictions, space: Space, zero: float, how: _FullMatrix
) -> tuple[float, float, tuple[str, ...]]:
    """Penalties as given, or chosen: first both equal, then that of the intercept alone."""
    wanted = [how.strength] * (how.penalty is not None) + [how.intercept] * (how.penalty == "odir")
    if "cv" not in wanted:
        strength, intercept = (0.0 if v == "cv" else float(v) for v in (how.strength, how.intercept))
        return strength, intercept, ()
    rows = _some(predictions)
    if n_units(rows) < 2 * how.n_folds:
        return STRENGTHS[0], STRENGTHS[0], (f"too few rows to choose a penalty; it is {STRENGTHS[0]:g}",)
    trials = _Folds(rows, space, zero, how)
    if how.penalty == "l2":
        return (trials.best([(s, s) for s in STRENGTHS])[0], 0.0, ())
    strengths = STRENGTHS if how.strength == "cv" else (float(how.strength),)
    first = trials.best([(s, s if how.intercept == "cv" else float(how.intercept)) for s in strengths])
    if how.intercept != "cv":
        return (*first, ())
    return (*trials.best([(first[0], i) for i in STRENGTHS]), ())


MOST_SHARES = 1000
"""Parts into which counted rows are split at most: counts may stand for any number of rows."""

MOST_ROWS, ROWS_PER_CLASS = 20_000, 200
"""Rows, or rows per class if that is more, that a penalty is chosen on; on few rows it is rather
too strong than too weak."""


def _some(rows: Predictions) -> Predictions:
    """Rows to choose a penalty on: all, or one fold of many."""
    shares = min(rows.n // max(MOST_ROWS, ROWS_PER_CLASS * rows.n_classes), n_units(rows), MOST_SHARES)
    if shares < 2:
        return rows
    rows, masks = in_folds(rows, shares)
    return rows.rows(masks[0])


class _Folds:
    """Held-out losses of penalties, each fold's search starting where its last one ended."""

    def __init__(self, rows: Predictions, space: Space, zero: float, how: _FullMatrix) -> None:
        self.penalty, self.k = how.penalty, rows.n_classes
        rows, masks = in_folds(rows, how.n_folds)
        data = regression_data(rows, space, zero)
        start = tempered(rows, diagonal=False)
        self.parts = [(data.rows(~held_out), data.rows(held_out), data.weights[held_out].sum()) for held_out in masks]
        self.starts = [start] * len(self.parts)
        self.centre = _centre(start, how.penalty)
        self.seen: dict[tuple[float, float], float] = {}

    def best(self, candidates: list[tuple[float, float]]) -> tuple[float, float]:
        """The candidate of lowest held-out loss; the stronger of two equal ones."""
        for candidate in candidates:
            if candidate not in self.seen:
                self.seen[candidate] = self._loss(*candidate)
        return min(candidates, key=self.seen.__getitem__)

    def _loss(self, strength: float, intercept: float) -> float:
        total = 0.0
        for f, (train, test, share) in enumerate(self.parts):
            found = fit(train, self.starts[f], self.centre, _factors(self.k, self.penalty, strength, intercept))
            self.starts[f] = found.at
            total += share * loss(test, found.at)
        return total


def doubts(predictions: Predictions, found: Found) -> tuple[str, ...]:
    """Warnings about a fit."""
    labels, k = predictions.labels, predictions.n_classes
    counts = soft_shares(predictions).sum(axis=0) if predictions.soft else np.bincount(labels, minlength=k)
    missing = [name for name, count in zip(predictions.classes, counts, strict=True) if count == 0]
    warnings = [f"{len(missing)} of {k} classes never occurred (first: {missing[0]!r})"] if missing else []
    if (predictions.outputs == predictions.outputs[0]).all():
        warnings.append("all rows have the same prediction: only the frequencies of the classes can be learnt")
    if not found.converged:
        warnings.append("the search did not converge; the last step is returned")
    elif found.loss < 1e-4:
        warnings.append("the rows can be classified without error: the parameters are large and uncertain")
    return tuple(warnings)
