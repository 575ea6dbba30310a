"""The content of a reliability diagram: points and the histogram of predictions."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.maps import CalibrationMap
from calibrant.maps.binary import BentLineMap
from calibrant.maps.evolved_pieces import EvolvedMap
from calibrant.maps.isotonic import KnotMap
from calibrant.problems import InputError
from calibrant.results import BinTable, Curve, Estimate, Line
from calibrant.types import Floats
from calibrant.verbs.diagnose import Diagnosis

P = TypeVar("P")

SMOOTH = ("density_error",)
"""Estimates whose line is the rate at each prediction."""

SAME_WIDTH = 1e-9
"""Bins whose widths differ by less than this, which is rounding, are equally wide."""


def part(result: Any, name: str, of_kind: type[P]) -> P | None:
    """A part of an estimate, if it has one of this name and kind."""
    found = result.parts.get(name) if isinstance(result, Estimate) else None
    return found if isinstance(found, of_kind) else None


def curve_of(result: Diagnosis | Estimate) -> Curve:
    """The points to draw; an estimate's bins have no intervals, which are then NaN."""
    if isinstance(result, Diagnosis):
        return result.curve
    bins = bins_of(result)
    unknown = np.full(len(bins), np.nan)
    return Curve(bins.mean_prob, bins.label_rate, unknown, unknown, bins.weight / bins.weight.sum())


def fitted_curve(result: Diagnosis | Estimate) -> Curve | None:
    """The curve of a fitted map or of a smooth rate, for results that have one; a share of the rows it may lack is NaN."""
    line = part(result, "curve", Line) if isinstance(result, Estimate) and result.name in SMOOTH else None
    if line is None:
        return part(result, "curve", Curve)
    unknown, density = np.full(len(line.x), np.nan), part(result, "density", Line)
    if density is None:
        return Curve(line.x, line.y, unknown, unknown, np.zeros(len(line.x)))
    return Curve(line.x, line.y, unknown, unknown, np.interp(line.x, density.x, density.y) * np.gradient(line.x))


def knots_of(result: Diagnosis | Estimate) -> Floats:
    """The predictions at which the pieces of a fitted map meet, where it is made of pieces."""
    fitted = part(result, "map", CalibrationMap)
    if isinstance(fitted, KnotMap):
        return fitted.x
    if isinstance(fitted, EvolvedMap):
        return fitted.knots
    if not isinstance(fitted, BentLineMap):
        return np.empty(0)
    return fitted.knots if getattr(fitted, "space", "") == "probability" else np.asarray(sigmoid(fitted.knots))


def has_bins(result: Diagnosis | Estimate) -> bool:
    """Are there bins to draw?"""
    return isinstance(result, Diagnosis) or part(result, "bins", BinTable) is not None


def bins_of(result: Diagnosis | Estimate) -> BinTable:
    """The bins behind the points; refused where there are none."""
    bins = result.bins if isinstance(result, Diagnosis) else part(result, "bins", BinTable)
    if bins is not None:
        return bins
    found = f"{result.title} has no bins" if isinstance(result, Estimate) else f"it is a {type(result).__name__}"
    raise InputError("result", "must be a Diagnosis or an Estimate with bins", found, "Pass diagnose(predictions)")


def histogram_of(result: Diagnosis | Estimate) -> BinTable:
    """The bins for the histogram of predictions: equally wide ones if there are any."""
    estimates, view = (result.estimates, result.view) if isinstance(result, Diagnosis) else ((), "")
    for estimate in estimates:
        bins = part(estimate, "bins", BinTable) if estimate.settings.get("view") == view else None
        if bins is not None and np.ptp(bins.high - bins.low) < SAME_WIDTH:
            return bins
    return bins_of(result)


def bar_heights(bins: BinTable) -> Floats:
    """Heights in [0, 1] that make the area of each bar proportional to its rows."""
    density = bins.weight / np.maximum(bins.high - bins.low, SAME_WIDTH)
    return np.asarray(density / density.max())
