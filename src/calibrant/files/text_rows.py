"""Text files with some fields replaced: all other text stays as it was written."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.files.encodings import blocks, lines
from calibrant.types import Array

_MARK = b"\xef\xbb\xbf"
"""The byte-order mark with which some programs begin a text in UTF-8."""

_LONG = re.compile(rb":\s*-?\d{19,}\s*[,}]")

New = Mapping[str, Mapping[str, Array]]
"""For each column that is replaced, the columns that take its place."""


class OtherRows(Exception):
    """The rows are not those that were read: this text needs a real parser."""


def rows_of_csv(
    text: Iterator[bytes],
    names: Sequence[str],
    new: New,
    n: int,
    delimiter: str,
    texts: Callable[[list[Array]], list[bytes]],
) -> Iterator[bytes]:
    """A CSV file with other predictions, as bytes: quotes, line ends and numbers of all other columns stay.

    Raises `OtherRows` where lines and quotes do not give `n` rows of as many fields as there are names.

    Parameters
    ----------
    text
        The file's content in parts, as UTF-8.
    names
        The names of all its columns.
    new
        What takes the place of which column.
    n
        Rows of the file.
    delimiter
        The character between fields.
    texts
        Gives the texts of columns side by side, row by row.
    """
    fresh = {name: column for columns in new.values() for name, column in columns.items()}
    picks = _picks(names, new)
    runs = [list(run) for _, run in groupby(picks, lambda pick: isinstance(pick, str))]  # new columns side by side
    written = [None if isinstance(run[0], int) else texts([fresh[str(name)] for name in run]) for run in runs]
    mark, between, row = b"", delimiter.encode(), -1
    for fields, end in records(text, between):
        if row < 0 and fields and fields[0].startswith(_MARK):
            mark, fields[0] = _MARK, fields[0].removeprefix(_MARK)
        if fields and (len(fields) != len(names) or row >= n):
            raise OtherRows
        if not fields:
            yield end
            continue
        if row < 0:
            heads = dict(zip(names, fields, strict=True))
            parts = [fields[p] if isinstance(p, int) else heads.get(p) or _field(p, delimiter) for p in picks]
        else:
            parts = []
            for run, values in zip(runs, written, strict=True):
                parts += [fields[int(place)] for place in run] if values is None else [values[row]]
        row += 1
        yield mark + between.join(parts) + end
        mark = b""
    if row != n:
        raise OtherRows


def _picks(names: Sequence[str], new: New) -> list[int | str]:
    """For each column that is written, the place of the old one or the name of the new one."""
    fresh = {name for columns in new.values() for name in columns}
    picks: list[int | str] = []
    for place, name in enumerate(names):
        picks += list(new[name]) if name in new else [] if name in fresh else [place]
    return picks


def _field(text: str, delimiter: str) -> bytes:
    """A name, quoted where that is needed."""
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator="").writerow([text])
    return written.getvalue().encode()


def records(text: Iterator[bytes], delimiter: bytes) -> Iterator[tuple[list[bytes], bytes]]:
    """The fields of each record as they are written, and the line end; no fields for an empty line.

    Parameters
    ----------
    text
        A text table in parts.
    delimiter
        Between the fields.
    """
    field = re.compile(rb'(?:"(?:[^"]|"")*")?[^%b]*' % re.escape(delimiter))
    held = b""
    for line in lines(text):
        held += line
        if held.count(b'"') % 2:
            continue  # a line break within quotes
        row = held.rstrip(b"\r\n")
        end, held = held[len(row) :], b""
        if b'"' not in row:
            yield row.split(delimiter) if row else [], end
            continue
        fields, at = [], 0
        while True:
            found = field.match(row, at)
            assert found is not None  # it matches the empty text
            fields.append(found[0])
            if found.end() >= len(row):
                break
            at = found.end() + 1
        yield fields, end
    if held:
        raise OtherRows


def rows_of_json(text: Iterator[bytes], new: New, n: int) -> Iterator[bytes]:
    """A file of JSON lines with other predictions, as bytes; raises `OtherRows` if it does not hold `n` rows.

    Parameters
    ----------
    text
        The file's content in parts, as UTF-8.
    new
        What takes the place of which column.
    n
        Rows of the file.
    """
    fresh = {name for columns in new.values() for name in columns}
    values = {
        old: {name: np.asarray(column).tolist() for name, column in columns.items()} for old, columns in new.items()
    }
    row = 0
    for line in lines(text):
        if not line.strip():
            yield line
            continue
        old = json.loads(line.removeprefix(_MARK))
        if row >= n or not isinstance(old, dict):
            raise OtherRows
        result: dict[str, Any] = {}
        for key, value in old.items():
            if key in values:
                result |= {name: column[row] for name, column in values[key].items()}
            elif key not in fresh:
                result[key] = value
        for name in values.keys() - old.keys():
            _put_within(result, name, {own: column[row] for own, column in values[name].items()})
        yield json.dumps(result, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        row += 1
    if row != n:
        raise OtherRows


def _put_within(record: dict[str, Any], name: str, new: dict[str, Any]) -> None:
    """Replace the nested field of a dotted name by others, in the place that their dotted names say."""
    *above, last = name.split(".")
    for part in above:
        record = record.get(part)  # type: ignore[assignment]
        if not isinstance(record, dict):
            raise OtherRows
    record.pop(last, None)
    record |= {own.removeprefix(".".join((*above, ""))): value for own, value in new.items()}


def long_integers(path: Path, encoding: str | None, table: Any) -> dict[str, list[str | None]]:
    """The columns of JSON lines with whole numbers that no type of a table holds, as text.

    Parameters
    ----------
    path, encoding
        The file, and what it is written in.
    table
        Its content as Arrow read it, with such columns as floats.
    """
    floats = [name for name in table.column_names if str(table.schema.field(name).type) == "double"]
    if not floats or not any(_LONG.search(line) for line in lines(blocks(path, encoding))):
        return {}
    rows = [json.loads(line) for line in lines(blocks(path, encoding)) if line.strip()]
    found = {name: [row.get(name) for row in rows] for name in floats}
    return {
        name: [None if value is None else str(value) for value in values]
        for name, values in found.items()
        if any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values)
    }
