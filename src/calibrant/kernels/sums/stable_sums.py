"""Sums that are the same whatever the number of cores."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import COMPILE_FROM, any_order, compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Array, Floats


def inner(a: Array, b: Array) -> float:
    """Σ a·b in one pass, without BLAS, whose threads change the rounding."""
    return float(np.einsum("i,i->", a, b))


def running(*columns: Floats) -> list[Floats]:
    """For each column, 0 and its running sums.

    `np.cumsum` is slow at them, so with many rows there is one core per column.
    """
    sums = [np.zeros(len(terms) + 1) for terms in columns]
    if len(columns[0]) >= COMPILE_FROM:
        rows = [np.ascontiguousarray(terms) for terms in columns]  # reversed ones would be compiled for anew
        list(over_blocks(len(columns), lambda one: add_up(rows[one.start], sums[one.start]), 1))
    else:
        for terms, out in zip(columns, sums, strict=True):
            np.cumsum(terms, out=out[1:])
    return sums


@compiled
def add_up(terms: Any, sums: Any) -> None:
    """sums[i + 1] = sums[i] + terms[i]."""
    total = sums[0]
    for i in range(len(terms)):
        total += terms[i]
        sums[i + 1] = total


@any_order
def spread(values: Any) -> tuple[float, float]:
    """mean and Σ(x − mean)²."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    mean = total / len(values)
    squares = 0.0
    for i in range(len(values)):
        apart = values[i] - mean
        squares += apart * apart
    return mean, squares


@any_order
def weighted_spread(values: Any, weights: Any) -> tuple[int, float, float, float]:
    """Rows of positive weight, Σw, mean and Σw(x − mean)².

    Rows of weight 0 do not count.
    """
    rows, weight, total = 0, 0.0, 0.0
    for i in range(len(values)):
        w = weights[i]
        rows += w > 0.0
        weight += w
        total += w * values[i] if w > 0.0 else 0.0
    if rows == 0:
        return 0, 0.0, 0.0, 0.0
    mean = total / weight
    squares = 0.0
    for i in range(len(values)):
        apart = values[i] - mean
        squares += weights[i] * (apart * apart) if weights[i] > 0.0 else 0.0
    return rows, weight, mean, squares
