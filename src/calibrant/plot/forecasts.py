"""Plots of forecasts: PIT histogram, coverage by level, spread and skill, marginal gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import check_choice
from calibrant.options import checked
from calibrant.plot.axes import (
    COLORS,
    HATCH,
    OVER,
    UNDER,
    check_axes,
    check_color,
    ideal,
    labelled,
    marker,
    measured,
    new_axes,
    rows_in_words,
    series,
    tone,
)
from calibrant.problems import InputError
from calibrant.results import Curve
from calibrant.verbs.diagnose_regression import ForecastDiagnosis


@checked
def forecast_plot(
    result: ForecastDiagnosis, *, panel: str = "all", ax: Any = None, label: str | None = None, color: Any = None
) -> Any:
    """Draw a diagnosis of forecasts; returns the Axes, or for all panels an array of them.

    In the PIT histogram the grey band holds all bars simultaneously if the model is
    calibrated. Coverage above the diagonal: labels lie below the quantile more often
    than they should. Points of spread and skill above the diagonal: errors are larger
    than predicted.

    Parameters
    ----------
    result
        A diagnosis of forecasts of a real number.
    panel
        `"pit"`, `"coverage"`, `"spread"`, `"marginal"`, or `"all"` of them.
    ax
        The Axes to draw on, one per panel; new ones if None.
    label
        What to call the result in the legend; its name if None.
    color
        Of bars, lines and points.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = cal.diagnose(cal.Predictions.from_gaussian(rng.normal(size=300), np.zeros(300), np.ones(300)))
    >>> found.plot(panel="coverage").get_xlabel()
    'quantile level'
    """
    check_choice("panel", panel, ("all", *DRAWERS))
    shown = [name for name in DRAWERS if name != "spread" or result.spread is not None]
    if panel != "all" and panel not in shown:
        lacking = f"{result.forecasts} forecasts have no {panel}"
        raise InputError("panel", "must be one that the forecasts have", lacking)
    names = shown if panel == "all" else [panel]
    axes = new_axes(len(names), PANEL, columns=2) if ax is None else np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != len(names):
        raise InputError("ax", f"must be {len(names)} Axes", f"there are {len(axes)}")
    check_color(color)
    for name, each in zip(names, axes, strict=True):
        x, y = DRAWERS[name](check_axes(each), getattr(result, name), label or result.name, color)
        labelled(each, x, y, _about(result, name))
    return axes if panel == "all" else axes[0]


PANEL = (4.2, 3.9)
"""Inches of one of four."""

MEASURED = {"pit": "pit_error", "coverage": "coverage_error", "spread": "ence", "marginal": "marginal_error"}
"""The estimate that belongs to each panel."""


def _about(result: ForecastDiagnosis, panel: str) -> str:
    found = next((each for each in result.estimates if each.name == MEASURED[panel]), None)
    return rows_in_words(result.n) if found is None else measured(found)


def _pit(ax: Any, curve: Curve, label: str, color: Any) -> tuple[str, str]:
    bars = ax.bar(curve.x, curve.y, 0.94 / len(curve.x), color=color or COLORS[0], alpha=0.6, label=label, zorder=2)
    for bar, y in zip(bars, curve.y.tolist(), strict=True):
        if not curve.low[0] <= y <= curve.high[0]:  # hatched: more, or fewer, rows than a calibrated model has there
            bar.set(hatch=HATCH, edgecolor=OVER if y > curve.high[0] else UNDER, linewidth=1)
    ax.axhspan(curve.low[0], curve.high[0], color=tone(ax)[:3], alpha=0.15, linewidth=0, zorder=1, label=BAND)
    ax.axhline(1, **ideal(ax))
    ax.set_xlim(0, 1)
    return "F(y)", "rows, relative to a flat histogram"


def _coverage(ax: Any, curve: Curve, label: str, color: Any) -> tuple[str, str]:
    _points(ax, curve, label, color)
    ax.plot([0, 1], [0, 1], **ideal(ax))
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return "quantile level", "labels below"


def _spread(ax: Any, curve: Curve, label: str, color: Any) -> tuple[str, str]:
    _points(ax, curve, label, color)
    right, high = 1.08 * float(curve.x.max()), np.concatenate([curve.y, curve.high[np.isfinite(curve.high)]])
    top = min(
        1.08 * float(high.max()), 3 * max(right, 1.08 * float(curve.y.max()))
    )  # a tiny bin's interval may be very long
    ax.plot([0, min(right, top)], [0, min(right, top)], **ideal(ax))
    ax.set(xlim=(0, right), ylim=(0, top))
    return "predicted standard deviation", "root mean squared error"


def _marginal(ax: Any, curve: Curve, label: str, color: Any) -> tuple[str, str]:
    ax.fill_between(curve.x, curve.low, curve.high, color=tone(ax)[:3], alpha=0.15, linewidth=0, zorder=1, label=BAND)
    ax.plot(curve.x, curve.y, linewidth=1.6, label=label, zorder=3, **series(ax, color))
    ax.axhline(0, **ideal(ax))
    return "x", "mean F(x) − share of labels ≤ x"


def _points(ax: Any, curve: Curve, label: str, color: Any) -> None:
    (line,) = ax.plot(curve.x, curve.y, markersize=4, linewidth=1.4, label=label, zorder=3, **series(ax, color))
    line.set_marker(marker(ax))
    ax.vlines(curve.x, curve.low, curve.high, color=line.get_color(), alpha=0.6, linewidth=1.2, zorder=2)


BAND = "calibrated, 95 %"
"""What the grey band of a panel holds."""

DRAWERS = {"pit": _pit, "coverage": _coverage, "spread": _spread, "marginal": _marginal}
"""Each draws its panel and returns the labels of the axes."""
