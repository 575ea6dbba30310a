"""Intervals and bands hold the truth, on worlds whose truth is known. `studies/coverage.py` has all worlds and more data sets."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom
from studies.error_worlds import CLASS_WORLDS, ErrorWorld, between, uniform
from studies.error_worlds import WORLDS as ERROR_WORLDS

import calibrant as cal
from calibrant import EqualMass, Predictions
from calibrant.infer import (
    classwise_intervals,
    confidence_band,
    consistency_band,
    cumulative_interval,
    interval_of,
    simultaneous_band,
)
from calibrant.infer.error import event_ends
from calibrant.infer.squared import cube_root, squared_ends
from calibrant.simulate import ShapeWorld, calibrated_world, named_world, power_world

pytestmark = pytest.mark.slow

LEAST = 0.935
"""What a 95 % interval must reach."""

WORLDS = {
    "calibrated": calibrated_world((1.0, 1.0)),
    "calibrated, confident": named_world("resnet110_c10", calibrated=True),
    "calibrated, tied": calibrated_world(np.arange(1, 20) / 20),
    "CIFAR-10": named_world("densenet40_c10"),
    "CIFAR-100": named_world("resnet110_SD_c100"),
    "stairs": ShapeWorld("stairs", 0.1),
    "under-confident": ShapeWorld("beta2", 0.02),
    "p^d": power_world(0.05),
}


def data_sets(world, n, count, rng):
    """Predictions and their true rates."""
    for p, y, c in zip(*world.draw(n, count, rng), strict=True):
        yield Predictions(y, p), c


def assert_held(held, least=LEAST):
    """No fewer than a method with the least coverage shows in all but one of a thousand runs."""
    held = np.asarray(held)
    assert held.sum() >= binom.ppf(0.001, len(held), least), held.mean()


@pytest.mark.parametrize("n", [100, 800])
@pytest.mark.parametrize("name", WORLDS)
def test_the_calibration_error_lies_in_its_interval(rng, record_testsuite_property, name, n):
    world = WORLDS[name]
    held = {1: [], 2: []}
    for data, _ in data_sets(world, n, 60, rng):
        for norm, each in held.items():
            low, high = event_ends(data.event(), norm, 0.95)
            each.append(low <= world.true_error(norm) <= high)
    for norm, each in held.items():
        record_testsuite_property(f"coverage, L{norm}", f"{name}, n = {n}: {np.mean(each):.3f}")
        assert_held(each)


@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("name", [name for name in ERROR_WORLDS["reporting"] if not name.startswith("constant")])
def test_errors_in_one_place_in_waves_and_of_few_predictions_are_held(rng, name, n):
    """`studies/coverage_error.py` has more sizes and data sets."""
    world, held, above = ERROR_WORLDS["reporting"][name], [], []
    for data, _ in data_sets(world, n, 50, rng):
        for norm in (1, 2):
            low, high = event_ends(data.event(), norm, 0.95)
            held.append(low <= world.true_error(norm) + 1e-12 <= high + 2e-12)
            above.append(low <= world.true_error(norm) + 1e-12)
    for each in (held[::2], held[1::2]):
        assert_held(each)
    assert_held(above[::2], 0.97)
    assert_held(above[1::2], 0.97)


@pytest.mark.parametrize(("low", "high", "by"), [(0.21, 0.235, 0.4), (0.52, 0.55, -0.35), (0.68, 0.705, -0.45)])
def test_the_root_mean_square_of_an_error_in_a_few_hundredths_of_the_range_is_held(rng, low, high, by):
    """Bins of about that width hide a part of it: by fewer bins 7 to 14 % of upper ends lie below it."""
    world = ErrorWorld(uniform, partial(between, low=low, high=high, by=by))
    truth, sets = world.true_error(2), data_sets(world, 4000, 200, rng)
    assert_held([truth <= event_ends(data.event(), 2, 0.95)[1] for data, _ in sets])


def test_noise_of_a_calibrated_model_is_no_error(rng):
    """Each fold is signed by the noise of the others: with the variance of independent rows 10 % or more would be above 0."""
    sets = data_sets(WORLDS["calibrated"], 1000, 200, rng)
    assert_held([event_ends(data.event(), 1, 0.95)[0] == 0 for data, _ in sets], 0.97)


@pytest.mark.parametrize("classes", [3, 10])
def test_the_errors_of_all_classes_lie_in_their_intervals_at_once(classes):
    world = CLASS_WORLDS["reporting"][classes]
    truth, held = world.true_error(1, "class 0"), []
    for seed in range(60 // classes):
        table = classwise_intervals(world.sample(500, seed=seed))
        held.append(((table.low <= truth) & (truth <= table.high)).all())
    assert_held(held)


@pytest.mark.parametrize("n", [100, 1000])
def test_errors_of_alternating_sign_on_a_grid_are_held(rng, n):
    said = np.arange(1, 20) / 20
    rates = said + 0.06 * (-1.0) ** np.arange(19)  # 1.01 at the end
    held = []
    for _ in range(200):
        which = rng.integers(0, 19, n)
        low, high = event_ends(Predictions(rng.random(n) < rates[which], said[which]).event(), 1, 0.95)
        held.append(low <= np.abs(np.minimum(rates, 1) - said).mean() <= high)
    assert_held(held)


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("name", WORLDS)
def test_the_squared_error_of_bins_lies_in_its_interval(rng, name, n):
    held, rule = [], EqualMass(cube_root(n))
    for data, c in data_sets(WORLDS[name], n, 300, rng):
        event = data.event()
        state = rule.collect(event)
        gap = np.bincount(rule.index(event), c - data.probs, state.weight.shape[1]) / np.maximum(state.weight[0], 1)
        low, high = squared_ends(state, 0.95)
        held.append(low[0] <= state.weight[0] @ gap**2 / n + 1e-15 and state.weight[0] @ gap**2 / n <= high[0])
    assert_held(held)


@pytest.mark.parametrize(("statistic", "truth"), [("max", 0.05), ("range", 0.05)])
@pytest.mark.parametrize("n", [100, 1000])
def test_the_cumulative_error_lies_in_its_interval(rng, statistic, truth, n):
    for world, error in ((power_world(0.05), truth), (WORLDS["calibrated, confident"], 0.0)):
        found = (cumulative_interval(data, statistic=statistic) for data, _ in data_sets(world, n, 300, rng))
        assert_held([interval.low <= error <= interval.high for interval in found])


def brier(p, c):
    return float(2 * (c * (1 - p) ** 2 + (1 - c) * p * p).mean())


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("name", ["calibrated", "calibrated, confident", "CIFAR-10", "stairs"])
def test_gaps_scores_and_their_changes_lie_in_their_intervals(rng, name, n):
    large, rate = next(data_sets(WORLDS[name], 2_000_000, 1, rng))
    p = large.probs
    was, now = brier(p, rate), brier(0.9 * p, rate)
    truths = (p - rate).mean(), was, now - was, now**0.5 - was**0.5
    held = []
    for data, _ in data_sets(WORLDS[name], n, 200, rng):
        changed = cal.compare(data, Predictions(data.labels, 0.9 * data.probs), method=None)
        found = cal.mean_gap(data), changed.before, changed.difference, changed.root
        held.append([truth in each.interval for truth, each in zip(truths, found, strict=True)])
    for each in np.transpose(held):
        assert_held(each)


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("name", ["calibrated", "p^d"])
def test_a_log_score_lies_in_its_interval(rng, name, n):
    large, rate = next(data_sets(WORLDS[name], 2_000_000, 1, rng))
    truth = float(-(rate * np.log(large.probs) + (1 - rate) * np.log1p(-large.probs)).mean())
    assert_held([truth in cal.log_score(data).interval for data, _ in data_sets(WORLDS[name], n, 1000, rng)])


def test_the_percentile_bootstrap_of_a_calibrated_model_never_holds_the_truth(rng):
    sets = data_sets(WORLDS["calibrated"], 300, 30, rng)
    assert not any(0.0 in interval_of(cal.ece, data, method="bootstrap", n_draws=100).interval for data, _ in sets)


def test_an_estimators_own_value_lies_in_the_interval_by_inversion(rng):
    # all errors have one sign, so that smoothing does not hide any: the smooth error is 0.05 but for the ends of [0, 1]
    large, _ = next(data_sets(power_world(0.05), 400_000, 1, rng))
    truth = cal.smooth_error(large).value
    sets = data_sets(power_world(0.05), 300, 15, rng)
    assert_held([truth in interval_of(cal.smooth_error, data, n_draws=50).interval for data, _ in sets])


@pytest.mark.parametrize(
    ("estimator", "name"), [(cal.sweep_error, "stairs"), (cal.ece, "stairs"), (cal.ece, "calibrated")]
)
def test_bins_that_hide_an_error_do_not_hide_it_from_the_interval(rng, name, estimator):
    truth = WORLDS[name].true_error(1)
    sets = data_sets(WORLDS[name], 100, 15, rng)
    assert_held([truth in interval_of(estimator, data, n_draws=50).interval for data, _ in sets])


@pytest.mark.parametrize("options", [{}, {"n_pools": None}, {"n_pools": 20}, {"n_digits": 2}], ids=str)
@pytest.mark.parametrize("name", WORLDS)
def test_the_simultaneous_band_holds_the_whole_curve(rng, name, options):
    def holds(data, c):
        band = simultaneous_band(data, **options)
        low, high = band.at(data.probs)
        return (low <= c).all() and (c <= high).all() and np.abs(c - data.probs).max() <= band.certified

    assert_held([holds(data, c) for data, c in data_sets(WORLDS[name], 200, 100, rng)], 0.95)


@pytest.mark.parametrize("name", ["calibrated", "calibrated, tied"])
def test_a_calibrated_curve_stays_in_the_consistency_band(rng, name):
    points, whole, bins = [], [], []
    for k, (data, _) in enumerate(data_sets(WORLDS[name], 200, 60, rng)):
        band = consistency_band(data, n_draws=200, seed=k)
        points.append(((band.low <= band.y) & (band.y <= band.high)).mean())
        band = consistency_band(data, seed=k, everywhere=True)
        whole.append(((band.low <= band.y) & (band.y <= band.high)).all())
        band = consistency_band(data, bins=EqualMass(8))
        bins.append(((band.low <= band.y) & (band.y <= band.high)).mean())
    for held in (points, bins):
        assert np.mean(held) + 3 * np.std(held) / np.sqrt(len(held)) >= LEAST
    assert_held(whole)


@pytest.mark.parametrize(("world", "n"), [("p^d", 150), ("p^d", 600), ("calibrated, tied", 200), ("stairs", 400)])
def test_the_true_rate_lies_in_the_confidence_band(rng, world, n):
    held = []
    for data, _ in data_sets(WORLDS[world], n, 40, rng):
        band = confidence_band(data)
        c = WORLDS[world].curve(band.x)
        held.append(((band.low <= c) & (c <= band.high)).mean())
    assert np.mean(held) + 3 * np.std(held) / np.sqrt(len(held)) >= LEAST
