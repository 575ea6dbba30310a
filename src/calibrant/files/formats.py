"""Files of several formats, opened by the ending of their names; only the columns needed are read."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant.files.encodings import blocks, not_utf8, utf8_source
from calibrant.files.guards import check_arrays, check_depth, check_size, check_text
from calibrant.files.style import PLAIN, TEXT, Style
from calibrant.files.text_rows import records
from calibrant.problems import CalibrantError, FileError
from calibrant.types import Array

WORKED = 16
"""Bytes per value of a table that its use takes beside the table: the numbers as float64, and once more in order."""
IN_BATCHES = "calibrant.scan reads it in batches, and so does the command line with --checkpoint or a pattern."
"""What is done with a table that does not fit into memory."""

_FIRST_BYTES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",  # as a stream
    b"PK\x03\x04": "NPZ",
    b"\x1f\x8b": "gzip",
}
_LONGEST = 300
"""Characters of an error of other libraries that are shown."""
JSON_BLOCK = 1 << 26
"""Bytes of JSON read at once. A row must fit; one of 10,000 classes takes a quarter of a megabyte."""


class Store(NamedTuple):
    """An opened file: `load(names, as_text)` gives an Arrow table, or a dict of arrays for NPZ."""

    path: Path
    format: str
    names: list[str]
    load: Callable[[Sequence[str], Sequence[str]], Any]
    style: Style = PLAIN
    meaning: str = ""
    """what the confidences are, where the format says it"""


def open_store(path: Path, style: Style = PLAIN) -> Store:
    """The file at a path, with its format and the names of its columns."""
    form = format_of(path)
    style.check_format(form)
    with file_errors("read", path):
        check_first_bytes(path, form)
        if form in TEXT:
            check_text(path, style.encoding)
        if (log := log_in(path, form, style)) is not None:
            return Store(path, LOG, *log[:2], style, log[2])
        names, load = _FORMATS[form][0](path, style)
    return Store(path, form, names, load, style)


def log_in(path: Path, form: str, style: Style) -> tuple[list[str], Any, str] | None:
    """The columns, the loader and the meaning of a log of answers; None for other tables.

    Parameters
    ----------
    path, form, style
        The file, its format and how it is written.
    """
    if form not in ("JSON lines", *LOGS):
        return None
    from calibrant.files import answer_logs

    if form == "JSON lines":
        if (read := answer_logs.kind_of_log(path, style.encoding)) is None:
            return None
        found = read(path, style.encoding)
    else:
        found = answer_logs.read_json(path) if form == "JSON" else answer_logs.read_eval(path)
    table = _table(found.rows, path)
    return table.column_names, lambda names, _: table.select(list(names)), found.meaning


def is_log(path: Path, style: Style) -> bool:
    """Is a file of JSON lines a log of answers, by its first record?"""
    from calibrant.files import answer_logs

    return answer_logs.kind_of_log(path, style.encoding) is not None


def _table(rows: list[dict[str, Any]], path: Path) -> Any:
    """Rows as a table; a column of both numbers and texts is text."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if any(isinstance(value, str) for value in values):
            values = [value if value is None or isinstance(value, str) else str(value) for value in values]
        try:
            columns[name] = pa.array(values)
        except pa.ArrowException as error:
            raise FileError(f"cannot read {str(path)!r}: column {name!r} holds values of different kinds.") from error
    return flattened(pa.table(columns))


def flattened(table: Any) -> Any:
    """A table whose nested fields are columns of their own, `grade.score`."""
    import pyarrow as pa

    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def format_of(path: Path) -> str:
    """The format by the ending of a name."""
    name = path.name.lower()
    bare = name.removesuffix(".gz")
    for form, endings in (*((form, own) for form, (_, own) in _FORMATS.items()), *LOGS.items()):
        if bare.endswith(endings) and (bare == name or form in TEXT):
            return form
    known = ", ".join(ending for _, endings in _FORMATS.values() for ending in endings)
    text = f"{str(path)!r} has no ending that tells its format."
    raise FileError(f"{text} Use one of {known}; .gz may follow a text format.")


def check_first_bytes(path: Path, form: str) -> None:
    """Refuse a file that does not begin as its format does."""
    with path.open("rb") as file:
        head = file.read(8)
    if not head:
        raise FileError(f"cannot read {str(path)!r}: it is empty.")
    looks = next((f for first, f in _FIRST_BYTES.items() if head.startswith(first)), None)
    if looks == "NPZ" and form == "Inspect log":
        looks = form  # both are zip archives
    expected = "gzip" if path.name.lower().endswith(".gz") else form
    if looks != expected and (looks or expected in _FIRST_BYTES.values()):
        hint = f"; its first bytes are those of {looks}" if looks else ""
        raise FileError(f"cannot read {str(path)!r}: it is not {expected}{hint}.")


def check_distinct(names: Sequence[str], wanted: Iterable[str], path: Any) -> None:
    """Refuse columns that are asked for by a name that others have too."""
    for name in wanted:
        if names.count(name) > 1:
            raise FileError(f"{str(path)!r} has several columns called {name!r}. Rename all but one.")


@contextmanager
def file_errors(doing: str, path: Path) -> Iterator[None]:
    """Any error inside as a FileError of one line with the path."""
    try:
        yield
    except CalibrantError:
        raise
    except (zipfile.BadZipFile, zlib.error) as error:
        raise FileError(f"cannot {doing} {str(path)!r}: it is damaged ({_short(str(error))})") from error
    except Exception as error:  # a damaged file makes the libraries that read it raise anything
        if doing == "write" and not isinstance(error, OSError | ValueError | TypeError | NotImplementedError):
            raise
        missing = f"there is no such {'file' if doing == 'read' else 'folder'}"
        reason = missing if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None)
        reason = "it does not fit into memory" if isinstance(error, MemoryError) else reason
        reason = "its JSON is nested too deeply" if isinstance(error, RecursionError) else reason
        if isinstance(error, UnicodeDecodeError) and error.encoding not in ("utf-8", "utf8"):
            reason = f"it is not text in {error.encoding} ({error.reason})"
        elif isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
            raise not_utf8(path) from error
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise FileError(f"cannot {doing} {str(path)!r}: {reason or _short(lines[0])}") from error


def _short(text: str) -> str:
    """What a library says, which may quote the whole file."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _open_csv(path: Path, style: Style) -> tuple[list[str], Any]:
    import pyarrow as pa
    from pyarrow import csv

    parse = csv_options(path, style)

    def load(names: Sequence[str], as_text: Sequence[str]) -> Any:
        types = {name: pa.string() for name in as_text}
        convert = csv.ConvertOptions(include_columns=list(names), column_types=types, decimal_point=style.decimal)
        with row_named(path, style):
            return csv.read_csv(utf8_source(path, style.encoding), parse_options=parse, convert_options=convert)

    with row_named(path, style), csv.open_csv(utf8_source(path, style.encoding), parse_options=parse) as reader:
        return reader.schema.names, load


@contextmanager
def row_named(path: Path, style: Style) -> Iterator[None]:
    """Name the row of a text table that has more or fewer fields than the header."""
    try:
        yield
    except Exception as error:
        found = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if found is None:
            raise
        filled = (
            fields for fields, _ in records(blocks(path, style.encoding), style.delimiter(path).encode()) if fields
        )
        row = next((k for k, fields in enumerate(filled, -1) if len(fields) != int(found[1])), None)
        where = "a row" if row is None else f"row {row} (the first is 0)"
        text = f"{where} has {found[2]} field{'s' * (found[2] != '1')} and the header {found[1]}"
        raise FileError(f"cannot read {str(path)!r}: {text}. Quote values that hold the separator.") from error


def csv_options(path: Path, style: Style) -> Any:
    """How a text table is cut into fields; one that seems to be cut otherwise is refused."""
    from pyarrow import csv

    style.check_separator(path)
    return csv.ParseOptions(delimiter=style.delimiter(path), newlines_in_values=True)


def _open_parquet(path: Path, _style: Style) -> tuple[list[str], Any]:
    from pyarrow import parquet

    def load(names: Sequence[str], _: Sequence[str]) -> Any:
        with parquet.ParquetFile(path) as file:
            width = sum(WORKED + _bytes_of(file.schema_arrow.field(name).type) for name in names)
            check_size(path, file.metadata.num_rows * width, "its rows", IN_BATCHES)
            return validated(file.read(columns=list(names)))

    return parquet.read_schema(path).names, load


def _open_arrow(path: Path, _style: Style) -> tuple[list[str], Any]:
    import pyarrow as pa

    def load(names: Sequence[str], _: Sequence[str]) -> Any:
        fields = sorted(everything.index(name) for name in names)
        reader, size, found = arrow_reader(path, options=pa.ipc.IpcReadOptions(included_fields=fields)), 0, []
        for batch in record_batches(reader):
            size += batch.get_total_buffer_size()  # `nbytes` knows no views in older versions
            check_size(path, size, "what it unpacks to", IN_BATCHES)
            found.append(batch)
        return validated(pa.Table.from_batches(found, reader.schema))

    everything = arrow_reader(path).schema.names
    return everything, load


def arrow_reader(path: Path, **options: Any) -> Any:
    """An Arrow file, or a stream saved as one."""
    import pyarrow as pa

    source = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(source, **options)
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(source, **options)


def record_batches(reader: Any) -> Iterator[Any]:
    """The batches of an Arrow file or stream, one at a time."""
    count = getattr(reader, "num_record_batches", None)
    return iter(reader) if count is None else map(reader.get_batch, range(count))


def _bytes_of(kind: Any) -> float:
    """Of one value of a column, at least."""
    try:
        return float(kind.bit_width / 8)
    except ValueError:  # of no fixed width
        return 1.0


def validated(table: Any) -> Any:
    """A table whose offsets lie within its buffers; nothing else keeps a damaged file from ending the process."""
    table.validate(full=True)
    return table


def _open_jsonl(path: Path, style: Style) -> tuple[list[str], Any]:
    import pyarrow as pa
    from pyarrow import json

    check_depth(path, style.encoding)
    options = json.ReadOptions(block_size=JSON_BLOCK)
    table = json.read_json(utf8_source(path, style.encoding), read_options=options)
    dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    if dates:  # JSON has no dates: what looks like one is text
        texts = json.ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in dates]))
        again = utf8_source(path, style.encoding)
        table = json.read_json(again, read_options=options, parse_options=texts).select(table.column_names)
    plain = flattened(table)
    return plain.column_names, lambda names, _: plain.select(list(names))


def _open_npz(path: Path, _style: Style) -> tuple[list[str], Any]:
    def load(names: Sequence[str], _: Sequence[str]) -> dict[str, Array]:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            check_arrays(path, stored.zip, names)
            return {name: stored[name] for name in names}

    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return list(stored.files), load


_FORMATS: dict[str, tuple[Callable[[Path, Style], tuple[list[str], Any]], tuple[str, ...]]] = {
    "CSV": (_open_csv, (".csv", ".tsv")),
    "Parquet": (_open_parquet, (".parquet", ".pq")),
    "Arrow": (_open_arrow, (".arrow", ".feather", ".ipc")),
    "NPZ": (_open_npz, (".npz",)),
    "JSON lines": (_open_jsonl, (".jsonl", ".ndjson")),
}
"""How to open each format, and the endings of its files."""
LOGS = {"JSON": (".json",), "Inspect log": (".eval",)}
"""Formats of logs of answers, which are read but not written: JSON also of a list of records."""
LOG = "log of answers"

ENDINGS = tuple(
    ending + more for form, (_, own) in _FORMATS.items() for ending in own for more in ("", ".gz")[: 1 + (form in TEXT)]
)
"""Every ending that a file of predictions may have, apart from those of logs."""
