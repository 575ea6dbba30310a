"""What the estimators show on average, on worlds whose truth is known. Seeds are fixed; standard errors computed here."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualMass, EqualWidth, Predictions
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow


def mean_and_error(values):
    values = np.asarray(values, dtype=float)
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def assert_mean(values, truth, allowance=0.0):
    mean, error = mean_and_error(values)
    assert abs(mean - truth) <= STANDARD_ERRORS * error + allowance, (mean, truth, error)


def calibrated_matrix(rng, n=60, n_classes=3):
    probs = rng.dirichlet(np.ones(n_classes), n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)
    return Predictions(labels, probs)


def calibrated_event(rng, n, shape=(2, 1)):
    p = rng.beta(*shape, n)
    return Predictions(rng.random(n) < p, p)


# Kernel errors of a calibrated model.


@pytest.mark.parametrize("kernel", ["tv", "laplace", "gaussian"])
@pytest.mark.parametrize("options", [{}, {"estimator": "block"}, {"estimator": "block", "block_size": 5}], ids=str)
def test_unbiased_and_block_skce_of_a_calibrated_model_average_to_zero(rng, kernel, options):
    assert_mean([cal.skce(calibrated_matrix(rng), kernel=kernel, **options).value for _ in range(800)], 0.0)


@pytest.mark.parametrize("view", ["top", "class 1"])
def test_unbiased_skce_of_one_question_averages_to_zero(rng, view):
    assert_mean([cal.skce(calibrated_matrix(rng), view=view).value for _ in range(1000)], 0.0)


def test_biased_skce_of_a_calibrated_model_averages_to_its_floor(rng):
    found = [cal.skce(calibrated_matrix(rng), estimator="biased") for _ in range(800)]
    assert_mean([estimate.value - estimate.noise_floor for estimate in found], 0.0)


def test_squared_mmce_of_a_calibrated_model_averages_to_its_floor(rng):
    found = [cal.mmce(calibrated_event(rng, 100), root=False) for _ in range(2000)]
    assert_mean([estimate.value - estimate.noise_floor for estimate in found], 0.0)


def test_unbiased_skce_averages_to_the_truth_of_a_wrong_model(rng):
    # two predictions, 0.2 and 0.7, where the truth is 0.4 and 0.5: κ = 1 within, exp(−½/1) between
    def sample():
        which = rng.integers(0, 2, 40)
        return rng.random(40) < np.array([0.4, 0.5])[which], np.array([0.2, 0.7])[which]

    gaps = np.array([0.2, -0.2])
    kernel = np.array([[1, np.exp(-0.5)], [np.exp(-0.5), 1]])
    truth = 2 * float(gaps @ kernel @ gaps) / 4  # an event is two classes, so ⟨,⟩ is twice the product
    assert_mean([cal.skce(*sample(), bandwidth=1.0).value for _ in range(4000)], truth)


def test_the_interval_of_blocks_covers_zero_for_a_calibrated_model(rng, record_testsuite_property):
    options = {"estimator": "block", "bandwidth": 0.4}
    covered = [0.0 in cal.skce(calibrated_matrix(rng, 400), **options).interval for _ in range(1000)]
    record_testsuite_property("coverage", f"{np.mean(covered):.3f}")
    assert 0.93 <= np.mean(covered) <= 0.97


# The ECE to expect.

ROWS = np.sqrt((np.arange(40_000) + 0.5) / 40_000)
"""Quantiles of Beta(2, 1): the population of predictions."""


def ece_samples(rng, n, truth, options):
    def one():
        p = rng.beta(2, 1, n)
        return cal.binned_error(rng.random(n) < truth(p), p, root=False, **options).value

    return [one() for _ in range(3000)]


# The closed form takes a bin's share of rows as fixed and its rate as normal. Of the 15 equal-width bins of Beta(2, 1) the
# first has a share of 1/225 and is empty in most samples of 100: 3 % are allowed there, 1 % at 400.
@pytest.mark.parametrize(("n", "allowance"), [(100, 0.03), (400, 0.01)])
@pytest.mark.parametrize("norm", [1, 2])
def test_the_expected_ece_is_the_mean_over_samples(rng, n, allowance, norm):
    options = {"bins": EqualWidth(15), "norm": norm}
    found = cal.expected_ece(Predictions(ROWS**1.3, ROWS, soft=True), n=n, root=False, **options)
    assert_mean(ece_samples(rng, n, lambda p: p**1.3, options), found.value, allowance * found.value)
    assert_mean(ece_samples(rng, n, lambda p: p, options), found.noise_floor, allowance * found.noise_floor)


@pytest.mark.parametrize("norm", [1, 2])
def test_the_expected_ece_with_full_bins_is_the_mean_over_samples(rng, norm):
    options = {"bins": EqualMass(10), "norm": norm}
    found = cal.expected_ece(Predictions(ROWS**2, ROWS, soft=True), n=300, root=False, **options)
    # edges at the quantiles of each sample rather than of the population: 2 %
    assert_mean(ece_samples(rng, 300, lambda p: p**2, options), found.value, 0.02 * found.value)


# Without bins.


@pytest.mark.parametrize("statistic", ["max", "range"])
@pytest.mark.parametrize("shape", [(2, 1), (1, 1), (0.5, 0.5)], ids=str)
def test_the_ks_noise_floor_is_the_mean_of_a_calibrated_model_within_three_percent(
    rng, record_testsuite_property, statistic, shape
):
    found = [cal.ks_error(calibrated_event(rng, 3000, shape), statistic=statistic) for _ in range(2000)]
    ratio = np.mean([estimate.value for estimate in found]) / np.mean([estimate.noise_floor for estimate in found])
    record_testsuite_property("KS", f"{statistic} {shape}: {ratio:.4f}")
    # a walk of n steps misses the peaks of a Brownian motion by about 0.58/√n each; the standard error is 0.8 %
    assert ratio == pytest.approx(1, abs=0.03)


# Small samples.


@pytest.mark.parametrize("shape", [(1.19, 0.22), (2.8, 0.05), (5, 0.5)], ids=str)
def test_the_sweep_is_less_biased_than_fifteen_equal_widths_on_a_calibrated_skewed_world(
    rng, record_testsuite_property, shape
):
    samples = [calibrated_event(rng, 200, shape) for _ in range(500)]
    plain, plain_error = mean_and_error([cal.ece(said).value for said in samples])
    sweep, sweep_error = mean_and_error([cal.sweep_error(said).value for said in samples])
    record_testsuite_property("bias at n = 200", f"Beta{shape}: equal width {plain:.4f}, sweep {sweep:.4f}")
    assert sweep + STANDARD_ERRORS * np.hypot(plain_error, sweep_error) < plain  # the truth is 0


@pytest.mark.parametrize(
    ("estimator", "most"), [(cal.sweep_error, 0.02), (cal.density_error, 0.02), (cal.ks_error, 0.02)]
)
def test_estimators_find_the_error_of_a_large_sample(rng, estimator, most):
    # Beta(2, 1) with truth p²: E|p − p²| = ∫ 2p(p − p²) dp = 2/3 − 1/2; all errors have one sign, so KS sees the same
    p = rng.beta(2, 1, 20_000)
    assert estimator(rng.random(20_000) < p**2, p).value == pytest.approx(1 / 6, abs=most)
