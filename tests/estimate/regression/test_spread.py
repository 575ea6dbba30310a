"""Means and variances: errors beside what was said of their size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, ttest_1samp

from calibrant import InputError
from calibrant.detect.spread import spread_test
from calibrant.estimate.regression.means import mean_error, variance_gap, variance_ratio
from calibrant.estimate.regression.variance_bins import ence, root_noise, square_noise, uncertainty_error, variance_bins
from calibrant.forecasts import GaussianForecasts, SampleForecasts
from calibrant.kernels.sums.folded_normal import folded_normal_mean
from naive import forecasts as naive
from tolerances import ROUNDING, STANDARD_ERRORS


def drawn(rng, n, width=1.0, equal=None):
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2, n) if equal is None else np.repeat(equal, n // len(equal))
    return GaussianForecasts(rng.normal(mean, width * sd), mean, sd**2)


def test_gap_ratio_and_mean_error_are_means_whose_interval_knows_their_skewness(rng):
    said = drawn(rng, 40, 1.5)
    squares = (said.labels - said.mean) ** 2
    for found, rows in (
        (mean_error(said), said.mean - said.labels),
        (variance_gap(said), said.variance - squares),
        (variance_gap(said).parts["mse"], squares),
        (variance_gap(said).parts["average_variance"], said.variance),
        (variance_ratio(said), squares / said.variance),
    ):
        assert found.value == pytest.approx(rows.mean(), abs=ROUNDING)
        skewness = ((rows - rows.mean()) ** 3).sum()
        usual, interval = ttest_1samp(rows, 0).confidence_interval(0.95), found.interval
        above, below = interval.high - usual.high, usual.low - interval.low
        assert interval.method == "Student t, skewed"
        assert (above > below) == (skewness > 0)
        assert max(above, below) > 0


def test_the_gap_is_the_difference_of_its_parts(rng):
    found = variance_gap(drawn(rng, 40))
    apart = found.parts["average_variance"].value - found.parts["mse"].value
    assert found.value == pytest.approx(apart, abs=ROUNDING)


@pytest.mark.slow
def test_what_samples_show_if_calibrated(rng):
    m, ratios, gaps = 12, [], []
    for _ in range(300):
        sd = rng.uniform(0.5, 2, 50)
        said = SampleForecasts(rng.normal(0, sd), rng.normal(0, sd[:, None], (50, m)))
        ratios.append(variance_ratio(said))
        gaps.append(variance_gap(said))
    for found in (ratios, gaps):
        apart = [each.value - each.noise_floor for each in found]
        assert abs(np.mean(apart)) < STANDARD_ERRORS * np.std(apart) / math.sqrt(300)
    assert ratios[0].noise_floor == pytest.approx(13 / 9)


@given(st.integers(0, 300), st.integers(1, 6))
def test_ence_is_that_of_plain_loops(seed, n_bins):
    said = drawn(np.random.default_rng(seed), 30 // n_bins * n_bins)
    expected = naive.ence(said.labels, said.mean, said.variance, n_bins)
    assert ence(said, n_bins=n_bins).value == pytest.approx(expected, abs=ROUNDING)


def test_bins_keep_equal_variances_together(rng):
    said = drawn(rng, 90, equal=[0.5, 1.0, 3.0])
    assert len(variance_bins(said, 15).weight) == 3
    shuffled = said.rows(rng.permutation(90))
    assert ence(shuffled).value == pytest.approx(ence(said).value, abs=ROUNDING)


def test_a_bin_has_the_effective_rows_of_its_own_weights(rng):
    said = drawn(rng, 40, equal=[0.5, 2.0])
    weights = np.where(np.arange(40) < 20, 1.0, rng.uniform(0.1, 5.0, 40))
    found = variance_bins(GaussianForecasts(said.labels, said.mean, said.variance, weights=weights), 2)
    wide = weights[20:]
    assert found.degrees == pytest.approx([20, wide.sum() ** 2 / (wide**2).sum()])


def test_weight_two_is_the_row_twice(rng):
    said, times = drawn(rng, 40), rng.integers(0, 3, 40)
    weighted = GaussianForecasts(said.labels, said.mean, said.variance, counts=times)
    repeated = said.rows(np.repeat(np.arange(40), times))
    for measure in (ence, uncertainty_error, variance_gap, variance_ratio, mean_error):
        found, expected = measure(weighted), measure(repeated)
        assert found.value == pytest.approx(expected.value, abs=ROUNDING)
        assert found.noise_floor == pytest.approx(expected.noise_floor, abs=ROUNDING)
    assert spread_test(weighted).statistic == pytest.approx(spread_test(repeated).statistic, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [1.0, 2.5, 9.0, 400.0])
def test_noise_is_an_integral_of_chi_squared(degrees):
    x = chi2.ppf((np.arange(400_000) + 0.5) / 400_000, degrees)
    one = np.array([degrees])
    assert root_noise(one)[0] == pytest.approx(np.abs(1 - np.sqrt(x / degrees)).mean(), rel=1e-4)  # 400 000 points
    assert square_noise(one)[0] == pytest.approx(np.abs(1 - x / degrees).mean(), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [ence, uncertainty_error])
def test_the_noise_floor_is_the_mean_of_a_calibrated_model(measure, rng):
    found = [measure(drawn(rng, 60, equal=[0.5, 1.0, 3.0])) for _ in range(1500)]
    values = np.array([each.value for each in found])
    assert abs(values.mean() - found[0].noise_floor) < STANDARD_ERRORS * values.std() / math.sqrt(1500)


@pytest.mark.slow
def test_the_debiased_ence_is_near_the_truth_where_the_plain_one_is_not(rng):
    equal, width = [0.5, 1.0, 3.0], 1.1  # the truth is 0.1
    plain, better = (
        np.array([ence(drawn(rng, 60, width, equal), debiased=debiased).value for _ in range(600)])
        for debiased in (False, True)
    )
    assert plain.mean() > 0.1 + STANDARD_ERRORS * plain.std() / math.sqrt(600)
    assert abs(better.mean() - 0.1) < abs(plain.mean() - 0.1) / 2


@pytest.mark.slow
def test_what_debiasing_leaves_of_noise(rng):
    found = [ence(drawn(rng, 600, equal=[0.5, 1.0, 3.0]), debiased=True) for _ in range(1000)]
    values = np.array([each.value for each in found])
    assert abs(values.mean() - found[0].noise_floor) < STANDARD_ERRORS * values.std() / math.sqrt(1000)


def test_the_folded_normal_by_sampling(rng):
    x = np.abs(rng.normal(0.3, 0.5, 400_000))
    found = folded_normal_mean(np.array([0.3, -0.2]), np.array([0.5, 0.0]))
    assert abs(found[0] - x.mean()) < STANDARD_ERRORS * x.std() / math.sqrt(400_000)
    assert found[1] == pytest.approx(0.2, abs=ROUNDING)


def test_the_curve_has_intervals_that_cover(rng):
    inside = []
    for _ in range(300):
        curve = ence(drawn(rng, 90, equal=[0.5, 1.0, 3.0])).parts["curve"]
        inside.append((curve.low <= curve.x) & (curve.x <= curve.high))
    assert abs(np.mean(inside) - 0.95) < STANDARD_ERRORS * math.sqrt(0.95 * 0.05 / 900)


def test_the_spread_test_by_hand_and_its_false_alarms(rng):
    said = GaussianForecasts([2.0, -2.0], [0.0, 0.0], [1.0, 4.0])
    assert spread_test(said, n_bins=2).statistic == pytest.approx((4 - 1) ** 2 / 2 + 0)
    p = np.array([spread_test(drawn(rng, 40), n_draws=99, seed=k).p_value for k in range(500)])
    assert abs(np.mean(p <= 0.1) - 0.1) < STANDARD_ERRORS * math.sqrt(0.09 / 500)
    assert spread_test(drawn(rng, 300, 1.4)).p_value == 0.001


def test_an_error_of_opposite_signs_is_seen_by_bins_alone(rng):
    sd = np.repeat([1.0, 2.0], 400)
    labels = rng.normal(0, 1.5, 800)
    said = GaussianForecasts(labels, np.zeros(800), sd**2)
    assert ence(said).value > 0.2
    assert spread_test(said).p_value == 0.001


def test_wrong_calls_are_refused(rng):
    with pytest.raises(InputError, match="n_bins must be a whole number, at least 1; it is 0"):
        ence(drawn(rng, 10), n_bins=0)
    with pytest.raises(InputError, match="must be Gaussian; they are SampleForecasts"):
        spread_test(SampleForecasts([1.0], [[0.0, 1.0]]))
    with pytest.raises(InputError, match="must have positive variances for this score; row 0 has none"):
        ence(SampleForecasts([1.0], [[1.0, 1.0]]))


def test_the_spread_of_the_ratio_over_rows_is_what_is_printed_behind_plus_minus(rng):
    labels, variance, w = rng.normal(size=50), rng.uniform(0.5, 2, 50), rng.integers(1, 4, 50)
    found = variance_ratio(GaussianForecasts(labels, np.zeros(50), variance))
    assert found.parts["sd"] == pytest.approx((labels**2 / variance).std())
    weighted = variance_ratio(GaussianForecasts(labels, np.zeros(50), variance, weights=w))
    assert weighted.parts["sd"] == pytest.approx(np.repeat(labels**2 / variance, w).std())
