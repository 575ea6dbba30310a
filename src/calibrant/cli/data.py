"""Files in and out: predictions read, maps loaded, reports written, results shown."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import calibrant as cal
from calibrant import files
from calibrant.problems import FileError, InputError

if TYPE_CHECKING:
    from calibrant.maps import CalibrationMap


def read(file: Path, columns: dict[str, Any], fitted: CalibrationMap | None = None) -> tuple[cal.Predictions, str]:
    """The predictions in a file, in the order of a map's classes, and where they were found."""
    predictions, chosen = files.read_with_columns(file, **columns)
    order = None if fitted is None or predictions.is_binary else order_of(fitted, predictions.classes)
    if order is not None:
        predictions, chosen = files.read_with_columns(file, **columns | {"classes": order})
    return predictions, f"{str(chosen)[:1].upper()}{str(chosen)[1:]}"


def read_after(file: Path, columns: dict[str, Any]) -> cal.Predictions:
    """The predictions to compare with, whose columns `apply` may have renamed."""
    try:
        return read(file, columns)[0]
    except files.UnknownColumn:
        return read(file, columns | {"probs": None, "logits": None})[0]


def order_of(fitted: CalibrationMap, found: tuple[Any, ...]) -> tuple[str, ...] | None:
    """The map's classes where a file has them in another order; None if no order is needed."""
    wanted, have = [str(c) for c in fitted.classes], [str(c) for c in found]
    counted = [str(k) for k in range(len(have))]
    if wanted == have or len(wanted) != len(have) or counted in (wanted, have):
        return None
    if set(wanted) == set(have):
        return tuple(wanted)
    raise InputError("classes", f"must be those of the map, {', '.join(wanted)}", f"the file has {', '.join(have)}")


def load_class_map(path: Path) -> CalibrationMap:
    """A saved map of class probabilities."""
    fitted = cal.load_map(path)
    if not isinstance(fitted, cal.maps.CalibrationMap):
        raise click.UsageError(f"{path} is a map of forecasts of a number, not of probabilities.")
    return fitted


def check_free(path: Path, force: bool) -> None:
    """Nothing is overwritten unless the user asks for it."""
    if path.exists() and not force:
        raise FileError(f"{str(path)!r} exists already. Choose another name, or pass overwrite=True.")


def write_report(path: Path, source: Path | None, *answers: Any, **more: Any) -> None:
    """The report, never over the predictions themselves."""
    from calibrant.report import write

    if source is not None and path.exists() and path.samefile(source):
        raise InputError("report", "must not be the file of predictions", f"it is {path}")
    write(path, *answers, **more)
    click.echo(f"Wrote {path}", err=True)


def show(found: Any, title: str, source: str, as_json: bool) -> None:
    """A result as JSON, or in words and tables with `cluster=` written as `--cluster`."""
    if as_json:
        click.echo(found.to_json())
        return
    from calibrant.cli import screen

    cautions = tuple(re.sub(r"cluster='?(\w+)'?", _as_option, caution) for caution in found.cautions)
    worded = found if cautions == found.cautions else replace(found, cautions=cautions)
    screen.show_answer(screen.terminal(), worded, title, source)


def _as_option(found: re.Match[str]) -> str:
    return f"--cluster {'no' if found[1] == 'False' else found[1]}"
