"""Files of several formats, opened by the ending of their names; only the columns needed are read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant.files.guards import check_arrays, check_depth, check_size, check_text
from calibrant.files.style import PLAIN, Style
from calibrant.problems import CalibrantError, FileError
from calibrant.types import Array

_TEXT = ("CSV", "JSON lines")
"""The formats that may be compressed: `.gz` may follow their ending."""

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


def open_store(path: Path, style: Style = PLAIN) -> Store:
    """The file at a path, with its format and the names of its columns."""
    form = format_of(path)
    style.check_format(form)
    with file_errors("read", path):
        check_first_bytes(path, form)
        if form in _TEXT:
            check_text(path)
        names, load = _FORMATS[form][0](path, style)
    return Store(path, form, names, load, style)


def format_of(path: Path) -> str:
    """The format by the ending of a name."""
    name = path.name.lower()
    bare = name.removesuffix(".gz")
    for form, (_, endings) in _FORMATS.items():
        if bare.endswith(endings) and (bare == name or form in _TEXT):
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
        reason = f"it is not text in UTF-8 ({error.reason})" if isinstance(error, UnicodeDecodeError) else reason
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
        return csv.read_csv(path, parse_options=parse, convert_options=convert)

    with csv.open_csv(path, parse_options=parse) as reader:
        return reader.schema.names, load


def csv_options(path: Path, style: Style) -> Any:
    """How a text table is cut into fields; one that seems to be cut otherwise is refused."""
    from pyarrow import csv

    style.check_separator(path)
    return csv.ParseOptions(delimiter=style.delimiter(path), newlines_in_values=True)


def _open_parquet(path: Path, _style: Style) -> tuple[list[str], Any]:
    from pyarrow import parquet

    def load(names: Sequence[str], _: Sequence[str]) -> Any:
        with parquet.ParquetFile(path) as file:
            check_size(path, file.metadata.num_rows * len(names), "its rows")  # at least a byte per value
            return validated(file.read(columns=list(names)))

    return parquet.read_schema(path).names, load


def _open_arrow(path: Path, _style: Style) -> tuple[list[str], Any]:
    import pyarrow as pa

    def load(names: Sequence[str], _: Sequence[str]) -> Any:
        fields = sorted(everything.index(name) for name in names)
        return validated(arrow_reader(path, options=pa.ipc.IpcReadOptions(included_fields=fields)).read_all())

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


def validated(table: Any) -> Any:
    """A table whose offsets lie within its buffers; nothing else keeps a damaged file from ending the process."""
    table.validate(full=True)
    return table


def _open_jsonl(path: Path, _style: Style) -> tuple[list[str], Any]:
    import pyarrow as pa
    from pyarrow import json

    check_depth(path)
    options = json.ReadOptions(block_size=JSON_BLOCK)
    table = json.read_json(path, read_options=options)
    dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    if dates:  # JSON has no dates: what looks like one is text
        texts = json.ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in dates]))
        table = json.read_json(path, read_options=options, parse_options=texts).select(table.column_names)
    return table.column_names, lambda names, _: table.select(list(names))


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

ENDINGS = tuple(
    ending + more
    for form, (_, own) in _FORMATS.items()
    for ending in own
    for more in ("", ".gz")[: 1 + (form in _TEXT)]
)
"""Every ending that a file of predictions may have."""
