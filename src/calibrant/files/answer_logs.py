"""Logs of language models' answers as tables: lm-evaluation-harness samples, Inspect logs, chat completions."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from calibrant.files.completions import answer_of, completion_of, is_completion
from calibrant.files.encodings import blocks, lines
from calibrant.files.guards import check_size
from calibrant.files.harness import grouped, harness_rows, is_generated_sample, is_harness_sample
from calibrant.problems import FileError

Row = dict[str, Any]
HEAD = 1 << 16
UNPACKED = 6
"""Bytes of Python objects per byte of JSON, about."""
GRADES = {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's letters and words for correct, incorrect, partly correct and no answer."""
STATED = "stated by the model"


class Log(NamedTuple):
    """Rows with plain columns, and what their confidences are."""

    rows: list[Row]
    meaning: str = ""


def kind_of_log(path: Path, encoding: str | None = None) -> Callable[[Path, str | None], Log] | None:
    """How the first record of a file of JSON lines is to be read as a log; None for any other table.

    Parameters
    ----------
    path, encoding
        The file of JSON lines.
    """
    line = next((line for line in lines(blocks(path, encoding)) if line.strip()), b"")
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):  # another reader says what is wrong with it
        return None
    if is_harness_sample(first):
        return lambda path, encoding: Log(*harness_rows(_records(path, encoding), path))
    if is_generated_sample(first):  # its own fields, such as exact_match, beside whatever confidence was added
        return lambda path, encoding: Log(grouped([dict(_flat(each)) for each in _records(path, encoding)], "doc_id"))
    if is_completion(first):
        return lambda path, encoding: _completions(_records(path, encoding))
    return None


def _records(path: Path, encoding: str | None) -> list[Row]:
    """The objects of a file of JSON lines."""
    check_size(path, UNPACKED * path.stat().st_size, "it")
    found: list[Row] = []
    for number, line in enumerate(lines(blocks(path, encoding)), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise FileError(f"cannot read {str(path)!r}: line {number} is not JSON ({error})") from error
        if not isinstance(record, dict):
            raise FileError(f"cannot read {str(path)!r}: line {number} is not a JSON object.")
        found.append(record)
    return found


def holds_records(path: Path) -> bool:
    """Does a `.json` file hold predictions, an Inspect log or a list of records, rather than a saved result?

    Parameters
    ----------
    path
        The file; it need not exist.
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(HEAD).lstrip(b"\xef\xbb\xbf \t\r\n")
    return head.startswith(b"[") or re.search(rb'"eval"\s*:\s*\{', head) is not None


def read_json(path: Path) -> Log:
    """A `.json` file: an Inspect log, or a list of records.

    Parameters
    ----------
    path
        The file.
    """
    check_size(path, UNPACKED * path.stat().st_size, "it")
    data = json.loads(b"".join(blocks(path)))
    if isinstance(data, dict) and isinstance(data.get("eval"), dict):
        samples = data.get("samples")
        if not samples:
            raise FileError(f"cannot read {str(path)!r}: this Inspect log holds no samples.")
        return _inspect(samples, data["eval"])
    if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
        if is_harness_sample(data[0]):
            return Log(*harness_rows(data, path))
        return _completions(data) if is_completion(data[0]) else Log(data)
    what = 'an Inspect log with samples, or a list of records such as [{"label": 1, "prob": 0.8}, …]'
    raise FileError(f"cannot read {str(path)!r}: a .json file of predictions must be {what}.")


def read_eval(path: Path) -> Log:
    """An Inspect log in its own format: a zip of JSON.

    Parameters
    ----------
    path
        The `.eval` file.
    """
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        head = next((name for name in ("header.json", "_journal/start.json", "start.json") if name in names), None)
        members = [name for name in names if _is_sample(name)]
        if head is None or not members:
            raise FileError(f"cannot read {str(path)!r}: this Inspect log holds no samples.")
        size = sum(archive.getinfo(name).file_size for name in (head, *members))
        check_size(path, UNPACKED * size, "what it unpacks to")
        try:
            spec, *samples = (json.loads(archive.read(name)) for name in (head, *members))
        except NotImplementedError as error:
            advice = "Convert it with `inspect log convert --to json`"
            raise FileError(f"cannot read {str(path)!r}: its compression is not supported. {advice}.") from error
    if not all(isinstance(each, dict) for each in (spec, *samples)):
        raise FileError(
            f"cannot read {str(path)!r}: the header and the samples of an Inspect log must be JSON objects."
        )
    return _inspect(samples, spec.get("eval") or {})


def _is_sample(name: str) -> bool:
    """Is this a sample in one piece, or the core of one that is stored in chunks?"""
    parts = name.split("/")
    return parts[0] == "samples" and name.endswith(".json") and (len(parts) == 2 or parts[2:] == ["sample.json"])


def _inspect(samples: list[Row], spec: Row) -> Log:
    """One row per sample and epoch: whether it was graded correct, and the confidence that came with it."""
    rows, meanings = [], set()
    for sample in sorted(samples, key=lambda each: (each.get("epoch") or 1, str(each.get("id")))):
        scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
        row: Row = {"id": str(sample.get("id")), "epoch": sample.get("epoch") or 1, "model": spec.get("model")}
        row |= {f"scores.{name}.{part}": value for name, score in scores.items() for part, value in _flat(score)}
        row |= {f"metadata.{part}": value for part, value in _flat(sample.get("metadata") or {})}
        if len(scores) == 1:
            (score,) = scores.values()
            row["correct"] = _grade(score.get("value"))
            confidence, meaning = _confidence(score, sample)
            row["confidence"] = None if score.get("value") == "N" else confidence
            meanings |= {meaning} - {""}
        rows.append(row)
    rows = grouped(rows, "id")
    if all(row.get("confidence") is None for row in rows):
        rows = [{name: value for name, value in row.items() if name != "confidence"} for row in rows]
    return Log(rows, " or ".join(sorted(meanings)))


def _flat(record: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """The plain values of a nested record, named by their path."""
    for name, value in record.items() if isinstance(record, dict) else ():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        elif value is None or isinstance(value, str | int | float | bool):
            yield f"{before}{name}", value


def _grade(value: Any) -> float | None:
    """A score as a number, as Inspect reads it; None where there is none."""
    if isinstance(value, dict):
        value = next((value[name] for name in ("correct", "accuracy", "score") if name in value), None)
    if isinstance(value, str):
        value = GRADES.get(value.strip().lower(), value)
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(found) else found


def _confidence(score: Row, sample: Row) -> tuple[Any, str]:
    """The confidence that a scorer or a solver recorded; failing these, the probability of the answer's tokens."""
    value = score.get("value")
    for place in (score.get("metadata"), value, sample.get("metadata"), sample.get("store")):
        if isinstance(place, dict) and isinstance(place.get("confidence"), str | int | float):
            return place["confidence"], STATED
    return answer_of(sample.get("output") or {})[1:]


def _completions(records: list[Row]) -> Log:
    """One row per completion: its text, the probability of its tokens, and the other fields of the record."""
    rows, meanings = [], set()
    for record in records:
        answer, confidence, meaning = answer_of(completion_of(record) or {})
        row = dict(_flat({name: value for name, value in record.items() if name not in ("choices", "logprobs")}))
        row |= {} if "pred" in row or answer is None else {"pred": answer}
        row |= {"confidence": confidence} if row.get("confidence") is None else {}
        meanings |= {meaning} - {""}
        rows.append(row)
    return Log(rows, " or ".join(sorted(meanings)))
