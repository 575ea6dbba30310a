"""What a notebook shows of an object: its words, its picture and its tables, readable on light and dark pages."""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.maps import CalibrationMap, RegressionMap, TopLabelMap
from calibrant.maps.choice import Choice
from calibrant.monitor import Monitor
from calibrant.plot.axes import offscreen
from calibrant.plot.kinds import plot_of
from calibrant.predictions import Predictions
from calibrant.problems import CalibrantError, visible
from calibrant.report.sections import map_table
from calibrant.results import Answer, Table, number
from calibrant.results.tables import row_count
from calibrant.state.state import State

WIDTH = 4.2
"""Inches of a picture, at most."""

STYLE = """<style>
.calibrant { max-width: 64rem; line-height: 1.4; }
.calibrant .side { display: flex; flex-wrap: wrap; gap: 0 2em; align-items: flex-start; }
.calibrant svg { max-width: 100%; height: auto; fill: currentColor; stroke-linejoin: round; }
.calibrant table { border-collapse: collapse; font-size: .9em; margin: .4em 0; }
.calibrant caption, .calibrant summary { text-align: left; font-weight: 600; padding: .3em 0; }
.calibrant th, .calibrant td { text-align: left; padding: .15em 1.2em .15em 0; border: 0; background: none; vertical-align: top; }
.calibrant th { font-weight: 500; border-bottom: 1px solid currentColor; }
.calibrant td { border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
.calibrant .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.calibrant .note { opacity: .75; font-size: .9em; }
</style>"""

TAG, LONG = re.compile("<[^>]*>"), re.compile(r"\d+\.\d{3,}")
"""Coordinates are written in hundredths of a point; texts, which stand between tags, stay as they are."""

OPEN = 1
"""Tables that are shown at once; the others open on a click."""

MOST_CLASSES = 10
"""Classes named in a table."""


def html(shown: Any) -> str:
    """The object as HTML without scripts; everything that comes from data is escaped.

    Parameters
    ----------
    shown
        An answer, a map, predictions, forecasts, a state or a monitor.
    """
    heading, sentence, tables, notes = _content(shown)
    parts = [f"<h4>{escape(heading)}</h4>"] if heading else []
    parts += [f"<p>{escape(sentence)}</p>".replace("\n", "<br>")] if sentence else []
    first = "".join(
        f"<div>{part}</div>" for part in (svg(shown), *(table.to_html() for table in tables[:OPEN])) if part
    )
    parts += [f"<div class='side'>{first}</div>"] if first else []
    for table in tables[OPEN:]:
        inside = re.sub("<caption>.*?</caption>", "", table.to_html(), count=1, flags=re.DOTALL)
        parts.append(f"<details><summary>{escape(table.title)}</summary>{inside}</details>")
    items = "".join(f"<li>{word}: {escape(text)}</li>" for word, texts in notes.items() for text in texts)
    parts += [f"<ul class='note'>{items}</ul>"] if items else []
    return visible(f"<div class='calibrant'>{STYLE}{''.join(parts)}</div>")


def svg(shown: Any) -> str:
    """The picture as an SVG element in the colour of the text around it; empty where there is none, or no matplotlib."""
    plot = _plot(shown)
    if plot is None:
        return ""
    try:
        import matplotlib as mpl
    except ImportError:
        return ""
    with offscreen(WIDTH), mpl.rc_context({"svg.fonttype": "none", "text.color": "black", "axes.facecolor": "none"}):
        try:
            figure = np.ravel(plot())[0].figure
        except CalibrantError:  # such as a choice without candidates: the tables say all
            return ""
        figure.patch.set_alpha(0)
        file = StringIO()
        figure.savefig(
            file,
            format="svg",
            metadata={"Date": None, "Creator": None},
            transparent=True,
            bbox_inches="tight",
            pad_inches=0.05,
        )
    drawn = file.getvalue()
    drawn = re.sub("<defs>\\s*<style.*?</style>\\s*</defs>|<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = TAG.sub(lambda tag: LONG.sub(lambda found: f"{float(found[0]):.2f}", tag[0]), drawn)
    return re.sub(r"\s*\n\s*", " ", drawn[drawn.index("<svg") :]).replace("#000000", "currentColor")


def _plot(shown: Any) -> Any:
    """What draws the object, or None."""
    if isinstance(shown, CalibrationMap):
        return shown.plot if shown.single or isinstance(shown, TopLabelMap) else None
    if isinstance(shown, Monitor):
        return shown.plot if shown.n else None
    return shown.plot if plot_of(shown) is not None else None


def _content(shown: Any) -> tuple[str, str, tuple[Table, ...], dict[str, tuple[str, ...]]]:
    """Heading, sentence, tables and notes."""
    if isinstance(shown, Answer):
        return shown.heading, shown.sentence(), shown.tables(), shown.notes()
    if isinstance(shown, Choice):
        return "", shown.reason, (shown.table,), {}
    if isinstance(shown, CalibrationMap | RegressionMap):
        choice = () if shown.fit.choice is None else (shown.fit.choice.table,)
        return type(shown).__name__, "", (map_table(shown), *choice), {"caution": shown.fit.cautions}
    if isinstance(shown, Monitor):
        return "Monitor", f"{shown.sentence()}.", (), {"caution": shown.cautions}
    facts = _of_state(shown) if isinstance(shown, State) else _of_rows(shown)
    return "", repr(shown), (Table(type(shown).__name__, ("", "value"), tuple(facts.items())),), {}


def _of_state(state: State) -> dict[str, str]:
    facts = {"rows": f"{state.n:,}", "parts": f"{len(state.parts):,}"}
    for view in state.tables:
        table = state.pooled(view)
        mean, rate = float(table.weight @ table.values / table.total), float(table.hits.sum() / table.total)
        facts |= {f"{view}: distinct predictions": f"{len(table):,}", **_means(f"{view}: ", mean, rate)}
    return facts


def _means(start: str, mean: float, rate: float) -> dict[str, str]:
    return {f"{start}mean prediction": number(mean), f"{start}observed rate": number(rate)}


def _of_rows(rows: Predictions | Forecasts) -> dict[str, str]:
    facts = {"rows": f"{rows.n:,}"}
    if isinstance(rows, Forecasts):
        return facts | {
            "mean of the labels": number(float(rows.labels.mean())),
            "mean of the forecasts": number(float(rows.mean.mean())),
        }
    if rows.weights is not None:
        facts["sum of weights" if rows.squares is not None else "sum of counts"] = row_count(float(rows.weights.sum()))
    if rows.groups is not None:
        facts["groups"] = f"{len(np.unique(rows.groups)):,}"
    names = ", ".join(map(str, rows.classes[:MOST_CLASSES])) + (", …" if rows.n_classes > MOST_CLASSES else "")
    facts["classes"] = names if rows.is_binary else f"{rows.n_classes:,}: {names}"
    view = "binary" if rows.is_binary else "top"
    try:
        event = rows.event(view)
    except CalibrantError:  # of several labels per row there is no top class
        return facts
    mean, rate = (float(np.average(each, weights=event.weights)) for each in (event.probs, event.outcomes))
    return facts | _means("" if rows.is_binary else "top class: ", mean, rate)
