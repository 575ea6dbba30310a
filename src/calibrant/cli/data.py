"""Files in and out: predictions read, maps loaded, reports written, results shown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import calibrant as cal
from calibrant import files
from calibrant.cli.running import is_quiet
from calibrant.cli.stdin import shown
from calibrant.inputs import listed
from calibrant.problems import InputError, visible

if TYPE_CHECKING:
    from calibrant.files.columns import FileColumns
    from calibrant.maps import CalibrationMap


NOT_IN_STATES = ("weights", "groups", "soft")
"""Columns and kinds of labels that a state does not keep."""

LONG_ROWS = 20_000_000
"""Of one file: more rows than these are summed up batch by batch, in a fraction of the memory."""


@dataclass(frozen=True)
class Source:
    """The file that a command read, and the columns it took; no file: nothing was read."""

    file: str = ""
    columns: FileColumns | None = None
    features: tuple[str, ...] = ()
    """columns that segments are cut from"""
    after: Source | None = None
    """the second file, where two are compared"""
    models: str | None = None
    """the column that names the model of each answer"""

    @property
    def dropped(self) -> int:
        """Rows that were left out for their missing values."""
        return 0 if self.columns is None else self.columns.dropped

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        columns = {} if self.columns is None else self.columns.to_dict()
        columns |= {"features": list(self.features)} if self.features else {}
        columns |= {"models": self.models} if self.models else {}
        return {"file": shown(self.file), "columns": columns} | ({"after": self.after.to_dict()} if self.after else {})

    def __str__(self) -> str:
        text = str(self.columns or "")
        left = "" if self.columns is None else self.columns.unused_weights
        text += f", segments from {listed(self.features)}" if self.features else ""
        text += f", models from {self.models!r}" if self.models else ""
        text += f"; {left!r} is not used (--weights {left} would)" if left else ""
        return f"{text[:1].upper()}{text[1:]}" + (f"\nAfter: {str(self.after).lower()}" if self.after else "")


def read(
    file: Path, columns: dict[str, Any], fitted: CalibrationMap | None = None, *, in_batches: bool = False
) -> tuple[cal.Predictions, Source]:
    """The predictions in a file, in the order of a map's classes, and where they were found.

    A pattern, a folder or a saved state gives a state, which is taken as predictions are; so does a long file where it
    may be read in batches.
    """
    columns = dict(columns)
    checkpoint = columns.pop("checkpoint", None)
    if checkpoint is not None or is_lake(file) or (in_batches and _is_long(file, columns)):
        return _scanned(file, columns, checkpoint)
    predictions, chosen = files.read_with_columns(file, **columns)
    order = None if fitted is None or predictions.is_binary else order_of(fitted, predictions.classes)
    if order is not None:
        predictions, chosen = files.read_with_columns(file, **columns | {"classes": order})
    return predictions, Source(str(file), chosen)


def is_lake(file: Path) -> bool:
    """Is this a folder, a pattern of names, or a saved state?"""
    return file.is_dir() or _is_state(file) or (not file.exists() and has_magic(str(file)))


def _is_long(file: Path, columns: dict[str, Any]) -> bool:
    """Is this a Parquet file of so many rows that they had better be summed up batch by batch? Not with what a state loses."""
    kept = any(columns.get(name) not in (None, False, "none") for name in NOT_IN_STATES)
    return not kept and file.suffix == ".parquet" and file.is_file() and files.parquet_rows(file) > LONG_ROWS


def _is_state(file: Path) -> bool:
    if file.suffix == ".arrow" and file.is_file():
        from calibrant.state.arrow import holds_state

        return holds_state(file)
    return file.suffix == ".json" and not files.holds_records(file)


def _scanned(file: Path, columns: dict[str, Any], checkpoint: Path | None) -> tuple[cal.Predictions, Source]:
    from calibrant.predictions import admit

    if _is_state(file):
        return admit(cal.State.load(file)), Source(str(file))
    state, chosen = scan_lake(file, columns, checkpoint=checkpoint)
    return admit(state), Source(str(file), chosen)


def scan_lake(file: Path, columns: dict[str, Any], **options: Any) -> tuple[Any, FileColumns]:
    """A state of files, or one for each segment; what a state cannot hold is refused."""
    from calibrant.verbs.scan import scan_with_columns

    named = _of_many_files(columns)
    normalize = named.pop("normalize", False)
    return scan_with_columns(file, named, normalize=normalize, **options)


def _of_many_files(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns without those that cannot be used with many files, which are refused."""
    named = dict(columns)
    for name in NOT_IN_STATES:
        if named.pop(name, None) not in (None, False, "none"):
            raise InputError(
                name, "cannot be used with a pattern, a folder or a checkpoint", "a state does not keep it"
            )
    return named


def batches_of(file: Path, columns: dict[str, Any]) -> files.PredictionBatches | None:
    """Predictions of several classes in a folder or a pattern of files, to be read in passes; None for all else."""
    if not is_lake(file) or _is_state(file) or columns.get("checkpoint") is not None or columns.get("pred"):
        return None
    named = {name: value for name, value in _of_many_files(columns).items() if value is not None}
    found = files.read_batches(file, **named)
    return found if next(iter(found)).n_classes > 2 else None


def read_after(file: Path, columns: dict[str, Any]) -> tuple[cal.Predictions, Source]:
    """The predictions to compare with, whose columns `apply` may have renamed."""
    try:
        return read(file, columns)
    except files.UnknownColumn:
        return read(file, columns | {"probs": None, "logits": None})


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


def write_report(path: Path | None, force: bool, given: Any, source: Source, *answers: Any, **more: Any) -> None:
    """The report, if one is wanted: with the command, and the fingerprint of what was read."""
    if path is None:
        return
    from calibrant.report import write
    from calibrant.verbs.origin import origin_of

    command = click.get_current_context().find_root().obj or ""
    origin = origin_of(given, command=command, source=f"{shown(source.file)}: {source}" if source.file else "")
    write(path, *answers, **more, origin=origin, overwrite=force)
    say(f"Wrote {path}", err=True)


def say(text: str, *, err: bool = False) -> None:
    """Print a text; names in it are shown, not obeyed. Remarks on the error stream are left out with --quiet."""
    if not (err and is_quiet()):
        click.echo(visible(text), err=err)


def say_json(found: Any, source: Source) -> None:
    """Print results as JSON: each with the file and the columns that it was computed from."""
    taken = {"input": source.to_dict()} if source.file else {}
    several = isinstance(found, list)
    plain = [cal.results.document(each) | taken for each in (found if several else [found])]
    say(json.dumps(plain if several else plain[0], indent=2, ensure_ascii=False, allow_nan=False))


def show(found: Any, title: str, source: Source, as_json: bool) -> None:
    """A result as JSON, or in words and tables with `cluster=` written as `--cluster`."""
    if as_json:
        say_json(found, source)
        return
    from calibrant.cli import screen

    cautions = tuple(re.sub(r"cluster='?(\w+)'?", _as_option, caution) for caution in found.cautions)
    worded = found if cautions == found.cautions else replace(found, cautions=cautions)
    screen.show_answer(screen.terminal(), worded, title, str(source))


def _as_option(found: re.Match[str]) -> str:
    return f"--cluster {'no' if found[1] == 'False' else found[1]}"
