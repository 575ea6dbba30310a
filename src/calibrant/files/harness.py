"""Samples of lm-evaluation-harness (`samples_*.jsonl`): log-likelihoods of choices as probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calibrant.problems import FileError
from calibrant.types import Floats

Row = dict[str, Any]
MEANING = "softmax of the choices' log-likelihoods"


def is_harness_sample(record: Any) -> bool:
    """Is this a logged sample with log-likelihoods of at least two choices?

    Parameters
    ----------
    record
        A decoded JSON object.
    """
    if not isinstance(record, dict) or not {"doc_id", "target"} <= record.keys():
        return False
    pairs = _pairs(record)
    return len(pairs) > 1 and all(_number(pair[0]) is not None for pair in pairs)


def is_generated_sample(record: Any) -> bool:
    """Is this a logged sample with generated text, which comes without probabilities?

    Parameters
    ----------
    record
        A decoded JSON object.
    """
    return isinstance(record, dict) and {"doc_id", "target", "resps", "filtered_resps"} <= record.keys()


def harness_rows(records: list[Row], path: Path) -> tuple[list[Row], str]:
    """One row per sample: probabilities of the choices and the target, or confidence and grade of the best choice.

    The first where every sample has as many choices and its target is one of them, in
    agreement with the harness's own `acc`; the second otherwise.

    Parameters
    ----------
    records
        The samples.
    path
        For error texts.
    """
    probs = [_softmax(_likelihoods(record, k, path)) for k, record in enumerate(records)]
    targets = [_target(record, len(each)) for record, each in zip(records, probs, strict=True)]
    best = [int(each.argmax()) for each in probs]
    grades = [_grade(record.get("acc")) for record in records]
    agree = all(
        target is not None and (grade is None or grade == (target == top))
        for target, grade, top in zip(targets, grades, best, strict=True)
    )
    rows: list[Row] = [{"doc_id": record["doc_id"]} for record in records]
    if agree and len({len(each) for each in probs}) == 1:
        for row, target, each in zip(rows, targets, probs, strict=True):
            row |= {"target": target, "probs": each.tolist()}
    else:
        for k, (row, target, each) in enumerate(zip(rows, targets, probs, strict=True)):
            if grades[k] is None and target is None:
                raise FileError(f"cannot read {str(path)!r}: sample {k} has no target among its choices, and no acc.")
            right = float(target == best[k]) if grades[k] is None else grades[k]
            row |= {"correct": right, "confidence": float(each.max())}
    return grouped(rows, "doc_id"), MEANING


def grouped(rows: list[Row], question: str) -> list[Row]:
    """Rows with their question as a group, if any comes more than once.

    Parameters
    ----------
    rows
        One per answer.
    question
        The column that names it.
    """
    return rows if len({row[question] for row in rows}) == len(rows) else [r | {"group": r[question]} for r in rows]


def _pairs(record: Row) -> list[Any]:
    """(log-likelihood, is it the greedy answer) of each choice; texts as well as numbers."""
    given = record.get("filtered_resps") or record.get("resps") or []
    if not isinstance(given, list):
        return []
    nested = [
        each[0] if isinstance(each, list) and len(each) == 1 else each for each in given
    ]  # resps have one more level
    return nested if all(isinstance(each, list) and len(each) == 2 for each in nested) else []


def _likelihoods(record: Row, k: int, path: Path) -> Floats:
    """The log-likelihoods of the choices, without those given no context (for mutual information)."""
    values = [_number(pair[0]) for pair in _pairs(record)]
    asked = record.get("arguments")
    asked = list(asked.values()) if isinstance(asked, dict) else asked
    if "acc_mutual_info" in record and len(values) % 2 == 0:
        blank = [_argument(each, 0) == "" for each in asked] if isinstance(asked, list) else []
        if len(blank) == len(values) == 2 * sum(blank):
            values = [value for value, without in zip(values, blank, strict=True) if not without]
        else:
            values = values[: len(values) // 2]
    found = np.array([np.nan if value is None else value for value in values])
    if len(found) < 2 or not found.max() > -np.inf or not (found < np.inf).all():
        lacks = "has no log-likelihoods of two or more choices"
        raise FileError(f"cannot read {str(path)!r}: sample {k} (doc_id {record.get('doc_id')!r}) {lacks}.")
    return found


def _argument(given: Any, place: int) -> Any:
    """The context (0) or the continuation (1) of one request."""
    if isinstance(given, dict):
        return given.get(f"arg_{place}")
    return given[place] if isinstance(given, list) and len(given) > place else None


def _softmax(values: Floats) -> Floats:
    shifted = np.exp(values - values.max())
    return np.asarray(shifted / shifted.sum())


def _target(record: Row, n_choices: int) -> int | None:
    """The index of the right choice; None if it is no index and not the text of one choice."""
    target = record["target"]
    if isinstance(target, list) and len(target) == 1:
        (target,) = target
    text = str(target).strip()
    if text.isdecimal():
        return int(text) if int(text) < n_choices else None
    asked = record.get("arguments")
    asked = list(asked.values()) if isinstance(asked, dict) else asked
    choices = [str(_argument(each, 1)).strip() for each in asked[:n_choices]] if isinstance(asked, list) else []
    return choices.index(text) if choices.count(text) == 1 else None


def _grade(value: Any) -> float | None:
    """The harness's own accuracy of one sample, which may be a truth value."""
    return float(value) if isinstance(value, bool) else _number(value)


def _number(value: Any) -> float | None:
    """A number, also one written as text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except ValueError:
        return None
