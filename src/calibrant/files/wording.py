"""Errors about arguments, in words of the file and its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from calibrant.files.columns import Columns
from calibrant.problems import InputError


@contextmanager
def worded(file: str, columns: Columns) -> Iterator[None]:
    """An InputError inside names the file and its columns instead of arguments."""
    try:
        yield
    except InputError as error:
        body, _, advice = _in_words_of_the_file(str(error), columns).rpartition(". ")
        told = InputError(f"{file}:", body or advice.removesuffix("."), "", body and advice.removesuffix("."))
        told.argument = error.argument
        raise told from error


def _in_words_of_the_file(text: str, columns: Columns) -> str:
    said = "logits" if columns.logits else "probs"
    roles = {said: columns.said, "labels": (columns.label,), "weights": (columns.weights,), "groups": (columns.groups,)}

    def at(found: re.Match[str]) -> str:
        names = roles.get(found[1], ())
        return f"row {found[2]}" + (f" of {names[int(found[3])]!r}" if found[3] and len(names) > 1 else "")

    text = re.sub(r"\b(labels|probs|logits|weights|groups)\[(\d+)(?:, (\d+))?\]", at, text)
    for role, names in roles.items():
        shown = columns.shown if role == said else repr(names[0])
        text = re.sub(rf"^{role}\b", f"column{'s' * (len(names) > 1)} {shown}", text)
    text = re.sub(r"(?<=; )row (\d+)", r"row \1 (the first is 0)", text)
    return text.replace("use Predictions.from_logits", f"pass logits={','.join(columns.said)!r}")
