"""Claims about averages, on simulated worlds whose truth is known. Seeds are fixed; standard errors are computed here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm as normal

import calibrant as cal
from calibrant import EqualMass, EqualWidth, Predictions
from calibrant.maps import TemperatureMap
from calibrant.verbs.diagnose import ALARMS
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow


def mean_and_error(values):
    values = np.asarray(values, dtype=float)
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


# The debiased square is unbiased where predictions are constant within bins.

LEVELS = np.array([0.1, 0.35, 0.6, 0.85])
SHARES = np.array([0.1, 0.2, 0.3, 0.4])


def stepped(rng, n, rates):
    which = rng.permutation(np.repeat(np.arange(4), np.rint(SHARES * n).astype(int)))
    return (rng.random(len(which)) < rates[which]).astype(int), LEVELS[which]


@pytest.mark.parametrize(
    "rates", [LEVELS, LEVELS**2, np.array([0.5, 0.1, 0.9, 0.85])], ids=["calibrated", "low", "wild"]
)
@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("rule", [EqualWidth(4), EqualMass(400)], ids=["width", "mass"])
def test_the_debiased_square_is_unbiased(rng, n, rates, rule):
    truth = float((SHARES * (LEVELS - rates) ** 2).sum())
    options = {"bins": rule, "norm": 2, "debiased": True, "root": False, "clip": False}
    mean, error = mean_and_error([cal.binned_error(*stepped(rng, n, rates), **options).value for _ in range(2000)])
    assert abs(mean - truth) <= STANDARD_ERRORS * error


@pytest.mark.parametrize("n", [40, 400])
def test_the_plain_square_is_too_high_by_the_noise(rng, n):
    options = {"bins": EqualWidth(4), "norm": 2, "root": False}
    found = [cal.binned_error(*stepped(rng, n, LEVELS), **options) for _ in range(2000)]
    mean, error = mean_and_error([estimate.value - estimate.noise_floor for estimate in found])
    assert abs(mean) <= STANDARD_ERRORS * error  # exact: the variance of a bin's rate is Σp(1−p)/n_k²


# The noise floor is what a calibrated model shows.

WORLDS = {"uniform": (1.0, 1.0), "beta(2, 1)": (2.0, 1.0), "saturated": (2.8, 0.05)}


def calibrated(rng, world, n):
    p = rng.beta(*WORLDS[world], n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.parametrize("n", [500, 5000])
@pytest.mark.parametrize("world", ["uniform", "beta(2, 1)"])
@pytest.mark.parametrize("rule", [EqualWidth(15), EqualMass(15)], ids=["width", "mass"])
def test_the_noise_floor_is_the_mean_ece_of_a_calibrated_model(rng, world, n, rule):
    found = [cal.binned_error(*calibrated(rng, world, n), bins=rule) for _ in range(3000 if n < 1000 else 1500)]
    mean, error = mean_and_error([estimate.value - estimate.noise_floor for estimate in found])
    # The floor takes the rate of a bin as normal. Edgeworth: E|X| of a mean of m rows is off by κ₄/(24m), relatively. At
    # n = 500 (m = 33) that is 3 % in the two outer bins (p(1−p) = 0.03, κ₄ = 27), which make 6 % of the floor, and far
    # less in the others: in all well below 1 % of the floor, which is allowed.
    floor = np.mean([estimate.noise_floor for estimate in found])
    assert abs(mean) <= STANDARD_ERRORS * error + 0.01 * floor


# Does `diagnose` cry wolf?


@pytest.mark.parametrize(
    ("world", "n"), [*((world, n) for world in WORLDS for n in (100, 1000)), ("saturated", 10_000)]
)
def test_false_alarms_of_a_diagnosis(rng, record_testsuite_property, world, n):
    """The verdict is that of the exact test (tests/verbs/test_diagnose.py), whose size does not depend on the number of draws."""
    found = [cal.is_calibrated(*calibrated(rng, world, n), n_draws=199, ties="count") for _ in range(200)]
    rate = np.mean([test.rejects(ALARMS) for test in found])
    record_testsuite_property("false alarms", f"{world}, n = {n}: {rate:.3f}")
    assert rate <= ALARMS + STANDARD_ERRORS * np.sqrt(ALARMS * (1 - ALARMS) / len(found))


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("p", [0.5, 0.9, 0.99, 0.998, 0.999, 0.9999])
def test_false_alarms_when_all_predictions_are_equal(rng, record_testsuite_property, p, n):
    hits = rng.binomial(n, p, 20_000)
    seen, counts = np.unique(hits, return_counts=True)
    said = np.full(n, p)
    alarm = {
        k: cal.is_calibrated(np.arange(n) < k, said, n_draws=999, ties="count").rejects(ALARMS) for k in seen.tolist()
    }
    rate = sum(c for k, c in zip(seen.tolist(), counts, strict=True) if alarm[k]) / 20_000
    record_testsuite_property("false alarms", f"all {p}, n = {n}: {rate:.3f}")
    assert rate <= ALARMS + STANDARD_ERRORS * np.sqrt(ALARMS * (1 - ALARMS) / 999)  # all share the same draws


def test_a_diagnosis_sees_what_is_there(rng, record_testsuite_property):
    def distorted():
        p = rng.random(1000)
        return (rng.random(1000) < p).astype(int), p**2 / (p**2 + (1 - p) ** 2)  # twice the log-odds

    alarms = [cal.diagnose(*distorted()).calibrated is False for _ in range(50)]
    record_testsuite_property("power", f"{np.mean(alarms):.3f}")
    assert np.mean(alarms) >= 0.95


# The interval of `compare` covers the true difference.

TEMPERATURE = 2.0
SPREAD = 1.5


def true_difference():
    """E[S(q, Y) − S(p, Y)] = −2·E(p − q)² for Brier over two classes, with ln odds q ~ N(0, 1.5²) and p twice as sharp."""

    def integrand(z):
        q, p = 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-TEMPERATURE * z))
        return normal.pdf(z, scale=SPREAD) * -2 * (p - q) ** 2

    return quad(integrand, -12, 12)[0]


def test_coverage_of_the_paired_interval(rng, record_testsuite_property):
    truth, fitted = true_difference(), TemperatureMap((0, 1), True, temperature=TEMPERATURE)
    covered, better, n = [], 0, 1000
    for _ in range(1000):
        z = rng.normal(0, SPREAD, n)
        said = Predictions.from_logits(rng.random(n) < 1 / (1 + np.exp(-z)), TEMPERATURE * z)
        found = cal.compare(said, fitted)
        covered.append(truth in found.difference.interval)
        better += found.verdict == "better"
    record_testsuite_property("coverage", f"{np.mean(covered):.4f}")
    record_testsuite_property("better", better / 1000)
    assert 0.93 <= np.mean(covered) <= 0.97


def test_the_paired_difference_is_the_change_in_calibration_error(rng):
    """For an injective map the expected difference is minus the squared calibration error that it removes."""
    fitted = TemperatureMap((0, 1), True, temperature=TEMPERATURE)
    found = []
    for _ in range(1000):
        z = rng.normal(0, SPREAD, 300)
        said = Predictions.from_logits(rng.random(300) < 1 / (1 + np.exp(-z)), TEMPERATURE * z)
        found.append(cal.compare(said, fitted).difference.value)
    mean, error = mean_and_error(found)
    assert abs(mean - true_difference()) <= STANDARD_ERRORS * error


def test_the_mean_gap_interval_covers(rng, record_testsuite_property):
    covered = []
    for _ in range(2000):
        p = rng.beta(2, 1, 300)
        y = rng.random(300) < p**1.5
        covered.append(cal.mean_gap(y, p))
    truth = 2 / 3 - 2 / 3.5  # E p − E p^1.5 under Beta(2, 1)
    rate = np.mean([truth in found.interval for found in covered])
    record_testsuite_property("coverage", f"{rate:.4f}")
    assert 0.93 <= rate <= 0.97
    mean, error = mean_and_error([found.value for found in covered])
    assert abs(mean - truth) <= STANDARD_ERRORS * error
