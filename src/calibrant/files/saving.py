"""Recalibrated probabilities back into a file, beside all its other columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.files.arrow import to_numpy
from calibrant.files.columns import Columns, FileColumns
from calibrant.files.encodings import blocks
from calibrant.files.formats import ENDINGS, Store, check_distinct, file_errors, format_of, open_store
from calibrant.files.reading import Predicted
from calibrant.files.style import PLAIN
from calibrant.files.text_rows import New, OtherRows, long_integers, rows_of_csv, rows_of_json
from calibrant.problems import InputError
from calibrant.types import Array
from calibrant.writing import check_target, whole_or_nothing

WHAT = "file of predictions"
_ROWS_AT_ONCE = 1 << 14


def write(path: str | Path, predicted: Predicted, probs: Array, *, overwrite: bool = False) -> None:
    """The file that predictions came from, all its columns kept, with other predictions in their place.

    Columns of logits are replaced by columns of probabilities: `logit_cat` becomes
    `prob_cat`.

    Parameters
    ----------
    path
        Where to write; the ending is the format, which may be another one.
    predicted
        The predictions as they were read.
    probs
        The new ones, of the same shape.
    overwrite
        May an existing file be replaced?
    """
    target = Path(path)
    form = format_of(target)
    check_target(path, WHAT, overwrite=overwrite, replace=False)
    store = open_store(predicted.path, predicted.style)
    check_distinct(store.names, store.names, store.path)
    new = _new_columns(predicted, probs * 100 if predicted.style.percent else probs, expand=form == "CSV")
    with file_errors("write", target), whole_or_nothing(target, WHAT, overwrite=overwrite) as partial:
        if not _rewritten(partial, target, store, new, len(probs)):
            with file_errors("read", predicted.path):
                table = _faithful(store, [name for name in store.names if name not in new], form)
            columns = _replaced(store.names, table, new)
            if form == "NPZ":
                _save_npz(partial, columns)
            else:
                _save_table(partial, target, form, columns, getattr(table, "schema", None))


def write_columns(path: str | Path, columns: dict[str, Array], *, overwrite: bool = False) -> None:
    """A new file with these columns.

    Parameters
    ----------
    path
        Where to write; the ending is the format.
    columns
        By name, all of one length.
    overwrite
        May an existing file be replaced?
    """
    target = Path(path)
    form = format_of(target)
    check_target(path, WHAT, endings=ENDINGS, overwrite=overwrite, replace=False)
    with file_errors("write", target), whole_or_nothing(target, WHAT, overwrite=overwrite) as partial:
        if form == "NPZ":
            _save_npz(partial, columns)
        else:
            _save_table(partial, target, form, columns, None)


def _rewritten(partial: Path, target: Path, store: Store, new: New, n: int) -> bool:
    """Text into text of the same form, row by row, with all else as it was; False where that cannot be done."""
    form = format_of(target)
    if form != store.format or form not in ("CSV", "JSON lines"):
        return False
    style = store.style
    between = style.delimiter(target)
    if form == "CSV" and (between != style.delimiter(store.path) or between == style.decimal):
        return False
    if form == "CSV":
        rows = rows_of_csv(
            blocks(store.path, style.encoding),
            store.names,
            new,
            n,
            between,
            lambda columns: _joined(columns, between, style.decimal),
        )
    else:
        rows = rows_of_json(blocks(store.path, style.encoding), new, n)
    try:
        with _sink(partial, target) as sink:
            for batch in iter(lambda: list(islice(rows, _ROWS_AT_ONCE)), []):
                sink.write(b"".join(batch))
    except OtherRows:
        return False
    return True


def _joined(columns: list[Array], delimiter: str, decimal: str) -> list[bytes]:
    """Columns of numbers side by side as text, row by row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [pc.replace_substring(_text(_arrow(column, "")), ".", decimal) for column in columns]
    joined = pc.binary_join_element_wise(*texts, pa.scalar(delimiter, pa.large_string()))
    return list(joined.cast(pa.large_binary()).to_pylist())


def _faithful(store: Store, names: list[str], form: str) -> Any:
    """The other columns for a file of another form: typed where that loses nothing, as text where it would."""
    table = store.load(names, [])
    if store.format == "JSON lines":
        for name, values in long_integers(store.path, store.style.encoding, table).items():
            table = table.set_column(table.column_names.index(name), name, [values])
    if store.format != "CSV" or not names:
        return table
    texts = store.load(names, names)
    if form == "CSV":
        return texts
    import pyarrow as pa

    return pa.table({name: _typed(table[name], texts[name]) for name in names})


def _typed(typed: Any, text: Any) -> Any:
    """A column of CSV with the type that its text seems to have, unless 017, a long number or an offset got lost."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(typed.type):
        lost = pc.match_substring_regex(text, r"^\s*[-+]?(0\d|\d{16,}$)")
    else:
        meant = pc.utf8_lower(text) if pa.types.is_boolean(typed.type) else text
        lost = pc.not_equal(typed.cast(pa.string()), meant)  # unknown where the value is missing
        if pa.types.is_null(typed.type) or pa.types.is_string(typed.type):
            lost = pc.not_equal(text, "")
    return text if pc.any(lost).as_py() else typed


def _new_columns(predicted: Predicted, probs: Array, *, expand: bool) -> dict[str, dict[str, Array]]:
    """For each column of predictions, the columns that take its place."""
    old = predicted.columns.predicted
    names = [_new_name(predicted.columns, k) for k in range(len(old))]
    if len(old) > 1:
        return {name: {names[k]: probs[:, k]} for k, name in enumerate(old)}
    if probs.ndim == 1 or not expand:
        return {old[0]: {names[0]: probs}}
    classes = predicted.classes or range(probs.shape[1])
    return {old[0]: {f"{names[0]}_{c}": probs[:, k] for k, c in enumerate(classes)}}


def _new_name(columns: FileColumns, k: int) -> str:
    old = columns.predicted[k]
    if not isinstance(columns, Columns) or not columns.logits:
        return old
    renamed, bare = (
        re.sub("logit", "prob", old, flags=re.IGNORECASE),
        "prob" if columns.classes is None else f"prob_{columns.classes[k]}",
    )
    return bare if renamed == old else renamed


def _replaced(names: Sequence[str], table: Any, new: dict[str, dict[str, Array]]) -> dict[str, Any]:
    """All columns in their old order, with the new ones in place of the predictions."""
    fresh = {name for columns in new.values() for name in columns}
    result: dict[str, Any] = {}
    for name in names:
        result |= new[name] if name in new else {} if name in fresh else {name: table[name]}
    return result


def _save_npz(partial: Path, columns: dict[str, Any]) -> None:
    arrays = {}
    for name, column in columns.items():
        if getattr(getattr(column, "type", None), "tz", None):
            raise InputError(f"column {name!r}", "has a time zone, which NPZ has not", advice="Write .parquet instead")
        values = column if isinstance(column, np.ndarray) else to_numpy(column, name)
        arrays[name] = np.array(values.tolist()) if values.dtype.kind == "O" else values
        if arrays[name].dtype.kind == "O":
            raise InputError(f"column {name!r}", "cannot be stored in NPZ", advice="Write .parquet instead")
    with partial.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _save_table(partial: Path, target: Path, form: str, columns: dict[str, Any], schema: Any) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    arrays = {name: _arrow(column, name) for name, column in columns.items()}
    kept = set() if schema is None else {name for name, column in columns.items() if not isinstance(column, np.ndarray)}
    fields = [schema.field(name) if name in kept else pa.field(name, array.type) for name, array in arrays.items()]
    table = pa.table(arrays, schema=pa.schema(fields, None if schema is None else schema.metadata))
    if form == "Parquet":
        parquet.write_table(table, partial)
    elif form == "Arrow":
        feather.write_feather(table, str(partial), compression="uncompressed")
    else:
        save = _save_csv if form == "CSV" else _save_jsonl
        with _sink(partial, target) as sink:
            save(table, sink, PLAIN.delimiter(target))


def _sink(partial: Path, target: Path) -> Any:
    """Where text is written, compressed if the name says so."""
    import pyarrow as pa

    return pa.output_stream(str(partial), compression="gzip" if target.name.lower().endswith(".gz") else None)


def _arrow(column: Any, name: str) -> Any:
    """A NumPy array as an Arrow column, `(n, K)` as lists."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray):
        return column
    if column.ndim not in (1, 2):
        raise InputError(f"array {name!r}", "has no place in a table", f"its shape is {column.shape}", "Write .npz")
    flat = pa.array(np.ascontiguousarray(column).ravel())
    return flat if column.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, column.shape[1])


def _text(column: Any) -> Any:
    """A column as text: numbers in their shortest form, times with their offset."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        import pyarrow.compute as pc

        return pc.strftime(column, "%Y-%m-%d %H:%M:%S%z").cast(pa.large_string())
    return column.cast(pa.large_string())


def _save_csv(table: Any, sink: Any, delimiter: str) -> None:
    """Quotes only where needed: around delimiters, quotes and line breaks, and to tell an empty text from none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise InputError(f"column {field.name!r}", "holds lists, which CSV cannot", advice="Write .parquet instead")
    missing = '""' if table.num_columns == 1 else ""  # an empty line is no row
    quote, nothing, between = (pa.scalar(text, pa.large_string()) for text in ('"', "", delimiter))

    def quoted(column: Any) -> Any:
        needed = pc.or_(pc.match_substring_regex(column, f'[{delimiter}"\r\n]'), pc.equal(column, ""))
        inside = pc.replace_substring(column, '"', '""')
        whole = pc.binary_join_element_wise(quote, inside, quote, nothing)
        return pc.fill_null(pc.if_else(needed, whole, column), missing)

    header = pa.table({name: [name] for name in table.column_names}).to_batches()
    for batch in [*header, *table.to_batches(max_chunksize=_ROWS_AT_ONCE)]:
        columns = [quoted(_text(column)) for column in batch.columns]
        rows = pc.binary_join_element_wise(*columns, between)
        sink.write("".join(f"{row}\n" for row in rows.to_pylist()).encode())


def _save_jsonl(table: Any, sink: Any, _: str) -> None:
    """What JSON has no form for, as text: dates, times, decimals."""
    import json

    import pyarrow as pa

    def plain(column: Any) -> Any:
        stays = pa.types.is_nested, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null
        return column if any(fits(column.type) for fits in stays) else _text(column)

    table = pa.table({name: plain(table[name]) for name in table.column_names})
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        rows = (json.dumps(row, ensure_ascii=False, allow_nan=False, default=str) for row in batch.to_pylist())
        sink.write(("\n".join(rows) + "\n").encode())
