"""PIT, coverage, miscalibration area and marginal calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, kstest

from calibrant import InputError
from calibrant.detect.pit import kuiper_tail, pit_test
from calibrant.estimate.regression.marginal import marginal_error
from calibrant.estimate.regression.pit import band, coverage_error, mean_deviation, miscalibration_area, pit_error
from calibrant.forecasts import GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.interval import wilson
from kinds_of_forecasts import every_kind
from naive import forecasts as naive
from tolerances import ROUNDING, STANDARD_ERRORS

kinds = pytest.mark.parametrize("kind", ["Gaussian", "bent", "quantile", "sample"])


def with_pit(u, counts=None):
    """Forecasts whose PIT is given."""
    from scipy.stats import norm

    u = np.asarray(u, dtype=float)
    return GaussianForecasts(norm.ppf(u), np.zeros(len(u)), np.ones(len(u)), counts=counts)


def test_the_pit_error_by_hand():
    found = pit_error(with_pit([0.05, 0.06, 0.3, 0.9]), n_bins=4)
    assert found.value == pytest.approx(0.25)
    assert found.parts["curve"].y.tolist() == [2, 1, 0, 1]


@given(st.integers(1, 300), st.integers(2, 20), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_band_is_scipys(n, n_bins, level):
    tail = (1 - level) / 2
    assert band(n, n_bins, level) == tuple(binom.ppf([tail, 1 - tail], n, 1 / n_bins))


@given(st.integers(1, 60), st.floats(0.01, 0.99))
def test_the_mean_deviation_is_a_sum(n, share):
    k = np.arange(n + 1)
    expected = (binom.pmf(k, n, share) * np.abs(k / n - share)).sum()
    assert mean_deviation(float(n), np.array([share]))[0] == pytest.approx(expected, abs=1e-11)


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("measure", [pit_error, miscalibration_area, marginal_error])
def test_the_noise_floor_is_the_mean_of_a_calibrated_model(kind, measure, rng):
    many, options = (80, {"n_draws": 19}) if measure is marginal_error else (250, {})
    found = [measure(every_kind(rng, 60)[kind], seed=k, **options) for k in range(many)]
    gaps = [each.value - each.noise_floor for each in found]
    assert abs(np.mean(gaps)) < STANDARD_ERRORS * np.std(gaps) / math.sqrt(many)


@pytest.mark.slow
@kinds
def test_the_noise_floor_of_coverage_is_its_root_mean_square(kind, rng):
    found = [coverage_error(every_kind(rng, 60)[kind], seed=k) for k in range(300)]
    squares = np.array([each.value**2 for each in found])
    assert abs(squares.mean() - found[0].noise_floor ** 2) < STANDARD_ERRORS * squares.std() / math.sqrt(300)


@pytest.mark.slow
def test_all_bars_lie_in_the_band_as_often_as_said(rng):
    inside = []
    for _ in range(600):
        curve = pit_error(with_pit(rng.random(80)), level=0.9).parts["curve"]
        inside.append(bool(((curve.low <= curve.y) & (curve.y <= curve.high)).all()))
    assert np.mean(inside) > 0.9 - STANDARD_ERRORS * math.sqrt(0.09 / 600)
    assert np.mean(inside) < 0.99  # and not by being far too wide


def test_the_ks_test_is_scipys(rng):
    u = rng.random(40) ** 1.3
    found, expected = pit_test(with_pit(u), statistic="ks"), kstest(u, "uniform", method="exact")
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-10)
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 20, 200])
def test_kuipers_tail_is_that_of_simulated_numbers(n, rng):
    u = np.sort(rng.random((40_000, n)), axis=1)
    i = np.arange(1, n + 1)
    values = (i / n - u).max(axis=1) + (u - (i - 1) / n).max(axis=1)
    for share in (0.5, 0.1, 0.05, 0.01):
        at = np.quantile(values, 1 - share)
        error = STANDARD_ERRORS * math.sqrt(share * (1 - share) / 40_000)
        assert abs(kuiper_tail(at, n) - share) < error + 0.006  # Stephens' approximation at n = 5
    assert kuiper_tail(0.0, n) == 1


def test_kuipers_statistic_by_hand():
    found = pit_test(with_pit([0.2, 0.3, 0.9]))  # above by 2/3 − 0.3, below by 0.9 − 2/3
    assert found.statistic == pytest.approx(2 / 3 - 0.3 + 0.9 - 2 / 3, abs=1e-12)


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=12))
def test_the_area_is_that_of_a_fine_grid(u):
    assert miscalibration_area(with_pit(u)).value == pytest.approx(naive.area(np.array(u)), abs=2e-4)  # 20 000 steps


def test_coverage_by_hand():
    found = coverage_error(with_pit([0.05, 0.2, 0.6, 0.95]), levels=[0.1, 0.5])
    assert found.parts["curve"].y.tolist() == [0.25, 0.5]
    assert found.value == pytest.approx(math.sqrt(0.15**2 / 2))
    assert found.noise_floor == pytest.approx(math.sqrt((0.09 + 0.25) / 2 / 4))
    debiased = coverage_error(with_pit([0.05, 0.2, 0.6, 0.95]), levels=[0.1, 0.5], debiased=True)
    assert debiased.value == 0  # 0.0225 − 0.1875/3 and −0.25/3


@pytest.mark.slow
def test_the_debiased_coverage_error_is_unbiased_in_the_square(rng):
    squares = []
    for _ in range(800):
        u = rng.random(30) ** 2  # covers √τ
        curve = coverage_error(with_pit(u), levels=[0.25]).parts["curve"]
        squares.append((curve.y[0] - 0.25) ** 2 - curve.y[0] * (1 - curve.y[0]) / 29)
        root = coverage_error(with_pit(u), levels=[0.25], debiased=True).value
        assert root == pytest.approx(math.sqrt(max(squares[-1], 0)), abs=ROUNDING)
    assert abs(np.mean(squares) - 0.0625) < STANDARD_ERRORS * np.std(squares) / math.sqrt(800)


def test_coverage_of_quantiles_counts_labels_below(rng):
    said = every_kind(rng, 200)["quantile"]
    below = (said.labels[:, None] <= said.values).mean(axis=0)
    np.testing.assert_allclose(coverage_error(said).parts["curve"].y, below, atol=ROUNDING)


def test_each_level_has_the_effective_rows_of_its_own_weights(rng):
    u, w = rng.random(200), rng.uniform(0.2, 4.0, 200)
    said = with_pit(u)
    curve = coverage_error(
        GaussianForecasts(said.labels, said.mean, said.variance, weights=w), levels=[0.1, 0.7]
    ).parts["curve"]
    for k, tau in enumerate((0.1, 0.7)):
        below = u <= tau
        share = np.average(below, weights=w)
        variance = (w**2 * (below - share) ** 2).sum() / w.sum() ** 2
        low, high = wilson(np.array([share]), np.array([share * (1 - share) / variance]), 0.95)
        assert (curve.y[k], curve.low[k], curve.high[k]) == pytest.approx((share, low[0], high[0]))


def test_weight_two_is_the_row_twice(rng):
    u, times = rng.random(40), rng.integers(0, 3, 40)
    weighted, repeated = with_pit(u, times), with_pit(np.repeat(u, times))
    for measure in (pit_error, coverage_error, miscalibration_area):
        assert measure(weighted).value == pytest.approx(measure(repeated).value, abs=ROUNDING)
        assert measure(weighted).noise_floor == pytest.approx(measure(repeated).noise_floor, abs=ROUNDING)
    for statistic in ("kuiper", "ks"):
        found, expected = (pit_test(each, statistic=statistic) for each in (weighted, repeated))
        assert found.p_value == pytest.approx(expected.p_value, abs=1e-9)


def test_the_marginal_gap_by_hand():
    said = GaussianForecasts([-1.0, 1.0, 4.0], [0.0, 0.0, 2.0], [1.0, 1.0, 4.0])
    curve = marginal_error(said, n_points=5).parts["curve"]
    for x, gap in zip(curve.x, curve.y, strict=True):
        assert gap == pytest.approx(said.cdf(x).mean() - np.mean(said.labels <= x), abs=ROUNDING)


@pytest.mark.slow
def test_the_marginal_gap_of_samples_is_theirs_and_its_p_values_are_exact_for_few(rng):
    p = []
    for k in range(500):
        centre = rng.normal(size=(30, 1))
        drawn = centre + rng.normal(size=(30, 5))
        said = SampleForecasts(drawn[:, 0], drawn[:, 1:])
        found = marginal_error(said, n_draws=19, seed=k, n_points=9)
        p.append(found.parts["p_value"])
    curve = found.parts["curve"]
    for x, gap in zip(curve.x, curve.y, strict=True):
        assert gap == pytest.approx(said.cdf(x).mean() - np.mean(said.labels <= x), abs=ROUNDING)
    for level in (0.05, 0.2):
        assert np.mean(np.array(p) <= level) <= level + STANDARD_ERRORS * math.sqrt(level * (1 - level) / 500)


@pytest.mark.slow
def test_marginal_p_values_are_exact_and_a_shift_is_found(rng):
    p = np.array(
        [marginal_error(every_kind(rng, 40)["Gaussian"], n_draws=19, seed=k).parts["p_value"] for k in range(400)]
    )
    assert abs(np.mean(p <= 0.1) - 0.1) < STANDARD_ERRORS * math.sqrt(0.09 / 400)
    said = every_kind(rng, 400)["Gaussian"]
    assert marginal_error(said.with_gaussian(said.mean + 1, said.variance)).parts["p_value"] == 0.005


@pytest.mark.slow
def test_the_climatology_fools_the_pit(rng):
    """Two groups far apart, and the same forecast for all: what looks at the PIT alone is content."""
    centres = np.repeat([-1.0, 1.0], 1000)
    overall = SampleForecasts(rng.normal(centres, 0.5), np.tile(rng.normal(centres, 0.5), (2000, 1)))
    assert pit_test(overall).p_value > 0.01
    assert coverage_error(overall).value < 2 * coverage_error(overall).noise_floor


def test_wrong_calls_are_refused(rng):
    said = with_pit([0.2, 0.3])
    with pytest.raises(InputError, match="statistic must be one of 'kuiper', 'ks'; it is 'ad'"):
        pit_test(said, statistic="ad")
    with pytest.raises(InputError, match="levels must rise"):
        coverage_error(said, levels=[0.5, 0.5])
    with pytest.raises(InputError, match="n_points must be a whole number, at least 2; it is 1"):
        marginal_error(said, n_points=1)
    with pytest.raises(InputError, match="n_bins must be a whole number"):
        pit_error(QuantileForecasts([1.0], [0.5], [[1.0]]), n_bins=2.5)
