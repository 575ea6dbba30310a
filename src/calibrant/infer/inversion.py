"""An interval as all values that a test does not refuse, along a path on which the statistic grows."""

from __future__ import annotations

from collections.abc import Callable

FARTHEST = 2.0**20
"""How far the path is followed: log-odds move by so much."""

CLOSE = 1e-3
"""To which t is found, a distance in log-odds."""


def inverted(
    too_high: Callable[[float], float], too_low: Callable[[float], float], chance: float, close: float = CLOSE
) -> tuple[float, float]:
    """The ends of the path's stretch that fits the data.

    `too_high(t)` is how often a statistic as large as the one seen, or larger, comes about at t; `too_low(t)` how often one as
    small or smaller. The first grows with t and the second falls. Each end leaves out `chance`, and is found to within `close`.
    """
    low = 0.0 if too_high(0.0) > chance else crossing(lambda t: too_high(t) - chance, close)
    high = crossing(lambda t: chance - too_low(t), close)
    return low, max(low, high)


def crossing(rising: Callable[[float], float], close: float = CLOSE) -> float:
    """Where a rising function reaches 0, at 0 or beyond."""
    from scipy.optimize import brentq

    if rising(0.0) >= 0:
        return 0.0
    far = 1.0
    while rising(far) < 0:
        if far >= FARTHEST:
            return far
        far *= 2
    return float(brentq(rising, 0.0 if far == 1.0 else far / 2, far, xtol=close))
