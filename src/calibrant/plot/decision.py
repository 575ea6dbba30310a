"""Curves over decisions: cost of miscalibration, net benefit, risk and coverage."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.options import checked
from calibrant.plot.axes import axes_or_new, ideal, labelled, measured, series
from calibrant.plot.content import part
from calibrant.problems import InputError
from calibrant.results import Curve, Estimate, Line


@checked
def decision(
    result: Estimate, *, show: Literal["regret", "net benefit"] = "regret", ax: Any = None, label: str | None = None
) -> Any:
    """What do decisions by these predictions cost, per threshold? Returns the Axes.

    Parameters
    ----------
    result
        The estimate of `decision_regret`.
    show
        `"regret"`: how much recalibrated decisions would save, with its interval.
        `"net benefit"`: the net benefit of acting on the predictions, beside acting on
        the recalibrated ones, always and never.
    ax
        The Axes to draw on; new ones if None.
    label
        What to call the result in the legend.

    Examples
    --------
    >>> from calibrant.estimate.regret import decision_regret
    >>> from calibrant.plot.decision import decision
    >>> ax = decision(decision_regret([0, 1, 1, 0], [0.1, 0.7, 0.6, 0.4], method="platt"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('threshold', 'regret per row')
    """
    check_choice("show", show, ("regret", "net benefit"))
    curve = _curve(result, Curve, "decision_regret(…)")
    ax = axes_or_new(ax)
    ax.axhline(0, **ideal(ax))
    if show == "regret":
        (line,) = ax.plot(curve.x, curve.y, label=label or result.title, **series(ax))
        if np.isfinite(curve.low).all():
            ax.fill_between(curve.x, curve.low, curve.high, color=line.get_color(), alpha=0.2, linewidth=0)
    else:
        for name, points in result.parts["net_benefit"].items():
            ax.plot(points.x, points.y, label=name if label is None else f"{label}, {name}", **series(ax))
        model = result.parts["net_benefit"]["model"].y
        ax.set_ylim(-0.1 * max(model.max(), 0.01), 1.1 * max(model.max(), 0.01))
    return labelled(ax, "threshold", f"{show} per row", measured(result))


@checked
def risk_coverage(result: Estimate, *, ax: Any = None, label: str | None = None) -> Any:
    """How wrong are the most confident answers? Draws a `selective_risk` and returns the Axes.

    Parameters
    ----------
    result
        The estimate of `selective_risk`.
    ax
        The Axes to draw on; new ones if None.
    label
        What to call the result in the legend.

    Examples
    --------
    >>> from calibrant.plot.decision import risk_coverage
    >>> from calibrant.estimate.selective import selective_risk
    >>> risk_coverage(selective_risk([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5])).get_xlabel()
    'share answered'
    """
    curve = _curve(result, Line, "selective_risk(…)")
    ax = axes_or_new(ax)
    ax.plot(curve.x, curve.y, drawstyle="steps-post", label=label or "most confident first", **series(ax))
    ax.axhline(result.parts["risk"], **ideal(ax), label="all answers, in any order")
    ax.set_xlim(0, 1)
    return labelled(ax, "share answered", "share wrong among them", measured(result))


def _curve(result: Any, of_kind: type[Curve | Line], advice: str) -> Any:
    curve = part(result, "curve", of_kind)
    if curve is None:
        what = result.title if isinstance(result, Estimate) else f"a {type(result).__name__}"
        raise InputError("result", "must hold the curve to draw", f"it is {what}", f"Pass {advice}")
    return curve
