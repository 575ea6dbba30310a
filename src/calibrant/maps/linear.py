"""Softmax regression on the logits or log-probabilities: vector, matrix and Dirichlet scaling."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice, check_count
from calibrant.kernels.fit.softmax_regression import Data, Found, Linear, fit
from calibrant.kernels.logits import inside, probabilities, tamed
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, Fit, Recipe, map_recipe, map_record
from calibrant.maps.log_space import (
    check_penalty,
    normalised_columns,
    prior_share,
    raw_or_log_columns,
    reading_of_zero,
    soft_shares,
)
from calibrant.maps.matrix_penalty import STEADY, STRENGTHS, centre_of, check_size, factors_of, strengths_of
from calibrant.maps.temperature import Temperature
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results.constraints import Shape, Within
from calibrant.types import Array, Floats

Space = Literal["logits", "log_probs"]


@map_recipe("vector")
class VectorScaling(Recipe["LinearMap"]):
    """softmax(v∘z + b): every class has its own scale and offset.

    Given logits, it works on them as they are; given probabilities, on their logarithms. The
    map remembers which.

    Parameters
    ----------
    penalty
        λ, a number of rows: the fit counts λ more rows, predicted like the others and with
        outcomes as predicted, so that rows that can be separated, or a class that never
        occurs, give a finite map. It moves the optimum by a share of λ/(n + λ) towards the
        predictions as they are. `None` gives the plain optimum.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.VectorScaling().fit(valid).n_parameters
    20
    """

    penalty: float | None = 2.0

    def __post_init__(self) -> None:
        check_penalty(self.penalty)

    def fit_predictions(self, predictions: Predictions) -> LinearMap:
        """The lowest log loss over 2K parameters."""
        zero, cautions = reading_of_zero(predictions, always=True)
        space, k = space_of(predictions), predictions.n_classes
        start = tempered(predictions, diagonal=True)
        factors = Linear(np.full(k, STEADY), np.full(k, STEADY))
        share = prior_share(predictions, self.penalty)
        data = regression_data(predictions, space, zero)
        found = fit(data, start, start, factors, share)
        cautions += () if share else without_optimum(data, found, predictions.classes)
        return _made(predictions, found, cautions, space, zero, None, "vector")


@dataclass(frozen=True, slots=True)
class _FullMatrix(Recipe["LinearMap"]):
    """A matrix with a penalty: what matrix scaling and Dirichlet calibration share."""

    penalty: Literal["odir", "l2"] | None = "odir"
    strength: float | Literal["cv"] = "cv"
    intercept: float | Literal["cv"] = "cv"
    n_folds: int = 5
    prior: float | None = 2.0

    recipe: ClassVar[str]

    def __post_init__(self) -> None:
        check_penalty(self.prior, "prior")
        if self.penalty is not None:
            check_choice("penalty", self.penalty, ("odir", "l2"))
        check_count(self.n_folds, "n_folds", 2)
        for name, value in (("strength", self.strength), ("intercept", self.intercept)):
            number = isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= 1e100
            if not number and value != "cv":
                raise InputError(name, "must be a number from 0 to 1e100, or 'cv'", f"it is {value!r}")

    def fit_predictions(self, predictions: Predictions) -> LinearMap:
        """The lowest penalised log loss."""
        space: Space = "log_probs" if self.recipe == "dirichlet" else space_of(predictions)
        chosen = [self.strength == "cv", self.penalty == "odir" and self.intercept == "cv"]
        check_size(predictions, self.n_folds * len(STRENGTHS) * sum(chosen) * (self.penalty is not None))
        zero, cautions = reading_of_zero(predictions, always=True)

        def problem(rows: Predictions) -> tuple[Data, Linear]:
            return regression_data(rows, space, zero), tempered(rows, diagonal=False)

        strength, intercept, doubt = strengths_of(predictions, self, self.share, problem)
        data, start = problem(predictions)
        factors, share = factors_of(predictions.n_classes, self.penalty, strength, intercept), self.share(predictions)
        found = fit(data, start, centre_of(start, self.penalty), factors, share)
        doubt += () if share else without_optimum(data, found, predictions.classes)
        used = {"odir": {"strength": strength, "intercept": intercept}, "l2": {"strength": strength}}
        penalty = None if self.penalty is None else used[self.penalty]
        return _made(predictions, found, cautions + doubt, space, zero, penalty, self.recipe)

    def share(self, predictions: Predictions) -> float:
        """The part of the outcomes that is read as predicted."""
        return prior_share(predictions, None if self.penalty is None else self.prior)


@map_recipe("matrix")
class MatrixScaling(_FullMatrix):
    """softmax(Wz + b): K² + K parameters, so a penalty is needed unless rows are many.

    Logits are taken as they are, probabilities by their logarithms.

    Parameters
    ----------
    penalty
        `"odir"` shrinks the off-diagonal entries of W (by `strength`) and b (by `intercept`)
        towards 0; `"l2"` shrinks all of them by `strength`; `None` shrinks nothing, and a
        warning says where there is no finite optimum.
    strength
        Factor of the sum of squares beside the mean log loss, or `"cv"`: chosen by
        cross-validation, on a part of the rows if there are many.
    intercept
        The same for b.
    n_folds
        Number of folds of the cross-validation. From 100 000 probabilities (rows × classes)
        on, two of them are judged, from a million one.
    prior
        λ, a number of rows: beside a penalty, the fit counts λ more rows, predicted like the
        others and with outcomes as predicted, as `"odir"` leaves the diagonal free and rows
        that can be separated would have no finite optimum. `None` counts none.

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
        towards 0; `"l2"` shrinks all of them by `strength`; `None` shrinks nothing, and a
        warning says where there is no finite optimum.
    strength
        Factor of the sum of squares beside the mean log loss, or `"cv"`: chosen by
        cross-validation, on a part of the rows if there are many.
    intercept
        The same for b.
    n_folds
        Number of folds of the cross-validation. From 100 000 probabilities (rows × classes)
        on, two of them are judged, from a million one.
    prior
        λ, a number of rows: beside a penalty, the fit counts λ more rows, predicted like the
        others and with outcomes as predicted, as `"odir"` leaves the diagonal free and rows
        that can be separated would have no finite optimum. `None` counts none.

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

    own_blocks = True

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


def space_of(predictions: Predictions) -> Space:
    """Logits of several classes as they are, else log-probabilities."""
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


def _made(predictions: Predictions, found: Found, cautions: tuple[str, ...], *options: Any) -> LinearMap:
    how = Fit(predictions.n, found.loss, found.converged, cautions + doubts(predictions, found))
    return LinearMap(predictions.classes, predictions.is_binary, how, found.at.weight, found.at.bias, *options)


SEPARATED = 1e-3
"""A class whose probability is nowhere further than this from its outcome, or, where the search did not converge,
than ½: the search would go on without end."""


def without_optimum(data: Data, found: Found, classes: tuple[Any, ...]) -> tuple[str, ...]:
    """The warning that some classes are predicted without error, so that no parameters are the best."""
    errors = np.abs(probabilities(found.at.scores(data.x)) - data.outcomes() / data.weights[:, None])
    apart = np.flatnonzero(errors.max(axis=0) < (SEPARATED if found.converged else 0.5))
    if not len(apart):
        return ()
    some = f"{len(apart)} of {len(classes)} classes (first: {classes[apart[0]]!r}) are predicted without error"
    return (f"no finite optimum was found: {some}, and larger parameters fit them better and better; use a penalty",)


def doubts(predictions: Predictions, found: Found) -> tuple[str, ...]:
    """Warnings about a fit."""
    labels, k = predictions.labels, predictions.n_classes
    counts = soft_shares(predictions).sum(axis=0) if predictions.soft else np.bincount(labels, minlength=k)
    same = bool((predictions.outputs == predictions.outputs[0]).all())
    return outcome_doubts(predictions.classes, counts, found, same)


def outcome_doubts(classes: tuple[Any, ...], counts: Array, found: Found, same: bool = False) -> tuple[str, ...]:
    """The same from how often each class occurred, and whether all predictions are the same."""
    missing = [name for name, count in zip(classes, counts, strict=True) if count == 0]
    warnings = [f"{len(missing)} of {len(classes)} classes never occurred (first: {missing[0]!r})"] if missing else []
    if same:
        warnings.append("all rows have the same prediction: only the frequencies of the classes can be learnt")
    if not found.converged:
        warnings.append("the search did not converge; the last step is returned")
    elif found.loss < 1e-4:
        warnings.append("the rows can be classified without error: the parameters are large and uncertain")
    return tuple(warnings)
