"""Maps that are a logistic regression on the log-odds: Platt scaling, with a square, and beta calibration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.kernels.fit.newton import NewtonFit, fit_logistic
from calibrant.kernels.logits import sigmoid, softplus
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.binary import FAR, BinaryRecipe, LimitedMap, one_outcome, pooled_log_odds
from calibrant.maps.calibration_map import CalibrationMap, Fit, fitted_once, map_recipe, map_record
from calibrant.maps.folds import EventFolds, Folds
from calibrant.maps.log_space import check_penalty, hits_and_prior
from calibrant.predictions import Predictions
from calibrant.results.constraints import BIG, Above, Within
from calibrant.state.pooled import Pooled
from calibrant.types import Bools, Floats

LN_2 = float(np.log(2))

SEPARATED = 1e-4
"""Mean log loss below which the rows of a fit without smoothed targets are separated, or nearly so."""


Penalty = float | Literal["targets"] | None


@dataclass(frozen=True, slots=True)
class _Polynomial(BinaryRecipe):
    """A polynomial of the log-odds: what `Platt` and `Quadratic` share."""

    penalty: Penalty = "targets"

    degree: ClassVar[int]

    def __post_init__(self) -> None:
        if isinstance(self.penalty, str):
            check_choice("penalty", self.penalty, ("targets",))
        else:
            check_penalty(self.penalty)

    def fit_event(self, predictions: Predictions) -> LogOddsMap:
        """Newton's method on the coefficients."""
        return _fit(predictions, self.degree, self.penalty)

    def fit_near(self, predictions: Predictions, near: Any) -> CalibrationMap:
        """From known coefficients."""
        if not predictions.is_binary:
            return self.fit_predictions(predictions)
        return _fit(predictions, self.degree, self.penalty, near)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """All folds at once."""
        event = folded.event
        if event is not None:
            columns, near = partial(powers, degree=self.degree), fitted.coefficients[: self.degree + 1]
            hits = read_hits(event.weight, event.hits, event.z, self.penalty)
            found, ended = event.regressions(columns, hits, near)
            if ended.all():
                return event.answers(columns, found)
        return BinaryRecipe.held_out(self, folded, fitted)  # super() does not know a class with slots


def powers(z: Floats, degree: int) -> Floats:
    """1, z, z², … `(n, degree + 1)`."""
    return np.stack([z**power for power in range(degree + 1)]).T


@map_recipe("platt", state="pooled")
class Platt(_Polynomial):
    """σ(a·z + b) on the log-odds z, with Platt's smoothed targets.

    Parameters
    ----------
    penalty
        `"targets"`: outcomes are read as (N₊+1)/(N₊+2) and 1/(N₋+2), Platt's. A number λ of
        rows: the fit counts λ more rows, predicted like the others and with outcomes as
        predicted. Either gives a finite map where rows can be separated. `None` gives the
        plain optimum.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Platt().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> fitted.n_parameters, fitted.injective
    (2, True)
    """

    degree: ClassVar[int] = 1


@map_recipe("logistic", state="pooled")
class Logistic(BinaryRecipe):
    """σ(a·z + b) by maximum likelihood: Platt scaling without smoothed targets.

    The same as `Platt(penalty=None)`, under a name of its own. Rows that can be separated have no such fit: the coefficients are then those of the
    last step, with a caution; those of `Platt` are always finite.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.Logistic().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> bool(abs(fitted.apply([0.1, 0.9, 0.6, 0.7, 0.8]).mean() - 3 / 5) < 1e-9)  # as often as the event occurred
    True
    """

    def fit_event(self, predictions: Predictions) -> LogOddsMap:
        """Newton's method on two coefficients."""
        return replace(_fit(predictions, 1, None), smoothed=False)


@map_recipe("quadratic", state="pooled")
class Quadratic(_Polynomial):
    """σ(a·z + b + c·z²): a parabola where Platt has a line; need not be monotone.

    Parameters
    ----------
    penalty
        `"targets"`: outcomes are read as (N₊+1)/(N₊+2) and 1/(N₋+2), Platt's. A number λ of
        rows: the fit counts λ more rows, predicted like the others and with outcomes as
        predicted. Either gives a finite map where rows can be separated. `None` gives the
        plain optimum.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.maps.Quadratic().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8]).n_parameters
    3
    """

    degree: ClassVar[int] = 2


@map_record
class LogOddsMap(LimitedMap):
    """σ(b + a·z + c·z²)."""

    intercept: float = 0.0
    slope: float = 1.0
    square: float = 0.0
    limit: Annotated[float, Above(0, FAR)] = FAR
    """log-odds beyond this are read as this"""
    smoothed: bool = True
    """False: by `Logistic`"""

    @property
    def method(self) -> str:  # type: ignore[override]
        return "quadratic" if self.square else "platt" if self.smoothed else "logistic"

    @property
    def injective(self) -> bool:  # type: ignore[override]
        return self.square == 0 and self.slope != 0

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        return self.square == 0 and self.slope > 0

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        return self.keeps_ranking and self.intercept == 0

    @property
    def coefficients(self) -> Floats:
        """Those of 1, z and z²."""
        return np.array([self.intercept, self.slope, self.square])

    @property
    def parameters(self) -> dict[str, Any]:
        found = {"intercept": self.intercept, "slope": self.slope}
        return found | ({"square": self.square} if self.square else {})

    def of_limited(self, z: Floats) -> Floats:
        """The polynomial in z, through the sigmoid."""
        z *= self.slope + z * self.square if self.square else self.slope
        z += self.intercept
        return sigmoid(z)


def _mean_loss(pooled: Pooled, log_odds: Floats) -> float:
    return (inner(pooled.weight, softplus(log_odds)[0]) - inner(pooled.hits, log_odds)) / pooled.total


def _fit(predictions: Predictions, degree: int, penalty: Penalty, near: LogOddsMap | None = None) -> LogOddsMap:
    pooled, z, limit, cautions = pooled_log_odds(predictions)
    features = powers(z, degree)
    start = None if near is None else near.coefficients[: degree + 1]
    found = fit_logistic(features, pooled.weight, read_hits(pooled.weight, pooled.hits, z, penalty), near=start)
    intercept, slope, *square = found.coefficients.tolist()
    loss = _mean_loss(pooled, features @ found.coefficients)
    if penalty is None and loss < SEPARATED:
        cautions += ("the rows can be separated: the coefficients are large and uncertain",)
    fit = Fit(predictions.n, loss, found.converged, cautions + _doubts(found, pooled))
    return LogOddsMap(predictions.classes, True, fit, intercept, slope, square[0] if square else 0.0, limit)


def read_hits(weight: Floats, hits: Floats, z: Floats, penalty: Penalty) -> Floats:
    """Hits `(…, places)` as a fit reads them: smoothed, or with a share that is as predicted."""
    if penalty != "targets":
        return hits_and_prior(weight, hits, z, penalty)
    # Platt's targets, (N₊+1)/(N₊+2) for an event and 1/(N₋+2) for a non-event: no coefficient is infinite
    total, events = (each.sum(axis=-1, keepdims=True) for each in (weight, hits))
    return hits * ((events + 1) / (events + 2)) + (weight - hits) / (total - events + 2)


def _doubts(found: NewtonFit, pooled: Pooled) -> tuple[str, ...]:
    separated = "the search did not converge, as when rows can be separated; the last step is returned"
    return one_outcome(float(pooled.hits.sum()), pooled.total) + (() if found.converged else (separated,))


@map_recipe("beta", state="pooled")
class Beta(BinaryRecipe):
    """σ(c + a·ln p − b·ln(1−p)) with a, b ≥ 0: beta calibration.

    Parameters
    ----------
    variant
        `"abm"` (three parameters), `"am"` (a = b) or `"ab"` (½ stays ½: c = (a − b)·ln 2).
    penalty
        λ, a number of rows: the fit counts λ more rows, predicted like the others and with
        outcomes as predicted, so that rows without an error give a finite map. It moves
        the optimum by a share of λ/(n + λ) towards the predictions as they are. `None`
        gives the plain optimum.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Beta().fit([0, 1, 1, 0, 1, 0], [0.1, 0.9, 0.6, 0.7, 0.8, 0.65])
    >>> fitted.a >= 0 and fitted.b >= 0
    True
    """

    variant: Literal["abm", "am", "ab"] = "abm"
    penalty: float | None = 2.0

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, ("abm", "am", "ab"))
        check_penalty(self.penalty)

    def fit_event(self, predictions: Predictions) -> BetaMap:
        """Newton's method; a negative coefficient is set to 0 and the others are fitted again."""
        return self._fitted(predictions, None)

    def fit_near(self, predictions: Predictions, near: Any) -> CalibrationMap:
        """From known coefficients."""
        return self._fitted(predictions, near) if predictions.is_binary else self.fit_predictions(predictions)

    def _columns(self, z: Floats) -> dict[str, Floats]:
        """What the coefficients multiply, by their names."""
        right, left = softplus(z)  # −ln(1−p) and −ln p
        if self.variant == "am":
            return {"ab": right - left, "c": np.ones_like(z)}
        if self.variant == "ab":
            return {"a": LN_2 - left, "b": right - LN_2}
        return {"a": -left, "b": right, "c": np.ones_like(z)}

    def _fitted(self, predictions: Predictions, near: BetaMap | None) -> BetaMap:
        pooled, z, limit, cautions = pooled_log_odds(predictions)
        columns, hits = self._columns(z), hits_and_prior(pooled.weight, pooled.hits, z, self.penalty)
        while True:
            known = None if near is None else near.coefficients(columns)
            features = np.stack(list(columns.values())).T
            found = fit_logistic(features, pooled.weight, hits, near=known)
            values = dict(zip(columns, found.coefficients.tolist(), strict=True))
            negative = [name for name in values if name != "c" and values[name] < 0]
            if not negative or len(columns) == 1:
                break
            del columns[min(negative, key=values.__getitem__)]
        a, b = (max(values.get(name, values.get("ab", 0.0)), 0.0) for name in ("a", "b"))
        c = (a - b) * LN_2 if self.variant == "ab" else values.get("c", 0.0)
        fit = Fit(
            predictions.n,
            _mean_loss(pooled, features @ found.coefficients),
            found.converged,
            cautions + _doubts(found, pooled),
        )
        return BetaMap(predictions.classes, True, fit, a, b, c, limit)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """All folds at once; those in which a search does not end by themselves."""
        event, names = folded.event, tuple(self._columns(np.zeros(1)))
        if event is None:
            return BinaryRecipe.held_out(self, folded, fitted)  # super() does not know a class with slots
        hits = hits_and_prior(event.weight, event.hits, event.z, self.penalty)
        found, ended = self._each(event, hits, names, fitted)
        for f in np.flatnonzero(~ended):
            alone: Any = fitted_once(self, folded.others[f], fitted)
            found[f] = alone.coefficients(names)
        return event.answers(partial(self._stacked, names=names), found)

    def _stacked(self, z: Floats, names: tuple[str, ...]) -> Floats:
        columns = self._columns(z)
        return np.stack([columns[name] for name in names]).T

    def _each(self, event: EventFolds, hits: Floats, names: tuple[str, ...], fitted: Any) -> tuple[Floats, Bools]:
        """Coefficients without each fold; a negative slope is set to 0 and the others are fitted again."""
        found, ended = event.regressions(partial(self._stacked, names=names), hits, fitted.coefficients(names))
        slopes = np.where([name == "c" for name in names], np.inf, found)
        least = slopes.argmin(axis=1)
        for i in np.unique(least[slopes.min(axis=1) < 0]) if len(names) > 1 else ():
            some = (least == i) & (slopes[:, i] < 0)
            part = replace(event, weight=event.weight[some])
            rest, ends = self._each(part, hits[some], names[:i] + names[i + 1 :], fitted)
            found[some], ended[some] = np.insert(rest, i, 0.0, axis=1), ends
        return np.where(np.isinf(slopes), found, np.maximum(found, 0.0)), ended


@map_record
class BetaMap(LimitedMap):
    """σ(c + a·ln p − b·ln(1−p))."""

    a: Annotated[float, Within(0, BIG)] = 1.0
    b: Annotated[float, Within(0, BIG)] = 1.0
    c: float = 0.0
    limit: Annotated[float, Above(0, FAR)] = FAR
    """log-odds beyond this are read as this"""

    method: ClassVar[str] = "beta"
    parameter_names: ClassVar[tuple[str, ...]] = ("a", "b", "c")

    @property
    def injective(self) -> bool:  # type: ignore[override]
        return self.a > 0 or self.b > 0

    keeps_ranking = injective

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        return self.a == self.b > 0 and self.c == 0

    def coefficients(self, names: Iterable[str]) -> Floats:
        """Those of some columns of `Beta`; of a = b the name is `ab`."""
        return np.array([getattr(self, name[0]) for name in names])

    def of_limited(self, z: Floats) -> Floats:
        """From the log-odds: ln p = −ln(1 + e^−z) and −ln(1−p) = ln(1 + e^z)."""
        right, left = softplus(z)
        return sigmoid(self.c - self.a * left + self.b * right)
