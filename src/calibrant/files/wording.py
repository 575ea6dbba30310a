"""Errors about arguments, reworded for a file and its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from calibrant.files.columns import Columns, FileColumns
from calibrant.files.forecast_columns import ForecastColumns
from calibrant.problems import InputError


@contextmanager
def worded(file: str, columns: FileColumns) -> Iterator[None]:
    """An InputError inside names the file and its columns instead of arguments."""
    try:
        yield
    except InputError as error:
        text = str(error)
        if isinstance(columns, Columns):
            text = _about_classes(text, columns)
        elif isinstance(columns, ForecastColumns):
            text = _about_forecasts(text, columns)
        text = re.sub(r"(?<=; )row \d+(, place \d+)?", r"\g<0> (the first is 0)", text)
        body, _, advice = text.rpartition(". ")
        reworded = InputError(f"{file}:", body or advice.removesuffix("."), "", body and advice.removesuffix("."))
        reworded.argument = error.argument
        raise reworded from error


def _about_classes(text: str, columns: Columns) -> str:
    """`probs[3, 1]` as a row and a column, arguments as columns."""
    role = "logits" if columns.logits else "probs"
    others = {"labels": (columns.label,), "weights": (columns.weights,), "groups": (columns.groups,)}
    roles = {role: columns.predicted, **others}

    def at(found: re.Match[str]) -> str:
        names = roles.get(found[1], ())
        return f"row {found[2]}" + (f" of {names[int(found[3])]!r}" if found[3] and len(names) > 1 else "")

    text = re.sub(r"\b(labels|probs|logits|weights|groups)\[(\d+)(?:, (\d+))?\]", at, text)
    for each, names in roles.items():
        shown = columns.ends if each == role else repr(names[0])
        text = re.sub(rf"^{each}\b", f"column{'s' * (len(names) > 1)} {shown}", text)
    return text.replace("use Predictions.from_logits", f"pass logits={','.join(columns.predicted)!r}")


def _about_forecasts(text: str, columns: ForecastColumns) -> str:
    """`mean[3]` as a row, arguments as columns; where quantiles cross, columns instead of levels."""
    text = re.sub(r"(?<=; )[^;]*\[(\d+)\](?= is )", r"row \1", text)
    text = re.sub(r"(?<=; )[^;]*\[(\d+), (\d+)\](?= is )", r"row \1, place \2", text)
    for role, name in columns.roles.items():
        text = re.sub(rf"^{role}\b", f"column {name!r}", text)
    if columns.kind == "Gaussian":
        return text
    names = {f"{level:g}": name for name, level in zip(columns.predicted, columns.levels or (), strict=False)}
    text = re.sub(r"(?<= at )\S+?(?=( and |\. ))", lambda found: repr(names.get(found[0], found[0])), text)
    text = re.sub(r"^values\b", f"columns {columns.ends}", text.replace(" at '", " in '"))
    return text.replace("np.sort(values, axis=1)", "Sort the quantiles of each row")
