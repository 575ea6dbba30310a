"""Structured scaling: temperature scaling, then a matrix or vector with a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from calibrant.kernels.fit.lbfgs import NEARLY
from calibrant.kernels.fit.softmax_folds import Problems, least_each
from calibrant.kernels.fit.softmax_regression import Data, Linear, fit, guide_of
from calibrant.kernels.logits import two_columns
from calibrant.maps.calibration_map import ARRAY, Fit, Recipe, fitted_once, map_recipe, map_record
from calibrant.maps.folds import Folds
from calibrant.maps.linear import SoftmaxMap, doubts, one_to_one, regression_weights
from calibrant.maps.matrix_penalty import check_size
from calibrant.maps.temperature import Temperature, TemperatureMap
from calibrant.predictions import Predictions
from calibrant.results.constraints import Like, Shape, Within
from calibrant.types import Array, Floats


@map_recipe("structured_vector")
class StructuredVector(Recipe["StructuredMap"]):
    """Temperature scaling, then a scale and an offset for each class with a ridge of K/n.

    With few rows it stays temperature scaling; with many it becomes vector scaling. The
    choice for hundreds of classes.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.StructuredVector().fit(valid).method
    'structured_vector'
    """

    def fit_predictions(self, predictions: Predictions) -> StructuredMap:
        """Two convex fits, one after the other."""
        return _fitted(predictions, diagonal=True)

    def fit_near(self, predictions: Predictions, near: Any) -> StructuredMap:
        """Both from known ones, and a search guided as the one that found them."""
        return _fitted(predictions, diagonal=True, near=near)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """Without each fold, with one guide for all searches."""
        return _held_out(self, folded, fitted)


@map_recipe("structured_matrix")
class StructuredMatrix(Recipe["StructuredMap"]):
    """Temperature scaling, then a matrix with a ridge that decreases with the number of rows.

    The ridge is K/n on the diagonal and the offsets, K(K−1)/n on the rest. With few rows the
    map stays temperature scaling; with many it becomes matrix scaling.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.StructuredMatrix().fit(valid).n_parameters
    111
    """

    def fit_predictions(self, predictions: Predictions) -> StructuredMap:
        """Two convex fits, one after the other."""
        check_size(predictions)
        return _fitted(predictions, diagonal=False)

    def fit_near(self, predictions: Predictions, near: Any) -> StructuredMap:
        """Both from known ones, and a search guided as the one that found them."""
        return _fitted(predictions, diagonal=False, near=near)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """Without each fold, with one guide for all searches."""
        return _held_out(self, folded, fitted)


@dataclass(frozen=True, slots=True)
class Guided:
    """A map of nearly the same rows, and what guided the search for it."""

    map: StructuredMap
    guide: dict[str, Any]


def _fitted(predictions: Predictions, diagonal: bool, near: StructuredMap | Guided | None = None) -> StructuredMap:
    near, guide = (near.map, near.guide) if isinstance(near, Guided) else (near, {})
    base = fitted_once(Temperature(), predictions, None if near is None else near.base)
    total, mix = _total_and_mix(predictions)
    x = mixed_logs(base, mix, predictions.outputs, predictions.logits is not None)
    centre, ridge = structured_ridge(predictions.n_classes, total, diagonal)
    start, gain = (centre, None) if near is None else (Linear(near.weight, near.bias), NEARLY / total)
    found = fit(Data(x, *regression_weights(predictions)), start, centre, ridge, gain=gain, **guide)
    how = Fit(predictions.n, found.loss, found.converged, base.fit.cautions + doubts(predictions, found))
    at = found.at
    return StructuredMap(predictions.classes, predictions.is_binary, how, base, mix, at.weight, at.bias)


MOST_TOGETHER = 1 << 16
"""Folds times rows times classes up to which all folds are fitted at once: they stay in a core's cache."""


def _held_out(recipe: Recipe[StructuredMap], folded: Folds, fitted: StructuredMap) -> Floats:
    every, n_fits, at = folded.every, len(folded.others), Linear(fitted.weight, fitted.bias)
    x = mixed_logs(fitted.base, fitted.mix, every.outputs, every.logits is not None)
    ridge = structured_ridge(every.n_classes, _total_and_mix(every)[0], at.diagonal)[1]
    guide = guide_of(Data(x, *regression_weights(every)), at, ridge, n_fits) if n_fits > 1 else {}
    maps = Temperature().each(folded, fitted.base)
    if "inverse" in guide and not (every.soft or every.is_binary) and n_fits * x.size <= MOST_TOGETHER:
        found = _together(folded, at, maps, guide["inverse"])
        if found is not None:
            pairs = zip(folded.others, found, strict=True)
            return folded.answers(rows.kept(f"fit of {recipe!r}", partial(_same, each)) for rows, each in pairs)
    return folded.answers(fitted_once(recipe, rows, Guided(fitted, guide)) for rows in folded.others)


def _same(found: StructuredMap) -> StructuredMap:
    return found


def _together(folded: Folds, near: Linear, bases: list[TemperatureMap], inverse: Floats) -> list[StructuredMap] | None:
    """The maps without each fold; None where a search did not end."""
    every = folded.every
    weights = (np.arange(len(bases))[:, None] != folded.fold) * (1.0 if every.weights is None else every.weights)
    totals = weights.sum(axis=1)
    mixes, k = 1 / (totals + 1), every.n_classes
    x = np.stack(
        [mixed_logs(*each, every.outputs, every.logits is not None) for each in zip(bases, mixes, strict=True)]
    )
    centre, ridge = structured_ridge(k, 1.0, near.diagonal)
    ridges = ridge.packed() / totals[:, None, None]
    problems = Problems(x, every.labels, weights / totals[:, None], centre.packed(), ridges)
    found, ended = least_each(problems, near.packed(), inverse, NEARLY / totals)
    if not ended.all():
        return None

    def made(base: TemperatureMap, mix: float, at: Linear) -> StructuredMap:
        return StructuredMap(every.classes, False, Fit(every.n), base, mix, at.weight, at.bias)

    ats = [near.like(each) for each in found]
    return [made(*each) for each in zip(bases, mixes.tolist(), ats, strict=True)]


def _total_and_mix(rows: Predictions) -> tuple[float, float]:
    total = float(rows.n if rows.weights is None else rows.weights.sum())
    return total, 1 / (total + 1)


def structured_ridge(k: int, total: float, diagonal: bool) -> tuple[Linear, Linear]:
    """No change, where the search starts, and the penalties of a change."""
    off = np.where(np.eye(k) > 0, k / total, k * (k - 1) / total)
    ridge = Linear(np.full(k, k / total) if diagonal else off, np.full(k, k / total))
    return Linear(np.ones(k) if diagonal else np.eye(k), np.zeros(k)), ridge


def mixed_logs(base: TemperatureMap, mix: float, predictions: Array, are_logits: bool) -> Floats:
    """ln q, `(n, K)`, of the tempered predictions mixed with a uniform guess."""
    tempered = base.rounded(predictions.astype(np.float64), are_logits)
    columns = two_columns(tempered) if tempered.ndim == 1 else tempered
    return np.log((1 - mix) * columns + mix / columns.shape[1])


@map_record
class StructuredMap(SoftmaxMap):
    """softmax(W ln q + b) with q = (1−a)·softmax(z/T) + a/K; `weight` is W or its diagonal."""

    base: Annotated[TemperatureMap, Like("classes", "single")] = None  # type: ignore[assignment]
    mix: Annotated[float, Within(0, 1)] = 0.0
    """a, the share of a uniform guess: 1/(n+1)"""
    weight: Annotated[Floats, Shape("classes", other=Shape("classes", "classes"))] = ARRAY
    bias: Annotated[Floats, Shape("classes")] = ARRAY

    @property
    def method(self) -> str:  # type: ignore[override]
        return "structured_vector" if self.weight.ndim == 1 else "structured_matrix"

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """As the matrix is; the first step always is."""
        return one_to_one(self.weight)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"temperature": self.base.temperature, "weight": self.weight, "bias": self.bias}

    def features(self, predictions: Array, are_logits: bool) -> Floats:
        """ln q."""
        return mixed_logs(self.base, self.mix, predictions, are_logits)
