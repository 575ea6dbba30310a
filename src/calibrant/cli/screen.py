"""Finished answers on a terminal: every table as the answer gives it, plain text when piped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from calibrant.problems import visible
from calibrant.results import Answer, Table, number

if TYPE_CHECKING:
    from calibrant.maps import CalibrationMap, RegressionMap

NUMBER = re.compile(r"[<≤]? ?[-−+]?[\d,.]+(e[-+]?\d+)?( ?[–…%] ?[-−+\d.,e]*)?|[–-]|nan|inf|")
"""A cell that reads as a number or as a pair of numbers, and so belongs to the right of its column."""

STRIP = 60
"""Characters of the widest reliability strip."""

STYLES = {False: "bold red", None: "bold green", "worse": "bold red", "better": "bold green"}
"""Of sentences, by what an answer calls calibrated, or by its verdict."""

NOTE_STYLES = {"assumes": "dim", "caution": "yellow", "advice": "cyan"}


def terminal() -> Console:
    """Where answers are printed: nothing in a file name or a class is taken as markup, or obeyed by the terminal."""
    return Plain(markup=False, highlight=False, emoji=False)


class Plain(Console):
    """A console that shows control characters in texts."""

    def render_str(self, text: str, **options: Any) -> Text:
        """A text as it will be shown."""
        return super().render_str(visible(text), **options)


def show_answer(screen: Console, found: Answer, title: str = "", source: str = "") -> None:
    """An answer: its source, its sentence, its diagram and tables, and its notes.

    Parameters
    ----------
    screen
        Where to print.
    found
        Any answer.
    title
        Printed above it; the answer's own heading if empty.
    source
        Where the data come from.
    """
    above = title or found.heading
    if above:
        screen.print(above, style="bold")
    if source:
        screen.print(source, style="dim")
    if above or source:
        screen.print()
    sentence = found.sentence()
    verdict = getattr(found, "calibrated", getattr(found, "verdict", ""))
    screen.print(sentence + "\n", style=STYLES.get(verdict, "bold"))
    draw = DIAGRAMS.get(type(found).__name__)
    if draw is not None:
        draw(screen, found)
    for table in found.tables():
        show_table(screen, table, note=table.note not in sentence)
    for word, texts in found.notes().items():
        show_list(screen, word.capitalize(), texts, NOTE_STYLES[word])


def show_map(screen: Console, fitted: CalibrationMap | RegressionMap) -> None:
    """What was fitted, on what, and what it leaves unchanged.

    Parameters
    ----------
    screen
        Where to print.
    fitted
        The map.
    """
    from calibrant.report.sections import map_table

    show_table(screen, map_table(fitted))
    if fitted.fit.choice is not None:
        show_table(screen, fitted.fit.choice.table)
        screen.print(f"Chosen: {fitted.fit.choice.reason}", style="bold")
    show_list(screen, "Caution", fitted.fit.cautions, "yellow")


def show_table(screen: Console, table: Table, *, note: bool = True) -> None:
    """A table, numbers to the right.

    Parameters
    ----------
    screen
        Where to print.
    table
        The table.
    note
        Print its note too.
    """
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    texts = table.texts()
    for k, name in enumerate(table.columns):
        numeric = all(NUMBER.fullmatch(row[k]) for row in texts)
        grid.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for row in texts:
        grid.add_row(*row)
    screen.print(table.title, style="bold")
    screen.print(grid)
    if note and table.note:
        screen.print(table.note, style="dim")
    screen.print()


def show_list(screen: Console, title: str, texts: tuple[str, ...], style: str) -> None:
    """Sentences under a word, or nothing."""
    if texts:
        screen.print(title, style=f"bold {style}")
        for text in texts:
            screen.print(Padding(f"• {text}", (0, 0, 0, 2)))
        screen.print()


def show_reliability(screen: Console, found: Any) -> None:
    """A reliability diagram with one line per bin, on an axis from the lowest to the highest value.

    Parameters
    ----------
    screen
        Where to print.
    found
        A diagnosis.
    """
    curve = found.curve
    low = np.floor(10 * min(curve.x.min(), curve.low.min())) / 10
    high = np.ceil(10 * max(curve.x.max(), curve.high.max())) / 10
    width = strip_width(screen)

    def cell(value: float) -> int:
        return round(float((value - low) / (high - low)) * (width - 1))

    screen.print("Predicted │ and observed ●, with its 95% interval ─", style="bold")
    ends = number(float(low), 1), number(float(high), 1)
    screen.print(f"{'mean':>7}  {ends[0]}{ends[1]:>{width - len(ends[0])}}", style="dim")
    for x, y, least, most in zip(curve.x, curve.y, curve.low, curve.high, strict=True):
        strip = [" "] * width
        strip[cell(least) : cell(most) + 1] = "─" * (cell(most) - cell(least) + 1)
        strip[cell(x)] = "│"
        strip[cell(y)] = "●"
        show_strip(screen, x, strip, bool(least <= x <= most))
    screen.print()


def show_histogram(screen: Console, found: Any) -> None:
    """The PIT histogram with one line per bar and the ends of its band.

    Parameters
    ----------
    screen
        Where to print.
    found
        A diagnosis of forecasts.
    """
    curve, width = found.pit, strip_width(screen)
    scale = (width - 1) / max(float(curve.y.max()), float(curve.high.max()))
    screen.print("F(y), relative to a flat histogram; between the two │ if calibrated", style="bold")
    for x, y, low, high in zip(curve.x, curve.y, curve.low, curve.high, strict=True):
        strip = ["█"] * round(float(y) * scale) + [" "] * width
        for end in (low, high):
            strip[round(float(end) * scale)] = "│"
        show_strip(screen, x, strip[:width], bool(low <= y <= high))
    screen.print()


DIAGRAMS = {"Diagnosis": show_reliability, "ForecastDiagnosis": show_histogram}
"""By the kind of answer."""


def strip_width(screen: Console) -> int:
    """Characters of a diagram that fit on the terminal."""
    return max(20, min(STRIP, screen.width - 12))


def show_strip(screen: Console, value: float, strip: list[str], agrees: bool) -> None:
    """One line of a diagram, green where the data agree with a calibrated model."""
    style = "green" if agrees else "red"
    screen.print(Text.assemble((f"{value:7.3f}  ", ""), ("".join(strip).rstrip(), style)))
