"""One HTML page from finished results: it needs no other file, no network and no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.plot.content import histogram_of
from calibrant.report.markup import tag, words
from calibrant.report.page_regression import forecast_page
from calibrant.report.sections import (
    Answer,
    answer_section,
    comparison_section,
    document,
    facts_list,
    figure,
    listed,
    table_section,
    verdict_block,
)
from calibrant.report.svg import reliability_svg, rows_svg, value_range
from calibrant.verbs.compare import Comparison
from calibrant.verbs.diagnose import Diagnosis
from calibrant.verbs.diagnose_regression import ForecastDiagnosis

QUESTIONS = {"top": "confidence in the predicted class", "binary": "probability of the event"}


def page(
    diagnosis: Diagnosis | ForecastDiagnosis,
    *,
    after: Diagnosis | ForecastDiagnosis | None = None,
    comparison: Comparison | None = None,
    fitted: CalibrationMap | RegressionMap | None = None,
    answers: Sequence[Answer] = (),
) -> str:
    """The report as HTML text; see `write`."""
    if isinstance(diagnosis, ForecastDiagnosis):
        return forecast_page(diagnosis, after=after, comparison=comparison, fitted=fitted, answers=answers)  # type: ignore[arg-type]
    return _class_page(diagnosis, after, comparison, fitted, answers)  # type: ignore[arg-type]


def _class_page(
    diagnosis: Diagnosis,
    after: Diagnosis | None,
    comparison: Comparison | None,
    fitted: CalibrationMap | None,
    answers: Sequence[Answer],
) -> str:
    sections = [
        _opening(diagnosis, after),
        _diagrams(diagnosis, after),
        "" if comparison is None else comparison_section(comparison),
        "" if fitted is None else _map(fitted),
        *map(answer_section, answers),
        *_tables(diagnosis, after),
        listed("Cautions", _cautions(diagnosis, after, comparison, fitted)),
        listed("Advice", (after or diagnosis).advice),
    ]
    return document(f"Calibration of {diagnosis.name}", tag("main", "\n".join(filter(None, sections))))


def _opening(diagnosis: Diagnosis, after: Diagnosis | None) -> str:
    """Name, verdict and the facts that say what was looked at."""
    title = tag("h1", "Calibration of " + words("b", diagnosis.name))
    verdicts = verdict_block(diagnosis, "" if after is None else "Before")
    if after is not None:
        verdicts = tag("div", verdicts + verdict_block(after, "After"), class_="pair")
    question = QUESTIONS.get(diagnosis.view, f"probability of {diagnosis.view}")
    facts = f"{diagnosis.n:,} rows · {diagnosis.n_classes:,} classes · view: {diagnosis.view} ({question})"
    return title + verdicts + words("p", facts, class_="quiet")


def _diagrams(diagnosis: Diagnosis, after: Diagnosis | None) -> str:
    """By probability and by rows; with a repair, before and after beside each other."""
    shown = {"": diagnosis} if after is None else {"Before": diagnosis, "After": after}
    span = value_range([each.curve for each in shown.values()])
    figures = [_by_probability(when, each) for when, each in shown.items()]
    figures += [_by_rows(when, each, span) for when, each in shown.items()]
    return tag("h2", "Predicted and observed") + tag("div", "".join(figures), class_="pair") + _legend(diagnosis.view)


def _by_probability(when: str, diagnosis: Diagnosis) -> str:
    title = f"{when}: reliability diagram" if when else "Reliability diagram"
    drawing = reliability_svg(diagnosis.curve, histogram_of(diagnosis), title=title, key=f"square{when}")
    return figure(title, "How often it happened; larger points hold more rows", drawing)


def _by_rows(when: str, diagnosis: Diagnosis, span: tuple[float, float]) -> str:
    title = f"{when}: the same gaps, row by row" if when else "The same gaps, row by row"
    drawing = rows_svg(diagnosis.curve, span, title=title, key=f"rows{when}")
    return figure(title, "Every row is equally wide, so the shaded area is the binned error", drawing)


def _legend(view: str) -> str:
    over, under = "predicted too high", "predicted too low"
    if view == "top":
        over, under = "over-confident", "under-confident"
    observed = tag("line", x1=11, x2=11, y1=0, y2=14, class_="interval")
    observed += tag("circle", cx=11, cy=7, r=3.6, class_="dot")
    block: dict[str, float] = {"x": 1, "y": 1, "width": 20, "height": 12}
    keys = [
        (observed, "observed, with its interval"),
        (tag("line", x1=0, x2=22, y1=7, y2=7, class_="ideal"), "perfectly calibrated"),
        (tag("line", x1=0, x2=22, y1=7, y2=7, class_="said"), "predicted"),
        (tag("rect", "", class_="gap over", **block), over),
        (tag("rect", "", class_="gap under", **block), under),
    ]
    items = [
        tag("li", tag("svg", drawn, viewBox="0 0 22 14", aria_hidden="true") + escape(text)) for drawn, text in keys
    ]
    return tag("ul", "".join(items), class_="legend")


def _map(fitted: CalibrationMap) -> str:
    """What the map is and what it leaves as it was."""
    answers = {
        "different predictions stay different": fitted.injective,
        "keeps the ranking of classes": fitted.keeps_ranking,
        "keeps the accuracy": fitted.keeps_accuracy,
        "converged": fitted.fit.converged,
    }
    return words("h2", "The repair") + facts_list(fitted, answers)


def _tables(diagnosis: Diagnosis, after: Diagnosis | None) -> list[str]:
    """Whatever tables the results have."""
    shown = (
        {"The numbers": diagnosis} if after is None else {"The numbers before": diagnosis, "The numbers after": after}
    )
    return [words("h2", title) + "".join(map(table_section, each.tables())) for title, each in shown.items()]


def _cautions(
    diagnosis: Diagnosis, after: Diagnosis | None, comparison: Comparison | None, fitted: CalibrationMap | None
) -> tuple[str, ...]:
    """All there are, each once, with what it speaks of where that is not the diagnosis."""
    found = list(diagnosis.cautions)
    found += [f"After the repair: {caution}" for caution in (after.cautions if after else ())]
    found += [f"Comparison: {caution}" for caution in (comparison.cautions if comparison else ())]
    found += [f"Repair: {caution}" for caution in (fitted.fit.cautions if fitted else ())]
    return tuple(dict.fromkeys(found))
