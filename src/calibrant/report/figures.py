"""The figures of answers, each with its caption, its legend and the table behind it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from math import log10
from typing import Any

from calibrant.monitor.watched import Watched
from calibrant.plot.content import histogram_of, part
from calibrant.report.lines import cumulative_svg, forest_svg, line_svg, places
from calibrant.report.markup import tag, words
from calibrant.report.sections import folded
from calibrant.report.svg import (
    SCALES,
    Views,
    coverage_svg,
    marginal_svg,
    pit_svg,
    reliability_svg,
    rows_svg,
    spread_svg,
)
from calibrant.report.wording import about_confidence
from calibrant.results import Answer, Line, Table
from calibrant.results.tables import Curve, bin_rows
from calibrant.verbs.answers import AnswerReport
from calibrant.verbs.auditing.audited import Audit
from calibrant.verbs.classes import Classes
from calibrant.verbs.comparison import Comparisons
from calibrant.verbs.curves import estimated_curves
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis
from calibrant.verbs.planning.plan import Plan
from calibrant.verbs.where import Where

BLOCK = partial(tag, "rect", x=1, y=1, width=20, height=12)
OBSERVED = tag("line", x1=11, x2=11, y1=0, y2=14, class_="interval") + tag("circle", cx=11, cy=7, r=3.6, class_="dot")
COMMON = {
    "observed, with its 95 % interval": OBSERVED,
    "perfectly calibrated": tag("line", x1=0, x2=22, y1=7, y2=7, class_="ideal"),
}
"""Of every legend."""

FORECAST_KEYS = {
    "where a calibrated model lies, at 95 %": BLOCK(class_="band"),
    "more rows than that": BLOCK(class_="bar over"),
    "fewer": BLOCK(class_="bar under"),
}

OF_FORECASTS = (
    ("pit", pit_svg, "PIT histogram", "High at both ends: too narrow; in the middle: too wide"),
    ("coverage", coverage_svg, "Coverage by level", "How often labels lie below each quantile"),
    ("spread", spread_svg, "Spread and skill", "Size of the errors where a small and where a large one was predicted"),
    ("marginal", marginal_svg, "Marginal distribution", "The forecasts' mean distribution minus that of the labels"),
)
"""Which curve of the diagnosis is drawn, how, and what stands above the drawing."""

CLASSICAL = "Observed frequency against prediction; larger points hold more rows"
BY_ROW = "Every row is equally wide, so the shaded area is the binned error, however crowded the predictions are"
ODDS = "Log-odds spread out what lies near 0 and 1; rates of exactly 0 or 1 lie on the frame and are not connected"
SUMMED = "It rises where the model predicts too high and falls where too low; steep is wrong, flat is right. No bins"

MOST_ROWS = 30
"""Rows of a drawing of intervals."""


def figures(shown: Mapping[str, Diagnosis | ForecastDiagnosis], key: str = "") -> str:
    """All figures of one or more diagnoses of the same kind, with their legend.

    Parameters
    ----------
    shown
        The diagnoses by what they are called beside each other: Before and After, or "".
    key
        Makes the ids of the drawings unique on the page.
    """
    first = next(iter(shown.values()))
    if isinstance(first, ForecastDiagnosis):
        return _pair(_of_forecasts(shown, key)) + legend(COMMON | FORECAST_KEYS)
    drawn = [each for when, found in shown.items() for each in _of_classes(when, found, shown, key)]
    ordered = [drawn[i] for k in range(4) for i in range(k, len(drawn), 4)]
    return _pair(ordered) + legend(COMMON | class_keys(first))


def _pair(drawn: list[str]) -> str:
    return tag("div", "".join(drawn), class_="pair")


def _of_forecasts(shown: Mapping[str, Any], key: str) -> list[str]:
    drawn = []
    for place, (name, draw, title, note) in enumerate(OF_FORECASTS):
        curves = [getattr(each, name) for each in shown.values()]
        for when, curve in zip(shown, curves, strict=True):
            if None not in curves:
                full = _full(title, when)
                svg = draw(curve, curves, title=full, key=f"{key}{name}{place}{when}")
                drawn.append(figure(full, note, svg))
    return drawn


def _full(title: str, when: str, about: str = "") -> str:
    return (f"{when}: {title}" if when else title) + about


def _of_classes(when: str, found: Any, shown: Mapping[str, Any], key: str) -> list[str]:
    """Four views of one diagnosis: classical, row by row, log-odds, running sum."""
    own, views = f"{key}{when}", {found.view: estimated_curves(found)}
    names = (
        "Reliability diagram",
        "The same gaps, row by row",
        "Reliability diagram by log-odds",
        "Running sum of the gaps",
    )
    titles = [_full(name, when, found.about) for name in names]
    bins = bin_rows(found.bins, found.curve)
    classical = explorer(views, histogram_of(found), titles[0], CLASSICAL, f"{own}curve", bins)
    by_row = rows_svg(found.curve, [each.curve for each in shown.values()], title=titles[1], key=f"{own}rows")
    first = {found.view: {"": found.curve}}
    by_odds = reliability_svg(first, bins=None, title=titles[2], key=f"{own}odds", scales=SCALES[1:])
    drawn = [classical, figure(titles[1], BY_ROW, by_row), figure(titles[2], ODDS, by_odds)]
    ks = found.results().get("ks_calibration_error")
    line = None if ks is None else part(ks, "curve", Line)
    if line is not None and len(line.x):
        svg = cumulative_svg(line, title=titles[3], key=f"{own}sum")
        drawn.append(figure(titles[3], SUMMED, svg, points_table(line, "prediction up to", "summed gap per row")))
    return [*drawn, *[""] * (4 - len(drawn))]


def explorer(
    views: Views, bins: Any, title: str, note: str, key: str, table: Table | None = None, chooses: str = ""
) -> str:
    """A reliability diagram whose question, estimator, scale and bands can be chosen.

    Parameters
    ----------
    views
        The curves by question and estimator; the first is shown.
    bins
        The bins of the histogram, or None.
    title, note
        Above the drawing.
    key
        Makes ids unique on the page.
    table
        The numbers behind the drawing.
    chooses
        The id of the table whose rows choose the question.
    """
    svg = reliability_svg(views, bins=bins, title=title, key=key)
    made = dict.fromkeys(name for curves in views.values() for name in curves)
    choices = {"question": ("Class", list(views)), "made": ("Estimate", list(made)), "scale": ("Scale", list(SCALES))}
    boxes = [_select(name, *of) for name, of in choices.items() if len(of[1]) > 1]
    boxes.append(tag("label", '<input type="checkbox" name="bands" checked>' + "intervals"))
    controls = tag("div", "".join(boxes), class_="controls", hidden="")
    behind = {"data_table": chooses} if chooses else {}
    return figure(title, note, controls + svg, table, class_="explorer", **behind)


def _select(name: str, label: str, options: list[str]) -> str:
    inside = "".join(words("option", each, value=each) for each in options)
    return tag("label", f"{label} " + tag("select", inside, name=name))


def figure(title: str, note: str, drawn: str, table: Table | None = None, **attributes: str) -> str:
    """A drawing with its caption and, folded below, its numbers."""
    caption = tag("figcaption", escape(title) + words("span", note))
    return tag("figure", caption + drawn + (folded(table) if table is not None else ""), **attributes)


def points_table(line: Line, x_name: str, y_name: str) -> Table:
    """Places of a line, for those who do not see it."""
    return Table("Places of the line", (x_name, y_name), tuple(places(line)))


def drawn_for(answer: Answer, key: str) -> str:
    """The figure of an answer beside a diagnosis; empty where it has none."""
    draw: Any = DRAWN.get(type(answer))
    return "" if draw is None else draw(answer, key)


def _classes(found: Classes, key: str) -> str:
    views = {
        str(name): {"15 equal-width bins": curve} for name, curve in zip(found.classes, found.curves, strict=False)
    }
    left = len(found.classes) - len(views)
    note = "Of each class by itself" + (
        f"; the {len(views)} with the largest error of {len(found.classes):,}" if left else ""
    )
    return explorer(views, None, "Reliability diagram of a class", note, key, chooses=f"{key}-table") if views else ""


def _where(found: Where, key: str) -> str:
    title = "Running sum of the gaps, the worst stretch shaded"
    if not len(found.curve.x):
        return ""
    return figure(title, SUMMED, cumulative_svg(found.curve, title=title, key=key, stretch=(found.low, found.high)))


def _plan(found: Plan, key: str) -> str:
    x, y = found.axes
    title = f"{y} over {x}".capitalize()
    table = points_table(found.curve, x, y)
    return figure(title, found.title, line_svg(found.curve, x, y, title=title, key=key), table)


def _watched(found: Watched, key: str) -> str:
    title, x, y = "Evidence against calibration", "rows", "log₁₀ of the e-value"
    drawn = line_svg(found.course, x, y, title=title, key=key)
    return figure(title, f"An alarm at {-log10(found.alpha):.3g}", drawn, points_table(found.course, x, y))


def _audit(found: Audit, key: str) -> str:
    title = "Gap of each segment"
    kept = found.segments[:MOST_ROWS]
    rows = [(each.name, each.gap, each.interval.low, each.interval.high) for each in kept]
    note = "Mean prediction − observed rate: right of the line predictions are too high. Intervals hold for all at once"
    return figure(title, note, forest_svg(rows, "gap", title=title, key=key))


def _repairs(found: Comparisons, key: str) -> str:
    title = "Change of the score by each repair"
    rows = []
    for name, each in found.ranked().items():
        interval = each.difference.interval
        ends = (None, None) if interval is None else (interval.low, interval.high)
        rows.append((name, each.difference.value, *ends))
    note = "Left of the line is better. Intervals hold for all candidates at once"
    return figure(title, note, forest_svg(rows, "after − before", title=title, key=key))


def _levels(found: AnswerReport, key: str) -> str:
    it = found.levels
    nothing = it.mean_prob * float("nan")
    curve = Curve(it.mean_prob, it.label_rate, nothing, nothing, it.n / it.n.sum())
    title = "Stated confidence and share of right answers"
    drawn = rows_svg(curve, [curve], title=title, key=key)
    return figure(title, BY_ROW, drawn)


DRAWN: dict[type, Any] = {
    Classes: _classes,
    Where: _where,
    Plan: _plan,
    Audit: _audit,
    Comparisons: _repairs,
    AnswerReport: _levels,
    Watched: _watched,
}
"""By the kind of answer."""


def class_keys(diagnosis: Any) -> dict[str, str]:
    """The colours, in the words of the view."""
    sure = about_confidence(diagnosis)
    over, under = ("over-confident", "under-confident") if sure else ("predicted too high", "predicted too low")
    line = tag("line", x1=0, x2=22, y1=7, y2=7, class_="predicted")
    return {"predicted": line, over: BLOCK(class_="gap over"), under: BLOCK(class_="gap under")}


def legend(keys: Mapping[str, str]) -> str:
    """What the parts of a drawing mean: texts, and drawings of 22 by 14 pixels."""
    items = [
        tag("li", tag("svg", drawn, viewBox="0 0 22 14", aria_hidden="true") + escape(text))
        for text, drawn in keys.items()
    ]
    return tag("ul", "".join(items), class_="legend")
