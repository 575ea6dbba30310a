"""Cumulative differences: how large does the running sum of errors get? No bins, no tuning."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.about import About
from calibrant.inputs import check_choice
from calibrant.kernels.cumulative import extremes, sums_at
from calibrant.kernels.groups import Groups
from calibrant.kernels.sums import inner
from calibrant.predictions import admit
from calibrant.results import Estimate, Line

EXPECTED = {"max": float(np.sqrt(np.pi / 2)), "range": float(2 * np.sqrt(2 / np.pi))}
"""Mean of the largest distance from 0, and of the range, of a Brownian motion on [0, 1]."""

CURVE_POINTS = 1000
"""Points kept of the curve, its highest and lowest beside them."""


def ks_error(
    labels: Any,
    probs: Any = None,
    *,
    statistic: Literal["max", "range"] = "max",
    view: Any = "auto",
    weights: Any = None,
) -> Estimate:
    """How much do errors pile up along the predictions? Kolmogorov–Smirnov calibration error.

    With C(σ) = 1/n Σ_(p ≤ σ) (p − y): `max` is max|C| (KS, ECCE-MAD), `range` is max C − min C (Kuiper, ECCE-R, cutoff
    calibration error). `parts["curve"]` is C: where it rises the model says too much, where it falls too little; its steepest
    stretch is where the model is wrong. Equal predictions are added together, so the order of rows does not matter.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ks_error([0, 1, 1], [0.2, 0.5, 0.6]).value, 6)
    0.233333
    """
    predictions = admit(labels, probs, weights=weights)
    check_choice("statistic", statistic, tuple(EXPECTED))
    event = predictions.event(view)
    groups = event.groups
    steps = groups.residual
    high, low, most, least = extremes(steps)
    top, bottom = max(most, 0.0) / groups.total, min(least, 0.0) / groups.total
    value = max(top, -bottom) if statistic == "max" else top - bottom
    described = {"view": predictions.view(view), "statistic": statistic}
    places = np.unique(
        np.append(np.linspace(0, len(steps) - 1, min(len(steps), CURVE_POINTS)).astype(np.intp), [high, low])
    )
    ends = [0.0 if at is None else float(groups.values[at]) for at in (high if top else None, low if bottom else None)]
    where = [0.0, ends[0] if top >= -bottom else ends[1]] if statistic == "max" else sorted(ends)
    parts = {"curve": Line(groups.values[places], sums_at(steps, places) / groups.total), "where": where}
    title = "KS calibration error" if statistic == "max" else "Kuiper calibration error"
    floor = EXPECTED[statistic] * null_sd(groups)
    return Estimate("ks_error", title, value, event.n, None, floor, described, parts)


def null_sd(groups: Groups) -> float:
    """Standard deviation of C(1) if the forecasts are right: √Σ p(1−p) / n."""
    return float(np.sqrt(inner(groups.weight, groups.values * (1 - groups.values)))) / groups.total


ABOUT = About(
    name="ks",
    title="KS calibration error",
    function=ks_error,
    quantity="largest running sum of errors along the sorted predictions; a lower bound on the calibration error",
    views=("binary", "top", "class k"),
    needs="sorted rows",
    bias="up near calibration",
    cost="one sort",
    source="Gupta et al. 2021; Arrieta-Ibarra et al. 2022",
    also_called=("KS", "ECCE", "ECCE-MAD", "ECCE-R", "Kuiper"),
)
