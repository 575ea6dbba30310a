"""The kernel calibration error of Gaussian forecasts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from calibrant import InputError
from calibrant.detect.gaussian_skce import gaussian_skce_test
from calibrant.estimate import skce as module
from calibrant.estimate.regression.skce import gaussian_skce, median_distance, weighted_median
from calibrant.forecasts import GaussianForecasts, SampleForecasts
from calibrant.kernels.pairs import gaussian_pairs
from naive import forecasts as naive
from tolerances import ROUNDING, STANDARD_ERRORS


def drawn(rng, n, width=1.0):
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2, n)
    return GaussianForecasts(rng.normal(mean, width * sd), mean, sd**2)


def test_two_rows_by_hand():
    # κ = 1; k = e^(−2), E k(Z, y) = √½ e^(−1/4) twice, E k(Z, Z') = √⅓
    said = GaussianForecasts([1.0, -1.0], [0.0, 0.0], [1.0, 1.0])
    found = gaussian_skce(said, bandwidth=1.0, label_bandwidth=1.0)
    expected = math.exp(-2) - 2 * math.sqrt(0.5) * math.exp(-0.25) + math.sqrt(1 / 3)
    assert found.value == pytest.approx(expected, abs=ROUNDING)
    assert found.interval is None


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(1.3, 0.7), (0.2, 3.0)])
def test_it_is_the_sum_over_grids(widths, rng):
    said = drawn(rng, 3)
    options = {"bandwidth": widths[0], "label_bandwidth": widths[1]}
    arguments = said.labels, said.mean, said.variance, *widths
    assert gaussian_skce(said, **options).value == pytest.approx(naive.skce(*arguments), abs=1e-9)  # the twin's grid
    biased = gaussian_skce(said, estimator="biased", **options).value
    assert biased == pytest.approx(naive.skce(*arguments, biased=True), abs=1e-9)


def test_tiles_give_what_one_tile_gives(rng, monkeypatch):
    said = drawn(rng, 70)
    whole = gaussian_skce(said)
    monkeypatch.setattr(gaussian_pairs, "TILE", 16)
    parts = gaussian_skce(said)
    assert parts.value == pytest.approx(whole.value, abs=ROUNDING)
    assert parts.interval.low == pytest.approx(whole.interval.low, abs=ROUNDING)


def test_the_ends_of_the_interval_are_a_quantile_of_their_own_error_away(rng):
    said = drawn(rng, 25, 1.5)
    options = {"bandwidth": 1.0, "label_bandwidth": 1.0}
    found = gaussian_skce(said, **options)
    without = np.array([gaussian_skce(said.rows(np.arange(25) != i), **options).value for i in range(25)])
    jackknife = 24 / 25 * np.sum((without - without.mean()) ** 2)
    pairs = [gaussian_skce(said.rows([i, j]), **options).value ** 2 for i in range(25) for j in range(25) if i != j]
    calibrated = 2 * np.sum(pairs) / (25 * 24) ** 2
    for end in (found.interval.low, found.interval.high):
        error = calibrated + jackknife * end / max(found.value, math.sqrt(jackknife))
        assert (found.value - end) ** 2 == pytest.approx(t.ppf(0.975, 24) ** 2 * error, rel=1e-9)
    assert found.interval.low < found.value < found.interval.high


@given(st.integers(0, 200))
def test_weight_two_is_the_row_twice(seed):
    rng = np.random.default_rng(seed)
    said, times = drawn(rng, 12), rng.integers(0, 3, 12) + (np.arange(12) < 2)
    weighted = GaussianForecasts(said.labels, said.mean, said.variance, counts=times)
    repeated = said.rows(np.repeat(np.arange(12), times))
    for estimator in ("unbiased", "biased"):
        found, expected = (gaussian_skce(each, estimator=estimator) for each in (weighted, repeated))
        assert found.value == pytest.approx(expected.value, abs=ROUNDING)
        assert found.settings["bandwidth"] == pytest.approx(expected.settings["bandwidth"], abs=ROUNDING)
        assert found.noise_floor == pytest.approx(expected.noise_floor, abs=ROUNDING)
        if estimator == "unbiased" and times.sum() > 2:
            assert found.interval.high == pytest.approx(expected.interval.high, abs=ROUNDING)


def test_units_do_not_matter(rng):
    said = drawn(rng, 30)
    other = GaussianForecasts(1000 * said.labels + 7, 1000 * said.mean + 7, 1e6 * said.variance)
    assert gaussian_skce(other).value == pytest.approx(gaussian_skce(said).value, abs=1e-10)
    assert gaussian_skce_test(other).p_value == gaussian_skce_test(said).p_value


def test_blocks_of_all_rows_are_the_unbiased_value(rng):
    said = drawn(rng, 31)
    whole, block = gaussian_skce(said), gaussian_skce(said, estimator="block", block_size=31)
    assert block.value == pytest.approx(whole.value, abs=ROUNDING)
    pairs = gaussian_skce(said, estimator="block", bandwidth=1.0, label_bandwidth=1.0)
    values = [
        gaussian_skce(said.rows(slice(i, i + 2)), bandwidth=1.0, label_bandwidth=1.0).value for i in range(0, 30, 2)
    ]
    assert pairs.value == pytest.approx(np.mean(values), abs=ROUNDING)
    assert pairs.cautions[-1] == "1 rows do not fill a block and are not used"


def test_the_statistic_of_the_test_is_the_block_estimate(rng):
    said = drawn(rng, 60)
    found = gaussian_skce_test(said, block_size=20, n_draws=9)
    assert found.statistic == pytest.approx(gaussian_skce(said, estimator="block", block_size=20).value, abs=ROUNDING)
    assert gaussian_skce_test(said).statistic == pytest.approx(gaussian_skce(said).value, abs=ROUNDING)
    assert found.p_value in {k / 10 for k in range(1, 11)}


@pytest.mark.slow
def test_unbiased_and_blocks_are_zero_on_average_for_a_calibrated_model(rng):
    for options in ({}, {"estimator": "block", "block_size": 4}):
        values = [
            gaussian_skce(drawn(rng, 40), bandwidth=1.0, label_bandwidth=1.0, **options).value for _ in range(400)
        ]
        assert abs(np.mean(values)) < STANDARD_ERRORS * np.std(values) / 20


@pytest.mark.slow
def test_the_noise_floor_of_the_biased_form_is_its_mean(rng):
    found = [gaussian_skce(drawn(rng, 20), estimator="biased", bandwidth=1.0, label_bandwidth=1.0) for _ in range(600)]
    gaps = [each.value - each.noise_floor for each in found]
    assert abs(np.mean(gaps)) < STANDARD_ERRORS * np.std(gaps) / math.sqrt(600)


@pytest.mark.slow
def test_a_wrong_width_and_a_wrong_centre_are_found(rng):
    assert gaussian_skce_test(drawn(rng, 300, width=1.6)).p_value == 0.005
    said = drawn(rng, 300)
    assert gaussian_skce_test(said.with_gaussian(said.mean + 0.7, said.variance)).p_value == 0.005


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_said(rng):
    p = np.array([gaussian_skce_test(drawn(rng, 25), n_draws=19, seed=k).p_value for k in range(400)])
    assert abs(np.mean(p <= 0.1) - 0.1) < STANDARD_ERRORS * math.sqrt(0.09 / 400)
    assert abs(np.mean(p <= 0.5) - 0.5) < STANDARD_ERRORS * math.sqrt(0.25 / 400)


def test_many_rows_have_a_sampled_median(rng, monkeypatch):
    said = drawn(rng, 400)
    exact = median_distance(said, 0)
    monkeypatch.setattr(module, "EXACT_MEDIAN_ROWS", 100)
    assert median_distance(said, 0) == pytest.approx(exact, rel=0.02)  # 200 000 pairs


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=9), st.data())
def test_the_weighted_median_is_that_of_repeated_values(values, data):
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)).filter(any))
    found = weighted_median(np.array(values), np.array(times, dtype=float))
    assert found == pytest.approx(np.median(np.repeat(values, times)), abs=ROUNDING)


def test_equal_forecasts_get_a_bandwidth_and_a_caution():
    found = gaussian_skce(GaussianForecasts([0.0, 1.0, 2.0], [0.0] * 3, [1.0] * 3))
    assert found.settings["bandwidth"] == 1.0
    assert found.cautions == ("half of all pairs of forecasts are equal: the bandwidth was set to 1",)


def test_wrong_calls_are_refused(rng):
    said = drawn(rng, 10)
    with pytest.raises(InputError, match="forecasts must be Gaussian; they are SampleForecasts"):
        gaussian_skce(SampleForecasts([1.0], [[0.0, 1.0]]))
    with pytest.raises(InputError, match="at least two rows for the unbiased estimator; they hold 1"):
        gaussian_skce(said.rows([0]))
    with pytest.raises(InputError, match="bandwidth must be positive and finite; it is 0"):
        gaussian_skce(said, bandwidth=0)
    with pytest.raises(InputError, match="estimator must be one of 'unbiased', 'biased', 'block'"):
        gaussian_skce(said, estimator="linear")
    with pytest.raises(InputError, match="block_size must be at most the number of rows; it is 11, of 10 rows"):
        gaussian_skce(said, estimator="block", block_size=11)
    weighted = GaussianForecasts(said.labels, said.mean, said.variance, weights=np.arange(10))
    with pytest.raises(InputError, match="weights cannot be used with estimator='block'"):
        gaussian_skce(weighted, estimator="block")
    with pytest.raises(InputError, match="weights cannot be used in this test"):
        gaussian_skce_test(weighted)
