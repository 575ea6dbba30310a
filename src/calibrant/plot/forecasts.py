"""Forecasts of a real number, drawn: PIT histogram, coverage by level, spread and skill, marginal gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import check_choice
from calibrant.plot.axes import fresh_row
from calibrant.problems import InputError
from calibrant.results import Curve
from calibrant.verbs.diagnose_regression import ForecastDiagnosis

IDEAL = {"color": "0.55", "linewidth": 1, "linestyle": (0, (4, 3)), "zorder": 1}
"""The line of a calibrated model."""


def forecast_plot(
    result: ForecastDiagnosis, *, panel: str = "all", ax: Any = None, label: str | None = None, color: Any = None
) -> Any:
    """Draw a diagnosis of forecasts. `panel` is `pit`, `coverage`, `spread`, `marginal`, or `all` of them.

    Returns the Axes, or for `all` an array of them. In the PIT histogram the grey band is where all bars lie at once if the model is
    calibrated. Coverage above the diagonal: labels lie below the quantile more often than they should. Points of spread
    and skill above the diagonal: errors are larger than was said.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> found = cal.diagnose(cal.Predictions.from_gaussian(rng.normal(size=300), np.zeros(300), np.ones(300)))
    >>> found.plot("coverage").get_xlabel()
    'quantile level'
    """
    check_choice("panel", panel, ("all", *DRAWERS))
    shown = [name for name in DRAWERS if name != "spread" or result.spread is not None]
    if panel != "all" and panel not in shown:
        raise InputError(
            "panel", "must be one that the forecasts have", f"{result.forecasts} forecasts have no {panel}"
        )
    names = shown if panel == "all" else [panel]
    axes = fresh_row(len(names), (4.6, 4.4)) if ax is None else np.atleast_1d(ax).ravel()
    if len(axes) != len(names):
        raise InputError("ax", f"must be {len(names)} Axes", f"there are {len(axes)}")
    for name, each in zip(names, axes, strict=True):
        DRAWERS[name](each, getattr(result, name), label or result.name, color)
        each.grid(color="0.92", linewidth=0.8)
        each.set_axisbelow(True)
        each.legend(loc="best", frameon=False)
    return axes if panel == "all" else axes[0]


def _pit(ax: Any, curve: Curve, label: str, color: Any) -> None:
    width = 1 / len(curve.x)
    ax.bar(curve.x, curve.y, 0.94 * width, color=color or "C0", alpha=0.6, label=label, zorder=2)
    ax.axhspan(curve.low[0], curve.high[0], color="0.75", alpha=0.45, linewidth=0, zorder=1)
    ax.axhline(1, **IDEAL)
    ax.set_xlim(0, 1)
    ax.set_xlabel("F(y)")
    ax.set_ylabel("rows, relative to a flat histogram")


def _coverage(ax: Any, curve: Curve, label: str, color: Any) -> None:
    _points(ax, curve, label, color)
    ax.plot([0, 1], [0, 1], **IDEAL)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ax.set_xlabel("quantile level")
    ax.set_ylabel("labels below")


def _spread(ax: Any, curve: Curve, label: str, color: Any) -> None:
    _points(ax, curve, label, color)
    top = 1.05 * max(curve.x.max(), curve.y.max())
    ax.plot([0, top], [0, top], **IDEAL)
    ax.set_xlim(0, None)
    ax.set_ylim(0, None)
    ax.set_xlabel("predicted standard deviation")
    ax.set_ylabel("root mean squared error")


def _marginal(ax: Any, curve: Curve, label: str, color: Any) -> None:
    ax.fill_between(curve.x, curve.low, curve.high, color="0.75", alpha=0.45, linewidth=0, zorder=1)
    ax.plot(curve.x, curve.y, color=color, linewidth=1.6, label=label, zorder=3)
    ax.axhline(0, **IDEAL)
    ax.set_xlabel("x")
    ax.set_ylabel("mean F(x) − share of labels ≤ x")


def _points(ax: Any, curve: Curve, label: str, color: Any) -> None:
    (line,) = ax.plot(curve.x, curve.y, "o-", color=color, markersize=4, linewidth=1.4, label=label, zorder=3)
    ax.vlines(curve.x, curve.low, curve.high, color=line.get_color(), alpha=0.5, linewidth=1.2, zorder=2)


DRAWERS = {"pit": _pit, "coverage": _coverage, "spread": _spread, "marginal": _marginal}
