"""Any map of a single event for several classes: one class against the rest, or the top class alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.logits import inside, probabilities
from calibrant.maps.binary import BinaryMap, BinaryRecipe
from calibrant.maps.calibration_map import CalibrationMap, Fit, admit_fit
from calibrant.predictions import Predictions, as_predictions
from calibrant.problems import InputError
from calibrant.results import kind


@dataclass(frozen=True, slots=True)
class OneVsRest:
    """A map for each class against the rest; rows are then divided by their sum.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.OneVsRest(cal.Platt()).fit(valid).n_parameters
    20
    """

    recipe: BinaryRecipe

    def __post_init__(self) -> None:
        object.__setattr__(self, "recipe", event_recipe(self.recipe))

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> OneVsRestMap:
        """One fit a class."""
        predictions = several_classes(admit_fit(labels, probs, logits, weights))
        fitted = [self.recipe.fit_event(as_predictions(event)) for event in predictions.class_events()]
        cautions = tuple(
            f"class {c}: {text}" for c, m in zip(predictions.classes, fitted, strict=True) for text in m.fit.cautions
        )
        fit = Fit(predictions.n, None, all(m.fit.converged for m in fitted), cautions)
        return OneVsRestMap(predictions.classes, False, fit, tuple(fitted))


@kind
@dataclass(frozen=True, eq=False, repr=False)
class OneVsRestMap(CalibrationMap):
    """p_k ↦ m_k(p_k) / Σ_j m_j(p_j)."""

    maps: tuple[BinaryMap, ...] = ()

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.maps[0].method

    keeps_ranking: ClassVar[bool] = False
    keeps_accuracy: ClassVar[bool] = False

    @property
    def injective(self) -> bool:
        """Not by construction: dividing by the sum can bring two rows together."""
        return False

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            f"class {c}: {k}": v for c, m in zip(self.classes, self.maps, strict=True) for k, v in m.parameters.items()
        }

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Through the softmax."""
        return self.from_probs(probabilities(logits))

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Class by class, then divided by the sum."""
        columns = [m.from_probs(probs[:, k].astype(np.float64)) for k, m in enumerate(self.maps)]
        mended = np.stack(columns, axis=1)
        mended[~mended.any(axis=1)] = 1.0  # every class called impossible: nothing is known
        return inside(mended / mended.sum(axis=1, keepdims=True), probs.dtype)


@dataclass(frozen=True, slots=True)
class TopLabel:
    """A map of the top class's probability; the others share the rest as before, and the top class stays on top.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> repaired = cal.TopLabel(cal.Platt()).fit(valid).apply(test)
    >>> bool((repaired.probs.argmax(axis=1) == test.probs.argmax(axis=1)).all())
    True
    """

    recipe: BinaryRecipe

    def __post_init__(self) -> None:
        object.__setattr__(self, "recipe", event_recipe(self.recipe))

    def fit(self, labels: Any, probs: Any = None, *, logits: Any = None, weights: Any = None) -> TopLabelMap:
        """One fit, on whether the top class was right."""
        predictions = several_classes(admit_fit(labels, probs, logits, weights))
        fitted = self.recipe.fit_event(as_predictions(predictions.event("top")))
        return TopLabelMap(predictions.classes, False, fitted.fit, fitted)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class TopLabelMap(CalibrationMap):
    """The top probability c ↦ m(c), lifted where another class would overtake it; the others are scaled by what is left."""

    top: BinaryMap | None = None

    @property
    def method(self) -> str:  # type: ignore[override]
        return "top label"

    keeps_ranking: ClassVar[bool] = True
    keeps_accuracy: ClassVar[bool] = True

    @property
    def injective(self) -> bool:
        """Not where the top class has to be lifted."""
        return False

    @property
    def parameters(self) -> dict[str, Any]:
        assert self.top is not None
        return self.top.parameters

    def from_logits(self, logits: NDArray[Any]) -> NDArray[Any]:
        """Through the softmax."""
        return self.from_probs(probabilities(logits))

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """The top class first, then the rest in proportion."""
        assert self.top is not None
        p = probs.astype(np.float64)
        rows, first = np.arange(len(p)), p.argmax(axis=1)
        said = p[rows, first]
        p[rows, first] = 0.0
        rest = p.sum(axis=1)
        second = p.max(axis=1)
        least = np.divide(second, rest + second, out=np.full_like(second, 1 / p.shape[1]), where=second > 0)
        margin = 1 + 8 * float(np.finfo(probs.dtype).eps)  # so that rounding makes no tie
        confidence = np.maximum(self.top.from_probs(said), np.minimum(least * margin, 1.0))
        shares = np.divide(p, rest[:, None], out=np.full_like(p, 1 / max(1, p.shape[1] - 1)), where=rest[:, None] > 0)
        mended = (1 - confidence)[:, None] * shares
        mended[rows, first] = confidence
        return inside(mended, probs.dtype)


def event_recipe(recipe: Any) -> BinaryRecipe:
    """The recipe of a map of one event, by name or as itself."""
    from calibrant.maps import recipe_of  # which lists the wrappers too

    found = recipe_of(recipe)
    if not isinstance(found, BinaryRecipe):
        raise InputError(
            "recipe", "must be that of a map of one event, such as Platt() or 'isotonic'", f"it is {recipe!r}"
        )
    return found


def several_classes(predictions: Predictions) -> Predictions:
    """Predictions with one column a class."""
    if predictions.is_binary:
        raise InputError("probs", "must have one column a class", "it has a single column", "Fit the recipe itself")
    return predictions
