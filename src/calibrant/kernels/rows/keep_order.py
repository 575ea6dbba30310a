"""Order kept in floating point.

Where rounding would turn a step into a tie, the next number up is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.logits import row_blocks
from calibrant.types import Array, Bools, Indices


def keep_order(values: Array, model: Array) -> Array:
    """`values` with the order of `model` in every row, which descends.

    Strict where it is strict, tied where it is tied.

    Rows that have that order already are returned unchanged. In the others an entry
    that is not above the one below it is lifted to the next number up.
    """
    strict = model[:, :-1] > model[:, 1:]
    kept = np.where(strict, values[:, :-1] > values[:, 1:], values[:, :-1] == values[:, 1:]).all(axis=1)
    if kept.all():
        return values
    ordered = values.copy()
    ordered[~kept] = _lifted(values[~kept], strict[~kept])
    return ordered


def ranked_as(values: Array, model: Array) -> Array:
    """`values`, in which rounding may have tied classes of a row, with the order of `model`.

    Rows without new ties as they are.

    In no row may a class have overtaken another.
    """
    out = values
    for rows in row_blocks(*values.shape):
        at = _tied(_bits(values[rows])) + rows.start  # where the model has ties, so have the values
        if len(at):
            at = at[_ties(values[at]) != _ties(model[at])]
        if not len(at):
            continue
        out = values.copy() if out is values else out
        order = np.argsort(-model[at], axis=1, kind="stable")
        ordered = keep_order(
            np.take_along_axis(values[at], order, axis=1), np.take_along_axis(model[at], order, axis=1)
        )
        back = np.empty_like(ordered)
        np.put_along_axis(back, order, ordered, axis=1)
        out[at] = back
    return out


def _bits(rows: Array) -> Array:
    """Positive floats as whole numbers of the same order, which are sorted faster; others as they are."""
    return rows.view(f"u{rows.dtype.itemsize}") if rows.flags.c_contiguous else rows


def _ties(rows: Array) -> Indices:
    """How many neighbours of a row are equal once it is sorted."""
    ordered = np.sort(rows, axis=1)
    return np.count_nonzero(ordered[:, 1:] == ordered[:, :-1], axis=1)


def _tied(rows: Array) -> Indices:
    """The rows in which some are, and perhaps others: the end of a row is compared with the next one's beginning too."""
    ordered = np.sort(rows, axis=1).ravel()
    return np.unique(np.flatnonzero(ordered[1:] == ordered[:-1]) // rows.shape[1])


def _lifted(values: Array, strict: Bools) -> Array:
    """y_j = max(x_j, y_(j−1) + 1) from the lowest entry up, counted in floating-point numbers.

    Tied entries are one.
    """
    n, k = values.shape
    rises = np.concatenate([np.zeros((n, 1), dtype=bool), strict[:, ::-1]], axis=1)
    first = np.maximum.accumulate(np.where(rises, np.arange(k), 0), axis=1)
    x = _ordinals(np.take_along_axis(values[:, ::-1], first, axis=1))
    height = np.cumsum(rises, axis=1, dtype=x.dtype)
    return _numbers(np.maximum.accumulate(x - height, axis=1) + height, values.dtype)[:, ::-1]


def _ordinals(values: Array) -> Array:
    """Whole numbers in the order of the floats, neighbours one apart; both zeros are 0."""
    integer: Any = np.int32 if values.dtype == np.float32 else np.int64
    bits: Array = np.ascontiguousarray(values).view(integer)
    size = bits & np.iinfo(integer).max
    return np.where(bits < 0, -size, size)


def _numbers(ordinals: Array, dtype: Any) -> Array:
    """The floats that `_ordinals` counted."""
    size = np.abs(ordinals).view(dtype)
    return np.where(ordinals < 0, -size, size)
