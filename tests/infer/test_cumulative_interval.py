"""The interval of cumulative errors."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.infer import cumulative_interval
from calibrant.infer.running import at_most_max, at_most_range, brownian_quantile
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
    # max|W|: 2.2414 is the table's; the series by its other form, 1 − 4Σ(−1)^k Φ̄((2k+1)x)
    from scipy.special import ndtr

    assert brownian_quantile("max", 0.95) == pytest.approx(2.2414, abs=5e-5)
    for x in (0.8, 1.5, 3.0):
        k = np.arange(50)
        assert at_most_max(x) == pytest.approx(1 - 4 * ((-1.0) ** k * ndtr(-(2 * k + 1) * x)).sum(), abs=ROUNDING)


def test_means_of_brownian_motion():
    """∫ P(X > x) dx: √(π/2) for the largest size and 2√(2/π) for the range."""
    x = np.linspace(1e-3, 12, 120_001)
    for chance, mean in ((at_most_max, np.sqrt(np.pi / 2)), (at_most_range, 2 * np.sqrt(2 / np.pi))):
        with np.errstate(under="ignore"):
            beyond = 1 - np.array([chance(v) for v in x[::100]])
        assert np.trapezoid(beyond, x[::100]) + 1e-3 == pytest.approx(mean, abs=1e-4)  # the trapezoid rule


def test_weight_two_is_the_row_twice(rng):
    p, times = rng.random(60), rng.integers(1, 3, 60)
    y = rng.random(60) < p
    weighted = cumulative_interval(y, p, weights=times, statistic="range")
    repeated = cumulative_interval(np.repeat(y, times), np.repeat(p, times), statistic="range")
    assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high), abs=ROUNDING)
