"""Reliability curves: observed rates with intervals, from bins and from what a diagnosis has estimated."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.interval import wilson
from calibrant.results import BinTable, Curve

LEVEL = 0.95


def binned_curve(bins: BinTable) -> Curve:
    """Mean predictions and observed rates per bin, with Wilson's 95 % intervals.

    Parameters
    ----------
    bins
        The bins.
    """
    low, high = wilson(np.clip(bins.label_rate, 0, 1), bins.rows, LEVEL)
    return Curve(bins.mean_prob, bins.label_rate, low, high, bins.weight / bins.weight.sum())


def estimated_curves(diagnosis: Any) -> dict[str, Curve]:
    """The reliability curves that the estimates of a diagnosis have, by how they were made; its own bins first.

    Parameters
    ----------
    diagnosis
        The answer of `diagnose` about classes.
    """
    found = {"15 equal-mass bins": diagnosis.curve}
    for estimate in diagnosis.estimates:
        if estimate.settings.get("view") != diagnosis.view:
            continue
        bins, curve = estimate.parts.get("bins"), estimate.parts.get("curve")
        if isinstance(bins, BinTable) and len(bins):
            found.setdefault(str(estimate.settings.get("bins")).partition(",")[0], binned_curve(bins))
        elif isinstance(curve, Curve):
            found.setdefault("curve, posterior median", curve)
    return found
