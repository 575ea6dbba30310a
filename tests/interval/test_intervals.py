"""Intervals of means and rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

from calibrant.interval import mean_with_interval, normal_quantile, wilson
from tolerances import ROUNDING


def test_wilson_is_scipys(rng):
    for n in (1, 5, 40, 1000):
        for hits in {0, 1, n // 2, n}:
            low, high = wilson(np.array([hits / n]), np.array([float(n)]), 0.9)
            expected = binomtest(hits, n).proportion_ci(0.9, method="wilson")
            assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=ROUNDING)


def test_weight_two_is_the_row_twice(rng):
    values, times = rng.normal(size=20), rng.integers(1, 4, 20)
    weighted = mean_with_interval(values, times.astype(float), 0.95)
    repeated = mean_with_interval(np.repeat(values, times), None, 0.95)
    assert weighted[0] == pytest.approx(repeated[0], abs=ROUNDING)
    assert (weighted[1].low, weighted[1].high) == pytest.approx((repeated[1].low, repeated[1].high), abs=ROUNDING)


def test_the_mean_has_students_interval(rng):
    values = rng.normal(size=12)
    _, interval, cautions = mean_with_interval(values, None, 0.99)
    expected = ttest_1samp(values, 0).confidence_interval(0.99)
    assert (interval.low, interval.high) == pytest.approx(expected, abs=ROUNDING)
    assert interval.method == "Student t"
    assert cautions == ("12 rows are few for an interval of a mean: it may be too short",)


def test_weights_that_are_no_counts_are_reported():
    assert "not whole numbers" in mean_with_interval(np.zeros(40), np.full(40, 1.5), 0.95)[2][0]


def test_the_normal_quantile():
    assert normal_quantile(0.95) == pytest.approx(1.959963984540054, abs=ROUNDING)
