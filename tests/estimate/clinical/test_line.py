"""Calibration intercept and slope."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.detect.cox import cox_test
from calibrant.estimate.clinical.line import calibration_intercept, calibration_slope
from calibrant.kernels.fit.log_odds_line import LogOddsRows
from calibrant.kernels.fit.newton import fit_logistic
from naive import clinical as naive


def rows(n=80, seed=0, slope=0.8):
    rng = np.random.default_rng(seed)
    odds = rng.normal(-0.5, 1.2, n)
    return (rng.random(n) < 1 / (1 + np.exp(-slope * odds))).astype(int), 1 / (1 + np.exp(-odds))


def test_two_levels_by_hand():
    labels, probs = [0] * 4 + [1] * 6 + [0] * 6 + [1] * 4, [0.8] * 10 + [0.2] * 10
    found = calibration_slope(labels, probs)
    assert found.value == pytest.approx(math.log(1.5) / math.log(4), abs=1e-8)
    assert found.parts["intercept"].value == pytest.approx(0, abs=1e-8)
    assert calibration_intercept([1] * 6 + [0] * 4, [0.3] * 10).value == pytest.approx(
        math.log(1.5) - math.log(3 / 7), abs=1e-8
    )


def test_the_slope_is_that_of_coxs_test():
    labels, probs = rows()
    parts = cox_test(labels, probs, method="likelihood").parts
    found = calibration_slope(labels, probs)
    assert (found.value, found.parts["intercept"].value) == (parts["slope"], parts["intercept"])


@pytest.mark.slow
def test_ends_have_the_likelihood_that_the_level_allows():
    labels, probs = rows(40)
    found = calibration_slope(labels, probs, level=0.9)
    top = naive.profile(labels, probs, found.value)
    for end in (found.interval.low, found.interval.high):
        lost = 2 * (top - naive.profile(labels, probs, end))
        assert lost == pytest.approx(1.6448536269514722**2, abs=1e-5)
    found = calibration_intercept(labels, probs)
    top = naive.likelihood(labels, probs, found.value, 1.0)
    for end in (found.interval.low, found.interval.high):
        lost = 2 * (top - naive.likelihood(labels, probs, end, 1.0))
        assert lost == pytest.approx(1.959963984540054**2, abs=1e-5)
    joint = calibration_slope(labels, probs).parts["intercept"]
    top = naive.best(lambda b: naive.likelihood(labels, probs, joint.value, b), -20, 20)
    for end in (joint.interval.low, joint.interval.high):
        lost = 2 * (top - naive.best(lambda b, a=end: naive.likelihood(labels, probs, a, b), -20, 20))
        assert lost == pytest.approx(1.959963984540054**2, abs=1e-5)


def test_the_normal_interval_of_many_events_is_close_to_the_likelihoods(monkeypatch):
    from calibrant.estimate.clinical import line

    labels, probs = rows(9000)
    wald = calibration_slope(labels, probs)
    monkeypatch.setattr(line, "MANY_EVENTS", 10**9)
    profile = calibration_slope(labels, probs)
    assert (wald.interval.method, profile.interval.method) == ("Wald", "profile likelihood")
    width = wald.interval.high - wald.interval.low
    assert wald.interval.low == pytest.approx(profile.interval.low, abs=0.02 * width)
    assert wald.interval.high == pytest.approx(profile.interval.high, abs=0.02 * width)


@pytest.mark.parametrize("labels", [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
@pytest.mark.parametrize("side", [1, -1])
def test_separated_events_leave_one_end(labels, side):
    probs = [0.1, 0.2, 0.3, 0.3, 0.7, 0.8]  # a tie at the border in the first case
    labels = labels if side == 1 else [1 - y for y in labels]
    found = calibration_slope(labels, probs)
    assert found.value == side * np.inf
    assert "separate" in found.cautions[0]
    near, far = (found.interval.low, found.interval.high)[::side]
    assert far == side * np.inf
    assert math.isfinite(near)
    ties = math.log(0.5) * 2 if sum(labels) == 3 else 0.0
    lost = 2 * (ties - naive.profile(labels, probs, near))
    assert lost == pytest.approx(1.959963984540054**2, abs=1e-4)
    assert cal.results.Estimate.from_json(found.to_json()) == found


def test_predictions_of_0_and_1_are_left_out_with_a_warning():
    labels, probs = rows(60)
    found = calibration_slope([*labels, 1, 0], [*probs, 1.0, 0.0])
    assert found.value == pytest.approx(calibration_slope(labels, probs).value, abs=1e-9)
    assert found.cautions == ("predictions of 0 or 1 have no log-odds: 3.23% of the rows are left out",)


def test_what_has_no_slope_is_refused():
    with pytest.raises(InputError, match="probs must vary for a slope"):
        calibration_slope([0, 1, 1], [0.3, 0.3, 0.3])
    for function in (calibration_slope, calibration_intercept):
        with pytest.raises(InputError, match="labels must hold events and non-events"):
            function([1, 1, 1], [0.3, 0.4, 0.5])
        with pytest.raises(InputError, match="right or wrong"):
            function(cal.Predictions([0.2, 0.7, 0.4], [0.3, 0.4, 0.5], soft=True))


def test_unequal_weights_widen_the_interval():
    labels, probs = rows(400)
    weights = np.where(np.arange(400) % 2, 1.0, 9.0)
    kish = calibration_slope(labels, probs, weights=weights)
    halves = calibration_slope(labels[::2], probs[::2])
    every = calibration_slope(labels, probs)
    wide = [each.interval.high - each.interval.low for each in (every, kish, halves)]
    assert wide[0] < wide[1] < 1.2 * wide[2]


@pytest.mark.slow
@pytest.mark.parametrize("n", [80, 400])
def test_coverage(n):
    rng, hits, draws = np.random.default_rng(11), np.zeros(2), 300
    for _ in range(draws):
        odds = rng.normal(-1.0, 1.0, n)
        labels = rng.random(n) < 1 / (1 + np.exp(-(0.3 + 0.7 * odds)))
        found = calibration_slope(labels, 1 / (1 + np.exp(-odds)))
        hits += [0.7 in found.interval, 0.3 in found.parts["intercept"].interval]
    assert (np.abs(hits / draws - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 / draws)).all()


@pytest.mark.parametrize("n", [5, 300, 40_000])
def test_lines_in_one_pass_are_those_of_any_logistic_fit(n):
    """Rows in several blocks, odds of any size, and coefficients held fixed."""
    rng = np.random.default_rng(n)
    odds, weight = 3 * rng.normal(size=n), rng.integers(1, 4, n).astype(float)
    hits = rng.binomial(weight.astype(int), 1 / (1 + np.exp(0.5 - 0.7 * odds))).astype(float)
    hits[:2] = 0.0, weight[1]
    found, ones = LogOddsRows(odds, weight, hits), np.ones(n)
    for fit, features, offset in (
        (found.line(), np.stack([ones, odds], axis=1), 0.0),
        (found.level(0.8), ones[:, None], 0.8 * odds),
        (found.tilt(-0.3), odds[:, None], -0.3),
    ):
        plain = fit_logistic(features, weight, hits, offset)
        np.testing.assert_allclose(fit.coefficients, plain.coefficients, rtol=1e-11, atol=1e-11)
        assert fit.loss == pytest.approx(plain.loss, rel=1e-12)
        assert fit.converged
    eta = -0.4 + 0.9 * odds
    assert found.loss(-0.4, 0.9) == pytest.approx(weight @ np.logaddexp(0, eta) - hits @ eta, rel=1e-12)
