"""Arrays and columns of any library as NumPy arrays, without importing that library."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.problems import InputError
from calibrant.types import Array


def to_numpy(values: Any, argument: str) -> Array:
    """Lists, NumPy, pandas, Polars, Arrow, torch, CuPy and JAX arrays as one NumPy array; no copy unless needed.

    Memory that is not ours comes as a read-only view: what is still read-only after all
    conversions is somebody else's, and `own` copies it.
    """
    if type(values) is np.ndarray and values.ndim and (values.dtype.kind in "biu" or values.dtype.char in "fd"):
        return read_only(values.view())  # what most callers pass, without the other questions
    if values is None:
        raise InputError(argument, "is required", "it is None")
    if isinstance(values, str | bytes | set | frozenset | dict) or not (
        hasattr(values, "__len__") or hasattr(values, "__array__") or hasattr(values, "__dlpack__")
    ):
        raise InputError(argument, "must be an array, a list or a column", f"it is a {type(values).__name__}")
    array, lent = _read(values, argument)
    if np.ma.isMaskedArray(array):
        raise InputError(argument, "must not be a masked array", advice="Drop or fill the masked entries first")
    if array.ndim == 0:
        raise InputError(argument, "must be an array, a list or a column", f"it is {array!r}")
    if array.dtype.name == "bfloat16":  # of ml_dtypes, which JAX uses
        array, lent = array.astype(np.float32), False
    if array.dtype.kind in "cmMV" or (array.dtype.kind == "f" and array.dtype.itemsize == 1):
        raise InputError(argument, "must hold numbers or class names", f"its dtype is {array.dtype}")
    array = np.asarray(array)
    return read_only(array.view()) if lent else array


def _read(values: Any, argument: str) -> tuple[Array, bool]:
    """An array, and whether its memory may be that of `values`."""
    try:
        raw = _unwrap(values)
        array = np.asanyarray(raw)
        if _holds_rows(array):
            return np.stack([np.asarray(row) for row in array]), False
    except Exception as error:  # of whichever library the values are from
        if isinstance(error, ValueError) and "shape" in str(error):
            found, advice = "its rows have different lengths", "Give every row as many columns"
            raise InputError(argument, "must be a regular array", found, advice) from error
        found = f"it is a {type(values).__name__} that cannot be read: {str(error).strip().split('. ')[0]}"
        advice = "Pass a dense array of float32 or float64"
        raise InputError(argument, "must be an array, a list or a column", found, advice) from error
    return array, not isinstance(raw, list | tuple)


def device_of(values: Any) -> str | None:
    """The accelerator that a torch tensor lies on; None for anything else."""
    return str(values.device) if hasattr(values, "detach") and getattr(values, "is_cuda", False) else None


def own(array: Array) -> Array:
    """A read-only array whose memory nobody else writes to: the array itself, or a copy of what `to_numpy` lent."""
    ours, base = array.flags.writeable, array.base
    while base is not None:
        if isinstance(base, np.ndarray) and base.flags.writeable:
            if not ours:  # read-only to us, not to its owner; Arrow's and Polars' memory never changes
                return read_only(array.copy(order="K"))
            read_only(base)
        base = getattr(base, "base", getattr(base, "obj", None))
    return read_only(array)


def alone(array: Array) -> Array:
    """The array itself where no other shares its memory, as the user's may; else a copy. It is read-only."""
    return array if array.base is None else read_only(array.copy())


def read_only(array: Array) -> Array:
    """The array itself, which cannot be written to any more."""
    array.flags.writeable = False
    return array


def column_names(values: Any) -> tuple[Any, ...] | None:
    """The column names of a pandas, Polars or Arrow table; None for anything else."""
    if type(values) is np.ndarray:
        return None
    names = getattr(values, "column_names", None)  # Arrow
    if names is None and hasattr(values, "to_numpy"):
        names = getattr(values, "columns", None)  # pandas and Polars
    return None if names is None else tuple(names)


def common_index(**given: Any) -> Any:
    """The pandas index of the rows, which all that carry one must share, in the same order; None if none does."""
    first, kept = "", None
    for argument, values in given.items():
        if values is None or type(values) is np.ndarray:
            continue
        index: Any = getattr(values, "index", None)  # of columns, tables, predictions and forecasts; a method of lists
        if not hasattr(index, "equals"):
            continue
        if kept is None:
            first, kept = argument, index
        elif index is not kept and len(index) == len(kept) and not index.equals(kept):
            _refuse_order(argument, index.tolist(), first, kept.tolist())
    return kept


def _refuse_order(argument: str, index: list[Any], other: str, kept: list[Any]) -> None:
    row = next((i for i, (a, b) in enumerate(zip(index, kept, strict=True)) if _differ(a, b)), None)
    if row is None:  # the same rows under another type of index
        return
    found = f"row {row} is {index[row]!r} in {argument} and {kept[row]!r} in {other}"
    ordered = f"Pass {argument}.loc[{other}.index] to put the same rows in the same order"
    same = sorted(map(str, index)) == sorted(map(str, kept))  # entries need neither an order nor a hash
    advice = ordered if same else "Select the same rows by index from both"
    by_place = f"if rows correspond by position, {argument}.to_numpy() or reset_index(drop=True) on both"
    raise InputError(argument, f"must have the index of {other}", found, f"{advice}; {by_place}")


def _differ(one: Any, other: Any) -> bool:
    """Are two entries of an index different rows? Those that cannot be compared, such as NA, by their text."""
    try:
        return bool(one != other) and str(one) != str(other)
    except (TypeError, ValueError):
        return str(one) != str(other)


def _unwrap(values: Any) -> Any:
    """The part of a foreign container that NumPy understands."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, list | tuple) and values and hasattr(values[0], "detach"):  # a list of tensors
        return [_unwrap(value) for value in values]
    if hasattr(values, "detach"):  # torch: off the graph and the device, and out of bfloat16, which NumPy lacks
        tensor = values.detach().cpu()
        return tensor.float().numpy() if str(tensor.dtype) == "torch.bfloat16" else tensor.numpy()
    if hasattr(values, "column_names"):  # Arrow table or record batch
        return np.column_stack([_unwrap(column) for column in values.columns])
    if hasattr(values, "storage") and hasattr(values, "type"):  # Arrow extension array
        return _unwrap(values.storage)
    if hasattr(getattr(values, "type", None), "index_type"):  # Arrow dictionary, where a null may become a category
        return _unwrap(values.cast(values.type.value_type))
    if hasattr(
        values, "to_numpy"
    ):  # Arrow copies only when told; pandas and Polars have no such option, or had it once
        return values.to_numpy(zero_copy_only=False) if hasattr(values, "type") else values.to_numpy()
    if hasattr(values, "__cuda_array_interface__") and hasattr(values, "get"):  # CuPy
        return values.get()
    return values


def _holds_rows(array: Any) -> bool:
    """Is this a column of lists, as Parquet and pandas store a vector per row?"""
    return bool(
        array.dtype == object and array.ndim == 1 and len(array) and isinstance(array[0], np.ndarray | list | tuple)
    )
