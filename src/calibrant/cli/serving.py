"""The page on this computer: serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from calibrant.cli import data, forecasts
from calibrant.cli import options as opt
from calibrant.cli.group import main, worded
from calibrant.problems import InputError

MEGABYTE = 1_000_000
UNPACKED = 10
"""A file may unpack to so many times the largest upload."""


@main.command(short_help="A page in the browser, for this computer alone.")
@opt.option("--port", click.IntRange(0, 65535), "The port; 0 is any free one.", 0)
@opt.option("--max-megabytes", click.IntRange(1), "The largest file.", 200, metavar="N")
def serve(port: int, max_megabytes: int) -> None:
    """Drop a file on a page: see its diagnosis, compare repairs, download map and report.

    The page can be reached from this computer alone (127.0.0.1), and only at the address
    that is printed: its last part is a key that changes with every start. Files stay in a
    temporary folder that nobody else can read and that is removed at the end. Ctrl-C ends
    it.

    \b
    Examples:
      calibrant serve
      calibrant serve --port 8765
      calibrant serve --max-megabytes 1000
    """
    from calibrant.serve.answers import Answers
    from calibrant.serve.server import Server
    from calibrant.serve.uploads import Uploads
    from calibrant.serve.workers import Workers

    uploads = Uploads(max_megabytes * MEGABYTE)
    answers = Answers(read, worded, UNPACKED * uploads.max_bytes)
    try:
        server = Server(uploads, lambda: Workers(answers, uploads.folder), shown_options(), port)
    except OSError as error:
        uploads.close()
        raise InputError("port", "must be free", str(error.strerror), "Leave it out for any free one") from error
    try:
        data.say(f"Open this address in a browser; Ctrl-C ends it:\n{server.url}")
        sys.stdout.flush()
        server.serve_forever()
    finally:
        server.close()


def read(path: Path, given: dict[str, Any]) -> tuple[Any, data.Source]:
    """Predictions or forecasts and where they were found, as the commands read them."""
    known = {each["name"]: each["kind"] for each in shown_options()}
    columns = {name: given.get(name) or (False if kind == "flag" else None) for name, kind in known.items()}
    named = forecasts.forecast_columns(columns, path)
    return data.read(path, columns) if named is None else forecasts.read(path, named)


def shown_options() -> list[dict[str, Any]]:
    """The options that say which columns are read and how, for the page: the same as those of the commands."""
    texts = {**opt.COLUMN_OPTIONS, **opt.FORECAST_OPTIONS, **opt.STYLE_OPTIONS}
    shown = [{"name": name, "kind": "text", "metavar": of[-2], "help": of[-1]} for name, of in texts.items()]
    return shown + [{"name": name, "kind": "flag", "metavar": "", "help": text} for name, text in opt.FLAGS.items()]
