"""Commands that make files: report, simulate, examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import calibrant as cal
from calibrant import files
from calibrant.cli import forecasts
from calibrant.cli import options as opt
from calibrant.cli.data import read, say, write_report
from calibrant.cli.group import main
from calibrant.writing import check_target

FAMILIES = ("calibrated", "power", "scaled", "tempered")


class WorldType(click.ParamType):  # type: ignore[type-arg]  # generic in recent versions only
    """The name of a world."""

    name = "world"

    def names(self) -> tuple[str, ...]:
        """Families with a chosen error, then the worlds fitted to real networks."""
        return (*FAMILIES, *cal.simulate.NAMED_WORLDS)

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
        """The names that begin as typed."""
        return opt.completed(self.names(), incomplete)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself, refused if there is no such world."""
        if value not in self.names():
            self.fail(f"{value!r} is not one of {', '.join(map(repr, self.names()))}.", param, ctx)
        return str(value)


@main.command(short_help="Diagnose straight to a report.")
@opt.file_argument
@click.option("-o", "--output", required=True, type=opt.REPORT, metavar="PATH", help="The report: .html or .json.")
@opt.column_options()
@opt.column_options(*opt.FORECAST_OPTIONS)
@opt.view
@opt.full
@opt.force
def report(file: Path, output: Path, view: str, full: bool, force: bool, **columns: Any) -> None:
    """Diagnose a file straight to a report, and print the verdict alone.

    `calibrant diagnose FILE --report PATH` writes the same and prints the tables too.

    \b
    Examples:
      calibrant report test.csv -o report.html
      calibrant report prices.csv -o prices.html --label price --mean mu --std sigma
    """
    named = forecasts.forecast_columns(columns, file)
    given: Any
    given, source = read(file, columns) if named is None else forecasts.read(file, named)
    found = cal.examine(given, view=view if named is None else "auto", name=file.name, full=full)
    write_report(output, force, given, source, found)
    say(f"{source}\n{found.diagnosis.verdict}")


@main.command(short_help="Write predictions whose true error is known.")
@click.argument("world", type=WorldType(), metavar="WORLD")
@click.option("-o", "--output", required=True, type=opt.PREDICTIONS, metavar="PATH", help="The ending is the format.")
@click.option("--n", "rows", type=click.IntRange(1), default=1000, metavar="N", help="Rows.")
@click.option("--error", type=click.FloatRange(0), metavar="X", help="True error of a family.  [default: 0.05]")
@opt.option("--scores", str, "Predictions are drawn from a Beta distribution.", "1,1", metavar="A,B")
@opt.seed
@opt.force
def simulate(world: str, output: Path, rows: int, error: float | None, scores: str, seed: int, force: bool) -> None:
    """Write predictions of a world whose true calibration error is known.

    WORLD is a family (calibrated, power, scaled, tempered) with a chosen --error and
    --scores, or one of ten worlds fitted to real networks, such as resnet110_c10. The
    file has the columns label, prob and true_rate: the probability of the event given
    what was predicted.

    \b
    Examples:
      calibrant simulate power --error 0.1 --n 2000 -o simulated.csv
      calibrant simulate resnet110_c10 --n 10000 -o simulated.parquet
      calibrant simulate calibrated --scores 2,5 -o simulated.csv
    """
    made = _world(world, error, scores)
    probs, labels, rates = (each[0] for each in made.draw(rows, 1, seed))
    files.write_columns(output, {"label": labels, "prob": probs, "true_rate": rates}, overwrite=force)
    say(f"{made!r}\nTrue calibration error {made.true_error():.6f}, RMS {made.true_error(2):.6f}.")
    say(f"Wrote {output}: {rows:,} rows.")


def _world(name: str, error: float | None, scores: str) -> Any:
    if name in cal.simulate.NAMED_WORLDS:
        if error is not None or scores != "1,1":
            raise click.UsageError(f"{name} has its own error and scores: leave out --error and --scores.")
        return cal.simulate.named_world(name)
    try:
        alpha, beta = (float(each) for each in scores.split(","))
    except ValueError as wrong:
        raise click.UsageError(f"--scores must be two numbers, such as 2,5; it is {scores!r}.") from wrong
    if name == "calibrated":
        if error:
            raise click.UsageError("A calibrated world has no error: leave out --error.")
        return cal.simulate.calibrated_world((alpha, beta))
    family: Any = name
    return cal.simulate.bent_world(0.05 if error is None else error, (alpha, beta), family=family)


@main.command(short_help="Write small files to try the commands on.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".", metavar="[FOLDER]")
@opt.force
def examples(folder: Path, force: bool) -> None:
    """Write small sample files into FOLDER, and list a command for each.

    Predictions of a network for handwritten digits, simulated patients, answers of two
    language models, forecasts of prices, and two days of a stream.

    \b
    Examples:
      calibrant examples
      calibrant examples try_it
    """
    from calibrant.cli.samples import COMMANDS, sample_files

    made = sample_files()
    folder.mkdir(parents=True, exist_ok=True)
    for name in made:
        opt.PREDICTIONS.check(folder / name, force, ())
    for name, columns in made.items():
        check_target(folder / name, "file of predictions", overwrite=force, replace=False)
        files.write_columns(folder / name, columns, overwrite=force)
    say(f"Wrote {len(made)} files to {folder}. Try there:\n")
    say("\n".join(f"  {command}" for command in COMMANDS))
