"""The door: what users pass, checked once and put in a standard form.

Below this file nothing is checked again. Nothing is clipped, dropped or renormalised unless the user says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.arrays import column_names, to_numpy
from calibrant.kernels.rows.checks import all_in_unit_interval, rows_are_distributions
from calibrant.problems import InputError

ROW_SUM_TOLERANCE = 1e-4
"""How far a row of probabilities may be from summing to 1: above float32 rounding at 1000 classes, below a mistake."""

FloatArray = NDArray[Any]
IntArray = NDArray[Any]


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
    return array[:]  # a view, whose write flag is ours


def _parsed(array: NDArray[Any], argument: str) -> NDArray[Any]:
    if array.dtype.kind == "O":
        _check_no_missing(array, argument)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(argument, "must hold numbers", f"it holds {array.flat[0]!r} and the like") from error


def _check_no_missing(array: NDArray[Any], argument: str, advice: str = "Drop or fill such rows") -> None:
    """Objects that stand for a missing value: None, NaN, pandas' NA."""
    missing = np.frompyfunc(
        lambda v: v is None or type(v).__name__ in ("NAType", "NaTType") or (isinstance(v, float) and isnan(v)), 1, 1
    )(array)
    if missing.any():
        where = _first(missing.astype(bool))
        raise InputError(
            argument,
            "must not hold missing values",
            f"{_at(argument, where)} is {array[where]!r}",
            advice,
        )


def check_finite(array: FloatArray, argument: str) -> None:
    """Refuse NaN and infinity."""
    low, high = array.min(), array.max()  # NaN comes through both; far cheaper than a mask
    if not (np.isfinite(low) and np.isfinite(high)):
        where = _first(~np.isfinite(array))
        raise InputError(
            argument,
            "must be finite",
            f"{_at(argument, where)} is {array[where]}",
            "Drop such rows or mend their source",
        )


def check_probabilities(probs: FloatArray) -> None:
    """Refuse what lies outside [0, 1], and guess what it may be instead."""
    if all_in_unit_interval(probs):
        return
    check_finite(probs, "probs")
    low, high = probs.min(), probs.max()
    if low >= 0 and high <= 1:
        return  # a negative zero
    where = _first((probs < 0) | (probs > 1))
    raise InputError(
        "probs", "must lie in [0, 1]", f"{_at('probs', where)} is {probs[where]}", _range_advice(low, high)
    )


def _range_advice(low: float, high: float) -> str:
    rounding = 1e-4
    if low >= -rounding and high <= 1 + rounding:
        return "This looks like rounding: np.clip(probs, 0, 1) if you agree"
    if low >= 0 and 2 < high <= 100:
        return "These look like percentages: divide by 100. If they are logits, use Predictions.from_logits"
    return "If these are logits, use Predictions.from_logits"


def check_matrix(probs: FloatArray, normalize: bool | None) -> FloatArray:
    """Rows of probabilities: in range, and summing to 1 or made to."""
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
    row = int(np.argmax(off))
    if not normalize:
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


def in_column_order(labels: Any, columns: tuple[Any, ...] | None) -> NDArray[Any]:
    """Labels as an array; one-hot columns that carry the names of the probabilities' columns are put in their order."""
    found, names = to_numpy(labels, "labels"), column_names(labels)
    if (
        found.ndim == 2
        and names is not None
        and columns is not None
        and names != columns
        and set(names) == set(columns)
    ):
        check_distinct(columns)
        found = found[:, [names.index(name) for name in columns]]
    return found


def check_lengths(labels: NDArray[Any], said: FloatArray, name: str) -> None:
    """Labels and predictions must have as many rows."""
    if labels.ndim not in (1, 2):
        raise InputError("labels", "must have shape (n,), or (n, K) if one-hot", f"it has shape {labels.shape}")
    if not len(labels):
        raise InputError("labels", "must hold at least one row", "it is empty")
    if len(labels) != len(said):
        raise InputError(
            "labels", f"and {name} must have as many rows", f"labels has {len(labels)}, {name} {len(said)}"
        )


def check_swapped(labels: Any, probs: FloatArray, soft: bool) -> None:
    """Fractions as labels, and whole numbers as probabilities: the arguments came in the other order."""
    found = np.asarray(to_numpy(labels, "labels"))
    if soft or found.dtype.kind != "f" or not len(found):
        return
    fraction = (found != np.floor(found)) & np.isfinite(found)
    if not fraction.any():
        return
    where = _first(fraction)
    whole = bool((probs == np.floor(probs)).all())
    advice = (
        "Labels come first: did you swap labels and probs?"
        if whole
        else "These look like probabilities. Labels come first; for shares in [0, 1] pass soft=True"
    )
    raise InputError("labels", "must be classes", f"{_at('labels', where)} is {found[where]}", advice)


def class_order(
    classes: Any, columns: tuple[Any, ...] | None, labels: NDArray[Any], n_classes: int, ndim: int
) -> tuple[Any, ...]:
    """The classes of the columns: declared, named by a table that the labels match, or 0 … K−1."""
    if classes is not None:
        named = to_numpy(classes, "classes")
        if named.ndim != 1:
            raise InputError("classes", "must be a list of names, one a column", f"its shape is {named.shape}")
        order = tuple(named.tolist())
        if len(order) != n_classes:
            pair = " (negative, positive)" if ndim == 1 else " as probs has columns"
            raise InputError("classes", f"must hold {n_classes} classes{pair}", f"it holds {len(order)}")
        check_distinct(order)
        return order
    if columns is not None and len(columns) == n_classes and labels.ndim == 1 and ndim == 2:
        seen = set(np.unique(labels).tolist()) if labels.dtype.kind != "O" else set(labels.tolist())
        all_names = all(isinstance(c, str) for c in (*seen, *columns))
        if seen <= set(columns) or (all_names and seen & set(columns)):
            check_distinct(columns)
            return columns
    return tuple(range(n_classes))


def check_distinct(classes: tuple[Any, ...]) -> None:
    """No class may stand for two columns."""
    if len(set(classes)) != len(classes):
        twice = next(c for i, c in enumerate(classes) if c in classes[:i])
        raise InputError("classes", "must be distinct", f"{twice!r} occurs twice")


def codes(labels: NDArray[Any], classes: tuple[Any, ...], name: str, ndim: int, declared: bool) -> IntArray:
    """Labels as class indices: uint8 for two classes given as one column, else int32."""
    dtype: Any = np.uint8 if ndim == 1 else np.int32
    if labels.ndim == 2:
        return _from_one_hot(labels, len(classes)).astype(dtype)
    if labels.dtype.kind == "O":
        _check_no_missing(labels, "labels")
    plain = classes == tuple(range(len(classes)))
    if labels.dtype.kind == "O":
        labels = _same_kind(labels)
    if plain and labels.dtype.kind in "biuf":
        return _check_codes(labels, len(classes), name, ndim).astype(dtype, copy=False)
    if plain and not declared:
        pair = "classes=(negative, positive)" if ndim == 1 else "classes= in the order of the columns"
        raise InputError(
            "labels", "holds names", f"labels[0] is {labels[0]!s:.40}", f"Pass {pair} (scikit-learn: model.classes_)"
        )
    return _look_up(labels, classes).astype(dtype)


def _same_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Objects as strings or numbers, if they are all of one kind."""
    simpler = np.array(labels.tolist())
    return labels if simpler.dtype.kind in "US" and not all(isinstance(v, str) for v in labels) else simpler


def _from_one_hot(labels: NDArray[Any], n_classes: int) -> IntArray:
    if labels.shape[1] != n_classes:
        raise InputError("labels", f"must have {n_classes} columns if one-hot", f"it has {labels.shape[1]}")
    ones = np.asarray(labels == 1, dtype=bool) if labels.dtype.kind not in "US" else np.zeros(labels.shape, dtype=bool)
    bad = ~((np.asarray(labels == 0, dtype=bool) | ones).all(axis=1) & (ones.sum(axis=1) == 1))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            "labels",
            "must be one-hot if it has several columns",
            f"row {row} is {labels[row].tolist()}",
            "Pass class indices",
        )
    return ones.argmax(axis=1)


def _check_codes(labels: NDArray[Any], n_classes: int, name: str, ndim: int) -> NDArray[Any]:
    if labels.dtype.kind == "f":
        check_finite(labels, "labels")
        if (labels != np.floor(labels)).any():
            where = _first(labels != np.floor(labels))
            raise InputError("labels", "must be classes", f"{_at('labels', where)} is {labels[where]}")
    if labels.dtype.kind == "b":
        return labels.view(np.uint8)
    if labels.min() < 0 or labels.max() >= n_classes:
        where = _first((labels < 0) | (labels >= n_classes))
        expected = (
            "must be 0 or 1" if ndim == 1 else f"must lie in 0 … {n_classes - 1}, as {name} has {n_classes} columns"
        )
        advice = "Pass classes=(negative, positive)" if ndim == 1 else "Pass classes= in the order of the columns"
        raise InputError(
            "labels", expected, f"{_at('labels', where)} is {labels[where]}", f"{advice} if these are class names"
        )
    return labels


def _look_up(labels: NDArray[Any], classes: tuple[Any, ...]) -> IntArray:
    """The position of each label among the declared classes."""
    try:
        seen, inverse = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(
            "labels", "must be of one kind", "names and numbers are mixed", "Pass strings or integers"
        ) from error
    order = {c: k for k, c in enumerate(classes)}
    positions = np.array([order.get(label, -1) for label in seen.tolist()])
    found: IntArray = positions[inverse]
    if (found < 0).any():
        where = _first(found < 0)
        raise InputError(
            "labels",
            f"must be among the classes {listed(classes)}",
            f"{_at('labels', where)} is {labels.tolist()[where[0]]!r}",
        )
    return found


def shares(labels: NDArray[Any], ndim: int, n_classes: int) -> FloatArray:
    """Soft labels: event shares `(n,)`, or class shares `(n, K)` whose rows sum to 1."""
    shares = floats(labels, "labels").astype(np.float64)
    if shares.ndim != ndim or (ndim == 2 and shares.shape[1] != n_classes):
        raise InputError(
            "labels", f"must have {'one column' if ndim == 1 else f'{n_classes} columns'} of shares if soft=True"
        )
    check_finite(shares, "labels")
    outside = (shares < 0) | (shares > 1)
    if outside.any():
        where = _first(outside)
        raise InputError("labels", "must lie in [0, 1]", f"{_at('labels', where)} is {shares[where]}")
    return check_row_sums(shares, None, "labels") if ndim == 2 else shares


def check_weights(weights: Any, n: int) -> FloatArray:
    """One finite, non-negative number a row, not all zero."""
    array = floats(weights, "weights").astype(np.float64, copy=False)[:]
    if array.shape != (n,):
        raise InputError("weights", f"must hold one number a row, {n} in all", f"its shape is {array.shape}")
    check_finite(array, "weights")
    low, high = (float(array.min()), float(array.max())) if n else (0.0, 0.0)
    if low < 0:
        where = _first(array < 0)
        raise InputError("weights", "must not be negative", f"{_at('weights', where)} is {array[where]}")
    if high == 0:
        raise InputError("weights", "must not all be zero")
    if high > np.finfo(np.float64).max / n:
        with np.errstate(over="ignore"):
            if not np.isfinite(array.sum()):
                raise InputError("weights", "must have a finite sum", "it overflows", "Divide them by a constant")
    return array


def check_groups(groups: Any, n: int) -> NDArray[Any]:
    """One value a row, none of them missing, of kinds that can be put in order."""
    array = to_numpy(groups, "groups")[:]
    if array.shape != (n,):
        raise InputError("groups", f"must hold one value a row, {n} in all", f"its shape is {array.shape}")
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and np.isnan(array).any()):
        _check_no_missing(array.astype(object), "groups", "Drop such rows, or give each a group of its own")
    if array.dtype.kind == "O" and set(map(type, array)) != {str}:
        _check_orderable(array, "groups")
    return array


def _check_orderable(array: NDArray[Any], argument: str) -> None:
    """Refuse objects that have no order, such as names among numbers."""
    try:
        np.unique(array)
    except TypeError as error:
        other = next((i for i, value in enumerate(array) if type(value) is not type(array[0])), 0)
        found = f"{argument}[{other}] is {array[other]!r}" + (f" and {argument}[0] is {array[0]!r}" if other else "")
        raise InputError(argument, "must be of one kind", found, "Pass strings or integers") from error


def check_count(value: Any, argument: str = "n_bins", least: int = 1) -> int:
    """A whole number, not below the least."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(argument, f"must be a whole number, at least {least}", f"it is {value!r}")
    return int(value)


def check_choice(argument: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """One of a few allowed values."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | np.integer) or value not in choices:
        raise InputError(argument, f"must be one of {', '.join(map(repr, choices))}", f"it is {value!r}")
    return value


def check_positive(argument: str, value: Any) -> float:
    """A positive, finite number."""
    if isinstance(value, bool) or not isinstance(value, float | int | np.number) or not 0 < value < np.inf:
        raise InputError(argument, "must be positive and finite", f"it is {value!r}")
    return float(value)


def check_level(level: Any) -> float:
    """A probability strictly between 0 and 1, such as the level of an interval."""
    if isinstance(level, bool) or not isinstance(level, float | int | np.floating) or not 0 < level < 1:
        raise InputError("level", "must lie between 0 and 1", f"it is {level!r}")
    return float(level)


def check_column(values: Any, argument: str, n: int | None = None) -> FloatArray:
    """One finite float64 number a row, `n` of them if that is known."""
    array = floats(values, argument).astype(np.float64)
    if array.ndim != 1 or n not in (None, len(array)):
        rows = "one number a row" if n is None else f"one number a row, {n} in all"
        raise InputError(argument, f"must hold {rows}", f"its shape is {array.shape}")
    check_finite(array, argument)
    return array


def check_all_positive(array: FloatArray, argument: str) -> None:
    """Refuse 0 and what lies below it."""
    if (array <= 0).any():
        where = _first(array <= 0)
        raise InputError(argument, "must be positive", f"{_at(argument, where)} is {array[where]}")


def _first(mask: NDArray[Any]) -> tuple[int, ...]:
    """Index of the first true entry, in row order."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _at(argument: str, where: tuple[int, ...]) -> str:
    return f"{argument}[{', '.join(map(str, where))}]"


def listed(names: Sequence[Any], most: int = 12) -> str:
    """Names for an error text, the first dozen."""
    shown = ", ".join(repr(n) for n in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def check_bandwidth(bandwidth: float) -> float:
    """A bandwidth for which one reflection at either end is enough."""
    if isinstance(bandwidth, bool) or not isinstance(bandwidth, float | int | np.number) or not 0 < bandwidth <= 1:
        raise InputError("bandwidth", "must lie in (0, 1]", f"it is {bandwidth!r}")
    return float(bandwidth)
