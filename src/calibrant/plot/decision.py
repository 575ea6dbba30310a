"""Curves over decisions: what miscalibration costs, what acting brings, and how wrong confident answers are."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.plot.axes import fresh_axes
from calibrant.problems import InputError
from calibrant.results import Curve, Estimate, Line

STYLES = {"model": "-", "repaired": "--", "always": ":"}


def decision(
    result: Estimate, *, show: Literal["regret", "net benefit"] = "regret", ax: Any = None, label: str | None = None
) -> Any:
    """What does deciding by these predictions cost, for each threshold? Draws a `decision_regret` and returns the Axes.

    `regret`: how much repaired decisions would save, with its interval. `net benefit`: what acting on the predictions brings, beside
    acting on the repaired ones, always and never.

    Examples
    --------
    >>> from calibrant.estimate.regret import decision_regret
    >>> from calibrant.plot.decision import decision
    >>> ax = decision(decision_regret([0, 1, 1, 0], [0.1, 0.7, 0.6, 0.4], map="platt"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('threshold', 'regret a row')
    """
    check_choice("show", show, ("regret", "net benefit"))
    curve = _part(result, "curve", Curve, "decision_regret(…)")
    ax = fresh_axes() if ax is None else ax
    ax.axhline(0, color="0.55", linewidth=1, linestyle=(0, (4, 3)))
    if show == "regret":
        (line,) = ax.plot(curve.x, curve.y, label=label or result.title)
        if np.isfinite(curve.low).all():
            ax.fill_between(curve.x, curve.low, curve.high, color=line.get_color(), alpha=0.2, linewidth=0)
    else:
        for name, points in result.parts["net_benefit"].items():
            ax.plot(points.x, points.y, STYLES[name], label=name if label is None else f"{label}, {name}")
        model = result.parts["net_benefit"]["model"].y
        ax.set_ylim(-0.1 * max(model.max(), 0.01), 1.1 * max(model.max(), 0.01))
    _name(ax, "threshold", "regret a row" if show == "regret" else "net benefit a row")
    return ax


def risk_coverage(result: Estimate, *, ax: Any = None, label: str | None = None) -> Any:
    """How wrong are the most confident answers? Draws a `selective_risk` and returns the Axes.

    Examples
    --------
    >>> from calibrant.plot.decision import risk_coverage
    >>> from calibrant.estimate.selective import selective_risk
    >>> risk_coverage(selective_risk([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5])).get_xlabel()
    'share answered'
    """
    curve = _part(result, "curve", Line, "selective_risk(…)")
    ax = fresh_axes() if ax is None else ax
    ax.plot(curve.x, curve.y, drawstyle="steps-post", label=label or result.title)
    ax.axhline(result.parts["risk"], color="0.55", linewidth=1, linestyle=(0, (4, 3)))
    ax.set_xlim(0, 1)
    _name(ax, "share answered", "share wrong among them")
    return ax


def _part(result: Any, name: str, wanted: type, advice: str) -> Any:
    part = result.parts.get(name) if isinstance(result, Estimate) else None
    if not isinstance(part, wanted):
        what = result.title if isinstance(result, Estimate) else f"a {type(result).__name__}"
        raise InputError("result", "must hold the curve to draw", f"it is {what}", f"Pass {advice}")
    return part


def _name(ax: Any, x: str, y: str) -> None:
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False)
