"""Finished results on a terminal: every table as the result gives it, plain text when piped."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from calibrant.results import Table, number

if TYPE_CHECKING:
    from pathlib import Path

    from calibrant.maps import CalibrationMap, RegressionMap
    from calibrant.report.sections import Answer
    from calibrant.verbs.compare import Comparison
    from calibrant.verbs.diagnose import Diagnosis
    from calibrant.verbs.diagnose_regression import ForecastDiagnosis

NUMBER = re.compile(r"[-−+]?[\d,.]+(e[-+]?\d+)?( ?[–…%] ?[-−+\d.,e]*)?|[–-]|nan|inf|")
"""A cell that reads as a number or as a pair of numbers, and so belongs to the right of its column."""

STRIP = 60
"""Characters of the widest reliability strip."""


def terminal() -> Console:
    """Where results are printed: nothing in a file name or a class is taken as markup."""
    return Console(markup=False, highlight=False, emoji=False)


def show_diagnosis(screen: Console, found: Diagnosis, source: str = "") -> None:
    """Verdict, diagram, tables, cautions, advice."""
    screen.print(f"{found.name}: {found.n:,} rows, view: {found.view}", style="bold")
    if source:
        screen.print(source, style="dim")
    screen.print()
    screen.print(found.verdict, style="bold green" if found.calibrated is None else "bold red")
    screen.print()
    show_reliability(screen, found)
    for table in found.tables():
        show_table(screen, table)
    show_list(screen, "Caution", found.cautions, "yellow")
    show_list(screen, "Advice", found.advice, "cyan")


def show_forecasts(screen: Console, found: ForecastDiagnosis, source: str = "") -> None:
    """Verdict, PIT histogram, tables, cautions, advice."""
    screen.print(f"{found.name}: {found.n:,} rows, {found.forecasts} forecasts", style="bold")
    if source:
        screen.print(source, style="dim")
    screen.print()
    screen.print(found.verdict, style="bold green" if found.calibrated is None else "bold red")
    screen.print()
    show_histogram(screen, found)
    for table in found.tables():
        show_table(screen, table)
    show_list(screen, "Caution", found.cautions, "yellow")
    show_list(screen, "Advice", found.advice, "cyan")


def show_histogram(screen: Console, found: ForecastDiagnosis) -> None:
    """The PIT histogram, a line for each bar, with the ends of its band."""
    curve = found.pit
    width = max(20, min(STRIP, screen.width - 12))
    scale = (width - 1) / max(float(curve.y.max()), float(curve.high.max()))
    screen.print("F(y), relative to a flat histogram; between the two │ if calibrated", style="bold")
    for x, y, low, high in zip(curve.x, curve.y, curve.low, curve.high, strict=True):
        strip = ["█"] * round(float(y) * scale) + [" "] * width
        for end in (low, high):
            strip[round(float(end) * scale)] = "│"
        agree = "green" if low <= y <= high else "red"
        screen.print(Text.assemble((f"{x:7.3f}  ", ""), ("".join(strip[:width]).rstrip(), agree)))
    screen.print()


def show_map(screen: Console, fitted: CalibrationMap | RegressionMap) -> None:
    """What was fitted, on what, and what it leaves alone."""
    from calibrant.maps import RegressionMap

    rows: list[tuple[Any, ...]] = [("method", fitted.method)]
    for name, value in fitted.parameters.items():
        rows.append((name, float(value) if np.ndim(value) == 0 else f"{np.size(value)} numbers"))
    rows.append(("rows fitted on", f"{fitted.fit.n:,}"))
    if fitted.fit.loss is not None:
        rows.append(
            (f"{'Dawid–Sebastiani' if isinstance(fitted, RegressionMap) else 'log'} score there", fitted.fit.loss)
        )
    kept = {"different predictions stay different": fitted.injective}
    if not isinstance(fitted, RegressionMap):
        kept |= {"ranking of classes kept": fitted.keeps_ranking, "top class kept": fitted.keeps_accuracy}
    rows += [(name, "yes" if value else "no") for name, value in kept.items()]
    show_table(screen, Table("Fitted map", ("", "value"), tuple(rows)))
    if fitted.fit.choice is not None:
        screen.print()
        show_table(screen, fitted.fit.choice.table)
        screen.print(f"Chosen: {fitted.fit.choice.reason}", style="bold")
    show_list(screen, "Caution", fitted.fit.cautions, "yellow")


def show_comparison(screen: Console, found: Comparison) -> None:
    """The finding in words and as a table."""
    style = {"better": "bold green", "worse": "bold red"}.get(found.verdict, "bold")
    said = found.sentence()
    screen.print(said, style=style)
    screen.print()
    for table in found.tables():
        show_table(screen, table, note=table.note not in said)
    show_list(screen, "Caution", found.cautions, "yellow")


def show_answer(screen: Console, found: Answer, file: Path | None, source: str) -> None:
    """Where the data come from, the answer in words, its tables and what to beware of."""
    if file is not None:
        screen.print(file.name, style="bold")
        screen.print(source + "\n", style="dim")
    said = found.sentence()
    screen.print(said + "\n", style="bold")
    for table in found.tables():
        show_table(screen, table, note=table.note not in said)
    show_list(screen, "Assumes", getattr(found, "assumptions", ()), "dim")
    show_list(screen, "Caution", found.cautions, "yellow")


def show_table(screen: Console, table: Table, *, note: bool = True) -> None:
    """A result's table, numbers to the right."""
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
            screen.print(Padding(Text(f"• {text}"), (0, 0, 0, 2)))
        screen.print()


def show_reliability(screen: Console, found: Diagnosis) -> None:
    """A reliability diagram of one line for each bin, on an axis from the lowest to the highest value."""
    curve = found.curve
    low = np.floor(10 * min(curve.x.min(), curve.low.min())) / 10
    high = np.ceil(10 * max(curve.x.max(), curve.high.max())) / 10
    width = max(20, min(STRIP, screen.width - 12))

    def cell(value: float) -> int:
        return round(float((value - low) / (high - low)) * (width - 1))

    screen.print("Said │ and happened ●, with its 95% interval ─", style="bold")
    ends = number(float(low), 1), number(float(high), 1)
    screen.print(f"{'said':>7}  {ends[0]}{ends[1]:>{width - len(ends[0])}}", style="dim")
    for x, y, least, most in zip(curve.x, curve.y, curve.low, curve.high, strict=True):
        strip = [" "] * width
        strip[cell(least) : cell(most) + 1] = "─" * (cell(most) - cell(least) + 1)
        strip[cell(x)] = "│"
        strip[cell(y)] = "●"
        agree = "green" if least <= x <= most else "red"
        screen.print(Text.assemble((f"{x:7.3f}  ", ""), ("".join(strip).rstrip(), agree)))
    screen.print()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error stream, where that is a terminal; it leaves nothing behind."""
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what)
        yield lambda done, of: bar.update(task, completed=done, total=of)
