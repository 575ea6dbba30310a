"""Arrays of numbers: probabilities, logits, weights, and groups."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from calibrant.arrays import to_numpy
from calibrant.kernels.rows.checks import all_in_unit_interval, rows_are_distributions
from calibrant.problems import InputError
from calibrant.types import Array

ROW_SUM_TOLERANCE = 1e-4
"""How far a row of probabilities may be from summing to 1: above float32 rounding at 1000 classes, below a mistake."""

LOOKS_LIKE_ROUNDING = 1e-4
"""How far beyond [0, 1] numbers may lie and still be taken for rounded probabilities in an error text."""

FloatArray = Array


def floats(values: Any, argument: str) -> FloatArray:
    """A float32 or float64 array of one or two dimensions that no one else will write to; float16 becomes float32."""
    array = to_numpy(values, argument)
    if array.dtype.kind in "OUSb":
        array = _parsed(array, argument)
    if array.dtype.kind in "iu" or array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    elif array.dtype == np.float16:
        array = array.astype(np.float32)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2):
        raise InputError(argument, "must have shape (n,) or (n, K)", f"it has shape {array.shape}")
    if not array.size:
        raise InputError(argument, "must hold at least one row", f"it is empty, with shape {array.shape}")
    return array[:]  # a view with a write flag of its own


def _parsed(array: Array, argument: str) -> Array:
    if array.dtype.kind == "O":
        check_no_missing(array, argument)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(argument, "must hold numbers", f"it holds {array.flat[0]!r} and the like") from error


def check_no_missing(array: Array, argument: str, advice: str = "Drop or fill such rows") -> None:
    """Refuse objects that represent a missing value: None, NaN, pandas' NA."""

    def is_missing(value: Any) -> bool:
        named = type(value).__name__ in ("NAType", "NaTType")
        return value is None or named or (isinstance(value, float) and isnan(value))

    missing = np.frompyfunc(is_missing, 1, 1)(array).astype(bool)
    refuse(missing, array, argument, "must not hold missing values", advice)


def refuse(bad: Array, array: Array, argument: str, expected: str, advice: str = "") -> None:
    """Raise an error that names the first bad entry, in row order, if there is one."""
    if bad.any():
        where = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        value = repr(array[where]) if array.dtype.kind == "O" else str(array[where])
        raise InputError(argument, expected, f"{argument}[{', '.join(map(str, where))}] is {value}", advice)


def check_finite(array: FloatArray, argument: str) -> None:
    """Refuse NaN and infinity."""
    if not (np.isfinite(array.min()) and np.isfinite(array.max())):  # NaN passes through both; far cheaper than a mask
        refuse(~np.isfinite(array), array, argument, "must be finite", "Drop such rows or correct their source")


def check_probabilities(probs: FloatArray) -> None:
    """Refuse numbers outside [0, 1], with a guess at what they may be instead."""
    if not all_in_unit_interval(probs):
        check_finite(probs, "probs")
        refuse((probs < 0) | (probs > 1), probs, "probs", "must lie in [0, 1]", _range_advice(probs.min(), probs.max()))


def _range_advice(low: float, high: float) -> str:
    if low >= -LOOKS_LIKE_ROUNDING and high <= 1 + LOOKS_LIKE_ROUNDING:
        return "This looks like rounding: np.clip(probs, 0, 1) if you agree"
    if low >= 0 and 2 < high <= 100:
        return "These look like percentages: divide by 100. If they are logits, use Predictions.from_logits"
    return "If these are logits, use Predictions.from_logits"


def check_matrix(probs: FloatArray, normalize: bool | None) -> FloatArray:
    """Rows of probabilities: in [0, 1], and summing to 1 or made to."""
    if rows_are_distributions(probs):
        return probs
    check_probabilities(probs)
    return check_row_sums(probs, normalize)


def check_row_sums(probs: FloatArray, normalize: bool | None, argument: str = "probs") -> FloatArray:
    """Refuse rows that do not sum to 1, or divide them by their sum if the user asked for it."""
    sums = probs.sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1) > ROW_SUM_TOLERANCE
    if not off.any():
        return probs
    if not normalize:
        row = int(np.argmax(off))
        raise InputError(
            argument,
            f"must have rows that sum to 1 (within {ROW_SUM_TOLERANCE:g})",
            f"row {row} sums to {sums[row]:.6g}",
            "Divide each row by its sum" if normalize is None else "Pass normalize=True to divide each row by its sum",
        )
    if (sums == 0).any():
        row = int(np.argmax(sums == 0))
        raise InputError(argument, "cannot be normalised", f"row {row} is all zero", "Drop that row")
    return (probs / sums[:, None]).astype(probs.dtype)


def check_column(values: Any, argument: str, n: int | None = None) -> FloatArray:
    """One finite float64 number per row, `n` of them if that is known."""
    array = floats(values, argument).astype(np.float64)
    _check_length(array, argument, "number", n)
    check_finite(array, argument)
    return array


def _check_length(array: Array, argument: str, noun: str, n: int | None) -> None:
    if array.ndim != 1 or n not in (None, len(array)):
        rows = "" if n is None else f", {n} in all"
        raise InputError(argument, f"must hold one {noun} per row{rows}", f"its shape is {array.shape}")


def check_weights(weights: Any, n: int) -> FloatArray:
    """One finite, non-negative number per row, not all zero."""
    array = floats(weights, "weights").astype(np.float64, copy=False)[:]
    _check_length(array, "weights", "number", n)
    check_finite(array, "weights")
    low, high = (float(array.min()), float(array.max())) if n else (0.0, 0.0)
    if low < 0:
        refuse(array < 0, array, "weights", "must not be negative")
    if high == 0:
        raise InputError("weights", "must not all be zero")
    if high > np.finfo(np.float64).max / n:
        with np.errstate(over="ignore"):
            if not np.isfinite(array.sum()):
                raise InputError("weights", "must have a finite sum", "it overflows", "Divide them by a constant")
    return array


def check_groups(groups: Any, n: int) -> Array:
    """One value per row, none of them missing, of kinds that can be put in order."""
    array = to_numpy(groups, "groups")[:]
    _check_length(array, "groups", "value", n)
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and np.isnan(array).any()):
        check_no_missing(array.astype(object), "groups", "Drop such rows, or give each a group of its own")
    if array.dtype.kind == "O" and set(map(type, array)) != {str}:
        _check_orderable(array, "groups")
    return array


def _check_orderable(array: Array, argument: str) -> None:
    """Refuse objects that have no order, such as names among numbers."""
    try:
        np.unique(array)
    except TypeError as error:
        other = next((i for i, value in enumerate(array) if type(value) is not type(array[0])), 0)
        found = f"{argument}[{other}] is {array[other]!r}" + (f" and {argument}[0] is {array[0]!r}" if other else "")
        raise InputError(argument, "must be of one kind", found, "Pass strings or integers") from error


def check_all_positive(array: FloatArray, argument: str) -> None:
    """Refuse zero and negative numbers."""
    refuse(array <= 0, array, argument, "must be positive")
