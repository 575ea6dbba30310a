"""The parts of a page: documents around their content, answers, tables and lists."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

import calibrant
from calibrant.maps import CalibrationMap, RegressionMap
from calibrant.problems import visible
from calibrant.report.markup import tag, words
from calibrant.results import Answer, Table, number

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; base-uri 'none'; form-action 'none'"
"""Even if some text slipped through, a browser would fetch nothing and run nothing but our own script, known by its hash."""

AT_FIRST = 25
"""Rows of a long table that are shown before the rest is unfolded."""

MANY_PARTS = 3
"""Sections from which on the page starts with a list of them."""

NARROW = 4
"""Columns up to which a table stands beside its figure."""

SHORT = 8
"""Parameters of at most this many numbers are written out."""


class Part(NamedTuple):
    """A section of the page: its heading and finished markup."""

    title: str
    markup: str


def document(title: str, opening: str, parts: Sequence[Part]) -> str:
    """A complete page around its content.

    Parameters
    ----------
    title
        The title of the window.
    opening
        What comes before the sections.
    parts
        The sections, listed at the top if there are several.
    """
    script, style = (
        files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("script.js", "style.css")
    )
    allowed = f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    named = [(f"part{place}", each) for place, each in enumerate(parts)]
    links = "".join(tag("li", words("a", each.title, href=f"#{key}")) for key, each in named)
    nav = tag("nav", tag("ul", links), aria_label="Contents") if len(named) > MANY_PARTS else ""
    sections = "\n".join(tag("section", words("h2", each.title) + each.markup, id=key) for key, each in named)
    return visible(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="calibrant">
<meta http-equiv="Content-Security-Policy" content="{POLICY.format(allowed)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
{words("title", title)}
{tag("style", style)}
</head>
<body>
{tag("main", "".join((opening, nav, sections)))}
{words("footer", f"Written by calibrant {calibrant.__version__} on {written}.")}
<script>{script}</script>
</body>
</html>
""")


def answer_part(answer: Answer, figures: str = "", key: str = "") -> Part:
    """A question, its answer in words, its figures and tables, and its warnings and advice.

    Parameters
    ----------
    answer
        Any answer.
    figures
        Finished markup between the sentence and the tables.
    key
        Makes ids unique on the page.
    """
    heading = words("p", answer.heading, class_="quiet") if answer.heading else ""
    sentence = answer.sentence()
    lines = "".join(words("p", line) for line in sentence.splitlines())
    tables = "".join(
        table_section(table, sentence, f"{key}-table" if key and not i else "")
        for i, table in enumerate(answer.tables())
    )
    notes = [f"{word.capitalize()}: {text}" for word, texts in answer.notes().items() for text in texts]
    below = "".join(words("p", note, class_="note") for note in notes)
    narrow = all(len(table.columns) <= NARROW for table in answer.tables())
    shown = (
        tag("div", tag("div", figures) + tag("div", tables), class_="pair") if figures and narrow else figures + tables
    )
    return Part(answer.question, heading + lines + shown + below)


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


def table_section(table: Table, above: str = "", key: str = "") -> str:
    """A table that scrolls on a narrow screen; of a long one the rest is folded.

    Parameters
    ----------
    table
        The table.
    above
        The text above it: the table's note is left out where it is part of that.
    key
        The id of the table; each row then has its first cell as its name.
    """
    note = words("p", table.note, class_="note") if table.note and table.note not in above else ""
    drawn, left = table_markup(table, slice(0, AT_FIRST), bool(key)), len(table.rows) - AT_FIRST
    if left > 0:
        rest = table_markup(table, slice(AT_FIRST, None), bool(key))
        drawn += tag("details", words("summary", f"{left:,} more rows") + rest)
    return words("h3", table.title) + (tag("div", drawn, id=key) if key else drawn) + note


def folded(table: Table) -> str:
    """A table that is shown on request, and in print."""
    return tag("details", words("summary", table.title) + table_markup(table))


def table_markup(table: Table, part: slice = slice(None), named: bool = False) -> str:
    """Some rows of a table, with their first cell as their name if they are to be found."""
    texts, numeric = table.texts(), table.numeric()
    head = "".join(_cell("th", name, right, scope="col") for name, right in zip(table.columns, numeric, strict=True))
    rows = "".join(
        tag("tr", "".join(map(partial(_cell, "td"), row, numeric)), **({"data_name": row[0]} if named else {}))
        for row in texts[part]
    )
    inside = tag("table", tag("thead", tag("tr", head)) + tag("tbody", rows))
    return tag("div", inside, class_="scroll", tabindex=0, role="region", aria_label=table.title)


def _cell(name: str, text: str, right: bool, **attributes: str) -> str:
    return words(name, text, **attributes, **({"class_": "number"} if right else {}))


def listed(title: str, texts: Sequence[str]) -> str:
    """Sentences under a heading, or nothing."""
    items = "".join(words("li", text) for text in texts)
    return words("h3", title) + tag("ul", items, class_="notes") if texts else ""
