"""Where a running sum is highest and lowest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import COMPILE_FROM, compiled

Floats = NDArray[np.float64]


def extremes(steps: Floats) -> tuple[int, int, float, float]:
    """First position of the largest and of the smallest running sum, and the two sums."""
    if len(steps) >= COMPILE_FROM:
        high, low, top, bottom = running_extremes(steps)
        return int(high), int(low), float(top), float(bottom)
    sums = np.cumsum(steps)
    high, low = int(np.argmax(sums)), int(np.argmin(sums))
    return high, low, float(sums[high]), float(sums[low])


def sums_at(steps: Floats, places: NDArray[np.intp]) -> Floats:
    """The running sum after each of the places, which increase."""
    starts = np.concatenate([[0], places[:-1] + 1])
    return np.cumsum(np.add.reduceat(steps[: places[-1] + 1], starts))


@compiled
def running_extremes(steps: Any) -> Any:
    """One pass that keeps no sums."""
    total, high, low = steps[0], 0, 0
    top, bottom = total, total
    for i in range(1, len(steps)):
        total += steps[i]
        if total > top:
            top, high = total, i
        elif total < bottom:
            bottom, low = total, i
    return high, low, top, bottom
