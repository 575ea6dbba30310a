"""The door: what users pass, checked once and put in a standard form.

Below this module nothing is checked again. Nothing is clipped, dropped or renormalised unless the user asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import isnan
from typing import Any

import numpy as np

from calibrant.arrays import read_only, to_numpy
from calibrant.kernels.rows.checks import all_finite, all_in_unit_interval, rows_are_distributions
from calibrant.problems import InputError
from calibrant.types import Array, Seed

ROW_SUM_TOLERANCE = 1e-4
"""How far a row of probabilities may be from summing to 1: above float32 rounding at 1000 classes, below a mistake."""

LOW_PRECISION = {"bfloat16": (16, 2.0**-7), "float16": (13, 2.0**-10)}
"""Types with fewer bits than float32: how many of its last bits are 0 in their numbers, and their rounding unit."""

LOOKS_LIKE_ROUNDING = 1e-4
"""How far beyond [0, 1] numbers may lie and still be taken for rounded probabilities in an error text."""

MOST_COUNTED = 2**31 - 1
"""The most of anything that is counted one by one: bins, folds, draws."""

MISSING = "missing"
"""The name of the segment of rows without a value."""

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
"""The types of floats that are kept as they are."""

FloatArray = Array


def floats(values: Any, argument: str) -> Array:
    """A float32 or float64 array of one or two dimensions with its own write flag; float16 becomes float32."""
    array = to_numpy(values, argument)
    if array.dtype in FLOATS and array.size and (array.ndim == 1 or (array.ndim == 2 and array.shape[1] > 1)):
        return array[:]
    if array.dtype.kind == "O":
        check_no_missing(array, argument)
    if array.dtype.kind in "OUSb":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(argument, "must hold numbers", f"it holds {array.flat[0]!r} and the like") from error
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


def plain_column(values: Any) -> Array | None:
    """A plain array of floats in [0, 1], read-only; None for all else, which the full checks read or refuse."""
    if type(values) is not np.ndarray or values.dtype not in FLOATS or values.ndim != 1 or not len(values):
        return None
    return read_only(values.view()) if all_in_unit_interval(values) else None


def check_no_missing(array: Array, argument: str, advice: str = "Drop or fill such rows") -> None:
    """Refuse objects that represent a missing value: None, NaN, pandas' NA."""

    refuse(missing(array), array, argument, "must not hold missing values", advice)


def missing(array: Array) -> Array:
    """Which objects represent a missing value: None, NaN, pandas' NA."""

    def is_missing(value: Any) -> bool:
        named = type(value).__name__ in ("NAType", "NaTType")
        return value is None or named or (isinstance(value, float) and isnan(value))

    return np.asarray(np.frompyfunc(is_missing, 1, 1)(array).astype(bool))


def refuse(bad: Array, array: Array, argument: str, expected: str, advice: str = "") -> None:
    """Raise an error that names the first bad entry, in row order, if there is one."""
    if bad.any():
        where = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        value = repr(array[where]) if array.dtype.kind == "O" else str(array[where])
        raise InputError(argument, expected, f"{argument}[{', '.join(map(str, where))}] is {value}", advice)


def check_finite(array: Array, argument: str) -> None:
    """Refuse NaN and infinity."""
    if not all_finite(array):
        refuse(~np.isfinite(array), array, argument, "must be finite", "Drop such rows or correct their source")


def check_probabilities(probs: Array) -> None:
    """Refuse numbers outside [0, 1], with a guess at what they may be instead."""
    if all_in_unit_interval(probs):
        return
    check_finite(probs, "probs")
    low, high, advice = probs.min(), probs.max(), "If these are logits, use Predictions.from_logits"
    if low >= -LOOKS_LIKE_ROUNDING and high <= 1 + LOOKS_LIKE_ROUNDING:
        advice = "This looks like rounding: np.clip(probs, 0, 1) if you agree"
    elif low >= 0 and 2 < high <= 100:
        advice = "These look like percentages: divide by 100. If they are logits, use Predictions.from_logits"
    refuse((probs < 0) | (probs > 1), probs, "probs", "must lie in [0, 1]", advice)


def check_matrix(probs: Array, normalize: bool | None) -> Array:
    """Rows of probabilities: in [0, 1], and summing to 1 or made to."""
    if rows_are_distributions(probs):
        return probs
    check_probabilities(probs)
    return check_row_sums(probs, normalize)


def wrapped(option: str, name: str = "probs") -> str:
    """The line that gives an option of `Predictions`, which other functions do not have, to be pasted."""
    return f"{'Predictions' if name == 'probs' else f'Predictions.from_{name}'}(labels, {name}, {option})"


def check_row_sums(probs: Array, normalize: bool | None, argument: str = "probs") -> Array:
    """Refuse rows that do not sum to 1, or divide them by their sum if the user asked for it."""
    sums, tolerance = probs.sum(axis=1, dtype=np.float64), ROW_SUM_TOLERANCE
    off = np.abs(sums - 1)
    if off.max() <= tolerance or off.max() <= (tolerance := row_sum_tolerance(probs)):
        return probs
    if not normalize:
        row, expected = int(np.argmax(off > tolerance)), f"must have rows that sum to 1 (within {tolerance:.2g})"
        divide = "ivide each row by its sum"
        advice = f"D{divide}" if normalize is None else f"Pass {wrapped('normalize=True')} to d{divide}"
        raise InputError(argument, expected, f"row {row} sums to {sums[row]:.6g}", advice)
    if (sums == 0).any():
        row = int(np.argmax(sums == 0))
        raise InputError(argument, "cannot be normalised", f"row {row} is all zero", "Drop that row")
    return (probs / sums[:, None]).astype(probs.dtype)


def row_sum_tolerance(probs: Array) -> float:
    """How far rows may be from summing to 1 by the rounding of their own numbers.

    float16 and bfloat16 arrive as float32, recognised by their last bits: those of float32
    are 0 in every number, one of the last three of the type is 1 in some number. With
    rounding unit ε a softmax of K classes that is computed in such a type, or
    exp(log-softmax), has sums within ε/2·(1 + log₂K) of 1: ε/2 for the division, ε/2 for
    each level of a sum in pairs, or ε/2 times the entropy for logarithms.
    """
    if probs.dtype == np.float32:
        used = int(np.bitwise_or.reduce(probs.view(np.uint32), axis=None))
        for zeros, unit in LOW_PRECISION.values():
            if used % (1 << zeros) == 0 and used % (8 << zeros):
                return max(ROW_SUM_TOLERANCE, unit / 2 * (1 + np.log2(probs.shape[1])))
    return ROW_SUM_TOLERANCE


def check_column(values: Any, argument: str, n: int | None = None) -> Array:
    """One finite float64 number per row, `n` of them if that is known."""
    array = floats(values, argument).astype(np.float64)
    _check_length(array, argument, "number", n)
    check_finite(array, argument)
    return array


def _check_length(array: Array, argument: str, noun: str, n: int | None) -> None:
    if array.ndim != 1 or n not in (None, len(array)):
        rows = "" if n is None else f", {n} in all"
        raise InputError(argument, f"must hold one {noun} per row{rows}", f"its shape is {array.shape}")


def check_weights(weights: Any, n: int, argument: str = "weights") -> Array:
    """One finite, non-negative number per row, not all zero."""
    array = floats(weights, argument).astype(np.float64, copy=False)[:]
    _check_length(array, argument, "number", n)
    check_finite(array, argument)
    if n and array.min() < 0:
        refuse(array < 0, array, argument, "must not be negative")
    if not array.any():
        raise InputError(argument, "must not all be zero")
    return array


def check_groups(groups: Any, n: int) -> Array:
    """One value per row, none of them missing, of kinds that can be put in order."""
    array = to_numpy(groups, "groups")[:]
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    _check_length(array, "groups", "value", n)
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and np.isnan(array).any()):
        check_no_missing(array.astype(object), "groups", "Drop such rows, or give each a group of its own")
    if array.dtype.kind == "O" and set(map(type, array)) != {str}:
        try:
            np.unique(array)
        except TypeError as error:  # no order, such as names among numbers
            other = next((i for i, value in enumerate(array) if type(value) is not type(array[0])), 0)
            found = f"groups[{other}] is {array[other]!r}" + (f" and groups[0] is {array[0]!r}" if other else "")
            raise InputError("groups", "must be of one kind", found, "Pass strings or integers") from error
    return array


def row_values(values: Any, argument: str, n: int) -> Array:
    """One value of any kind per row."""
    if hasattr(values, "cast") and hasattr(getattr(values, "type", None), "index_type"):
        values = values.cast(values.type.value_type)  # Arrow 26 reads a missing category in chunks as the last one
    array = to_numpy(values, argument)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    _check_length(array, argument, "value", n)
    return array


def plain_values(values: Array) -> Array:
    """Objects as numbers if all that are not missing are numbers, else as texts."""
    known = [None if absent else value for value, absent in zip(values.tolist(), missing(values), strict=True)]
    types = {type(value) for value in known if value is not None}
    if all(issubclass(each, int | float | np.number | Decimal) and each is not bool for each in types):
        return np.array([np.nan if value is None else float(value) for value in known])
    return np.array([MISSING if value is None else str(value) for value in known], dtype=str)


def check_masks(segments: Any, n: int, advice: str) -> dict[str, Array]:
    """Named segments, each a mask of rows."""
    if not isinstance(segments, Mapping):
        given = f"it is a {type(segments).__name__}"
        raise InputError("segments", "must be a dict of names and masks", given, advice)
    if not segments:
        raise InputError("segments", "must hold at least one name and mask", "it is empty")
    found = {}
    for name, mask in segments.items():
        array = row_values(mask, f"segments[{name!r}]", n)
        if array.dtype != np.bool_:
            raise InputError(f"segments[{name!r}]", "must be a mask, true for its rows", f"its dtype is {array.dtype}")
        if str(name) in found:
            given = f"two of them are called {str(name)!r}"
            raise InputError("segments", "must have different names", given, "Rename yours")
        found[str(name)] = array
    return found


def check_all_positive(array: Array, argument: str) -> None:
    """Refuse zero and negative numbers."""
    refuse(array <= 0, array, argument, "must be positive")


def check_count(value: Any, argument: str = "n_bins", least: int = 1) -> int:
    """An integer, at least `least`, and small enough to be counted up to."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(argument, f"must be a whole number, at least {least}", f"it is {value!r}")
    if value > MOST_COUNTED:
        raise InputError(argument, f"must be at most {MOST_COUNTED:,}", f"it is {value:.3g}")
    return int(value)


def check_choice(argument: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """One of a few allowed values."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | np.integer) or value not in choices:
        raise InputError(argument, f"must be one of {', '.join(map(repr, choices))}", f"it is {value!r}")
    return value


SAME_STATISTIC = {"kuiper": "range", "range": "kuiper", "ks": "max", "max": "ks"}
"""The two names of Kuiper's range, and of the Kolmogorov–Smirnov maximum, of a running sum."""


def check_statistic(statistic: Any, choices: tuple[str, ...]) -> str:
    """One of the statistics, as it is called among the choices; "kuiper" is "range", "ks" is "max"."""
    other = SAME_STATISTIC.get(statistic) if isinstance(statistic, str) else None
    return other if other in choices else str(check_choice("statistic", statistic, choices))


def check_positive(argument: str, value: Any) -> float:
    """A positive, finite number."""
    return _number(argument, value, lambda x: 0 < x < np.inf, "must be positive and finite")


def check_tolerance(tolerance: Any) -> float:
    """A relative difference between losses: from 0 up to, but not, 1."""
    return _number("tolerance", tolerance, lambda x: 0 <= x < 1, "must lie in [0, 1)")


def check_level(level: Any) -> float:
    """The confidence of an interval: strictly between 0 and 1."""
    if type(level) is float and 0 < level < 1:
        return level
    return _number("level", level, lambda x: 0 < x < 1, "must lie between 0 and 1")


def check_alpha(alpha: Any) -> float:
    """A rate of false alarms: positive, at most 0.5, so that a confidence is not taken for it."""
    advice = "alpha is the rate of false alarms: 1 − level, where level is the confidence"
    return _number("alpha", alpha, lambda x: 0 < x <= 0.5, "must be positive and at most 0.5", advice)


def check_seed(seed: Any) -> int:
    """A seed as a whole number; of a generator the next one that it draws, so that results can name it."""
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        expected = "must be a whole number, at least 0, or a NumPy Generator"
        raise InputError("seed", expected, f"it is {seed!r}", "For a generator: np.random.default_rng(0)")
    return int(seed)


def generator_of(seed: Seed) -> np.random.Generator:
    """A generator as it is, or the one that a whole number seeds."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(check_seed(seed))


def check_bandwidth(bandwidth: Any) -> float:
    """A bandwidth for which one reflection at either end of [0, 1] is enough."""
    return _number("bandwidth", bandwidth, lambda x: 0 < x <= 1, "must lie in (0, 1]")


def _number(argument: str, value: Any, fits: Callable[[Any], bool], expected: str, advice: str = "") -> float:
    if isinstance(value, bool) or not isinstance(value, float | int | np.number) or not fits(value):
        raise InputError(argument, expected, f"it is {value!r}", advice)
    return float(value)


def listed(names: Sequence[Any], most: int = 12) -> str:
    """Names for an error text, the first dozen."""
    shown = ", ".join(repr(n) for n in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
