"""How do I recalibrate it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from calibrant.arrays import common_index
from calibrant.files.rereading import PredictionBatches
from calibrant.forecasts import Forecasts
from calibrant.maps import CalibrationMap, Multicalibration, RegressionMap, Segmented, recipe_of
from calibrant.maps.passes import fit_batches
from calibrant.methods import methods
from calibrant.options import checked
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.state.state import State


@overload
def recalibrate(labels: Forecasts, probs: Any = None, method: Any = "auto") -> RegressionMap: ...
@overload
def recalibrate(
    labels: Any,
    probs: Any = None,
    method: Any = "auto",
    *,
    segments: Any = None,
    counts: Any = None,
    weights: Any = None,
) -> CalibrationMap: ...
@checked
def recalibrate(
    labels: Any,
    probs: Any = None,
    method: Any = "auto",
    *,
    segments: Any = None,
    counts: Any = None,
    weights: Any = None,
) -> CalibrationMap | RegressionMap:
    """Fit a map on validation data that recalibrates the model's probabilities.

    Judge the map on other data than it was fitted on: see `compare`.
    `recalibrate(labels, probs, method)`, or `recalibrate(predictions, method)`.

    Parameters
    ----------
    labels, probs
        Outcomes of validation data first, then predicted probabilities; or one
        `Predictions`, or Gaussian forecasts of a real number; or a state from `collect`,
        for maps of one event; or batches of files from `files.read_batches`, which are read
        once for every step of the fit: `"temperature"`, `"vector"`, `"structured_vector"`
        (their `"auto"`) and `"structured_matrix"`.
    method
        A name or a recipe such as `Temperature(bounds=(0.1, 10))`. `"auto"` tries the
        maps that suit the data, leaving the predictions alone among them, and averages
        them by how well they do on held-out rows; `fit.choice` of the map says why. See
        `Auto`. Forecasts have `"variance_platt"`, which is their `"auto"`, `"std_scaling"`
        and `"quantile_recalibration"`.
    segments
        Where the map may differ: one value per row, and each segment has a map of its own
        (`maps.Segmented`); or a dict of names and masks, which may overlap, and predictions
        are shifted where a segment is seen to be wrong (`maps.Multicalibration`). The map
        returned is applied with the segments of the new rows, `apply(probs, segments=…)`.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.recalibrate(valid)
    >>> fitted.fit.choice.chosen
    'mixture'
    >>> recalibrated = fitted.apply(test)
    >>> cal.recalibrate(valid, "temperature").temperature > 1  # the example is over-confident
    True
    >>> cal.recalibrate([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8], "platt").method
    'platt'
    """
    own = Predictions | State | Forecasts | PredictionBatches
    if probs is not None and isinstance(labels, own) and is_default(method, "auto"):
        probs, method = None, probs
    if isinstance(labels, PredictionBatches):
        if any(each is not None for each in (probs, segments, counts, weights)):
            raise InputError("labels", "are batches of files, which carry their own columns", advice="Pass them alone")
        return fit_batches("structured_vector" if is_default(method, "auto") else method, labels)
    of_forecasts = isinstance(labels, Forecasts)
    if segments is not None and isinstance(labels, Forecasts | State):
        what = "forecasts have no maps of segments" if of_forecasts else "a state has no rows that could be in segments"
        raise InputError("segments", "must be left out", what, "Recalibrate each segment by itself")
    common_index(labels=labels, probs=probs, segments=segments)
    predictions = admitted(labels, probs, counts, weights)
    if of_forecasts and is_default(method, "auto"):
        method = "variance_platt"
    recipe: Any = forecast_recipe(method) if of_forecasts else recipe_of(method)
    if segments is not None:
        wrapper = Multicalibration if isinstance(segments, Mapping) else Segmented
        by_segment = recipe if isinstance(recipe, Multicalibration | Segmented) else wrapper(method)
        return by_segment.fit(predictions, segments=segments)
    fitted: CalibrationMap | RegressionMap = recipe.fit(predictions)
    return fitted


def is_default(value: Any, default: str) -> bool:
    """Is an option left at its word?"""
    return isinstance(value, str) and value == default


def admitted(labels: Any, probs: Any = None, counts: Any = None, weights: Any = None) -> Predictions | Forecasts:
    """Forecasts as they are, anything else as `admit` takes it."""
    if not isinstance(labels, Forecasts):
        return admit(labels, probs, counts=counts, weights=weights)
    if any(each is not None for each in (probs, counts, weights)):
        raise InputError("labels", "are forecasts, which carry their own numbers and weights", advice="Pass them alone")
    return labels


def forecast_recipe(method: Any, *also: str) -> Any:
    """A recipe of maps of forecasts by its name, or as itself; `also` are other words that would have been known."""
    known = methods("forecast map")
    if isinstance(method, str) and method in known:
        return known[method].function()
    if isinstance(method, str | type) or not callable(getattr(method, "fit", None)):
        names = ", ".join(map(repr, (*also, *known)))
        raise InputError("method", f"must be one of {names} for forecasts, or a recipe with fit", f"it is {method!r}")
    return method
