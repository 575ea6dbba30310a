"""Answers of language models from a file: right or wrong, how sure, to which question, by which model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.files.arrow import to_numpy
from calibrant.files.columns import Columns, Header, choose, worded
from calibrant.files.formats import LOG, Store, file_errors, open_store
from calibrant.files.reading import class_names, load, predictions_of
from calibrant.files.style import Style, complete
from calibrant.problems import FileError, InputError
from calibrant.types import Array, Bools, Floats, Indices

QUESTIONS = ("question", "question_id", "doc_id", "custom_id")
"""Columns that name the question of an answer, for pairing models; in logs of answers also `id`."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers in a file, as arguments of `assess_answers` and `compare_answers`."""

    columns: Columns
    labels: Bools
    """is the answer right?"""
    probs: Floats
    """the confidence; NaN where there is none"""
    groups: Array | None = None
    """the question"""
    counts: Array | None = None
    weights: Array | None = None
    models: Array | None = None
    """who answered, if a column of models was named"""
    questions: Array | None = None
    """the question for pairing models: that of `groups`, or of a column called `question` or the like"""
    model: str | None = None
    """the only model, if a log of answers names it"""


def read_answers(
    path: str | Path, *, models: str | None = None, abstentions: str = "refuse", **columns: Any
) -> Answers:
    """The answers in a file or a log; several classes are reduced to whether the top one is right.

    Parameters
    ----------
    path
        The file.
    models
        The column that names the model of each answer.
    abstentions
        With `"count"` or `"drop"`, answers without a confidence have the confidence NaN;
        with `"refuse"` they are refused.
    **columns
        Columns and style, as for `calibrant.read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.files import read_answers
    >>> path = pathlib.Path(tempfile.mkdtemp(), "answers.jsonl")
    >>> _ = path.write_text('{"grade": {"right": 1}, "confidence": "95%"}\\n{"grade": {"right": 0}}\\n')
    >>> found = read_answers(path, label="grade.right", percent=True, abstentions="count")
    >>> found.labels, found.probs
    (array([ True, False]), array([0.95,  nan]))
    """
    given = columns | {"abstentions": abstentions}
    style = Style.taken(given)
    flags = {name: bool(given.pop(name, False)) for name in ("normalize", "soft")}
    store, order = open_store(Path(path), style), class_names(given.pop("classes", None))
    header = Header(store.names, str(path))
    chosen = choose(store.names, str(path), classes=order, **given)
    named = None if models is None else header.known("models", models)
    if abstentions == "refuse" and style.missing == "error":
        _check_answered(store, chosen)
    found, chosen, rows = load(store, chosen)
    with worded(str(path), chosen, rows=rows):
        event = predictions_of(found, chosen, order, style=style, **flags).event("auto")
        if not event.hard:
            raise InputError("labels", "must be answers that are right or wrong", "they are shares (soft labels)")
    kept = np.arange(len(event.probs)) if rows is None else rows
    everyone = np.union1d(kept, _abstained(store, chosen))
    probs, labels = np.full(len(everyone), np.nan), np.zeros(len(everyone), dtype=bool)
    place = np.searchsorted(everyone, kept)
    probs[place], labels[place] = event.probs, event.outcomes.astype(bool)
    question = chosen.groups or next((n for n in store.names if n in QUESTIONS + ("id",) * (store.format == LOG)), None)
    beside = {"groups": chosen.groups, "counts": chosen.counts, "weights": chosen.weights}
    beside |= {"models": named, "questions": question}
    columns_beside = {role: _column(store, chosen, name, everyone) for role, name in beside.items()}
    return Answers(chosen, labels, probs, **columns_beside, model=_only_model(store))


def _check_answered(store: Store, chosen: Columns) -> None:
    """Refuse answers without a confidence, and say how they can be taken."""
    with file_errors("read", store.path):
        absent = ~complete(store.load(chosen.predicted, []), chosen.predicted, chosen.predicted)
    if absent.any():
        what = f"{store.path}: column {chosen.ends}"
        found = f"{absent.sum():,} are missing, the first in row {absent.argmax()} (the first is 0)"
        advice = "Pass abstentions='count' if the model abstained there, or abstentions='drop'"
        raise InputError(what, "must hold a confidence for every answer", found, advice)


def _abstained(store: Store, chosen: Columns) -> Indices:
    """The rows that have no confidence, if they are wanted."""
    if not chosen.abstained:
        return np.zeros(0, dtype=np.intp)
    with file_errors("read", store.path):
        return np.flatnonzero(~complete(store.load(chosen.predicted, []), chosen.predicted, chosen.predicted))


def _column(store: Store, chosen: Columns, name: str | None, rows: Indices) -> Array | None:
    """Some rows of a column; None where there is no such column."""
    if name is None:
        return None
    with file_errors("read", store.path), worded(str(store.path), chosen):
        column = store.load([name], [])[name]
        return to_numpy(column[rows] if isinstance(column, np.ndarray) else column.take(rows), name)


def _only_model(store: Store) -> str | None:
    """The model of a log of answers that has one."""
    if store.format != LOG or "model" not in store.names:
        return None
    try:
        found = {str(name) for name in to_numpy(store.load(["model"], [])["model"], "model").tolist()}
    except (FileError, InputError):
        return None
    return found.pop() if len(found) == 1 else None
