"""Roots of functions of one number."""

from __future__ import annotations

import math

import pytest

from calibrant.kernels.fit.root import EPSILON, root

CROSSING = {
    "exponential": (lambda x: math.exp(x) - 2, -3.0, 5.0, math.log(2)),
    "falling": (lambda x: -math.log(x) - 3, 1e-9, 1.0, math.exp(-3)),
    "cubic": (lambda x: x**3 - 1e-9, -1.0, 2.0, 1e-3),
    "steep": (lambda x: math.atan(1e6 * (x - 0.3)), -5.0, 8.0, 0.3),
    "step": (lambda x: 1.0 if x > 0.123456 else -1.0, 0.0, 1.0, 0.123456),
    "at an end": (lambda x: x, 0.0, 1.0, 0.0),
}


@pytest.mark.parametrize("case", CROSSING.values(), ids=CROSSING)
def test_the_crossing_is_found_to_the_tolerance(case):
    function, low, high, expected = case
    assert root(function, low, high, 1e-15, EPSILON) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert root(function, low, high, 1e-3, EPSILON) == pytest.approx(expected, abs=1e-3)


def test_few_values_are_needed_where_the_function_is_smooth():
    seen = []
    root(lambda x: seen.append(x) or math.exp(x) - 2, -3.0, 5.0, 1e-15, EPSILON)
    assert len(seen) <= 14


def test_two_ends_on_the_same_side_are_refused():
    with pytest.raises(ValueError, match="same sign"):
        root(lambda x: x * x + 1, -1.0, 1.0, 1e-12, EPSILON)
