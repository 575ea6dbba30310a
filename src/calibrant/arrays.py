"""Arrays and columns of any library as NumPy arrays, without importing that library."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.problems import InputError
from calibrant.types import Array


def to_numpy(values: Any, argument: str) -> Array:
    """Lists, NumPy, pandas, Polars, Arrow, torch, CuPy and JAX arrays as one NumPy array; no copy unless needed."""
    if values is None:
        raise InputError(argument, "is required", "it is None")
    if isinstance(values, str | bytes | set | frozenset | dict) or not (
        hasattr(values, "__len__") or hasattr(values, "__array__") or hasattr(values, "__dlpack__")
    ):
        raise InputError(argument, "must be an array, a list or a column", f"it is a {type(values).__name__}")
    try:
        array = np.asanyarray(_unwrap(values))
        array = np.stack([np.asarray(row) for row in array]) if _holds_rows(array) else array
    except ValueError as error:
        raise InputError(
            argument, "must be a regular array", "its rows have different lengths", "Give every row as many columns"
        ) from error
    if np.ma.isMaskedArray(array):
        raise InputError(argument, "must not be a masked array", advice="Drop or fill the masked entries first")
    if array.ndim == 0:
        raise InputError(argument, "must be an array, a list or a column", f"it is {array!r}")
    if array.dtype.kind in "cmMV":
        raise InputError(argument, "must hold numbers or class names", f"its dtype is {array.dtype}")
    return np.asarray(array)


def column_names(values: Any) -> tuple[Any, ...] | None:
    """The column names of a pandas, Polars or Arrow table; None for anything else."""
    names = getattr(values, "column_names", None)  # Arrow
    if names is None and hasattr(values, "to_numpy"):
        names = getattr(values, "columns", None)  # pandas and Polars
    return None if names is None else tuple(names)


def _unwrap(values: Any) -> Any:
    """The part of a foreign container that NumPy understands."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):  # torch: off the graph and the device, and out of bfloat16, which NumPy lacks
        tensor = values.detach().cpu()
        return tensor.float().numpy() if str(tensor.dtype) == "torch.bfloat16" else tensor.numpy()
    if hasattr(values, "column_names"):  # Arrow table or record batch
        return np.column_stack([_unwrap(column) for column in values.columns])
    if hasattr(values, "storage") and hasattr(values, "type"):  # Arrow extension array
        return _unwrap(values.storage)
    if hasattr(getattr(values, "type", None), "index_type"):  # Arrow dictionary, where a null may become a category
        return _unwrap(values.cast(values.type.value_type))
    if hasattr(values, "to_numpy"):
        try:
            return values.to_numpy(zero_copy_only=False)  # Arrow
        except TypeError:
            return values.to_numpy()  # pandas and Polars
    if hasattr(values, "__cuda_array_interface__") and hasattr(values, "get"):  # CuPy
        return values.get()
    return values


def _holds_rows(array: Any) -> bool:
    """Is this a column of lists, as Parquet and pandas store a vector per row?"""
    return bool(
        array.dtype == object and array.ndim == 1 and len(array) and isinstance(array[0], np.ndarray | list | tuple)
    )
