"""What a reliability diagram shows, whoever draws it: the points and the histogram of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.problems import InputError
from calibrant.results import BinTable, Curve, Estimate
from calibrant.verbs.diagnose import Diagnosis

SAME_WIDTH = 1e-9
"""Bins whose widths differ by less than this, which is rounding, are equally wide."""


def curve_of(result: Diagnosis | Estimate) -> Curve:
    """The points to draw; an estimate's bins know no intervals, which are then NaN."""
    if isinstance(result, Diagnosis):
        return result.curve
    bins = _bins_of(result)
    unknown = np.full(len(bins), np.nan)
    return Curve(bins.mean_prob, bins.label_rate, unknown, unknown, bins.weight / bins.weight.sum())


def check_drawable(result: Any) -> None:
    """Only what has bins or a fitted curve can be drawn."""
    if not isinstance(result, Diagnosis) and fitted_curve(result) is None:
        _bins_of(result)


def fitted_curve(result: Diagnosis | Estimate) -> Curve | None:
    """The curve of a fitted map, for results that have one."""
    found = result.parts.get("curve") if isinstance(result, Estimate) else None
    return found if isinstance(found, Curve) else None


def has_bins(result: Diagnosis | Estimate) -> bool:
    """Are there bins to draw?"""
    return isinstance(result, Diagnosis) or isinstance(result.parts.get("bins"), BinTable)


def bins_of(result: Diagnosis | Estimate) -> BinTable:
    """The bins behind the points."""
    return result.bins if isinstance(result, Diagnosis) else _bins_of(result)


def histogram_of(result: Diagnosis | Estimate) -> BinTable:
    """The bins that show best where predictions lie: equally wide ones of the same view if the result has them."""
    if not isinstance(result, Diagnosis):
        return _bins_of(result)
    for estimate in result.estimates:
        bins = estimate.parts.get("bins")
        if isinstance(bins, BinTable) and estimate.settings.get("view") == result.view and _equally_wide(bins):
            return bins
    return result.bins


def bar_heights(bins: BinTable) -> NDArray[np.float64]:
    """Heights in [0, 1] that make the area of each bar its share of the rows, so that unequal bins do not mislead."""
    width = np.maximum(bins.high - bins.low, SAME_WIDTH)
    density = bins.weight / width
    heights: NDArray[np.float64] = density / density.max()
    return heights


def _bins_of(estimate: Estimate) -> BinTable:
    bins = estimate.parts.get("bins") if isinstance(estimate, Estimate) else None
    if isinstance(bins, BinTable):
        return bins
    found = f"{estimate.title} has no bins" if isinstance(estimate, Estimate) else f"it is a {type(estimate).__name__}"
    raise InputError("result", "must be a Diagnosis or an Estimate with bins", found, "Pass diagnose(predictions)")


def _equally_wide(bins: BinTable) -> bool:
    return bool(np.ptp(bins.high - bins.low) < SAME_WIDTH)
