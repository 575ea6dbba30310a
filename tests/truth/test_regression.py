"""Forecasts of a real number whose truth is known: coverage of comparisons, false alarms and power of tests."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.detect.gaussian_skce import gaussian_skce_test
from calibrant.detect.pit import pit_test
from calibrant.detect.spread import spread_test
from calibrant.estimate.regression.skce import gaussian_skce
from calibrant.forecasts import GaussianForecasts
from registered import FORECAST_SCORES
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow


def kinds(rng, many=200):
    """Forecasts drawn with replacement, so that the truth is a mean over a known list; errors are wider than said."""
    mean, variance = rng.normal(size=many), 0.3 + rng.gamma(2.0, 1.0, many)  # far smaller ones make skewed scores
    truth = GaussianForecasts(np.zeros(many), mean, 1.5 * variance + 0.5)
    return truth, truth.with_gaussian(mean, variance), truth.with_gaussian(mean, 1.4 * variance + 0.6)


@pytest.mark.parametrize("score", FORECAST_SCORES)
@pytest.mark.parametrize(("n", "least"), [(100, 0.925), (1000, 0.935)])
def test_the_interval_of_compare_covers_the_true_improvement_in_calibration(score, n, least, rng):
    truth, before, after = kinds(rng)
    rule = FORECAST_SCORES[score]
    true = float((rule.divergence(after, truth) - rule.divergence(before, truth)).mean())
    covered = []
    for _ in range(2000):
        which = rng.integers(0, truth.n, n)
        labels = truth.rows(which).draw(rng)
        pair = [GaussianForecasts(labels, each.mean[which], each.variance[which]) for each in (before, after)]
        covered.append(true in cal.compare(*pair, score=score).difference.interval)
    error = STANDARD_ERRORS * (0.95 * 0.05 / 2000) ** 0.5
    assert least - error <= np.mean(covered) <= 0.965 + error


def test_the_skce_is_unbiased_and_its_interval_covers(rng):
    truth, before, _ = kinds(rng, 40)
    every = np.repeat(np.arange(40), 2500)
    labels = truth.rows(every).draw(rng)
    whole = GaussianForecasts(labels, before.mean[every], before.variance[every])
    options = {"bandwidth": 1.0, "label_bandwidth": 1.0}
    blocks = gaussian_skce(whole.rows(rng.permutation(100_000)), estimator="block", block_size=20, **options)
    found = []
    for _ in range(800):
        which = rng.integers(0, 40, 100)
        drawn = GaussianForecasts(truth.rows(which).draw(rng), before.mean[which], before.variance[which])
        found.append(gaussian_skce(drawn, **options))
    values = np.array([each.value for each in found])
    spread = (values.var() / 800 + ((blocks.interval.high - blocks.interval.low) / 3.92) ** 2) ** 0.5
    assert abs(values.mean() - blocks.value) < STANDARD_ERRORS * spread
    assert np.mean([blocks.value in each.interval for each in found]) >= 0.925


def test_false_alarms_and_power(rng):
    tests = {"pit": pit_test, "spread": spread_test, "skce": lambda said: gaussian_skce_test(said, n_draws=99)}
    rejected = {name: {width: [] for width in (1.0, 1.3)} for name in tests}
    for width in (1.0, 1.3):
        for _ in range(400):
            mean, sd = rng.normal(size=200), rng.uniform(0.5, 2, 200)
            said = GaussianForecasts(rng.normal(mean, width * sd), mean, sd**2)
            for name, test in tests.items():
                rejected[name][width].append(test(said).p_value <= 0.05)
    for name, found in rejected.items():
        assert np.mean(found[1.0]) <= 0.05 + STANDARD_ERRORS * (0.05 * 0.95 / 400) ** 0.5, name
        assert np.mean(found[1.3]) > 0.5, name
