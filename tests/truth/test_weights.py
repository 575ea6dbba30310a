"""Intervals and tests of weighted rows, in worlds whose truth is known: heavy weights, and weights that go with the prediction."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal

pytestmark = pytest.mark.slow

WEIGHTS = {
    "few heavy": lambda rng, p: np.where(rng.random(len(p)) < 0.1, 12.0, 1.0),
    "falling with p": lambda rng, p: rng.exponential(size=len(p)) * (1.1 - p) ** 2,
}
SETS, N = 200, 200
LEAST = 0.95 - 3.5 * (0.95 * 0.05 / SETS) ** 0.5
"""three and a half standard errors below the level"""


def drawn(rng, which, rate):
    p = rng.beta(3, 0.7, N)
    return rng.random(N) < rate(p), p, WEIGHTS[which](rng, p)


def truth(which, rate):
    """Of the weighted population, from a million rows."""
    rng = np.random.default_rng(1)
    p = rng.beta(3, 0.7, 1_000_000)
    q, w = rate(p), WEIGHTS[which](rng, p)
    means = {"mean_gap": p - q, "brier_score": 2 * (q * (1 - p) ** 2 + (1 - q) * p**2), "error": np.abs(p - q)}
    return {name: float(np.average(values, weights=w)) for name, values in means.items()}


@pytest.mark.parametrize("which", WEIGHTS)
def test_intervals_hold_the_truth(which):
    rng, true = np.random.default_rng(2), truth(which, lambda p: p**1.4)
    held = dict.fromkeys(true, 0)
    for _ in range(SETS):
        y, p, w = drawn(rng, which, lambda p: p**1.4)
        rows = cal.Predictions(y, p, weights=w)
        found = {name: getattr(cal, name)(rows).interval for name in ("mean_gap", "brier_score")}
        found["error"] = cal.calibration_error_interval(rows)
        for name, interval in found.items():
            held[name] += true[name] in interval
    assert min(held.values()) / SETS >= LEAST, held


@pytest.mark.parametrize("which", WEIGHTS)
def test_false_alarms_are_as_rare_as_promised(which):
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(SETS):
        y, p, w = drawn(rng, which, lambda p: p)
        alarms += cal.is_calibrated(y, p, weights=w, n_draws=199).rejects()
    assert alarms / SETS <= 0.05 + 3.5 * (0.05 * 0.95 / SETS) ** 0.5
