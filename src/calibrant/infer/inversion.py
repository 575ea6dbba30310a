"""An interval as all values that a test does not reject, along a path on which the statistic grows."""

from __future__ import annotations

from collections.abc import Callable

FARTHEST = 2.0**20
"""The largest t that is tried, a distance in log-odds."""

CLOSE = 1e-3
"""Precision of t."""


def inverted(
    too_high: Callable[[float], float], too_low: Callable[[float], float], tail: float, close: float = CLOSE
) -> tuple[float, float]:
    """The ends of the part of the path that fits the data.

    `too_high(t)` is the probability at t of a statistic as large as the observed one, or
    larger; `too_low(t)` of one as small, or smaller. The first grows with t and the
    second falls. Each end leaves out `tail`, and is found to within `close`.
    """
    low = 0.0 if too_high(0.0) > tail else crossing(lambda t: too_high(t) - tail, close)
    high = crossing(lambda t: tail - too_low(t), close)
    return low, max(low, high)


def crossing(rising: Callable[[float], float], close: float = CLOSE) -> float:
    """The t ≥ 0 at which an increasing function reaches 0."""
    from scipy.optimize import brentq

    if rising(0.0) >= 0:
        return 0.0
    far = 1.0
    while rising(far) < 0:
        if far >= FARTHEST:
            return far
        far *= 2
    return float(brentq(rising, 0.0 if far == 1.0 else far / 2, far, xtol=close))
