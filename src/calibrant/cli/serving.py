"""The page on this computer: serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from calibrant.cli import data, forecasts
from calibrant.cli import options as opt
from calibrant.cli.group import main, worded

MEGABYTE = 1_000_000
UNPACKED = 10
"""A file may unpack to so many times the largest upload."""


@main.command(short_help="A page in the browser, for this computer alone.")
@opt.option("--port", click.IntRange(0, 65535), "The port; 0 is any free one.", 0)
@opt.option("--max-megabytes", click.IntRange(1), "The largest file.", 200, metavar="N")
@click.option("--open", "opened", is_flag=True, help="Open the page in the browser.")
def serve(port: int, max_megabytes: int, opened: bool) -> None:
    """Drop a file on a page: see its diagnosis, compare repairs, download map and report.

    The page can be reached from this computer alone (127.0.0.1), and only at the address
    that is printed: its last part is a key that changes with every start. Files stay in a
    temporary folder that nobody else can read and that is removed at the end. Ctrl-C ends
    it.

    \b
    Examples:
      calibrant serve
      calibrant serve --port 8765 --open
      calibrant serve --max-megabytes 1000
    """
    from calibrant.serve import Answers, Server, Uploads, Workers

    uploads = Uploads(max_megabytes * MEGABYTE)
    answers = Answers(read, worded, UNPACKED * uploads.max_bytes)
    try:
        server = Server(uploads, Workers(answers, uploads.folder), shown_options(), port)
    except BaseException:
        uploads.close()
        raise
    try:
        data.say(f"Open this address in a browser; Ctrl-C ends it:\n{server.url}")
        click.get_text_stream("stdout").flush()
        if opened:
            click.launch(server.url)
        server.serve_forever()
    finally:
        server.close()


def read(path: Path, given: dict[str, Any]) -> tuple[Any, data.Source]:
    """Predictions or forecasts and where they were found, as the commands read them."""
    known = {each["name"]: each["kind"] for each in shown_options()}
    columns = {name: bool(given.get(name)) if kind == "flag" else _text(given.get(name)) for name, kind in known.items()}
    named = forecasts.forecast_columns(columns, path)
    return data.read(path, columns) if named is None else forecasts.read(path, named)


def _text(value: Any) -> str | None:
    return str(value) if value not in (None, "") else None


def shown_options() -> list[dict[str, Any]]:
    """The options that say which columns are read and how, for the page: the same as those of the commands."""
    named = opt.COLUMN_OPTIONS | opt.FORECAST_OPTIONS
    texts = {name: ("text", metavar, text) for name, (metavar, text) in named.items()}
    styles = {name: ("text", metavar, text) for name, (_, metavar, text) in opt.STYLE_OPTIONS.items()}
    flags = {name: ("flag", "", text) for name, text in opt.FLAGS.items()}
    return [
        {"name": name, "kind": kind, "metavar": metavar, "help": text}
        for name, (kind, metavar, text) in (texts | styles | flags).items()
    ]
