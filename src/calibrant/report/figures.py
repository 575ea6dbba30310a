"""The figures of a diagnosis, those of several models beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import Any

from calibrant.plot.content import histogram_of
from calibrant.report.markup import tag, words
from calibrant.report.svg import coverage_svg, marginal_svg, pit_svg, reliability_svg, rows_svg, spread_svg
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis

BLOCK = partial(tag, "rect", x=1, y=1, width=20, height=12)
OBSERVED = tag("line", x1=11, x2=11, y1=0, y2=14, class_="interval") + tag("circle", cx=11, cy=7, r=3.6, class_="dot")
COMMON = {
    "observed, with its interval": OBSERVED,
    "perfectly calibrated": tag("line", x1=0, x2=22, y1=7, y2=7, class_="ideal"),
}
"""Of every legend."""

FORECAST_KEYS = {
    "where a calibrated model lies, at 95 %": BLOCK(class_="band"),
    "more rows than that": BLOCK(class_="bar over"),
    "fewer": BLOCK(class_="bar under"),
}

Figure = tuple[str, Callable[..., str], str, str]

OF_CLASSES: tuple[Figure, ...] = (
    ("curve", reliability_svg, "Reliability diagram", "Observed frequency per bin; larger points hold more rows"),
    (
        "curve",
        rows_svg,
        "The same gaps, row by row",
        "Every row is equally wide, so the shaded area is the binned error",
    ),
)
OF_FORECASTS: tuple[Figure, ...] = (
    ("pit", pit_svg, "PIT histogram", "High at both ends: too narrow; in the middle: too wide"),
    ("coverage", coverage_svg, "Coverage by level", "How often labels lie below each quantile"),
    ("spread", spread_svg, "Spread and skill", "Size of the errors where a small and where a large one was predicted"),
    ("marginal", marginal_svg, "Marginal distribution", "The forecasts' mean distribution minus that of the labels"),
)
"""Which curve of the diagnosis is drawn, how, and what stands above the drawing."""


def figures(shown: Mapping[str, Diagnosis | ForecastDiagnosis], key: str = "") -> str:
    """All figures of one or more diagnoses of the same kind, with their legend.

    Parameters
    ----------
    shown
        The diagnoses by what they are called beside each other: Before and After, or "".
    key
        Makes the ids of the drawings unique on the page.
    """
    first, drawn = next(iter(shown.values())), []
    of_forecasts = isinstance(first, ForecastDiagnosis)
    for place, (name, draw, title, note) in enumerate(OF_FORECASTS if of_forecasts else OF_CLASSES):
        curves = [getattr(each, name) for each in shown.values()]
        if None in curves:
            continue
        for (when, each), curve in zip(shown.items(), curves, strict=True):
            full = (f"{when}: {title}" if when else title) + getattr(each, "about", "")
            bins = {"bins": histogram_of(each)} if draw is reliability_svg and isinstance(each, Diagnosis) else {}
            drawing = draw(curve, curves, title=full, key=f"{key}{name}{place}{when}", **bins)
            caption = tag("figcaption", escape(full) + words("span", note))
            drawn.append(tag("figure", caption + drawing))
    keys = FORECAST_KEYS if of_forecasts else _class_keys(first)
    return words("h2", "Predicted and observed") + tag("div", "".join(drawn), class_="pair") + legend(COMMON | keys)


def _class_keys(diagnosis: Any) -> dict[str, str]:
    sure = diagnosis.view == "top"
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
