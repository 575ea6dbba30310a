"""From logits to probabilities and back, without overflow and in the precision of the input."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from calibrant.types import Array

BLOCK = 1 << 16
"""Entries handled at a time: three such blocks of float64 fit in a core's second-level cache."""


def row_blocks(n: int, n_columns: int) -> list[slice]:
    """Slices of rows that hold about `BLOCK` entries each."""
    step = max(1, BLOCK // max(1, n_columns))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def probabilities(logits: Array) -> Array:
    """σ(z) for `(n,)`, softmax for `(n, K)`."""
    if logits.ndim == 1:
        return sigmoid(logits)
    out = np.empty_like(logits)
    for rows in row_blocks(*logits.shape):
        z = logits[rows]
        with np.errstate(over="ignore"):  # −∞ is as good as far below
            np.exp(z - row_maxima(z), out=out[rows])
        out[rows] /= row_sums(out[rows])
    return out


class Limits(NamedTuple):
    """Of a precision: the least normal number, the largest below 1, and the logits from which on e^−z does not overflow."""

    least: Any
    most: Any
    lowest: float


@cache
def _limits(dtype: Any) -> Limits:
    info = np.finfo(dtype)
    return Limits(info.tiny, 1 - info.epsneg, -float(info.maxexp) / 2)


FEW_COLUMNS = 32
"""Up to here rows are searched and added up column by column: NumPy begins anew with every row."""


def row_maxima(values: Array) -> Array:
    """The largest number of each row, `(n, 1)`."""
    if values.shape[1] > FEW_COLUMNS:
        return _longer_row_maxima(values)
    most: Array = values[:, 0].copy()
    for column in values.T[1:]:
        np.maximum(most, column, out=most)
    return most[:, None]


def _longer_row_maxima(values: Array) -> Array:
    """Rows behind each other are stretches of one, which NumPy begins sooner."""
    if not (values.flags.c_contiguous and len(values)):
        return np.asarray(values.max(axis=1, keepdims=True))
    n, k = values.shape
    most: Array = np.maximum.reduceat(values.ravel(), np.arange(0, n * k, k))
    return most[:, None]


def row_sums(values: Array, dtype: Any = None) -> Array:
    """The sum of each row, `(n, 1)`, in the precision of the values or in the given one."""
    if not 0 < values.shape[1] <= FEW_COLUMNS:
        total: Array = values.sum(axis=1, keepdims=True, dtype=dtype)
        return total
    total = values[:, 0].astype(dtype or values.dtype)
    for column in values.T[1:]:
        total += column
    return total[:, None]


def running_sums(values: Array) -> Array:
    """Sums along each row, in place."""
    if values.shape[1] > FEW_COLUMNS:
        return np.cumsum(values, axis=1, out=values)
    for j in range(1, values.shape[1]):
        values[:, j] += values[:, j - 1]
    return values


def sigmoid(logits: Array) -> Array:
    """1/(1+e^−z), written with e^−|z| where e^−z would overflow."""
    array = isinstance(logits, np.ndarray) and logits.size
    if not array or logits.item(logits.argmin()) < _limits(logits.dtype).lowest:
        small = np.exp(-np.abs(logits))
        result: Array = np.where(logits >= 0, 1, small) / (1 + small)
        return result
    result = np.negative(logits)  # e^−z does not overflow
    np.exp(result, out=result)
    result += 1
    return np.reciprocal(result, out=result)


def softplus(logits: Array) -> tuple[Array, Array]:
    """ln(1 + e^z) and ln(1 + e^−z), from one exponential and one logarithm."""
    more: Array = np.log1p(np.exp(-np.abs(logits)))
    return np.maximum(logits, 0) + more, more - np.minimum(logits, 0)


def log_probabilities(logits: Array) -> Array:
    """log softmax, `(n, K)`."""
    with np.errstate(over="ignore"):
        z = np.maximum(logits - row_maxima(logits), -np.finfo(logits.dtype).max)
    z -= np.log(row_sums(np.exp(z)))
    return z


def log_odds(probs: Array) -> Array:
    """ln p − ln(1−p): −∞ at 0 and +∞ at 1.

    Where 1 − p is rounded, ln p is so large that ln(1 − p) loses nothing that would show.
    """
    with np.errstate(divide="ignore"):
        rest: Array = 1 - probs
        rest = np.log(rest, out=rest if isinstance(rest, np.ndarray) else None)
        found: Array = np.log(probs)
        found -= rest
    return found


def class_log_odds(logits: Array) -> Array:
    """Log-odds of each class against the rest of its row, `(n, K)`.

    z_k − ln Σ_(j≠k) e^(z_j), without cancellation.
    """
    rows, top = np.arange(len(logits)), logits.argmax(axis=1)
    below = logits - row_maxima(logits)
    odds: Array = np.exp(below)
    odds[rows, top] = 0.0
    odds = below - np.log1p(row_sums(odds) - odds)
    below[rows, top] = -np.inf
    second = row_maxima(below)
    odds[rows, top] = -second[:, 0] - np.log(row_sums(np.exp(below - second))[:, 0])
    return odds


HUGE = 1e30
"""Logits are clipped here, so that differences and products of them stay finite."""


def tamed(logits: Array) -> Array:
    """Logits no larger than `HUGE`; the same array where none is."""
    if not logits.size or (logits.max() <= HUGE and logits.min() >= -HUGE):
        return logits
    return np.clip(logits, -HUGE, HUGE)


def two_columns(one: Array) -> Array:
    """A binary event `(n,)` as the pair (1−p, p)."""
    return np.stack([1 - one, one], axis=1)


FEW_VALUES = 1 << 12
"""Up to here it takes less time to see that nothing has to be clipped."""


def clipped(values: Array, low: Any, high: Any) -> Array:
    """`np.clip` between two numbers, of short arrays in half the time."""
    few = isinstance(values, np.ndarray) and 0 < values.size <= FEW_VALUES
    if few and low <= values.item(values.argmin()) and values.item(values.argmax()) <= high:  # NaN is neither
        return values.copy()
    found: Array = np.clip(values, low, high)
    return found


def inside(probs: Array, dtype: Any = None) -> Array:
    """In the given precision, never rounded to 0, nor to 1 for a binary event.

    No outcome gets probability 0.
    """
    ends = _limits(dtype or probs.dtype)
    narrow = probs.astype(dtype or probs.dtype, copy=False)
    return clipped(narrow, ends.least, ends.most) if probs.ndim == 1 else np.maximum(narrow, ends.least)


def above_zero(probs: Array) -> Array:
    """Rows of probabilities in which, in place, what was rounded to 0 is the least normal number."""
    tiny = _limits(probs.dtype).least
    return np.maximum(probs, tiny, out=probs) if probs.size and probs.min() < tiny else probs
