"""Commands for rows that cannot all be held: collect, merge."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import click

import calibrant as cal
from calibrant.cli import options as opt
from calibrant.cli.data import Source, say, scan_lake
from calibrant.cli.group import main
from calibrant.problems import FileError, InputError

output = click.option("-o", "--output", type=opt.COLLECTED, required=True, help="State to write, .json or .arrow.")


@main.command(short_help="Sum up files of any size into a state.")
@opt.file_argument
@output
@click.option("--views", metavar="VIEWS", help="Yes/no questions to keep, joined by commas: binary, top, 'class cat'.")
@opt.option("--max-distinct", click.IntRange(1), "Distinct predictions that are kept; beyond, fine buckets.", 100_000)
@opt.column_options("label", "probs", "logits", "pred", "counts", "classes", "normalize", "percent", *opt.STYLE_OPTIONS)
def collect(file: Path, output: Path, views: str | None, max_distinct: int, **columns: Any) -> None:
    """Sum up a file, a folder or a pattern of files into a state, which every command takes.

    The state is saved after each file. If it exists, the files that it holds are not
    read again: run the command again after an interruption, or when files were added.

    \b
    Examples:
      calibrant collect 'lake/*.parquet' -o state.arrow
      calibrant collect monday.csv -o monday.json --label y --probs score
      calibrant diagnose monday.json
    """
    chosen = None if views is None else [each.strip() for each in views.split(",")]
    state, taken = scan_lake(file, columns, checkpoint=output, views=chosen, max_distinct=max_distinct)
    say(f"{Source(str(file), taken)}\n{state}\nWrote {output}", err=True)


@main.command(short_help="Merge states of other rows.")
@click.argument("states", nargs=-1, required=True, type=opt.FILE, metavar="STATES…")
@output
@opt.force
def merge(states: tuple[Path, ...], output: Path, force: bool) -> None:
    """Merge states that `calibrant collect` wrote: the state of all rows, in any order.

    \b
    Examples:
      calibrant merge monday.json tuesday.json -o week.json
      calibrant merge part-*.arrow -o all.arrow
    """
    if len(states) < 2:
        raise click.UsageError("Name at least two states.")
    merged = reduce(_merged, states[1:], cal.State.load(states[0]))
    merged.save(output, overwrite=force)
    say(f"{merged}\nWrote {output}", err=True)


def _merged(state: cal.State, path: Path) -> cal.State:
    try:
        return state.merge(cal.State.load(path))
    except InputError as error:
        raise FileError(f"cannot merge {str(path)!r}: it {str(error).removeprefix('other ')}") from error
