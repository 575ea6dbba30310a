"""ICI, E50, E90 and Emax."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

import calibrant as cal
from calibrant import InputError
from calibrant.estimate.clinical import curve
from calibrant.infer.largest_error import least_largest_error
from calibrant.infer.possible_curves import BEYOND_ONE, WIDEST, possible_curves
from naive import clinical as naive

FUNCTIONS = (
    curve.integrated_calibration_index,
    curve.error_quantile_50,
    curve.error_quantile_90,
    curve.largest_error,
)


@pytest.fixture(scope="module")
def predictions():
    rng = np.random.default_rng(5)
    probs = rng.random(3000)
    return cal.Predictions(rng.random(3000) < probs**2, probs)


def test_they_are_errors_along_the_possible_curves(predictions):
    found = [each(predictions) for each in FUNCTIONS]
    values = [each.value for each in found]
    assert values[1] < values[2] < values[3]
    assert values[0] == cal.posterior_error(predictions).value
    assert values[3] == cal.posterior_error(predictions, norm="max").value
    for each, truth in zip(found, (1 / 6, 3 / 16, 99 / 400, 1 / 4), strict=True):
        assert truth in each.interval


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_quantiles_curve_by_curve(predictions, share):
    curves = possible_curves(predictions.event("binary"))
    expected = [naive.error_quantile(row, curves.support, share) for row in np.abs(curves.away[:50])]
    lower, found = curves.error_quantiles(share - 0.05, share)
    np.testing.assert_allclose(found[:50], expected, atol=0)
    assert (lower <= found).all()


@pytest.mark.parametrize(("measure", "share"), [(curve.error_quantile_50, 0.5), (curve.error_quantile_90, 0.9)])
def test_ends_of_quantiles_are_those_of_shares_beside_them(predictions, measure, share):
    """3000 rows: the upper end looks a share of 0.05 / √3 above."""
    curves, found = possible_curves(predictions.event("binary")), measure(predictions)
    quantiles, wide = curves.error_quantiles(share - 0.02, share, share + 0.05 / 3**0.5), 1 - 0.05 / curve.WIDENED
    below, at, above = (curves.posterior(each, wide, exact=True) for each in quantiles)
    least, _ = curves.least_and_most(share, 0.02, 0.025)
    assert below[0] < at[0] < at[2] < above[2]
    assert (found.interval.low, found.value) == (min(below[0], least), at[1])
    assert found.interval.high == min(above[2], curve.largest_error(predictions).interval.high)
    assert not found.cautions


def test_limits_within_a_band_are_quantiles_of_the_least_and_largest_distances(predictions):
    curves = possible_curves(predictions.event("binary"))
    low, high = np.quantile(curves.away, [0.01, 0.99], axis=0)
    least = [0.0 if a <= 0 <= b else min(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
    most = [max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
    expected = tuple(
        naive.error_quantile(np.array(each), curves.support, at) for each, at in ((least, 0.8), (most, 1.0))
    )
    assert curves.least_and_most(0.9, 0.1, 0.01) == pytest.approx(expected, abs=0)
    inside = ((low <= curves.away) & (curves.away <= high)) @ curves.support >= 0.9 - 1e-9
    quantiles = curves.error_quantiles(0.9)[0][inside]
    assert expected[0] <= quantiles.min() <= quantiles.max() <= expected[1]


def test_a_jump_of_the_distances_is_warned_of_and_the_interval_reaches_over_it():
    """Half of the rows are 0.2 too high, the others right: the median may be either."""
    rng = np.random.default_rng(3)
    probs = rng.uniform(0.2, 0.8, 4000)
    data = cal.Predictions(rng.random(4000) < probs - 0.2 * (probs > 0.5), probs)
    half, most = curve.error_quantile_50(data), curve.error_quantile_90(data)
    assert "steeply" in half.cautions[0]
    assert not most.cautions
    assert half.interval.low < 0.02
    assert half.interval.high > 0.18
    assert "steeply" in " ".join(cal.clinical(data).cautions)


def test_no_quantile_reaches_above_the_largest_error():
    rng = np.random.default_rng(0)
    probs = 10 ** rng.uniform(-3, -2, 50)
    data = cal.Predictions(rng.random(50) < probs, probs)
    most = curve.largest_error(data).interval.high
    plain = np.quantile(possible_curves(data.event("binary")).error_quantiles(0.95), 0.995)
    assert plain > 1.2 * most
    assert curve.error_quantile_90(data).interval.high == most


def few_high_risks(seed, n):
    """A rare event: the largest error lies at the highest risk."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-5.0, 1.0, n)
    rate, probs = 1 / (1 + np.exp(-odds - 0.9)), 1 / (1 + np.exp(-odds))
    return cal.Predictions(rng.random(n) < rate, probs), np.abs(rate - probs).max()


def test_cells_of_rows_far_apart_are_cut_again_for_the_largest_error(predictions):
    data, truth = few_high_risks(0, 4000)
    event = data.event("binary")
    plain, finer = possible_curves(event), possible_curves(event, finely=True)
    assert set(plain.prob[:-1]) <= set(finer.prob)  # only the cell of the highest risks
    assert np.ptp(np.sort(data.probs)[-40:]) > WIDEST
    assert data.probs.max() - finer.prob.max() < WIDEST < data.probs.max() - plain.prob.max()
    assert finer.support.sum() == pytest.approx(1, abs=1e-12)
    found = curve.largest_error(data)
    assert found.interval.high == finer.posterior(finer.errors("max"), 0.975, exact=True)[2]
    assert plain.posterior(plain.errors("max"), 0.975, exact=True)[2] < truth < found.interval.high
    even = predictions.event("binary")  # cells of a hundredth: none is cut
    assert possible_curves(even, finely=True) is possible_curves(even)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shares_are_refused(function):
    with pytest.raises(InputError, match="right or wrong"):
        function(cal.Predictions([0.2, 0.7], [0.3, 0.4], soft=True))


def certain_rows(seed, n=400):
    """Over-confident risks, some of them as good as certain: the largest error is known."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1.0, 1.5, n)
    rate, probs = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(-2 * odds))
    return rng.random(n) < rate, probs, np.abs(rate - probs).max()


def test_a_few_certain_risks_that_were_right_do_not_make_the_largest_error_unknown():
    labels, probs, _ = certain_rows(0)
    labels, probs = np.append(labels, [False] * 6), np.append(probs, [1e-7] * 6)
    event = cal.Predictions(labels, probs).event("binary")
    curves = possible_curves(event, finely=True)
    assert curves.likely is not None
    errors = curves.errors("max")
    plain, exact = curves.posterior(errors, 0.95), curves.posterior(errors, 0.95, exact=True)
    assert plain[2] > 0.8  # a Gaussian approximation lets six rows without an event have any rate
    assert exact[2] < 0.5
    least = 1 / (1 + np.exp(np.log(len(labels)) + BEYOND_ONE))  # predictions below are read as this one
    certain = probs <= least
    assert certain.sum() >= 6
    assert not labels[certain].any()
    assert probs.max() < 1 - least
    rate = least + curves.away[:, int(np.argmin(curves.prob))]
    np.testing.assert_allclose(curves.likely, (1 - rate) ** certain.sum(), rtol=1e-6, atol=1e-12)
    assert curve.largest_error(labels, probs).interval.high == curves.posterior(errors, 0.975, exact=True)[2]


def test_the_lower_end_of_the_largest_error_is_the_larger_of_two_bounds(predictions):
    event = predictions.event("binary")
    bounds = cal.calibration_error_interval(predictions, norm=2, level=0.975).low, least_largest_error(event, 0.975)
    curves = possible_curves(event, finely=True)
    low = curves.posterior(curves.errors("max"), 0.95, exact=True)[0]
    assert curve.largest_error(predictions).interval.low == min(low, max(bounds))


def test_no_window_has_a_larger_gap_than_the_largest_error():
    rng = np.random.default_rng(2)
    probs = np.repeat([0.2, 0.5, 0.8], 400)
    labels = rng.random(1200) < np.repeat([0.2, 0.3, 0.8], 400)
    found = least_largest_error(cal.Predictions(labels, probs).event("binary"), 0.95)
    hits = int(labels[400:800].sum())
    windows = 6  # three cells, the two runs of two, and all
    alone = 0.5 - beta.isf(0.025 / (2 * windows), hits + 1, 400 - hits)  # Clopper and Pearson's upper end of the rate
    assert found == pytest.approx(alone, abs=1e-12)
    assert 0.1 < found < 0.2
    many = cal.Predictions(np.tile(labels, 500), np.tile(probs, 500)).event("binary")
    assert least_largest_error(many, 0.95) == pytest.approx(0.5 - hits / 400, abs=0.005)
    assert least_largest_error(cal.Predictions([1], [0.9]).event("binary"), 0.95) == 0


@pytest.mark.slow
def test_the_interval_of_the_largest_error_holds_it():
    held = []
    for seed in range(20):
        labels, probs, truth = certain_rows(seed)
        held.append(truth in curve.largest_error(labels, probs).interval)
        rare, truth = few_high_risks(seed, 4000)
        held.append(truth in curve.largest_error(rare).interval)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 40)


@pytest.mark.slow
def test_the_interval_of_a_quantile_beside_a_jump_holds_it():
    held, rng = [], np.random.default_rng(43)
    for _ in range(40):
        probs = rng.random(4000)
        truth = probs - 0.2 * (probs > 0.86)
        found = curve.error_quantile_90(rng.random(4000) < truth, probs)
        held.append(np.quantile(np.abs(probs - truth), 0.9) in found.interval)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 40)


@pytest.mark.slow
def test_the_intervals_of_quantiles_hold_them():
    held, rng = [], np.random.default_rng(41)
    for _ in range(60):
        odds = rng.normal(0.2, 1.4, 250)
        probs, truth = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(-odds / 1.7))
        data, apart = cal.Predictions(rng.random(250) < truth, probs), np.abs(probs - truth)
        held.append(
            [
                np.median(apart) in curve.error_quantile_50(data).interval,
                np.quantile(apart, 0.9) in curve.error_quantile_90(data).interval,
            ]
        )
    assert (np.mean(held, axis=0) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 60)).all()


@pytest.mark.slow
def test_the_interval_of_a_quantile_at_a_step_holds_it_or_warns():
    """0.1 off in a little more and a little less than half of the rows: the posterior's own interval missed it in most data sets."""
    held, told, rng = [], [], np.random.default_rng(44)
    for k in range(30):
        probs = rng.random(10_000)
        truth = probs + 0.1 * (probs < (0.47, 0.53)[k % 2])
        found = curve.error_quantile_50(rng.random(10_000) < truth, probs)
        held.append(np.quantile(np.abs(probs - truth), 0.5) in found.interval)
        told.append(bool(found.cautions))
    assert np.mean(held) > 0.7
    assert np.mean(told) > 0.7
    assert np.mean(np.logical_or(held, told)) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 30)
