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


def ranked_as(values: Array, model: Array, tied: Indices | None = None) -> Array:
    """`values`, in which rounding may have tied classes of a row; in place they get the order of `model`.

    In no row may a class have overtaken another. `tied` are the rows with ties, where they are known.
    """
    if tied is not None:
        for some in row_blocks(len(tied), values.shape[1]):
            _rank(values, model, tied[some])
        return values
    for rows in row_blocks(*values.shape):
        _rank(values[rows], model[rows], rows_with_ties(values[rows]))
    return values


def _rank(values: Array, model: Array, at: Indices) -> None:
    """The same of rows with ties."""
    if len(at):  # where the model has ties, so have the values
        at = at[_ties(values[at]) != _ties(model[at])]
    if len(at):
        order = np.argsort(-model[at], axis=1, kind="stable")
        kept = keep_order(*(np.take_along_axis(each[at], order, axis=1) for each in (values, model)))
        values[at[:, None], order] = kept


FEW_CLASSES, FROM_ROWS = 12, 500
"""So few classes, of so many rows at least, are compared two by two: sorting begins anew with every row."""


def rows_with_ties(values: Array) -> Indices:
    """The rows of positive numbers in which some are equal."""
    n, k = values.shape
    if k <= FEW_CLASSES and n >= FROM_ROWS:
        columns, tied = np.ascontiguousarray(values.T), np.zeros(n, dtype=bool)
        for apart in range(1, k):
            tied |= (columns[apart:] == columns[:-apart]).any(axis=0)
        return np.flatnonzero(tied)
    ordered = np.sort(_bits(values), axis=1).ravel()
    at = np.flatnonzero(ordered[1:] == ordered[:-1])
    return np.unique(at[(at + 1) % k != 0] // k)  # a row's end is no neighbour of the next one's beginning


def _bits(rows: Array) -> Array:
    """Positive floats as whole numbers of the same order, which are sorted faster; others as they are."""
    return rows.view(f"u{rows.dtype.itemsize}") if rows.flags.c_contiguous else rows


def _ties(rows: Array) -> Indices:
    """How many neighbours of a row are equal once it is sorted."""
    ordered = np.sort(rows, axis=1)
    return np.count_nonzero(ordered[:, 1:] == ordered[:, :-1], axis=1)


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
