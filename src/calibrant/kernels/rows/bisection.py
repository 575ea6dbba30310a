"""Bisection of sorted numbers, for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled


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
