"""A map of several classes, then one bend for the probabilities of all classes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.kernels.logits import inside, row_sums, two_columns
from calibrant.maps.binary import BentLineMap
from calibrant.maps.calibration_map import CalibrationMap, Fit, Recipe, fitted_once, map_recipe, map_record
from calibrant.maps.folds import Folds
from calibrant.maps.gaussian_process import Belief, believed, table_of
from calibrant.maps.order_preserving import class_shares
from calibrant.predictions import Mass, Predictions
from calibrant.problems import InputError
from calibrant.results.constraints import Like
from calibrant.types import Array, Floats


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
        """The bend without each fold by the priors that matter there."""
        from calibrant.maps import recipe_of

        recipe = recipe_of(self.method)
        known: Belief = folded.given.kept(f"belief of {self!r}", lambda: believed(_event(fitted.base, folded.given)))
        used = None
        if folded.rows.squares is None:
            parts = np.repeat(folded.index, folded.rows.n_classes)
            used = known.matter(*known.parts(_event(fitted.base, folded.rows), parts))

        def without(rows: Predictions) -> BentMap:
            base = fitted_once(recipe, rows, fitted.base)
            event = _event(base, rows)
            return _bent(rows, base, table_of(event, believed(event, used)))

        return folded.answers(map(without, folded.others))


def _bent(predictions: Predictions, base: CalibrationMap, bend: BentLineMap) -> BentMap:
    fit = Fit(predictions.n, None, base.fit.converged, base.fit.cautions + bend.fit.cautions)
    return BentMap(predictions.classes, predictions.is_binary, fit, base, bend)


def _event(base: CalibrationMap, predictions: Predictions) -> Predictions:
    """Every class against the rest, as the first map predicts it, as rows of one event."""
    q = _columns(base, predictions.outputs, predictions.logits is not None)
    shares = class_shares(predictions).ravel()
    event = Predictions(shares if predictions.soft else shares.astype(int), q.ravel(), soft=predictions.soft)
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
