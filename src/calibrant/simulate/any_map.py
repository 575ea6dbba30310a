"""Maps from anywhere: fitted maps, plain functions, and whatever can be fitted to labels and predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from calibrant.maps import CalibrationMap, recipe_of
from calibrant.problems import InputError
from calibrant.types import Floats

Function = Callable[[Floats], Floats]
"""From predicted to recalibrated probabilities of an event."""

LABELS_FIRST = ("labels", "label", "y", "y_true", "outcomes")
"""Names of a first argument of `fit` that holds the labels; any other takes the predictions."""

ASKED = ("apply", "transform", "predict", "__call__")
"""How a fitted object is asked, in this order; `predict_proba` before all."""

NEEDED = "must be maps: names, recipes, fitted maps, functions of the predictions, or objects with fit"


def maps_by_name(maps: Any) -> dict[str, Any]:
    """One map, a list of them, or a mapping of names to them."""
    several = [maps] if isinstance(maps, str) or not isinstance(maps, Iterable) else maps
    named = dict(maps) if isinstance(maps, Mapping) else {_name(each): each for each in several}
    if not named:
        raise InputError("maps", "must name at least one map", "it is empty")
    return named


def _name(each: Any) -> str:
    return getattr(each, "__name__", None) or (each.method if isinstance(each, CalibrationMap) else str(each))


def function_of(fitted: Any, name: str) -> Function:
    """A fitted map, an object that was fitted elsewhere or a plain function, as a checked function."""
    if isinstance(fitted, CalibrationMap):
        if not fitted.single:
            raise InputError(
                "maps", "must be maps of a single event", f"{name!r} is one of {len(fitted.classes)} classes"
            )
        return fitted.apply
    if hasattr(fitted, "predict_proba"):
        return _checked(lambda p: np.asarray(fitted.predict_proba(p[:, None]))[:, -1], name)
    asked = next((getattr(fitted, way) for way in ASKED if callable(getattr(fitted, way, None))), None)
    if asked is None or isinstance(fitted, type):
        raise InputError("maps", NEEDED, f"{name!r} is {fitted!r}")
    return _checked(asked, name)


def _checked(function: Callable[[Floats], Any], name: str) -> Function:
    """A function of others: as many numbers as predictions, all finite. They may leave [0, 1]."""

    def of(p: Floats) -> Floats:
        found = np.asarray(function(p), dtype=np.float64)
        if found.shape != p.shape or not np.isfinite(found).all():
            what = f"{found.shape} numbers" if found.shape != p.shape else f"{found[~np.isfinite(found)][0]}"
            raise InputError("maps", "must give a finite number for each prediction", f"{name!r} gives {what}")
        return found

    return of


def fit_of(given: Any, name: str) -> Callable[[Any, Floats], Function]:
    """What fits this map to labels and predictions; a map that needs no fit is the same for all of them."""
    if isinstance(given, str):
        given = recipe_of(given)
    if isinstance(given, CalibrationMap | type):
        return _always(function_of(given, name))
    if callable(getattr(given, "fit", None)):
        return lambda labels, probs: function_of(_fitted(given, labels, probs), name)
    if not callable(given):
        return _always(function_of(given, name))
    if _n_required(given) == 2:
        return lambda labels, probs: function_of(given(labels, probs), name)
    return _always(function_of(given, name))


def _always(function: Function) -> Callable[[Any, Floats], Function]:
    return lambda labels, probs: function  # noqa: ARG005


def _fitted(recipe: Any, labels: Any, probs: Floats) -> Any:
    """`fit` called as its first argument asks; scikit-learn's takes a column of predictions, then labels."""
    first = next(iter(inspect.signature(recipe.fit).parameters), "")
    rows = probs[:, None] if hasattr(recipe, "predict_proba") else probs
    found = recipe.fit(labels, probs) if first in LABELS_FIRST else recipe.fit(rows, labels)
    return recipe if found is None else found


def _n_required(function: Any) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function of C
        return 1
    ordinary = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in ordinary and each.default is inspect.Parameter.empty for each in parameters)
