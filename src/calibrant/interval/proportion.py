"""The interval of a rate."""

from __future__ import annotations

import numpy as np

from calibrant.interval.mean import normal_quantile
from calibrant.types import Floats


def wilson(rate: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's score interval of observed rates in `count` trials each: sensible at 0 and 1, where ±z·se is not."""
    z2 = normal_quantile(level) ** 2
    centre = (rate + z2 / (2 * count)) / (1 + z2 / count)
    margin = np.sqrt(z2 * (rate * (1 - rate) / count + z2 / (4 * count**2))) / (1 + z2 / count)
    return np.clip(centre - margin, 0, 1), np.clip(centre + margin, 0, 1)
