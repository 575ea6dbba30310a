"""Commands about what the data can tell: which estimator to believe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import calibrant as cal
from calibrant.cli.commands import FILE, as_json, main, read
from calibrant.cli.group import column_options


@main.command(short_help="Which estimator can I believe at my sample size?")
@click.argument("file", type=FILE)
@click.option("--norm", type=click.Choice(["1", "2"]), default="1", show_default=True, help="Mean gap, or its RMS.")
@click.option("--replications", type=click.IntRange(2), default=200, show_default=True, help="Simulated data sets.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same answer.")
@click.option("--view", default="auto", metavar="VIEW", help="binary, top, or 'class NAME'.  [default: by the columns]")
@column_options()
@as_json
def trust(file: Path, norm: str, replications: int, seed: int, view: str, as_json: bool, **columns: Any) -> None:
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
