"""The figures of a diagnosis: one drawing per kind and model, those of several models beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from calibrant.plot.content import histogram_of
from calibrant.report.markup import tag, words
from calibrant.report.sections import figure, legend
from calibrant.report.svg import reliability_svg, rows_svg
from calibrant.report.svg_regression import coverage_svg, marginal_svg, pit_svg, spread_svg
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis

BLOCK: dict[str, float] = {"x": 1, "y": 1, "width": 20, "height": 12}
OBSERVED = tag("line", x1=11, x2=11, y1=0, y2=14, class_="interval") + tag("circle", cx=11, cy=7, r=3.6, class_="dot")
COMMON = {
    "observed, with its interval": OBSERVED,
    "perfectly calibrated": tag("line", x1=0, x2=22, y1=7, y2=7, class_="ideal"),
}
"""Of every legend."""


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
            full = f"{when}: {title}" if when else title
            bins = {"bins": histogram_of(each)} if draw is reliability_svg and isinstance(each, Diagnosis) else {}
            drawing = draw(curve, curves, title=full, key=f"{key}{name}{place}{when}", **bins)
            drawn.append(figure(full, note, drawing))
    keys = _forecast_keys() if of_forecasts else _class_keys(first)
    return words("h2", "Predicted and observed") + tag("div", "".join(drawn), class_="pair") + legend(COMMON | keys)


def _class_keys(diagnosis: Any) -> dict[str, str]:
    over, under = "predicted too high", "predicted too low"
    if diagnosis.view == "top":
        over, under = "over-confident", "under-confident"
    return {
        "predicted": tag("line", x1=0, x2=22, y1=7, y2=7, class_="predicted"),
        over: tag("rect", "", class_="gap over", **BLOCK),
        under: tag("rect", "", class_="gap under", **BLOCK),
    }


def _forecast_keys() -> dict[str, str]:
    return {
        "where a calibrated model lies, at 95 %": tag("rect", "", class_="band", **BLOCK),
        "more rows than that": tag("rect", "", class_="bar over", **BLOCK),
        "fewer": tag("rect", "", class_="bar under", **BLOCK),
    }
