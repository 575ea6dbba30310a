"""A map of several classes, then one bend for the probabilities of all classes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.arrays import read_only
from calibrant.kernels.fit.knot_paths import Bent as Line
from calibrant.kernels.logits import inside, log_odds, row_sums, sigmoid, two_columns
from calibrant.maps.binary import BentLineMap
from calibrant.maps.calibration_map import CalibrationMap, Fit, Recipe, fitted_once, map_recipe, map_record
from calibrant.maps.folds import Folds, refuse_bound
from calibrant.maps.gaussian_process import Belief, believed, table_of
from calibrant.maps.order_preserving import class_shares
from calibrant.predictions import Mass, Predictions
from calibrant.predictions.plain import event_of_rows
from calibrant.problems import InputError
from calibrant.results.constraints import Like
from calibrant.types import Array, Floats

MATTERS = 0.01
"""The share, in that of the largest, from which a prior is fitted again without each fold: a class and the rest of its row
err together, so that less is enough to be seen than with one event."""


@map_recipe("bent")
class Bent(Recipe["BentMap"]):
    """Structured matrix scaling, then one smooth bend for the probabilities of all classes.

    A matrix of logarithms corrects each class against the others, but cannot bend. The bend
    is a Gaussian process around "no change", fitted once, to every class against the rest;
    rows are then divided by their sum. With few rows it stays near the matrix, which stays
    near a temperature.

    Parameters
    ----------
    method
        The recipe or the name of the first map, which is fitted first.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.maps.Bent("structured_vector").fit(valid)
    >>> fitted.base.method, fitted.bend.method
    ('structured_vector', 'gaussian_process')
    """

    method: Any = "structured_matrix"

    def __post_init__(self) -> None:
        from calibrant.maps import recipe_of  # which lists this one too

        recipe_of(self.method)
        if isinstance(self.method, Bent):
            raise InputError("method", "must be that of a map without a bend of this kind", f"it is {self.method!r}")

    def fit_predictions(self, predictions: Predictions) -> BentMap:
        """The first map, then the bend of its answers."""
        from calibrant.maps import recipe_of

        base: CalibrationMap = fitted_once(recipe_of(self.method), predictions)
        event = _event(base, predictions)
        belief = predictions.kept(f"belief of {self!r}", lambda: believed(event))
        return _bent(predictions, base, table_of(event, belief))

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """The bends without each fold, all at once over the cells of all rows and by the priors that matter there."""
        from calibrant.maps import recipe_of

        recipe, given, every = recipe_of(self.method), folded.given, folded.every
        if every.squares is not None:
            return Recipe.held_out(self, folded, fitted)  # super() does not know a class with slots
        known: Belief = given.kept(f"belief of {self!r}", lambda: believed(_event(fitted.base, given)))
        before = _event(fitted.base, every)
        weight, hits = known.parts(before, np.repeat(folded.fold, every.n_classes))
        used = known.matter(weight[: folded.n_judged], hits[: folded.n_judged], MATTERS)
        bases = [fitted_once(recipe, rows, fitted.base) for rows in folded.others]
        events = [_event(base, rows) for base, rows in zip(bases, folded.others, strict=True)]
        parts = [known.parts(event, np.zeros(len(event.labels), dtype=np.intp)) for event in events]
        others = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        lines = known.lines(*others, used, (weight.sum(axis=0), hits.sum(axis=0)))
        return _held_out(folded, bases, events, lines, known.limit)


def _held_out(
    folded: Folds, bases: list[CalibrationMap], events: list[Predictions], lines: list[Line], limit: float
) -> Floats:
    """The judged rows through the map and the bend of their fold."""
    outputs, are_logits = folded.rows.outputs, folded.rows.logits is not None
    found = np.empty((len(outputs), folded.rows.n_classes))
    for mask, base, event, line in zip(folded.masks, bases, events, lines, strict=True):
        if folded.strict:
            refuse_bound(base)
        z = np.clip(log_odds(_columns(base, outputs[mask], are_logits)), -limit, limit)
        ends = np.clip(log_odds(np.array([event.probs.min(), event.probs.max()])), -limit, limit)
        within = np.clip(z, *ends)
        g = sigmoid(line.at(within.ravel()).reshape(z.shape) + (z - within))
        found[mask] = g / row_sums(g)
        folded.step()
    return found[:, 1] if folded.rows.is_binary else found


def _bent(predictions: Predictions, base: CalibrationMap, bend: BentLineMap) -> BentMap:
    fit = Fit(predictions.n, None, base.fit.converged, base.fit.cautions + bend.fit.cautions)
    return BentMap(predictions.classes, predictions.is_binary, fit, base, bend)


def _event(base: CalibrationMap, predictions: Predictions) -> Predictions:
    """Every class against the rest, as the first map predicts it, as rows of one event."""
    q, shares = _columns(base, predictions.outputs, predictions.logits is not None), class_shares(predictions).ravel()
    if predictions.soft:
        event = Predictions(shares, q.ravel(), soft=True)
    else:
        event = event_of_rows(read_only(shares.astype(np.uint8)), read_only(q.ravel()))
    if predictions.mass is not None:
        k, mass = q.shape[1], predictions.mass
        squares = None if mass.squares is None else np.repeat(mass.squares, k)
        event = event.with_mass(Mass(np.repeat(mass.weights, k), squares))
    return event


def _columns(base: CalibrationMap, predictions: Array, are_logits: bool) -> Floats:
    """The answers of the first map in double precision, `(n, K)`."""
    found = base.recalibrated(predictions.astype(np.float64), are_logits)
    return two_columns(found) if found.ndim == 1 else found


@map_record
class BentMap(CalibrationMap):
    """q_k ↦ g(q_k) / Σ_j g(q_j), q the answers of the first map and g the bend."""

    base: Annotated[CalibrationMap, Like("classes", "single")] = None  # type: ignore[assignment]
    bend: BentLineMap = None  # type: ignore[assignment]

    method: ClassVar[str] = "bent"

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """As the first map, if the bend rises: two rows with proportional g(q) would have one q above the other."""
        return self.base.injective and self.bend.injective

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        """As the first map, if the bend rises."""
        return self.base.keeps_ranking and self.bend.injective

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        """As the first map, if the bend rises."""
        return self.base.keeps_accuracy and self.bend.injective

    @property
    def parameters(self) -> dict[str, Any]:
        return self.base.parameters | {f"bend: {name}": value for name, value in self.bend.parameters.items()}

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The first map, the bend, then divided by the sum."""
        q = _columns(self.base, predictions, are_logits)
        g = self.bend.recalibrated(q.ravel(), are_logits=False).reshape(q.shape)
        new = g / row_sums(g)
        return inside(new[:, 1] if predictions.ndim == 1 else new, predictions.dtype)
