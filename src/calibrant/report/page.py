"""One HTML page from finished results: it needs no other file, no network and no script."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any

import numpy as np

import calibrant
from calibrant.maps import CalibrationMap
from calibrant.plot.content import histogram_of
from calibrant.report.markup import tag, words
from calibrant.report.style import STYLE
from calibrant.report.svg import reliability_svg, rows_svg, value_range
from calibrant.results import Table, number
from calibrant.verbs.compare import Comparison
from calibrant.verbs.diagnose import Diagnosis

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Even if some text slipped through, a browser would run nothing and fetch nothing."""

SHORT = 8
"""Parameters of at most this many numbers are written out."""

NUMERIC = re.compile(r"(?=.*\d|[–-]?$)[\d\s.,+\-−–…%e]*")
"""Numbers, intervals and percentages, dashes and nothing: a column of these is set right."""

STATES = {False: "bad", True: "fine", None: "open"}
"""The mark beside the verdict; where data show no error that is not yet good news."""

QUESTIONS = {"top": "confidence in the predicted class", "binary": "probability of the event"}


def page(
    diagnosis: Diagnosis,
    *,
    after: Diagnosis | None = None,
    comparison: Comparison | None = None,
    fitted: CalibrationMap | None = None,
) -> str:
    """The report as HTML text; see `write`."""
    sections = [
        _opening(diagnosis, after),
        _diagrams(diagnosis, after),
        "" if comparison is None else _comparison(comparison),
        "" if fitted is None else _map(fitted),
        *_tables(diagnosis, after),
        _listed("Cautions", _cautions(diagnosis, after, comparison, fitted)),
        _listed("Advice", (after or diagnosis).advice),
    ]
    return _document(f"Calibration of {diagnosis.name}", tag("main", "\n".join(filter(None, sections))))


def _document(title: str, main: str) -> str:
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        words("title", title),
        tag("style", STYLE),
        "</head>",
        "<body>",
        main,
        words("footer", f"Written by calibrant {calibrant.__version__} on {written}."),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _opening(diagnosis: Diagnosis, after: Diagnosis | None) -> str:
    """Name, verdict and the facts that say what was looked at."""
    title = tag("h1", "Calibration of " + words("b", diagnosis.name))
    verdicts = _verdict(diagnosis, "" if after is None else "Before")
    if after is not None:
        verdicts = tag("div", verdicts + _verdict(after, "After"), class_="pair")
    question = QUESTIONS.get(diagnosis.view, f"probability of {diagnosis.view}")
    facts = f"{diagnosis.n:,} rows · {diagnosis.n_classes:,} classes · view: {diagnosis.view} ({question})"
    return title + verdicts + words("p", facts, class_="quiet")


def _verdict(diagnosis: Diagnosis, when: str) -> str:
    """The finding in large letters, the numbers behind it below."""
    finding, _, numbers = diagnosis.verdict.partition(". ")
    drawn = words("small", when) if when else ""
    drawn += words("strong", finding.rstrip(".") + ".")
    drawn += words("p", numbers) if numbers else ""
    return tag("div", drawn, class_=f"verdict {STATES[diagnosis.calibrated]}")


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
    return _figure(title, "How often it happened; larger points hold more rows", drawing)


def _by_rows(when: str, diagnosis: Diagnosis, span: tuple[float, float]) -> str:
    title = f"{when}: the same gaps, row by row" if when else "The same gaps, row by row"
    drawing = rows_svg(diagnosis.curve, span, title=title, key=f"rows{when}")
    return _figure(title, "Every row is equally wide, so the shaded area is the binned error", drawing)


def _figure(title: str, note: str, drawing: str) -> str:
    return tag("figure", tag("figcaption", escape(title) + words("span", note)) + drawing)


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


def _comparison(comparison: Comparison) -> str:
    sentence = comparison.sentence()
    tables = "".join(_table(table, said=sentence) for table in comparison.tables())
    return words("h2", "Did the repair help?") + words("p", sentence) + tables


def _map(fitted: CalibrationMap) -> str:
    """What the map is and what it leaves as it was."""
    facts = {"method": fitted.method, "fitted on": f"{fitted.fit.n:,} rows"}
    facts |= {name.replace("_", " "): _parameter(value) for name, value in fitted.parameters.items()}
    facts |= {
        "different predictions stay different": _yes(fitted.injective),
        "keeps the ranking of classes": _yes(fitted.keeps_ranking),
        "keeps the accuracy": _yes(fitted.keeps_accuracy),
        "converged": _yes(fitted.fit.converged),
    }
    rows = "".join(words("dt", name) + words("dd", value) for name, value in facts.items())
    return words("h2", "The repair") + tag("dl", rows)


def _parameter(value: Any) -> str:
    """A fitted number, a few of them, or how many there are."""
    if np.size(value) > SHORT:
        return f"{np.size(value):,} numbers"
    texts = [number(each) if isinstance(each, float) else str(each) for each in np.ravel(value).tolist()]
    return ", ".join(texts)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _tables(diagnosis: Diagnosis, after: Diagnosis | None) -> list[str]:
    """Whatever tables the results have."""
    shown = (
        {"The numbers": diagnosis} if after is None else {"The numbers before": diagnosis, "The numbers after": after}
    )
    return [words("h2", title) + "".join(map(_table, each.tables())) for title, each in shown.items()]


def _table(table: Table, said: str = "") -> str:
    """A table that scrolls on a narrow screen; its note is left out where it was `said` already."""
    texts = table.texts()
    kinds = ["number" if _numeric(column) else "" for column in zip(*texts, strict=True)] or [""] * len(table.columns)
    head = "".join(_cell("th", name, kind, scope="col") for name, kind in zip(table.columns, kinds, strict=True))
    body = "".join(
        tag("tr", "".join(_cell("td", text, kind) for text, kind in zip(row, kinds, strict=True))) for row in texts
    )
    inside = tag("table", tag("thead", tag("tr", head)) + tag("tbody", body))
    drawn = words("h3", table.title)
    drawn += tag("div", inside, class_="scroll", tabindex=0, role="region", aria_label=table.title)
    return drawn + (words("p", table.note, class_="note") if table.note and table.note not in said else "")


def _cell(name: str, text: str, kind: str, **attributes: str) -> str:
    return words(name, text, **attributes, **({"class_": kind} if kind else {}))


def _numeric(column: Iterable[str]) -> bool:
    return all(NUMERIC.fullmatch(text) for text in column)


def _cautions(
    diagnosis: Diagnosis, after: Diagnosis | None, comparison: Comparison | None, fitted: CalibrationMap | None
) -> tuple[str, ...]:
    """All there are, each once, with what it speaks of where that is not the diagnosis."""
    found = list(diagnosis.cautions)
    found += [f"After the repair: {caution}" for caution in (after.cautions if after else ())]
    found += [f"Comparison: {caution}" for caution in (comparison.cautions if comparison else ())]
    found += [f"Repair: {caution}" for caution in (fitted.fit.cautions if fitted else ())]
    return tuple(dict.fromkeys(found))


def _listed(title: str, texts: tuple[str, ...]) -> str:
    if not texts:
        return ""
    return words("h2", title) + tag("ul", "".join(words("li", text) for text in texts), class_="said-so")
