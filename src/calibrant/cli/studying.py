"""The command `study`: tables and figures of the papers, made again from a checkout of the source."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import calibrant as cal
from calibrant.cli.group import Refused, main

PLACE = click.Path(path_type=Path)


def frame() -> ModuleType:
    """The package `studies` of the checkout that this installation, or the working directory, lies in."""
    for start in (Path(cal.__file__).resolve(), Path.cwd().resolve() / "here"):
        for folder in start.parents:
            if (folder / "studies" / "frame.py").is_file() and (folder / "src" / "calibrant").is_dir():
                if str(folder) not in sys.path:
                    sys.path.insert(0, str(folder))
                return importlib.import_module("studies.frame")
    raise Refused(
        "The studies come with the source of calibrant, not with the installed package: run this inside a checkout of "
        "its repository, where the folder `studies` lies."
    )


@main.command(short_help="Make a table or figure of the papers again.")
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the studies: what they show, take and need.")
@click.option(
    "--data", type=PLACE, multiple=True, metavar="PATH", help="File or folder a study reads; may be repeated."
)
@click.option("--quick", is_flag=True, help="A reduced version in seconds; printed, and written only with --output.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Same seed, same table.  [default: the study's own]")
@click.option("--output", type=PLACE, metavar="DIR", help="Folder for page and figures.  [default: studies/results]")
@click.option("--resume", is_flag=True, help="Go on where a run that was cut had stopped.")
def study(name: str | None, listing: bool, **options: Any) -> None:
    """Make a table or figure of the papers again, ours beside the published numbers.

    Studies come with the source: run this inside a checkout. Each writes a page with its
    tables and figures (SVG) to studies/results, and studies/RESULTS.md, which lists every
    table and figure of the four papers.

    \b
    Examples:
      calibrant study --list
      calibrant study roelofs --quick
      calibrant study p1_tables --data FOLDER --resume
    """
    studies = frame()
    if listing or name is None:
        click.echo(studies.listed())
        return
    click.echo(studies.run(name, **options, progress=True), nl=False)
