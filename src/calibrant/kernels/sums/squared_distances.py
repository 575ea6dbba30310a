"""Mean and sum of squared distances from it, of a block of numbers that is still in the
cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import any_order


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
def weighted_spread(values: Any, weights: Any) -> tuple[int, float, float, float, bool]:
    """Rows of positive weight, Σw, mean, Σw(x − mean)², and whether all weights are
    whole; rows of weight 0 do not count."""
    rows, broken, weight, total = 0, 0, 0.0, 0.0
    for i in range(len(values)):
        w = weights[i]
        rows += w > 0.0
        broken += w != np.floor(w)
        weight += w
        total += w * values[i] if w > 0.0 else 0.0
    if rows == 0:
        return 0, 0.0, 0.0, 0.0, True
    mean = total / weight
    squares = 0.0
    for i in range(len(values)):
        apart = values[i] - mean
        squares += weights[i] * (apart * apart) if weights[i] > 0.0 else 0.0
    return rows, weight, mean, squares, broken == 0
