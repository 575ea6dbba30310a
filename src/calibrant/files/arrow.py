"""Arrow columns as NumPy arrays, read from their buffers: `to_numpy` of Arrow would import pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.problems import InputError
from calibrant.types import Array, Bools

MANY_TEXTS = 1000
"""Different texts from which importing pandas takes less time than making each of them in Python."""


def to_numpy(column: Any, name: str, per_row: int = 1) -> Array:
    """An Arrow column as `(n,)`, or `(n, K)` if it holds lists, with `per_row` values per row."""
    if isinstance(column, np.ndarray):
        return column
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if (plain := _plain_type(array.type)) != array.type:  # a cast imports pyarrow.compute
        array = array.cast(plain)
    _check_filled(array, name, per_row)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        return _rows_of_lists(array, name)
    return _values(array)


def _values(array: Any) -> Array:
    """The values of an array without nulls; views of numbers are read-only."""
    import pyarrow as pa

    kind = array.type
    if len(array) and kind == pa.large_string():
        encoded = array.dictionary_encode()
        if len(encoded.dictionary) <= MANY_TEXTS:
            return np.array(encoded.dictionary.to_pylist(), dtype=object)[_values(encoded.indices)]
    if len(array) and not array.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        letter = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
        dtype = np.dtype(f"{letter}{kind.bit_width // 8}")
        found = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
        found.flags.writeable = False
        return found
    if len(array) and not array.null_count and pa.types.is_boolean(kind):
        return _bits(array)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _bits(array: Any) -> Bools:
    """Truth values, of which a byte holds eight."""
    first, shift = divmod(array.offset, 8)
    octets = np.frombuffer(array.buffers()[1], np.uint8, (shift + len(array) + 7) // 8, first)
    return np.unpackbits(octets, count=shift + len(array), bitorder="little")[shift:].view(np.bool_)


def _plain_type(found: Any) -> Any:
    """Decimals as floats, all kinds of text as one, categories as their values."""
    import pyarrow as pa

    if pa.types.is_dictionary(found):
        return _plain_type(found.value_type)
    if pa.types.is_decimal(found):
        return pa.float64()
    text = {"string", "binary", "large_binary", "binary_view", "string_view"}
    return pa.large_string() if str(found) in text else found


def _check_filled(array: Any, name: str, per_row: int) -> None:
    import pyarrow as pa

    if not array.null_count and array.type != pa.large_string():
        return
    import pyarrow.compute as pc  # takes long to import, and numbers do not need it

    blank = _values(pc.is_null(array)) if array.null_count else _values(pc.binary_length(array)) == 0  # missing in CSV
    if blank.any():
        found, advice = f"row {np.argmax(blank) // per_row} is empty", "Fill them, or pass missing='drop'"
        raise InputError(f"column {name!r}", "must not hold missing values", found, advice)


def _rows_of_lists(array: Any, name: str) -> Array:
    import pyarrow.compute as pc

    lengths = _values(pc.list_value_length(array))
    odd = lengths != lengths[:1]
    if odd.any():
        found = f"row 0 has {lengths[0]} numbers, row {np.argmax(odd)} has {lengths[np.argmax(odd)]}"
        raise InputError(f"column {name!r}", "must hold lists of one length", found)
    length = int(lengths[0]) if len(array) else 0
    inner = to_numpy(array.flatten(), name, max(length, 1))
    return inner.reshape(len(array), length, *inner.shape[1:])
