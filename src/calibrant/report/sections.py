"""The parts of a page: documents around their content, answers, tables and lists."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np

import calibrant
from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.problems import visible
from calibrant.report.markup import tag, words
from calibrant.results import Answer, Table, number

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Even if some text slipped through, a browser would run nothing and fetch nothing."""

SHORT = 8
"""Parameters of at most this many numbers are written out."""

NUMERIC = re.compile(r"(?=.*\d|[–-]?$)[<≤\d\s.,+\-−–…%e]*")
"""Numbers, intervals and percentages, dashes and nothing: a column of these is aligned right."""


def document(title: str, main: str) -> str:
    """A complete page around its content.

    Parameters
    ----------
    title
        The title of the window.
    main
        Finished markup.
    """
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return visible(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="calibrant">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
{words("title", title)}
{tag("style", files(__package__).joinpath("style.css").read_text(encoding="utf-8"))}
</head>
<body>
{tag("main", main)}
{words("footer", f"Written by calibrant {calibrant.__version__} on {written}.")}
</body>
</html>
""")


def answer_section(answer: Answer, figures: str = "") -> str:
    """A question, its answer in words, its figures and tables, and its warnings and advice.

    Parameters
    ----------
    answer
        Any answer.
    figures
        Finished markup between the sentence and the tables.
    """
    heading = words("p", answer.heading, class_="quiet") if answer.heading else ""
    sentence = answer.sentence()
    lines = "".join(words("p", line) for line in sentence.splitlines())
    tables = "".join(table_section(table, sentence) for table in answer.tables())
    notes = [f"{word.capitalize()}: {text}" for word, texts in answer.notes().items() for text in texts]
    below = "".join(words("p", note, class_="note") for note in notes)
    return words("h2", answer.question) + heading + lines + figures + tables + below


def map_table(fitted: CalibrationMap | RegressionMap) -> Table:
    """What a map is, on what it was fitted, and what it leaves unchanged.

    Parameters
    ----------
    fitted
        A map of class probabilities or of forecasts.
    """
    forecasts = isinstance(fitted, RegressionMap)
    kept = {"different predictions stay different": fitted.injective}
    if not isinstance(fitted, RegressionMap):
        kept |= {"keeps the ranking of classes": fitted.keeps_ranking, "keeps the accuracy": fitted.keeps_accuracy}
    facts = {"method": fitted.method, "rows fitted on": f"{fitted.fit.n:,}"}
    facts |= {name.replace("_", " "): _parameter(value) for name, value in fitted.parameters.items()}
    if fitted.fit.loss is not None:
        facts[f"{'Dawid–Sebastiani' if forecasts else 'log'} score there"] = number(fitted.fit.loss)
    facts |= {name: "yes" if value else "no" for name, value in {**kept, "converged": fitted.fit.converged}.items()}
    return Table("Fitted map", ("", "value"), tuple(facts.items()))


def _parameter(value: Any) -> str:
    """A fitted number, a few of them, or how many there are."""
    if np.size(value) > SHORT:
        return f"{np.size(value):,} numbers"
    return ", ".join(number(each) if isinstance(each, float) else str(each) for each in np.ravel(value).tolist())


def table_section(table: Table, above: str = "") -> str:
    """A table that scrolls on a narrow screen.

    Parameters
    ----------
    table
        The table.
    above
        The text above it: the table's note is left out where it is part of that.
    """
    texts = table.texts()
    columns = zip(*texts, strict=True) if texts else [()] * len(table.columns)
    numeric = [bool(texts) and all(NUMERIC.fullmatch(text) for text in column) for column in columns]
    head = "".join(_cell("th", name, right, scope="col") for name, right in zip(table.columns, numeric, strict=True))
    rows = (tag("tr", "".join(map(partial(_cell, "td"), row, numeric))) for row in texts)
    inside = tag("table", tag("thead", tag("tr", head)) + tag("tbody", "".join(rows)))
    drawn = words("h3", table.title)
    drawn += tag("div", inside, class_="scroll", tabindex=0, role="region", aria_label=table.title)
    return drawn + (words("p", table.note, class_="note") if table.note and table.note not in above else "")


def _cell(name: str, text: str, right: bool, **attributes: str) -> str:
    return words(name, text, **attributes, **({"class_": "number"} if right else {}))


def listed(title: str, texts: tuple[str, ...]) -> str:
    """Sentences under a heading, or nothing."""
    items = "".join(words("li", text) for text in texts)
    return words("h2", title) + tag("ul", items, class_="notes") if texts else ""
