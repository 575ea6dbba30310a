"""The parts that every page has, whatever it reports on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any, Protocol

import numpy as np

import calibrant
from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.report.markup import tag, words
from calibrant.report.style import STYLE
from calibrant.results import Table, number
from calibrant.verbs.compare import Comparison

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Even if some text slipped through, a browser would run nothing and fetch nothing."""

SHORT = 8
"""Parameters of at most this many numbers are written out."""

NUMERIC = re.compile(r"(?=.*\d|[–-]?$)[\d\s.,+\-−–…%e]*")
"""Numbers, intervals and percentages, dashes and nothing: a column of these is set right."""

STATES = {False: "bad", True: "fine", None: "open"}
"""The mark beside the verdict; where data show no error that is not yet good news."""


def document(title: str, main: str, style: str = "") -> str:
    """A whole page around its content."""
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        words("title", title),
        tag("style", STYLE + style),
        "</head>",
        "<body>",
        main,
        words("footer", f"Written by calibrant {calibrant.__version__} on {written}."),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


class Finding(Protocol):
    """What a verdict is written from."""

    @property
    def verdict(self) -> str: ...
    @property
    def calibrated(self) -> bool | None: ...


class Answer(Protocol):
    """An answer to a question of its own: a sentence and its tables."""

    @property
    def question(self) -> str: ...
    @property
    def cautions(self) -> tuple[str, ...]: ...
    def sentence(self) -> str: ...
    def tables(self) -> tuple[Table, ...]: ...
    def to_dict(self) -> dict[str, Any]: ...


def answer_section(answer: Answer) -> str:
    """A question, its answer in words, the tables behind it and what to beware of."""
    sentence = answer.sentence()
    drawn = words("h2", answer.question) + words("p", sentence)
    drawn += "".join(table_section(table, said=sentence) for table in answer.tables())
    return drawn + "".join(words("p", f"Caution: {caution}", class_="note") for caution in answer.cautions)


def verdict_block(diagnosis: Finding, when: str) -> str:
    """The finding in large letters, the numbers behind it below."""
    finding, _, numbers = diagnosis.verdict.partition(". ")
    drawn = words("small", when) if when else ""
    drawn += words("strong", finding.rstrip(".") + ".")
    drawn += words("p", numbers) if numbers else ""
    return tag("div", drawn, class_=f"verdict {STATES[diagnosis.calibrated]}")


def figure(title: str, note: str, drawing: str) -> str:
    """A drawing under its title."""
    return tag("figure", tag("figcaption", escape(title) + words("span", note)) + drawing)


def comparison_section(comparison: Comparison) -> str:
    """What a repair changed."""
    sentence = comparison.sentence()
    tables = "".join(table_section(table, said=sentence) for table in comparison.tables())
    return words("h2", "Did the repair help?") + words("p", sentence) + tables


def facts_list(fitted: CalibrationMap | RegressionMap, answers: Mapping[str, bool]) -> str:
    """What a map is, on what it was fitted, and what it leaves as it was."""
    facts = {"method": fitted.method, "fitted on": f"{fitted.fit.n:,} rows"}
    facts |= {name.replace("_", " "): _parameter(value) for name, value in fitted.parameters.items()}
    facts |= {name: "yes" if value else "no" for name, value in answers.items()}
    return tag("dl", "".join(words("dt", name) + words("dd", value) for name, value in facts.items()))


def _parameter(value: Any) -> str:
    """A fitted number, a few of them, or how many there are."""
    if np.size(value) > SHORT:
        return f"{np.size(value):,} numbers"
    texts = [number(each) if isinstance(each, float) else str(each) for each in np.ravel(value).tolist()]
    return ", ".join(texts)


def table_section(table: Table, said: str = "") -> str:
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


def listed(title: str, texts: tuple[str, ...]) -> str:
    """Sentences under a heading, or nothing."""
    if not texts:
        return ""
    return words("h2", title) + tag("ul", "".join(words("li", text) for text in texts), class_="said-so")
