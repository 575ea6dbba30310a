"""The interval of cumulative errors."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.infer import cumulative_interval
from calibrant.infer.running import brownian_quantile
from calibrant.interval.formulas import brownian_max_p_value, brownian_range_p_value
from tolerances import ROUNDING


@pytest.mark.parametrize("statistic", ["max", "range"])
def test_the_value_lies_within(rng, statistic):
    p = rng.random(300)
    y = rng.random(300) < p**1.4
    found, value = cumulative_interval(y, p, statistic=statistic), cal.ks_error(y, p, statistic=statistic).value
    margin = brownian_quantile(statistic, 0.95) * np.sqrt(((p - y) ** 2).sum()) / 300
    down = max(margin, brownian_quantile(statistic, 0.95) * np.sqrt((p * (1 - p)).sum()) / 300)
    assert found.low == pytest.approx(max(value - down, 0), abs=ROUNDING)
    assert value + margin < found.high < value + margin + brownian_quantile(statistic, 0.95) ** 2 / 300


def test_no_miss_among_confident_rows_proves_nothing():
    assert cumulative_interval([1] * 100, [0.99] * 100).low == 0


def test_quantiles_of_brownian_motion():
    # of the published tables of max|W| and of the range
    assert brownian_quantile("max", 0.95) == pytest.approx(2.2414, abs=5e-5)
    for statistic, law in (("max", brownian_max_p_value), ("range", brownian_range_p_value)):
        assert law(brownian_quantile(statistic, 0.9)) == pytest.approx(0.1, abs=ROUNDING)


def test_weight_two_is_the_row_twice(rng):
    p, times = rng.random(60), rng.integers(1, 3, 60)
    y = rng.random(60) < p
    weighted = cumulative_interval(y, p, counts=times, statistic="range")
    repeated = cumulative_interval(np.repeat(y, times), np.repeat(p, times), statistic="range")
    assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high), abs=ROUNDING)
