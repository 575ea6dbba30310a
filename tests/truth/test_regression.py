"""Forecasts of a real number whose truth is known: coverage of comparisons, false alarms and power of tests."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.detect.gaussian_skce import gaussian_skce_test
from calibrant.detect.pit import pit_test
from calibrant.detect.spread import spread_test
from calibrant.estimate.regression.means import mean_error, variance_gap, variance_ratio
from calibrant.estimate.regression.skce import gaussian_skce
from calibrant.forecasts import GaussianForecasts
from calibrant.score import CRPS, IntervalScore, crps, interval_score
from registered import FORECAST_SCORES
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow


def kinds(rng, many=200):
    """Forecasts drawn with replacement, so that the truth is a mean over a known list; errors are wider than said."""
    mean, variance = rng.normal(size=many), 0.3 + rng.gamma(2.0, 1.0, many)  # far smaller ones make skewed scores
    truth = GaussianForecasts(np.zeros(many), mean, 1.5 * variance + 0.5)
    return truth, truth.with_gaussian(mean, variance), truth.with_gaussian(mean, 1.4 * variance + 0.6)


@pytest.mark.parametrize("score", FORECAST_SCORES)
@pytest.mark.parametrize("n", [100, 1000])
def test_the_interval_of_compare_covers_the_true_improvement_in_calibration(score, n, rng):
    truth, before, after = kinds(rng)
    rule = FORECAST_SCORES[score]
    true = float((rule.divergence(after, truth) - rule.divergence(before, truth)).mean())
    covered, times = [], 30_000 // (n + 200)
    for _ in range(times):
        which = rng.integers(0, truth.n, n)
        labels = truth.rows(which).draw(rng)
        pair = [GaussianForecasts(labels, each.mean[which], each.variance[which]) for each in (before, after)]
        covered.append(true in cal.compare(*pair, score=score).difference.interval)
    assert np.mean(covered) >= 0.935 - STANDARD_ERRORS * (0.95 * 0.05 / times) ** 0.5


WORLDS = {  # law of σ, law of the standardised error, E[σ], E[σ²], E[z²]
    "log-normal σ": (lambda rng, n: rng.lognormal(0, 1, n), lambda rng, n: rng.normal(size=n), np.e**0.5, np.e**2, 1.0),
    "errors of 1.5 σ": (
        lambda rng, n: rng.lognormal(0, 0.7, n),
        lambda rng, n: 1.5 * rng.normal(size=n),
        np.exp(0.245),
        np.exp(0.98),
        2.25,
    ),
    "skewed errors": (
        lambda rng, n: rng.gamma(4.0, size=n),
        lambda rng, n: rng.exponential(size=n) - 1,
        4.0,
        20.0,
        1.0,
    ),
    "Student 5": (lambda rng, n: np.full(n, 2.0), lambda rng, n: rng.standard_t(5, n) * 0.6**0.5, 2.0, 4.0, 1.0),
}


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_of_scores_and_gaps_hold_the_truth(world, n, rng):
    sigmas, errors, first, second, square = WORLDS[world]
    z = errors(rng, 1_000_000)
    unit = GaussianForecasts(z, np.zeros(len(z)), np.ones(len(z)))
    true = {
        crps: first * CRPS().rows(unit).mean(),
        interval_score: first * IntervalScore().rows(unit).mean(),
        variance_gap: second * (1 - square),
        variance_ratio: square,
        mean_error: 0.0,
    }
    held, times = {each: [] for each in true}, 50_000 // (n + 300)
    for _ in range(times):
        sd = sigmas(rng, n)
        said = GaussianForecasts(sd * errors(rng, n), np.zeros(n), sd**2)
        for each, value in true.items():
            held[each].append(value in each(said).interval)
    for each, found in held.items():
        assert np.mean(found) >= 0.935 - STANDARD_ERRORS * (0.95 * 0.05 / times) ** 0.5, each.__name__


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_rows_without_a_variance_are_warned_of(n, rng):
    held, warned, times = [], [], 300
    for _ in range(times):
        said = GaussianForecasts(rng.standard_t(3, n) / 3**0.5, np.zeros(n), np.ones(n))
        found = variance_ratio(said)
        held.append(1.0 in found.interval)
        warned.append(any("the rows have a long tail" in each for each in found.cautions))
    assert np.mean(held) >= 0.9 - STANDARD_ERRORS * (0.9 * 0.1 / times) ** 0.5
    assert np.mean(warned) >= 0.4


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
        for _ in range(80):
            mean, sd = rng.normal(size=200), rng.uniform(0.5, 2, 200)
            said = GaussianForecasts(rng.normal(mean, width * sd), mean, sd**2)
            for name, test in tests.items():
                rejected[name][width].append(test(said).p_value <= 0.05)
    for name, found in rejected.items():
        assert np.mean(found[1.0]) <= 0.05 + STANDARD_ERRORS * (0.05 * 0.95 / 80) ** 0.5, name
        assert np.mean(found[1.3]) > 0.5, name
