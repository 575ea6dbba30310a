"""Commands about what the data can tell: which estimator to believe, how many rows it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import calibrant as cal
from calibrant.cli.commands import FILE, as_json, main, read, write_report
from calibrant.cli.group import column_options
from calibrant.score import SCORES


@main.command(short_help="Which estimator can I believe at my sample size?")
@click.argument("file", type=FILE)
@click.option("--norm", type=click.Choice(["1", "2"]), default="1", show_default=True, help="Mean gap, or its RMS.")
@click.option("--replications", type=click.IntRange(2), default=200, show_default=True, help="Simulated data sets.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same answer.")
@click.option("--view", default="auto", metavar="VIEW", help="binary, top, or 'class NAME'.  [default: by the columns]")
@click.option("--report", type=FILE, metavar="PATH", help="Write a report with it: .html or .json.")
@column_options()
@as_json
def trust(
    file: Path, norm: str, replications: int, seed: int, view: str, report: Path | None, as_json: bool, **columns: Any
) -> None:
    """Which estimator of the calibration error can I believe, with as many rows as I have?

    A world with scores like yours and a known truth is fitted, and every estimator is tried on data sets of your size: how far
    is it off, how much does it scatter, and does its interval hold the truth? The most accurate comes first.

    \b
    Examples:
      calibrant trust test.csv
      calibrant trust test.csv --norm 2 --replications 1000
      calibrant trust test.parquet --view top --json
    """
    predictions, source = read(file, columns)
    options: dict[str, Any] = {"norm": int(norm), "replications": replications, "rng": seed, "view": view}
    found = cal.trust(predictions, **options, progress=not as_json)
    if report is not None:
        write_report(report, file, cal.diagnose(predictions, view=view, name=file.name), answers=[found])
    if as_json:
        click.echo(found.to_json())
        return
    from calibrant.cli import screen

    terminal = screen.terminal()
    terminal.print(f"{file.name}: {predictions.n:,} rows", style="bold")
    terminal.print(source + "\n", style="dim")
    terminal.print(found.sentence() + "\n", style="bold")
    screen.show_table(terminal, found.table())
    screen.show_list(terminal, "Caution", found.cautions, "yellow")


@main.command(short_help="How many rows does it take?")
@click.argument("file", type=FILE, required=False)
@click.option("--error", type=float, metavar="X", help="The true error to find, or to assume with --width.")
@click.option("--width", type=float, metavar="X", help="The width that an interval should have.")
@click.option("--n", "rows", type=int, metavar="N", help="Rows there are: what can they show?")
@click.option(
    "--statistic",
    type=click.Choice(["binned", "kuiper", "mean_gap", "rate", *SCORES]),
    default="binned",
    show_default=True,
    help="What will be computed.",
)
@click.option("--norm", type=click.Choice(["1", "2"]), default="2", show_default=True, help="Of the binned error.")
@click.option("--power", type=float, default=0.8, show_default=True, metavar="X", help="Chance to find the error.")
@click.option("--level", type=float, default=0.05, show_default=True, metavar="X", help="False alarms allowed.")
@click.option("--mean-variance", type=float, metavar="X", help="Mean of p(1 − p), where there is no FILE.")
@click.option("--check", is_flag=True, help="Also simulate the plan.")
@click.option("--replications", type=int, default=1000, show_default=True, metavar="N", help="Data sets to simulate.")
@click.option("--view", default="auto", metavar="VIEW", help="binary, top, or 'class NAME'.  [default: by the columns]")
@column_options()
@as_json
def plan(
    file: Path | None,
    error: float | None,
    width: float | None,
    rows: int | None,
    statistic: str,
    norm: str,
    power: float,
    level: float,
    mean_variance: float | None,
    check: bool,
    replications: int,
    view: str,
    as_json: bool,
    **columns: Any,
) -> None:
    """How many rows does it take to find an error, or to measure it closely? What can so many rows show?

    FILE holds predictions like those to come; without it say --mean-variance, or nothing for the most rows. With --level 0.05
    a test has 5 % false alarms and an interval 95 % confidence.

    \b
    Examples:
      calibrant plan --error 0.03 --mean-variance 0.12
      calibrant plan test.csv --error 0.03 --check
      calibrant plan test.csv --n 2000
      calibrant plan test.csv --width 0.02 --statistic brier
    """
    predictions, source = (None, "") if file is None else read(file, columns)
    found = cal.plan(
        error,
        width=width,
        n=rows,
        statistic=statistic,
        norm=1 if norm == "1" else 2,
        power=power,
        level=level,
        predictions=predictions,
        mean_variance=mean_variance,
        view=view,
        check=check,
        replications=replications,
    )
    if as_json:
        click.echo(found.to_json())
        return
    from calibrant.cli import screen

    terminal = screen.terminal()
    if source:
        terminal.print(source + "\n", style="dim")
    terminal.print(found.sentence() + "\n", style="bold")
    screen.show_table(terminal, found.table())
    screen.show_list(terminal, "Assumes", found.assumptions, "dim")
    screen.show_list(terminal, "Caution", found.cautions, "yellow")


# --- end
