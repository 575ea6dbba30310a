"""Where a function of one number crosses 0, by Brent's method: SciPy's takes half a second to import."""

from __future__ import annotations

from collections.abc import Callable

EPSILON = 4 * 2.0**-52
"""The least relative tolerance that makes sense."""

MOST_STEPS = 200
"""Far more than Brent's method needs between any two floats."""


def root(function: Callable[[float], float], low: float, high: float, xtol: float, rtol: float) -> float:
    """A number between two at which the function has different signs, where it is 0 to within `xtol` + `rtol`·|x|.

    Each step interpolates through the last points, or halves the interval where that would not do better.
    """
    a, b, f_a, f_b = low, high, function(low), function(high)
    if f_a == 0 or f_b == 0:
        return a if f_a == 0 else b
    if (f_a > 0) == (f_b > 0):
        raise ValueError("the function has the same sign at both ends")
    c, f_c, step, before = a, f_a, b - a, b - a  # c is on the other side of the root than b, the best so far
    for _ in range(MOST_STEPS):
        if (f_b > 0) == (f_c > 0):
            c, f_c, step, before = a, f_a, b - a, b - a
        if abs(f_c) < abs(f_b):
            a, b, c, f_a, f_b, f_c = b, c, b, f_b, f_c, f_b
        least, half = (xtol + rtol * abs(b)) / 2, (c - b) / 2
        if abs(half) <= least or f_b == 0:
            break
        wanted = _interpolated(a, b, c, f_a, f_b, f_c) if abs(before) > least and abs(f_a) > abs(f_b) else None
        if wanted is not None and 2 * abs(wanted) < min(abs(before), 3 * abs(half) - least) and wanted * half > 0:
            before, step = step, wanted
        else:
            before = step = half
        a, f_a = b, f_b
        b += step if abs(step) > least else (least if half > 0 else -least)
        f_b = function(b)
    return b


def _interpolated(a: float, b: float, c: float, f_a: float, f_b: float, f_c: float) -> float:
    """The step from b to 0 on the line through two points, or on the inverse parabola through three."""
    if a == c:
        return -f_b * (b - a) / (f_b - f_a)
    r, s, t = f_b / f_c, f_b / f_a, f_a / f_c
    above = s * (t * (r - t) * (c - b) - (1 - r) * (b - a))
    return above / ((t - 1) * (r - 1) * (s - 1))
