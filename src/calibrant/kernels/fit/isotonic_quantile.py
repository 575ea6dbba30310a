"""Isotonic quantile regression: the rising function whose pinball score on the data is
least."""

from __future__ import annotations

import numpy as np

from calibrant.types import Floats

ROUNDING = 1e-12
"""A share this close to the level counts as equal."""


def isotonic_quantile(x: Floats, y: Floats, w: Floats, level: float) -> Floats:
    """The fitted quantile of each row: rising in x, equal where x is equal; the lowest
    of those that fit best.

    It stays at or below t where the falling fit of the shares of y ≤ t stays at or
    above the level. So values are halved, and rows cut in two, until one value is left
    for each part: log n passes of isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    order = np.lexsort((y, x))
    groups, at = np.unique(x[order], return_inverse=True)
    labels, weights = y[order], w[order]
    starts = np.searchsorted(at, np.arange(len(groups) + 1))
    values = np.unique(labels)
    fitted = np.empty(len(groups))
    waiting = [(0, len(groups), 0, len(values) - 1)]  # groups from, to; values from, to (included)
    while waiting:
        first, last, low, high = waiting.pop()
        if low == high:
            fitted[first:last] = values[low]
            continue
        middle = (low + high) // 2
        rows = slice(starts[first], starts[last])
        place = at[rows] - first
        mass = np.bincount(place, weights[rows])
        below = np.bincount(place, weights[rows] * (labels[rows] <= values[middle])) / mass
        shares = isotonic_regression(below, weights=mass, increasing=False).x
        cut = first + int(np.searchsorted(-shares, ROUNDING - level, side="right"))
        waiting += [part for part in ((first, cut, low, middle), (cut, last, middle + 1, high)) if part[0] < part[1]]
    found = np.empty(len(x))
    found[order] = fitted[at]
    return found
