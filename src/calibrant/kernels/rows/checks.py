"""The checks of large arrays, in one pass over the memory."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Array

COMPILE_FROM_ENTRIES = 1 << 24
"""Entries of a matrix from which one compiled loop does both checks; NumPy takes some 5
ms for as many."""

MOST_COLUMNS = 1 << 12
"""Above this the loop's fixed point would be too coarse."""

ONE_CHECK, TWO_CHECKS = 1 << 21, 1 << 18
"""Entries a core takes at a time; for two checks they stay in its cache from the first
to the second."""

SURE = 1e-5
"""A quick row sum this close to 1 needs no exact check; float32 rounding at 1000
classes is a tenth of it."""


BITS: dict[int, tuple[Any, int]] = {
    4: (np.dtype(np.uint32), np.ones(1, np.float32).view(np.uint32).item()),
    8: (np.dtype(np.uint64), np.ones(1, np.float64).view(np.uint64).item()),
}
"""By the bytes of a float: the unsigned integer of its bits, and that of 1."""


UNSIGNED: dict[int, Any] = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
"""By the bytes of a whole number: the type that is not signed."""


def all_below(labels: Array, n_classes: int) -> bool:
    """Is every whole number at least 0 and below `n_classes`? Negative ones are large, read as unsigned."""
    dtype = labels.dtype
    unsigned = labels if dtype.kind == "u" else labels.view(UNSIGNED[dtype.itemsize])
    if len(labels) <= ONE_CHECK:
        return _largest(unsigned) < n_classes
    return all(over_blocks(len(labels), lambda rows: _largest(unsigned[rows]) < n_classes, ONE_CHECK))


def all_finite(values: Array) -> bool:
    """Is no number NaN or infinite? Then their sum of squares, one pass for BLAS, is not either, unless they are huge."""
    if values.dtype.kind == "f" and values.itemsize in BITS and values.flags.c_contiguous:
        flat = values.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(np.dot(flat, flat)):
                return True
    return not values.size or bool(np.isfinite(values.min()) and np.isfinite(values.max()))  # NaN passes through both


def all_in_unit_interval(values: Array) -> bool:
    """Does every float lie in [0, 1]? May be False for a negative zero."""
    if values.size <= ONE_CHECK:
        return _in_unit_interval(values)
    return all(over_blocks(len(values), lambda rows: _in_unit_interval(values[rows]), _rows(values, ONE_CHECK)))


def _in_unit_interval(block: Array) -> bool:
    """Floats from 0 to 1 order like their bits.

    Negative numbers, larger ones, infinities and NaN all have larger bits, read as
    unsigned integers. So one maximum decides.
    """
    unsigned, one = BITS[block.dtype.itemsize]
    return _largest(block.view(unsigned)) <= one


def _largest(values: Array) -> int:
    """The largest whole number. Of one column by its place, which takes NumPy a fifth of the time for few rows."""
    found: int = values.item(values.argmax()) if values.ndim == 1 else int(np.maximum.reduce(values, axis=None))
    return found


def rows_are_distributions(values: Array) -> bool:
    """Does every entry lie in [0, 1] and every row clearly sum to 1?

    One pass; False calls for an exact check.
    """
    quick = values.size >= COMPILE_FROM_ENTRIES and values.shape[1] <= MOST_COLUMNS and values.flags.c_contiguous
    return all(over_blocks(len(values), partial(_quick if quick else _plain, values), _rows(values, TWO_CHECKS)))


def _plain(values: Array, rows: slice) -> bool:
    block = values[rows]
    return _in_unit_interval(block) and bool((np.abs(np.einsum("ij->i", block) - 1) <= SURE).all())


def _quick(values: Array, rows: slice) -> bool:
    block = values[rows]
    bits = block.view(np.uint32 if block.dtype == np.float32 else np.uint64)
    largest, least, most = fixed_point_sums(block, bits)
    one, unit = np.ones(1, block.dtype).view(bits.dtype)[0], 2.0**-30
    return bool(largest <= one) and 1 - least * unit <= SURE and (most + block.shape[1]) * unit - 1 <= SURE


@compiled
def fixed_point_sums(values: Any, bits: Any) -> Any:
    """The largest bits; the least and the largest row sum in parts of 2⁻³⁰, entries rounded down.

    Sums of integers may be taken in any order, so the loop vectorises.
    """
    largest, least, most = bits[0, 0], np.int64(1 << 62), np.int64(0)
    for i in range(len(values)):
        total = np.int64(0)
        for k in range(values.shape[1]):
            total += np.int64(np.int32(values[i, k] * values.dtype.type(1 << 30)))
            largest = max(largest, bits[i, k])
        least, most = min(least, total), max(most, total)
    return largest, least, most


def _rows(values: Array, entries: int) -> int:
    return max(1, entries // (values.size // len(values)))
