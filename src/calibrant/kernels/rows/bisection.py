"""Bisection of sorted numbers, for compiled loops."""

from __future__ import annotations

from typing import Any

from calibrant.kernels.compiled import compiled


@compiled
def first_above(values: Any, low: int, high: int, target: Any) -> int:
    """The first place from `low` to before `high` whose value exceeds the target;
    `high` if none does."""
    while low < high:
        middle = (low + high) // 2
        if target >= values[middle]:
            low = middle + 1
        else:
            high = middle
    return low
