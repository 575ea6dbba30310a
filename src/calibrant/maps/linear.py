"""Maps that are a softmax regression on the logits or log-probabilities: vector, matrix and Dirichlet scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, check_count
from calibrant.kernels.fit.softmax_regression import Data, Found, Linear, fit, loss
from calibrant.kernels.logits import inside, probabilities, tamed
from calibrant.maps.calibration_map import CalibrationMap, Fit, admit_fit
from calibrant.maps.folds import in_folds, n_rows, n_units
from calibrant.maps.log_space import (
    normalised_columns,
    raw_or_log_columns,
    reading_of_zero,
    rows_that_count,
    soft_shares,
)
from calibrant.maps.temperature import Temperature
from calibrant.predictions import Predictions
from calibrant.problems import InputError, MapError
from calibrant.results import kind

Floats = NDArray[np.float64]
Space = Literal["logits", "log_probs"]

STEADY = 1e-9
"""Penalty that keeps separable data finite; it moves other fits by less than their rounding."""

STRENGTHS = tuple(10.0**power for power in range(0, -7, -1))
"""Penalties that cross-validation tries, strongest first."""


@dataclass(frozen=True, slots=True)
class VectorScaling:
    """softmax(v∘z + b): every class gets a scale and an offset of its own.

    Given logits, it works on them as they are; given probabilities, on their logarithms. The map remembers which.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.VectorScaling().fit(valid).n_parameters
    20
    """

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> LinearMap:
        """The lowest log loss over 2K parameters."""
        predictions = rows_that_count(admit_fit(labels, probs, logits, weights))
        return _fitted(predictions, "vector", _space(predictions), _nothing(predictions.n_classes, diagonal=True))


@dataclass(frozen=True, slots=True)
class _FullMatrix:
    """A matrix with a penalty: what matrix scaling and Dirichlet calibration share."""

    penalty: Literal["odir", "l2"] | None = "odir"
    strength: float | Literal["cv"] = "cv"
    intercept: float | Literal["cv"] = "cv"
    folds: int = 5

    recipe: ClassVar[str]

    def __post_init__(self) -> None:
        if self.penalty is not None:
            check_choice("penalty", self.penalty, ("odir", "l2"))
        check_count(self.folds, "folds", 2)
        for name, value in (("strength", self.strength), ("intercept", self.intercept)):
            number = isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value < np.inf
            if not number and value != "cv":
                raise InputError(name, "must be a number of at least 0, or 'cv'", f"it is {value!r}")

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> LinearMap:
        """The lowest penalised log loss."""
        predictions = rows_that_count(admit_fit(labels, probs, logits, weights))
        return _penalised(predictions, self.recipe, self._space(predictions), self)

    def _space(self, predictions: Predictions) -> Space:
        return _space(predictions)


@dataclass(frozen=True, slots=True)
class MatrixScaling(_FullMatrix):
    """softmax(Wz + b): K² + K parameters, so a penalty is needed unless rows are many.

    `penalty="odir"` draws the off-diagonal entries of W (by `strength`) and b (by `intercept`) towards 0; `"l2"` draws all of
    them by `strength`; `None` draws nothing. A strength is a number, the factor of the sum of squares beside the mean log loss, or
    `"cv"`: chosen by cross-validation over `folds`, of many rows on a part of them. Logits are taken as they are, probabilities by their logarithms.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.MatrixScaling(strength=0.01, intercept=0.01).fit(valid).n_parameters
    110
    """

    recipe: ClassVar[str] = "matrix"


@dataclass(frozen=True, slots=True)
class Dirichlet(_FullMatrix):
    """softmax(W ln p + b): Dirichlet calibration, matrix scaling on log-probabilities.

    `penalty`, `strength` and `intercept` are those of `MatrixScaling`; for a single event it is beta calibration without
    its bounds.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.Dirichlet(strength=0.01, intercept=0.01).fit(valid).space
    'log_probs'
    """

    recipe: ClassVar[str] = "dirichlet"

    def _space(self, predictions: Predictions) -> Space:  # noqa: ARG002
        return "log_probs"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class LinearMap(CalibrationMap):
    """softmax(W x + b), x the logits or ln p; `weight` is W or, for vector scaling, its diagonal."""

    weight: NDArray[np.float64] = ()  # type: ignore[assignment]
    bias: NDArray[np.float64] = ()  # type: ignore[assignment]
    space: Space = "log_probs"
    """what x is; a map of logits as they were given cannot be applied to probabilities"""
    zero: float = 0.0
    """what a probability of 0 is read as"""
    penalty: dict[str, float] | None = None
    """factors of the sums of squares in the fit"""
    recipe: str = "matrix"

    keeps_ranking: ClassVar[bool] = False
    keeps_accuracy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("weight", "bias")
        k = len(self.classes)
        if self.bias.shape != (k,) or self.weight.shape not in ((k,), (k, k)):
            raise MapError(f"weight and bias do not fit {k} classes: {self.weight.shape}, {self.bias.shape}")
        if self.space not in ("logits", "log_probs"):
            raise MapError(f"space must be 'logits' or 'log_probs'; it is {self.space!r}")

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.recipe

    @property
    def injective(self) -> bool:
        """Not for logits as they were given: rows that say different things can then end alike."""
        return one_to_one(self.weight, raw=self.space == "logits")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"weight": self.weight, "bias": self.bias}

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Through ln p."""
        if self.space == "logits":
            raise InputError(
                "probs", "cannot be mended by a map of logits", advice="Pass logits=, or fit the map on probabilities"
            )
        return self._mended(normalised_columns(probs, self.zero, are_logits=False), probs)

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """From the logits, or through ln p."""
        return self._mended(self._features(logits), logits)

    def new_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """W x + b."""
        scores = Linear(self.weight, self.bias).scores(self._features(logits))
        return (scores[:, 1] - scores[:, 0] if logits.ndim == 1 else scores).astype(logits.dtype)

    def _features(self, logits: NDArray[Any]) -> Floats:
        if self.space == "logits":
            return tamed(logits.astype(np.float64))
        return normalised_columns(logits, self.zero, are_logits=True)

    def _mended(self, x: Floats, said: NDArray[Any]) -> NDArray[Any]:
        mended = probabilities(Linear(self.weight, self.bias).scores(x))
        return inside(mended[:, 1] if said.ndim == 1 else mended, said.dtype)


def one_to_one(weight: Floats, raw: bool = False) -> bool:
    """Do different rows x stay different after softmax(W x + b)?

    Two end alike only where W maps their difference to a constant. Log-probabilities of two rows cannot differ by numbers of
    one sign, as both add up to 1; logits as they were given (`raw`) may differ by anything.
    """
    if weight.ndim == 1 and (weight == 0).any():
        return False
    try:
        apart = 1 / weight if weight.ndim == 1 else np.linalg.solve(weight, np.ones(len(weight)))
    except np.linalg.LinAlgError:
        return False
    return bool(np.ptp(apart) == 0) if raw else bool((apart >= 0).all() or (apart <= 0).all())


def _space(predictions: Predictions) -> Space:
    return "log_probs" if predictions.logits is None or predictions.is_binary else "logits"


def regression_data(predictions: Predictions, space: Space, zero: float) -> Data:
    """The rows as the softmax regression takes them."""
    if space == "logits":
        x = raw_or_log_columns(predictions, zero).astype(np.float64)
    else:
        x = normalised_columns(predictions.said, zero, are_logits=predictions.logits is not None)
    return Data(x, *regression_weights(predictions))


def regression_weights(predictions: Predictions) -> tuple[NDArray[Any], Floats]:
    """Labels or shares, and weights that add up to 1."""
    labels = soft_shares(predictions) if predictions.soft else predictions.labels
    w = np.ones(predictions.n) if predictions.weights is None else predictions.weights.astype(np.float64)
    return labels, w / w.sum()


def tempered(predictions: Predictions, diagonal: bool) -> Linear:
    """Where the search starts: temperature scaling."""
    k = predictions.n_classes
    scale = np.full(k, 1 / Temperature().fit(predictions).temperature)
    return Linear(scale if diagonal else np.diag(scale), np.zeros(k))


def _nothing(k: int, diagonal: bool) -> Linear:
    return Linear(np.full(k if diagonal else (k, k), STEADY), np.full(k, STEADY))


def _factors(k: int, penalty: str | None, strength: float, intercept: float) -> Linear:
    """The penalty of each parameter."""
    none = _nothing(k, diagonal=False)
    if penalty is None:
        return none
    if penalty == "l2":
        return Linear(np.full((k, k), max(strength, STEADY)), np.full(k, max(strength, STEADY)))
    off = np.where(np.eye(k) > 0, STEADY, max(strength, STEADY))
    return Linear(off, np.full(k, max(intercept, STEADY)))


def _centre(start: Linear, penalty: str | None) -> Linear:
    """Penalties draw towards 0; what is not penalised is held where the search starts."""
    if penalty == "l2":
        return Linear(np.zeros_like(start.weight), np.zeros_like(start.bias))
    return start


def _fitted(predictions: Predictions, recipe: str, space: Space, factors: Linear) -> LinearMap:
    zero, cautions = reading_of_zero(predictions, always=True)
    start = tempered(predictions, factors.diagonal)
    found = fit(regression_data(predictions, space, zero), start, start, factors)
    return _made(predictions, recipe, space, zero, found, cautions, None)


def _made(
    predictions: Predictions,
    recipe: str,
    space: Space,
    zero: float,
    found: Found,
    cautions: tuple[str, ...],
    penalty: dict[str, float] | None,
) -> LinearMap:
    how = Fit(predictions.n, found.loss, found.converged, cautions + doubts(predictions, found))
    at = found.at
    return LinearMap(predictions.classes, predictions.is_binary, how, at.weight, at.bias, space, zero, penalty, recipe)


def _penalised(predictions: Predictions, recipe: str, space: Space, how: _FullMatrix) -> LinearMap:
    zero, cautions = reading_of_zero(predictions, always=True)
    strength, intercept, doubt = _strengths(predictions, space, zero, how)
    start = tempered(predictions, diagonal=False)
    factors = _factors(predictions.n_classes, how.penalty, strength, intercept)
    found = fit(regression_data(predictions, space, zero), start, _centre(start, how.penalty), factors)
    said = {"odir": {"strength": strength, "intercept": intercept}, "l2": {"strength": strength}}
    penalty = None if how.penalty is None else said[how.penalty]
    return _made(predictions, recipe, space, zero, found, cautions + doubt, penalty)


def _strengths(
    predictions: Predictions, space: Space, zero: float, how: _FullMatrix
) -> tuple[float, float, tuple[str, ...]]:
    """Penalties as given, or chosen: first both alike, then that of the intercept alone."""
    wanted = [how.strength] * (how.penalty is not None) + [how.intercept] * (how.penalty == "odir")
    if "cv" not in wanted:
        return (*(0.0 if v == "cv" else float(v) for v in (how.strength, how.intercept)), ())  # type: ignore[return-value]
    rows = _some(predictions)
    if n_units(rows) < 2 * how.folds:
        return STRENGTHS[0], STRENGTHS[0], (f"too few rows to choose a penalty; it is {STRENGTHS[0]:g}",)
    folds = _Folds(rows, space, zero, how)
    if how.penalty == "l2":
        return (folds.best([(s, s) for s in STRENGTHS])[0], 0.0, ())
    strengths = STRENGTHS if how.strength == "cv" else (float(how.strength),)
    first = folds.best([(s, s if how.intercept == "cv" else float(how.intercept)) for s in strengths])
    if how.intercept != "cv":
        return (*first, ())
    return (*folds.best([(first[0], i) for i in STRENGTHS]), ())


MOST_ROWS, ROWS_A_CLASS = 20_000, 200
"""Rows, or rows a class if that is more, that a penalty is chosen on; one chosen on few rows is too strong rather than too weak."""


def _some(rows: Predictions) -> Predictions:
    """Rows to choose a penalty on: all, or one fold of many."""
    shares = min(n_rows(rows) // max(MOST_ROWS, ROWS_A_CLASS * rows.n_classes), n_units(rows))
    if shares < 2:
        return rows
    rows, masks = in_folds(rows, shares)
    return rows.rows(masks[0])


class _Folds:
    """Held-out losses of penalties, each fold's search starting where its last one ended."""

    def __init__(self, rows: Predictions, space: Space, zero: float, how: _FullMatrix) -> None:
        self.penalty, self.k = how.penalty, rows.n_classes
        rows, masks = in_folds(rows, how.folds)
        data = regression_data(rows, space, zero)
        start = tempered(rows, diagonal=False)
        self.parts = [(data.rows(~unseen), data.rows(unseen), data.weights[unseen].sum()) for unseen in masks]
        self.starts = [start] * len(self.parts)
        self.centre = _centre(start, how.penalty)
        self.seen: dict[tuple[float, float], float] = {}

    def best(self, candidates: list[tuple[float, float]]) -> tuple[float, float]:
        """The candidate of lowest held-out loss; the stronger of two alike."""
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
    """What a user should know about a fit."""
    told = []
    missing = missing_classes(predictions)
    if missing:
        told.append(f"{len(missing)} of {predictions.n_classes} classes never happened (first: {missing[0]!r})")
    if (predictions.said == predictions.said[0]).all():
        told.append("every row says the same: only the frequencies of the classes can be learnt")
    if not found.converged:
        told.append("the search did not converge; the last step is returned")
    elif found.loss < 1e-4:
        told.append("the rows can be told apart without error: the parameters are large and uncertain")
    return tuple(told)


def missing_classes(predictions: Predictions) -> list[Any]:
    """Classes that no row had."""
    shares = soft_shares(predictions).sum(axis=0) if predictions.soft else None
    seen = np.bincount(predictions.labels, minlength=predictions.n_classes) if shares is None else shares
    return [name for name, count in zip(predictions.classes, seen, strict=True) if count == 0]
