"""A state as one Arrow file: a long table of numbers, and what they mean in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.problems import FileError, MapError
from calibrant.results.reading import parsed

if TYPE_CHECKING:
    from calibrant.state.state import State

KEY = b"calibrant.state"
COLUMNS = ("a", "b", "c", "d", "e")
"""Of pooled rows: prediction, weight, hits, and the ends of buckets. Of the grid: weight, Σp, Σp², Σy per class and cell."""


def write_arrow(path: Path, state: State) -> None:
    """Pooled rows view by view, then the grid; all else as JSON in the metadata."""
    import pyarrow as pa

    data = state.to_data() | {"events": {}, "grid": None}
    blocks: list[tuple[str, np.ndarray[Any, Any]]] = []
    for view in state.views:
        pooled = state.pooled(view)
        flags = {"integral": pooled.integral, "single": pooled.single, "coarse": pooled.coarse}
        data["events"][view] = flags | {"length": len(pooled)}
        ends = [np.zeros(len(pooled)) if end is None else end for end in (pooled.low, pooled.high)]
        blocks.append((view, np.stack([pooled.values, pooled.weight, pooled.hits, *ends])))
    if state.grid is not None:
        data["grid"] = list(state.grid.sums.shape)
        blocks.append(("grid", np.pad(state.grid.sums.reshape(-1, 4).T, [(0, 1), (0, 0)])))
    names = np.repeat([name for name, _ in blocks], [numbers.shape[1] for _, numbers in blocks])
    numbers = np.concatenate([numbers for _, numbers in blocks], axis=1)
    columns = {"table": pa.array(names).dictionary_encode()} | {c: numbers[i] for i, c in enumerate(COLUMNS)}
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(data, allow_nan=False).encode()})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def holds_state(path: Path) -> bool:
    """Is this an Arrow file that `write_arrow` wrote?"""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path), "rb") as source:
            return KEY in (pa.ipc.open_file(source).schema.metadata or {})
    except (pa.ArrowException, OSError):
        return False


def read_arrow(path: str | Path) -> dict[str, Any]:
    """The plain data that `State.from_data` takes."""
    import pyarrow as pa

    try:
        file = pa.OSFile(str(path), "rb")
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read the state {str(path)!r}: {getattr(error, 'strerror', None) or error}") from error
    try:
        with file as source:
            table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)
        return _unpacked(table)
    except (pa.ArrowException, OSError, ArithmeticError, AttributeError, LookupError, MemoryError) as error:
        raise MapError(f"{str(path)!r} holds no saved state: {error!s:.200}") from error
    except (TypeError, ValueError) as error:
        raise MapError(f"{str(path)!r} holds no saved state: {error!s:.200}") from error


def _unpacked(table: Any) -> dict[str, Any]:
    data: dict[str, Any] = parsed((table.schema.metadata or {})[KEY].decode())
    numbers, at = np.stack([table[c].to_numpy() for c in COLUMNS]), 0
    for view, facts in data["events"].items():
        values, weight, hits, low, high = numbers[:, at : at + facts["length"]]
        flags = {"integral": facts["integral"], "single": facts["single"], "squares": None}
        flags |= {"low": low, "high": high} if facts["coarse"] else {"low": None, "high": None}
        data["events"][view] = {"kind": "Pooled", "values": values, "weight": weight, "hits": hits} | flags
        at += facts["length"]
    if data["grid"] is not None:
        data["grid"], at = numbers[:4, at:].T.reshape(data["grid"]), table.num_rows
    if at != table.num_rows:
        raise ValueError("it has rows that belong to no part of it")
    return data
