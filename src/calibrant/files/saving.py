"""Recalibrated probabilities back into a file, beside all its other columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.files.columns import Columns, FileColumns
from calibrant.files.formats import check_distinct, delimiter_of, file_errors, format_of, open_store
from calibrant.files.reading import Predicted, to_numpy
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
    store = open_store(predicted.path)
    check_distinct(store, store.names)
    keep_text = form == store.format == "CSV"  # so that 007 stays 007
    old = predicted.columns.predicted
    with file_errors("read", predicted.path):
        table = store.load(store.names, [n for n in store.names if n not in old] if keep_text else [])
    columns = _replaced(store.names, table, _new_columns(predicted, probs, expand=form == "CSV"))
    with file_errors("write", target), whole_or_nothing(target, WHAT, overwrite=overwrite) as partial:
        if form == "NPZ":
            _save_npz(partial, columns)
        else:
            _save_table(partial, target, form, columns, getattr(table, "schema", None))


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
        values = column if isinstance(column, np.ndarray) else to_numpy(column, name)
        arrays[name] = np.array(values.tolist()) if values.dtype.kind == "O" else values
        if arrays[name].dtype.kind == "O":
            raise InputError(f"column {name!r}", "cannot be stored in NPZ", advice="Write .parquet instead")
    with partial.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _save_table(partial: Path, target: Path, form: str, columns: dict[str, Any], schema: Any) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.table({name: _arrow(column, name) for name, column in columns.items()})
    table = table.replace_schema_metadata(None if schema is None else schema.metadata)
    if form == "Parquet":
        parquet.write_table(table, partial)
    elif form == "Arrow":
        feather.write_feather(table, str(partial), compression="uncompressed")
    else:
        save = _save_csv if form == "CSV" else _save_jsonl
        with pa.output_stream(partial, compression="gzip" if target.name.lower().endswith(".gz") else None) as sink:
            save(table, sink, delimiter_of(target))


def _arrow(column: Any, name: str) -> Any:
    """A NumPy array as an Arrow column, `(n, K)` as lists."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray):
        return column
    if column.ndim not in (1, 2):
        raise InputError(f"array {name!r}", "has no place in a table", f"its shape is {column.shape}", "Write .npz")
    flat = pa.array(np.ascontiguousarray(column).ravel())
    return flat if column.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, column.shape[1])


def _save_csv(table: Any, sink: Any, delimiter: str) -> None:
    """Numbers as Arrow writes them, in their shortest form; quotes only where needed, by Python's writer."""
    import csv
    import io

    import pyarrow as pa

    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise InputError(f"column {field.name!r}", "holds lists, which CSV cannot", advice="Write .parquet instead")
    texts = table.cast(pa.schema([(name, pa.large_string()) for name in table.column_names]))
    batches = texts.to_batches(max_chunksize=_ROWS_AT_ONCE)
    parts = (zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches)
    for rows in chain([[table.column_names]], parts):
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
        sink.write(text.getvalue().encode())


def _save_jsonl(table: Any, sink: Any, _: str) -> None:
    import json

    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        rows = (json.dumps(row, ensure_ascii=False, allow_nan=False, default=str) for row in batch.to_pylist())
        sink.write(("\n".join(rows) + "\n").encode())
