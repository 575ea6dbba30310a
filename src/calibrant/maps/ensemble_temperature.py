"""Ensemble temperature scaling: a tempered prediction, the prediction as it is and a uniform guess, in a mixture."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.kernels.fit.newton import fit_mixture
from calibrant.kernels.logits import inside, probabilities, sigmoid, two_columns
from calibrant.kernels.rows.keep_order import ranked_as
from calibrant.maps.calibration_map import CalibrationMap, Fit, Recipe, fitted_once, map_recipe, map_record
from calibrant.maps.folds import Folds
from calibrant.maps.log_space import check_penalty, label_entries, raw_or_log_columns, reading_of_zero
from calibrant.maps.temperature import Temperature, TemperatureMap
from calibrant.predictions import Predictions
from calibrant.results.constraints import Like, Shape, SumsTo, Within
from calibrant.types import Array, Floats

NO_TEMPERATURE = (
    "the predictions help less than a uniform guess at any temperature: they are mixed with that as they are"
)
ROUNDING = 1e-9
"""A temperature this close to its bound, relatively, ended there."""


@map_recipe("ensemble_temperature")
class EnsembleTemperature(Recipe["EnsembleMap"]):
    """w₁·softmax(z/T) + w₂·p + w₃/K with weights that sum to 1 (ETS).

    The temperature is fitted first, then the weights, both by the log score. A safe choice
    for few rows. Predictions that help less than a uniform guess at any temperature are mixed
    with that as they are.

    Parameters
    ----------
    penalty
        λ, a number of rows: the temperature is fitted with λ more rows, predicted like the others and with
        outcomes as predicted, so that rows without an error give a finite map. It moves
        the optimum by a share of λ/(n + λ) towards the predictions as they are. `None`
        gives the plain optimum.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> round(float(cal.maps.EnsembleTemperature().fit(valid).weights.sum()), 12)
    1.0
    """

    penalty: float | None = 2.0

    def __post_init__(self) -> None:
        check_penalty(self.penalty)

    def fit_predictions(self, predictions: Predictions) -> EnsembleMap:
        """A temperature, then three weights."""
        return self._fitted(predictions, None)

    def fit_near(self, predictions: Predictions, near: Any) -> EnsembleMap:
        """Both searches begin at the known ones."""
        return self._fitted(predictions, near)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """The temperatures of all folds at once, then the weights of each."""
        betas = Temperature(penalty=self.penalty).betas(folded, fitted.base)
        if betas is None:
            return Recipe.held_out(self, folded, fitted)  # super() does not know a class with slots
        smooth = folded.event is not None and not folded.event.certain
        found = np.empty((len(folded.rows.labels), *folded.rows.outputs.shape[1:]))
        for f, mask in enumerate(folded.masks):
            of_fold = self._event_fold(folded, f, betas[f]) if smooth else self._fold(folded, f, betas[f], fitted)
            chances, weights, judged = of_fold
            used = weights > 0
            found[mask] = judged @ fit_mixture(chances[used], weights[used], fitted.weights).coefficients
        return found

    def _event_fold(self, folded: Folds, f: int, beta: float) -> tuple[Floats, Floats, Floats]:
        """What the three parts gave the outcomes of the other rows, their weights, and what they give the judged ones."""
        event = folded.event
        assert event is not None
        yes, hits = _event_parts(event.z, beta), event.hits[f]
        judged = _event_parts(event.judged[event.fold == f], beta)
        return np.concatenate([1 - yes, yes]), np.concatenate([event.weight[f] - hits, hits]), judged

    def _fold(self, folded: Folds, f: int, beta: float, fitted: EnsembleMap) -> tuple[Floats, Floats, Floats]:
        """The same for several classes, or with some certain predictions."""
        every, mine = folded.every, folded.fold == f
        z = raw_or_log_columns(every, fitted.base.zero).astype(np.float64)
        p = every.probs.astype(np.float64)
        p = two_columns(p) if every.is_binary else p
        parts = np.stack([probabilities(beta * z), p, np.full_like(p, 1 / every.n_classes)], axis=2)
        row, column, weights = label_entries(every)
        judged = parts[mine, 1] if every.is_binary else parts[mine]
        return parts[row, column], np.where(mine[row], 0.0, weights), judged

    def _fitted(self, predictions: Predictions, near: EnsembleMap | None) -> EnsembleMap:
        tempered = Temperature(penalty=self.penalty)
        base = fitted_once(tempered, predictions, None if near is None else near.base)
        start = None if near is None else near.weights
        cautions = base.fit.cautions
        if useless := base.temperature > (1 - ROUNDING) * tempered.bounds[1]:
            base, start = TemperatureMap(base.classes, base.single, Fit(predictions.n), 1.0, base.zero), None
            cautions = (NO_TEMPERATURE,)
        row, column, w = label_entries(predictions)
        chances = np.full((len(row), 3), 1 / predictions.n_classes)
        for i, probs in enumerate((base.apply(predictions).probs, predictions.probs)):
            if probs.ndim == 1 and not predictions.soft:
                chances[:, i] = np.where(predictions.labels > 0, probs, 1 - probs)
            else:
                chances[:, i] = (two_columns(probs) if probs.ndim == 1 else probs)[row, column]
        found = fit_mixture(chances[:, int(useless) :], w, start)
        fit = Fit(
            predictions.n,
            found.loss,
            base.fit.converged and found.converged,
            reading_of_zero(predictions)[1] or cautions,
        )
        weights = np.append(np.zeros(int(useless)), found.coefficients)
        return EnsembleMap(predictions.classes, predictions.is_binary, fit, base, weights)


def _event_parts(z: Floats, beta: float) -> Floats:
    """Probabilities of an event by its log-odds: tempered, as predicted, and a guess."""
    return np.stack([sigmoid(beta * z), sigmoid(z), np.full(len(z), 0.5)], axis=1)


@map_record
class EnsembleMap(CalibrationMap):
    """w₁·softmax(z/T) + w₂·p + w₃/K."""

    base: Annotated[TemperatureMap, Like("classes", "single")] = None  # type: ignore[assignment]
    weights: Annotated[Floats, Shape(3), Within(0, 1), SumsTo(1)] = (1.0, 0.0, 0.0)  # type: ignore[assignment]

    method: ClassVar[str] = "ensemble_temperature"

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """Both predictions are, unless the uniform guess has all the weight."""
        return bool(self.weights[:2].sum() > 0)

    keeps_ranking = keeps_accuracy = injective

    @property
    def parameters(self) -> dict[str, Any]:
        return {"temperature": self.base.temperature, "weights": self.weights}

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The sum of the three parts."""
        wide = predictions.astype(np.float64)
        p = probabilities(wide) if are_logits else wide
        first, second, third = self.weights
        mixed = first * self.base.rounded(wide, are_logits) + second * p + third / len(self.classes)
        found = inside(mixed, predictions.dtype)
        return ranked_as(found, predictions) if predictions.ndim == 2 and self.keeps_ranking else found
