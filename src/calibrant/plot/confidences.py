"""The confidences of a language model, and the calibration plot of a clinical prediction model."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.options import checked
from calibrant.plot.axes import (
    COLORS,
    DIAGRAM,
    OVER,
    axes_or_new,
    check_color,
    labelled,
    measured,
    paper,
    rows_in_words,
    tone,
)
from calibrant.plot.decision import risk_coverage
from calibrant.plot.reliability import LEAST_AREA, MOST_AREA, POINT_AREA, draw_frame, reliability
from calibrant.problems import InputError
from calibrant.results import number
from calibrant.verbs.answers import ALPHA, AnswerReport
from calibrant.verbs.clinical import ClinicalReport


@checked
def confidences(
    result: AnswerReport, *, show: Literal["levels", "risk"] = "levels", ax: Any = None, color: Any = None
) -> Any:
    """Are answers right as often as the model is confident? Returns the Axes.

    Levels that are called wrong, with all levels tested, are marked by squares.

    Parameters
    ----------
    result
        The result of `assess_answers`.
    show
        `"levels"`: share of right answers per level of confidence. `"risk"`: share of wrong
        answers if only the most confident ones are given.
    ax
        The Axes to draw on; new ones if None.
    color
        Of points and lines.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.assess_answers([1, 0, 1, 1, 0, 1], [0.9, 0.9, 0.8, 0.9, 0.5, 0.5])
    >>> found.plot().get_xlabel(), found.plot(show="risk").get_xlabel()
    ('confidence', 'share answered')
    """
    check_choice("show", show, ("levels", "risk"))
    check_color(color)
    if show == "risk":
        return risk_coverage(result["selective_risk"], ax=ax, label=result.name)
    ax, levels = axes_or_new(ax, DIAGRAM), result.levels
    draw_frame(ax, False, None)
    areas = np.clip(POINT_AREA * levels.n / levels.n.mean(), LEAST_AREA, MOST_AREA)
    wrong, rim = levels.adjusted <= ALPHA, {"edgecolors": paper(ax), "linewidths": 0.6, "zorder": 3}
    ax.vlines(levels.mean_prob, levels.mean_prob, levels.label_rate, color=tone(ax, 0.4), linewidth=1, zorder=2)
    kinds = (("no error seen", ~wrong, color or COLORS[0], "o"), ("wrong, all levels tested", wrong, OVER, "s"))
    for name, which, used, shape in kinds:
        if which.any():
            at = levels.mean_prob[which], levels.label_rate[which]
            ax.scatter(*at, s=areas[which], color=used, marker=shape, label=name, **rim)
    about = measured(result["mean_gap"]) if "mean_gap" in result else rows_in_words(result.n)
    return labelled(ax, "confidence", "share right", f"{result.name}: {about}", loc="upper left")


WRITTEN = ("observed_over_expected", "calibration_intercept", "calibration_slope", "c_statistic")
"""Estimates of a clinical report that stand above its plot."""


@checked
def clinical_plot(result: ClinicalReport, *, ax: Any = None, color: Any = None, histogram: bool = True) -> Any:
    """Predicted risks against observed rates, with the numbers that journals ask for. Returns the Axes.

    Parameters
    ----------
    result
        The result of `clinical`.
    ax
        The Axes to draw on; new ones if None.
    color
        Of curve and strip.
    histogram
        Draw the strip of predicted risks.

    Examples
    --------
    >>> import calibrant as cal
    >>> rows = cal.simulate.power_world(0.05).sample(300, seed=0)
    >>> cal.clinical(rows).plot().get_xlabel()
    'predicted risk'
    """
    found = next((each for each in result.estimates if "curve" in each.parts), None)
    if found is None:
        raise InputError("result", "must hold the calibration curve of ICI", "it was left out: see its cautions")
    ax = reliability(found, ax=ax, label=result.name, color=color, histogram=histogram)
    by_name = {each.name: each for each in result.estimates}
    written = [_short(by_name[name]) for name in WRITTEN if name in by_name]
    return labelled(ax, "predicted risk", "observed rate", ", ".join(written), loc="upper left")


def _short(found: Any) -> str:
    interval = found.interval
    ends = "" if interval is None else f" ({number(interval.low, 2)} to {number(interval.high, 2)})"
    return f"{found.title.split(' (')[0].removesuffix(' ratio').removeprefix('calibration ')} {number(found.value, 2)}{ends}"
