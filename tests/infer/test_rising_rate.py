"""The interval of a rising rate at one prediction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

from calibrant.infer.rising_rate import isotonic, ratio_quantile, rising_intervals
from tolerances import ROUNDING


def log_likelihood(y, rate):
    rate = np.clip(rate, 1e-300, 1 - 1e-16)
    return float(np.sum(np.where(y, np.log(rate), np.log1p(-rate))))


def best_through(y, i, value):
    """The largest likelihood of a rising curve with a given value at i: bounded isotonic regression on either side."""
    left = np.minimum(isotonic(np.ones(i), y[:i]), value) if i else []
    right = np.maximum(isotonic(np.ones(len(y) - i - 1), y[i + 1 :]), value) if i + 1 < len(y) else []
    return log_likelihood(y, np.concatenate([left, [value], right]))


@pytest.mark.parametrize("i", [0, 20, 59])
def test_the_ends_lose_as_much_as_is_allowed(rng, i):
    y = (rng.random(60) < np.linspace(0.1, 0.9, 60)).astype(float)
    n = np.ones(60)
    (low,), (high,) = rising_intervals(n, y, np.array([i]), 0.95, False)
    best, allowed = log_likelihood(y, isotonic(n, y)), 0.5 * ratio_quantile(0.95)
    assert low <= isotonic(n, y)[i] <= high
    for end in (low, high):
        if 0 < end < 1:
            assert best - best_through(y, i, end) == pytest.approx(allowed, abs=1e-4)  # 24 halvings
    found = minimize_scalar(lambda v: -best_through(y, i, v), bounds=(0.001, 0.999), method="bounded")
    assert low <= found.x + 1e-4
    assert found.x - 1e-4 <= high


def test_cells_are_rows_put_together(rng):
    times = rng.integers(1, 5, 30)
    hits = rng.binomial(times, np.linspace(0.2, 0.8, 30))
    y = np.concatenate([np.r_[np.ones(h), np.zeros(m - h)] for m, h in zip(times, hits, strict=True)])
    pooled = rising_intervals(times.astype(float), hits.astype(float), np.array([10, 29]), 0.9, True)
    assert len(y) == times.sum()
    one = rising_intervals(times.astype(float), hits.astype(float), np.array([29]), 0.9, True)
    assert (pooled[0][1], pooled[1][1]) == pytest.approx((one[0][0], one[1][0]), abs=ROUNDING)
    doubled = rising_intervals(2.0 * times, 2.0 * hits, np.array([10]), 0.9, True)
    assert doubled[1][0] - doubled[0][0] < pooled[1][0] - pooled[0][0]


def test_one_cell_is_a_likelihood_interval_of_a_rate():
    (low,), (high,) = rising_intervals(np.array([50.0]), np.array([20.0]), np.array([0]), 0.95, True)
    for end in (low, high):
        lost = 20 * np.log(0.4 / end) + 30 * np.log(0.6 / (1 - end))
        assert 2 * lost == pytest.approx(chi2.ppf(0.95, 1), abs=1e-4)  # 24 halvings


def test_quantiles_rise_with_the_level():
    assert ratio_quantile(0.95) == pytest.approx(2.5, abs=ROUNDING)
    levels = np.linspace(0.5, 0.999, 40)
    assert (np.diff([ratio_quantile(v) for v in levels]) > 0).all()
