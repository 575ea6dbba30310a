"""Tables too large for memory, batch by batch: files, streams of Arrow data, frames and iterators of these."""

from __future__ import annotations

import glob
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.files.encodings import utf8_source
from calibrant.files.formats import (
    ENDINGS,
    JSON_BLOCK,
    arrow_reader,
    check_first_bytes,
    csv_options,
    file_errors,
    flattened,
    format_of,
    is_log,
    open_store,
    record_batches,
    row_named,
    validated,
)
from calibrant.files.guards import check_depth, check_encoding
from calibrant.files.style import PLAIN, Style
from calibrant.problems import FileError, InputError

VALUES, FEWEST, MOST = 1 << 23, 1 << 12, 1 << 20
"""Numbers that a batch holds, about, and its fewest and most rows."""
CSV_BLOCK = 1 << 24
"""Bytes of a text table that are read at a time."""
PROBED = 1 << 16
"""Bytes at either end of a file that its name as a part is made from."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a part, as columns by name."""

    columns: Mapping[str, Any]
    """Arrow or NumPy columns"""
    n: int
    first: int
    """rows of the part before these"""
    done: float
    """share of the part that was read with this batch"""


@dataclass(frozen=True, slots=True)
class Part:
    """One file, or a whole stream: its columns and its batches."""

    title: str
    """for messages"""
    part: str | None
    """its name within a state; None for a stream"""
    names: list[str]
    size: int
    """bytes, for progress; 0 if unknown"""
    batches: Callable[[tuple[str, ...]], Iterator[Batch]]
    """the rows of some columns"""
    path: Path | None = None


def parts_of(source: Any, style: Style = PLAIN) -> list[Callable[[], Part]]:
    """What a source consists of, each opened when it is needed.

    Parameters
    ----------
    source
        A path, a pattern, a folder, several of these; anything with `__arrow_c_stream__`; a Polars LazyFrame; an
        iterator of batches.
    style
        How text tables are written.
    """
    if isinstance(source, str | Path):
        return [_opener(path, style) for path in paths_of(source)]
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | Path) for each in source):
        return [_opener(path, style) for each in source for path in paths_of(each)]
    if hasattr(source, "collect_batches"):
        return [lambda: _stream(source.collect_batches(), "the LazyFrame")]
    if hasattr(source, "__arrow_c_stream__"):
        import pyarrow as pa

        return [lambda: _stream(pa.RecordBatchReader.from_stream(source), f"the {type(source).__name__}")]
    if isinstance(source, Iterable) and not isinstance(source, Mapping | np.ndarray | bytes):
        return [lambda: _stream(source, "the batches")]
    expected = "must be a path, a pattern, a folder, Arrow data or an iterator of batches"
    lazy = " of a Polars before 1.34" if type(source).__name__ == "LazyFrame" else ""
    raise InputError("source", expected, f"it is a {type(source).__name__}{lazy}")


def paths_of(source: str | Path) -> list[Path]:
    """The files that a path, a pattern or a folder refers to, in the order of their names."""
    path, text = Path(source), str(source)
    if not text:
        raise InputError("source", "must name a file, a pattern or a folder", "it is empty")
    if path.is_dir():
        inside = (p for p in path.rglob("*") if p.is_file() and p.name.lower().endswith(ENDINGS))
        found = [p for p in inside if not any(part.startswith((".", "_")) for part in p.relative_to(path).parts)]
        what = f"the folder {text!r} holds no file that ends in {', '.join(ENDINGS)}"
    elif not path.exists() and glob.has_magic(text):
        found, what = [Path(p) for p in glob.glob(text, recursive=True) if Path(p).is_file()], f"no file fits {text!r}"
    else:
        found, what = [path], ""
    if not found:
        raise FileError(f"{what}.")
    return sorted(found)


def _opener(path: Path, style: Style) -> Callable[[], Part]:
    return lambda: _file(path, style)


def _file(path: Path, style: Style) -> Part:
    """A file as a part, named by its path, its size and its ends: a changed file has another name."""
    form = format_of(path)
    style.check_format(form)
    with file_errors("read", path):
        check_first_bytes(path, form)
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            ends = zlib.crc32(file.read(PROBED))
            file.seek(max(size - PROBED, 0))
            ends = zlib.crc32(file.read(PROBED), ends)
        read = _whole if form == "JSON lines" and is_log(path, style) else _FORMATS.get(form, _whole)
        names, batches = read(path, style)
    return Part(str(path), f"{path}#{size:x}-{ends:08x}", names, size, batches, path)


def _rows(names: tuple[str, ...]) -> int:
    return int(np.clip(VALUES // len(names), FEWEST, MOST))


def parquet_rows(path: Path) -> int:
    """How many rows a Parquet file says it holds; 0 where it cannot be read, which reading it will explain."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0


def _parquet(path: Path, _style: Style) -> tuple[list[str], Any]:
    from pyarrow import parquet

    def batches(names: tuple[str, ...]) -> Iterator[Batch]:
        with file_errors("read", path), parquet.ParquetFile(path) as file:
            total, first = file.metadata.num_rows, 0
            found = file.iter_batches(_rows(names), columns=list(names))
            while True:
                try:
                    batch = next(found, None)
                except Exception as error:
                    raise FileError(_damaged(path, names, error)) from error
                if batch is None:
                    break
                yield _batch(batch, first, (first + batch.num_rows) / total)
                first += batch.num_rows
            if first != total:
                raise FileError(f"cannot read {str(path)!r}: it holds {first} of the {total} rows it should have.")

    return parquet.read_schema(path).names, batches


def _damaged(path: Path, names: tuple[str, ...], error: Exception) -> str:
    """The first row group and column that cannot be read."""
    from pyarrow import parquet

    where = ""
    with parquet.ParquetFile(path) as file:
        for group, name in ((g, n) for g in range(file.metadata.num_row_groups) for n in names):
            try:
                file.read_row_group(group, columns=[name])
            except Exception:
                where = f"column {name!r} of row group {group}: "
                break
    return f"cannot read {str(path)!r}: {where}{str(error).strip().splitlines()[0][:300]}"


def _arrow(path: Path, _style: Style) -> tuple[list[str], Any]:
    import pyarrow as pa

    everything = arrow_reader(path).schema.names

    def batches(names: tuple[str, ...]) -> Iterator[Batch]:
        with file_errors("read", path):
            fields = pa.ipc.IpcReadOptions(
                included_fields=sorted(map(everything.index, names))
            )  # only these are unpacked
            file, first = arrow_reader(path, options=fields), 0
            count = getattr(file, "num_record_batches", None)
            for k, whole in enumerate(record_batches(file), 1):
                for batch in _cut(whole.select(list(names)), _rows(names)):
                    yield _batch(batch, first, k / count if count else 0.0)
                    first += batch.num_rows

    return everything, batches


def _csv(path: Path, style: Style) -> tuple[list[str], Any]:
    from pyarrow import csv

    check_encoding(path, style.encoding)
    parse = csv_options(path, style)

    def batches(names: tuple[str, ...]) -> Iterator[Batch]:
        with file_errors("read", path), row_named(path, style):
            convert, first = csv.ConvertOptions(include_columns=list(names), decimal_point=style.decimal), 0
            read = csv.ReadOptions(block_size=CSV_BLOCK)
            text = utf8_source(path, style.encoding)
            with csv.open_csv(text, parse_options=parse, convert_options=convert, read_options=read) as reader:
                for batch in reader:
                    yield _batch(batch, first, 0.0)
                    first += batch.num_rows

    with row_named(path, style), csv.open_csv(utf8_source(path, style.encoding), parse_options=parse) as reader:
        return reader.schema.names, batches


def _json_lines(path: Path, style: Style) -> tuple[list[str], Any]:
    import pyarrow as pa
    from pyarrow import json

    check_encoding(path, style.encoding)
    check_depth(path, style.encoding)  # a deeply nested line would end the process
    options = json.ReadOptions(block_size=JSON_BLOCK)

    def batches(names: tuple[str, ...]) -> Iterator[Batch]:
        with file_errors("read", path):
            first = 0
            for batch in json.open_json(utf8_source(path, style.encoding), read_options=options):
                yield _batch(flattened(pa.Table.from_batches([batch])).select(list(names)), first, 0.0)
                first += batch.num_rows

    reader = json.open_json(utf8_source(path, style.encoding), read_options=options)
    return flattened(reader.schema.empty_table()).column_names, batches


def _whole(path: Path, style: Style) -> tuple[list[str], Any]:
    """A format that is read at once."""
    store = open_store(path, style)

    def batches(names: tuple[str, ...]) -> Iterator[Batch]:
        with file_errors("read", path):
            found = store.load(names, [])
            columns = {name: found[name] for name in names}
            n = len(next(iter(columns.values())))
            for start in range(0, n, _rows(names)):
                stop = min(start + _rows(names), n)
                yield Batch(
                    {name: column[start:stop] for name, column in columns.items()}, stop - start, start, stop / n
                )

    return store.names, batches


_FORMATS: dict[str, Callable[[Path, Style], tuple[list[str], Any]]] = {
    "Parquet": _parquet,
    "Arrow": _arrow,
    "CSV": _csv,
    "JSON lines": _json_lines,
}
"""The formats that can be read in batches."""


def _stream(source: Iterable[Any], title: str) -> Part:
    """Batches as they come; the first is looked at for its columns."""
    found = iter(source)
    first = next(found, None)
    if first is None:
        raise FileError(f"cannot read {title}: there are no rows.")
    opening = table_of(first)

    def batches(names: tuple[str, ...]) -> Iterator[Batch]:
        before = 0
        for table in _gathered(chain([opening], map(table_of, found)), names):
            for batch in _cut(table, _rows(names)):
                yield _batch(batch, before, 0.0)
                before += batch.num_rows

    return Part(title, None, list(opening.column_names), 0, batches)


def _gathered(tables: Iterable[Any], names: tuple[str, ...]) -> Iterator[Any]:
    """Small tables joined until they are worth a pass; each must have the same columns of the same types."""
    import pyarrow as pa

    waiting: list[Any] = []
    schema = None
    for k, table in enumerate(tables):
        missing = [name for name in names if name not in table.column_names]
        if missing:
            raise InputError("source", f"must have column {missing[0]!r} in every batch", f"batch {k} has none")
        chosen = table.select(list(names)).replace_schema_metadata(None)
        schema = schema or chosen.schema
        for name in names:
            if chosen.schema.field(name).type != schema.field(name).type:
                found = f"it is {chosen.schema.field(name).type} in batch {k} and {schema.field(name).type} before"
                raise InputError("source", f"must have column {name!r} of one type", found)
        waiting.append(chosen)
        if sum(each.num_rows for each in waiting) >= _rows(names):
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def table_of(given: Any) -> Any:
    """A batch as an Arrow table: Arrow data, a frame, or a dict of columns."""
    import pyarrow as pa

    try:
        if isinstance(given, pa.Table):
            return given
        if isinstance(given, pa.RecordBatch):
            return pa.Table.from_batches([given])
        if isinstance(given, Mapping):
            return pa.table({str(name): pa.array(column) for name, column in given.items()})
        if hasattr(given, "__arrow_c_stream__"):
            return pa.table(given)
        if hasattr(given, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(given)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError("source", "must give tables", f"one cannot be read: {error!s:.200}") from error
    raise InputError(
        "source", "must give Arrow tables, frames or dicts of columns", f"it gave a {type(given).__name__}"
    )


def _batch(table: Any, first: int, done: float) -> Batch:
    validated(table)
    return Batch({name: table.column(name) for name in table.schema.names}, table.num_rows, first, done)


def _cut(table: Any, rows: int) -> Iterator[Any]:
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def ahead(found: Iterator[Batch]) -> Iterator[Batch]:
    """The same, the next one read while this one is used."""
    with ThreadPoolExecutor(1, thread_name_prefix="calibrant-read") as reader:
        coming = reader.submit(next, found, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, found, None)
            yield batch
