"""Any map of a single event for several classes: one class against the rest, or the top class alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.kernels.logits import inside, probabilities, row_sums
from calibrant.maps.binary import BinaryMap, BinaryRecipe
from calibrant.maps.calibration_map import CalibrationMap, Fit, Recipe, map_record
from calibrant.predictions import MultilabelPredictions, Predictions, as_predictions
from calibrant.problems import InputError
from calibrant.results.constraints import Holds, OneOf, Shape
from calibrant.types import Array


@dataclass(frozen=True, slots=True)
class _OfEvents(Recipe[CalibrationMap]):
    """A recipe for several classes made of one for a single event."""

    method: BinaryRecipe

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", event_recipe(self.method))


@dataclass(frozen=True, slots=True)
class OneVsRest(_OfEvents):
    """A map for each class against the rest; rows are then divided by their sum.

    Parameters
    ----------
    method
        The recipe of a map of a single event, or its name.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.OneVsRest(cal.Platt()).fit(valid).n_parameters
    20
    """

    def fit_predictions(self, predictions: Predictions) -> OneVsRestMap:
        """One fit per class."""
        events = several_classes(predictions).class_events()
        fitted = tuple(self.method.fit_event(as_predictions(event)) for event in events)
        return OneVsRestMap(predictions.classes, False, _joint_fit(predictions, fitted), fitted)

    def fit_labels(self, predictions: MultilabelPredictions) -> PerLabelMap:
        """One fit per label, which nothing is divided by."""
        return fitted_per_label(self.method, predictions)


@dataclass(frozen=True, eq=False, repr=False)
class _EachClassMap(CalibrationMap):
    """A map of one event for each column."""

    single: Annotated[bool, OneOf(False)]
    maps: Annotated[tuple[Any, ...], Shape("classes")] = ()

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.maps[0].method

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            f"class {c}: {k}": v for c, m in zip(self.classes, self.maps, strict=True) for k, v in m.parameters.items()
        }


@map_record
class OneVsRestMap(_EachClassMap):
    """p_k ↦ m_k(p_k) / Σ_j m_j(p_j)."""

    maps: Annotated[tuple[BinaryMap, ...], Shape("classes")] = ()

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Class by class, then divided by the sum."""
        probs = probabilities(predictions) if are_logits else predictions
        columns = [m.from_probs(probs[:, k].astype(np.float64)) for k, m in enumerate(self.maps)]
        found = np.stack(columns, axis=1)
        found[~found.any(axis=1)] = 1.0  # all classes have probability 0: nothing is known
        return inside(found / row_sums(found), probs.dtype)


@map_record
class PerLabelMap(_EachClassMap):
    """p_k ↦ m_k(p_k) for multi-label predictions: each label has a map of its own, and rows need not sum to 1.

    `maps` are those of the labels, in order. `keeps_accuracy`: what was above ½ stays above,
    for every label.
    """

    maps: Annotated[
        tuple[CalibrationMap, ...],
        Shape("classes"),
        Holds("must be maps of one event", lambda maps, **_: all(each.single for each in maps)),
    ] = ()

    per_label = True

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """If the map of every label is."""
        return all(each.injective for each in self.maps)

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        """If the map of every label does."""
        return all(each.keeps_accuracy for each in self.maps)

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Label by label; logits are log-odds of the labels."""
        columns = [m.recalibrated(predictions[:, k], are_logits) for k, m in enumerate(self.maps)]
        return np.stack(columns, axis=1)

    def at_prevalence(self, *_: Any, **__: Any) -> Any:
        """Refused: labels change their prevalence one by one."""
        advice = "Use maps[k].at_prevalence(new) of each label"
        raise InputError(
            "map", "must be of one event or of one class per row for this", "it has a map per label", advice
        )


def fitted_per_label(recipe: Any, predictions: MultilabelPredictions) -> PerLabelMap:
    """A map for each label, fitted by itself.

    Parameters
    ----------
    recipe
        Of a map that can be fitted on a single event.
    predictions
        Multi-label predictions.
    """
    fitted = tuple(recipe.fit(as_predictions(event, predictions.groups)) for event in predictions.class_events())
    return PerLabelMap(predictions.classes, False, _joint_fit(predictions, fitted), fitted)


def _joint_fit(predictions: Predictions, fitted: tuple[CalibrationMap, ...]) -> Fit:
    """How the maps of the classes were fitted, as one."""
    cautions = tuple(
        f"class {c}: {text}" for c, m in zip(predictions.classes, fitted, strict=True) for text in m.fit.cautions
    )
    return Fit(predictions.n, None, all(m.fit.converged for m in fitted), cautions)


@dataclass(frozen=True, slots=True)
class TopLabel(_OfEvents):
    """A map of the top class's probability; the others share the rest as before.

    The top class stays on top.

    Parameters
    ----------
    method
        The recipe of a map of a single event, or its name.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> recalibrated = cal.TopLabel(cal.Platt()).fit(valid).apply(test)
    >>> bool((recalibrated.probs.argmax(axis=1) == test.probs.argmax(axis=1)).all())
    True
    """

    def fit_labels(self, predictions: MultilabelPredictions) -> Any:
        """Refused: there is no top class."""
        return predictions.event("top")

    def fit_predictions(self, predictions: Predictions) -> TopLabelMap:
        """One fit, on whether the top class was right."""
        fitted = self.method.fit_event(as_predictions(several_classes(predictions).event("top")))
        return TopLabelMap(predictions.classes, False, fitted.fit, fitted)


@map_record
class TopLabelMap(CalibrationMap):
    """The top probability c ↦ m(c); the others are scaled to the rest.

    The top probability is raised where another class would overtake it; there the map is
    not injective.
    """

    single: Annotated[bool, OneOf(False)]
    top: BinaryMap = None  # type: ignore[assignment]

    method: ClassVar[str] = "top label"
    keeps_ranking = keeps_accuracy = True

    @property
    def parameters(self) -> dict[str, Any]:
        return self.top.parameters

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The top class first, then the rest in proportion."""
        probs = probabilities(predictions) if are_logits else predictions
        p = probs.astype(np.float64)
        rows, first = np.arange(len(p)), p.argmax(axis=1)
        largest = p[rows, first]
        p[rows, first] = 0.0
        rest = p.sum(axis=1)
        second = p.max(axis=1)
        least = np.divide(second, rest + second, out=np.full_like(second, 1 / p.shape[1]), where=second > 0)
        margin = 1 + 8 * float(np.finfo(probs.dtype).eps)  # so that rounding makes no tie
        confidence = np.maximum(self.top.from_probs(largest), np.minimum(least * margin, 1.0))
        shares = np.divide(p, rest[:, None], out=np.full_like(p, 1 / max(1, p.shape[1] - 1)), where=rest[:, None] > 0)
        found = (1 - confidence)[:, None] * shares
        found[rows, first] = confidence
        return inside(found, probs.dtype)


def event_recipe(method: Any) -> BinaryRecipe:
    """The recipe of a map of one event, by name or as itself."""
    from calibrant.maps import recipe_of  # which lists the wrappers too

    found = recipe_of(method)
    if not isinstance(found, BinaryRecipe):
        raise InputError(
            "method", "must be that of a map of one event, such as Platt() or 'isotonic'", f"it is {method!r}"
        )
    return found


def several_classes(predictions: Predictions) -> Predictions:
    """Predictions with one column per class."""
    if predictions.is_binary:
        raise InputError("probs", "must have one column per class", "it has a single column", "Fit the recipe itself")
    return predictions
