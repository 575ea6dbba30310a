"""Bisection of sorted numbers, for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.types import Array, Indices


@compiled
def first_above(values: Any, low: int, high: int, target: Any) -> int:
    """The first place from `low` to before `high` whose value exceeds the target.

    `high` if none does.
    """
    while low < high:
        middle = (low + high) >> 1
        if target >= values[np.uintp(middle)]:  # unsigned: spares the check for negative indices
            low = middle + 1
        else:
            high = middle
    return low


def all_above(values: Array, low: Indices, high: Indices, targets: Array) -> Indices:
    """The same for many targets at once, `(R, A)`; `low` and `high` are those of their columns."""
    low, high = np.broadcast_to(low, targets.shape).copy(), np.broadcast_to(high, targets.shape).copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        passed = (targets >= values[np.minimum(middle, len(values) - 1)]) & (low < high)
        low, high = np.where(passed, middle + 1, low), np.where(passed, high, middle)
    return low
