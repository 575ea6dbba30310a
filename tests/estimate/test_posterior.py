"""The posterior of the calibration error."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.infer.possible_curves import possible_curves


def drawn(rng, n, curve):
    p = rng.random(n)
    return (rng.random(n) < curve(p)).astype(int), p


@pytest.mark.slow
def test_with_many_rows_it_is_the_true_error(rng):
    """c(p) = p² lies ∫ (p − p²) dp = 1/6 below p, its square ∫ (p − p²)² dp = 1/30, and at most ¼."""
    labels, p = drawn(rng, 200_000, np.square)
    for norm, truth in ((1, 1 / 6), (2, np.sqrt(1 / 30)), ("max", 1 / 4)):
        found = cal.posterior_error(labels, p, norm=norm)
        assert abs(found.value - truth) < 0.01
        assert found.interval.low < found.value < found.interval.high
        assert found.interval.high - found.interval.low < 0.03


def test_a_calibrated_model_is_given_no_error(rng):
    labels, p = drawn(rng, 3000, lambda p: p)
    found = cal.posterior_error(labels, p)
    assert found.interval.low == 0
    assert found.value < 0.005 < cal.ece(labels, p).value


def test_the_interval_shrinks_with_its_level_and_the_rows(rng):
    labels, p = drawn(rng, 5000, np.square)
    wide, narrow = (cal.posterior_error(labels, p, level=level).interval for level in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high
    few = cal.posterior_error(labels[:200], p[:200]).interval
    assert few.high - few.low > wide.high - wide.low


@pytest.mark.slow
def test_the_order_of_rows_and_repetition_do_not_matter(rng):
    labels, p = drawn(rng, 500, np.square)
    once = cal.posterior_error(labels, p)
    order = rng.permutation(500)
    assert cal.posterior_error(labels[order], p[order]).value == pytest.approx(once.value, abs=1e-12)
    twice = cal.posterior_error(np.tile(labels, 2), np.tile(p, 2))
    assert cal.posterior_error(labels, p, counts=np.full(500, 2.0)).value == pytest.approx(twice.value, abs=1e-9)


def test_the_square_is_that_of_the_root(rng):
    labels, p = drawn(rng, 500, np.square)
    rooted, squared = (cal.posterior_error(labels, p, norm=2, root=root) for root in (True, False))
    assert rooted.value**2 == pytest.approx(squared.value, rel=1e-3)  # between two of the draws
    assert rooted.interval.high**2 == pytest.approx(squared.interval.high, rel=1e-3)


def test_the_root_mean_square_joins_bins_within_the_middle_half_of_the_posterior(rng):
    labels, p = drawn(rng, 300, np.square)
    rows = cal.Predictions(labels, p)
    errors = np.sqrt(possible_curves(rows.event("binary")).errors(2))
    low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75])
    binned = (
        cal.binned_error(rows, norm=2, debiased=True),
        cal.sweep_error(rows, norm=2),
        cal.binned_error(rows, norm=2),
    )
    within = [min(max(each.value, low), high) for each in binned]
    found = cal.posterior_error(rows, norm=2)
    assert found.value == pytest.approx((middle + sum(within)) / 4)
    assert "bins" in found.title


def test_the_root_mean_square_of_soft_labels_is_the_median(rng):
    p = rng.random(300)
    rows = cal.Predictions(np.clip(p + 0.1, 0, 1), p, soft=True)
    errors = np.sqrt(possible_curves(rows.event("binary")).errors(2))
    found = cal.posterior_error(rows, norm=2)
    assert found.value == pytest.approx(np.median(errors))
    assert "median" in found.title


def test_an_error_in_one_place_is_not_spread_over_the_rest(rng):
    """0.3 too high on a twentieth of the predictions is 0.015 on average."""
    labels, p = drawn(rng, 20_000, lambda p: p - 0.3 * ((p > 0.7) & (p < 0.75)))
    found = cal.posterior_error(labels, p)
    assert found.value == pytest.approx(0.015, abs=0.004)
    curve = found.parts["curve"]
    away = np.interp([0.3, 0.725, 0.9], curve.x, curve.y) - [0.3, 0.725, 0.9]
    assert away == pytest.approx([0, -0.3, 0], abs=0.05)


def test_waves_are_seen(rng):
    """0.1·sin of three periods is 0.2/π on average; the curve is within its band nearly everywhere."""
    labels, p = drawn(rng, 8000, lambda p: p + 0.1 * np.sin(6 * np.pi * p) * (np.abs(p - 0.5) < 0.4))
    truth = 0.8 * 0.2 / np.pi
    found = cal.posterior_error(labels, p)
    assert found.value == pytest.approx(truth, abs=0.01)
    curve = found.parts["curve"]
    rate = curve.x + 0.1 * np.sin(6 * np.pi * curve.x) * (np.abs(curve.x - 0.5) < 0.4)
    assert np.mean((curve.low <= rate) & (rate <= curve.high)) > 0.8


@pytest.mark.parametrize("ends", [(0.0, 1.0), (1e-9, 1 - 1e-9)])
def test_predictions_of_0_and_1_do_not_bend_the_curve(ends):
    """Rates of 0.05 and 0.95 where 0 and 1 were predicted, and what was predicted between them."""
    p = np.repeat([ends[0], 0.25, 0.5, 0.75, ends[1]], 200)
    rates = np.repeat([0.05, 0.25, 0.5, 0.75, 0.95], 200)
    labels = (np.tile(np.arange(200), 5) < 200 * rates).astype(int)
    found = cal.posterior_error(labels, p)
    assert found.value == pytest.approx(0.4 * (0.05 - ends[0]), abs=0.012)
    assert found.parts["curve"].y[1:-1] == pytest.approx([0.25, 0.5, 0.75], abs=0.02)


def test_certain_and_never_wrong_is_no_error():
    labels = np.array([0, 1, 1, 0, 1])
    for norm in (1, 2, "max"):
        assert cal.posterior_error(labels, labels.astype(float), norm=norm).value == 0
    assert cal.posterior_error([0, 1, 1, 0, 0], labels.astype(float)).value > 0


def test_only_the_ratios_of_weights_count(rng):
    labels, p = drawn(rng, 500, np.square)
    weights = rng.uniform(0.5, 2, 500)
    once, more = (cal.posterior_error(labels, p, weights=factor * weights).value for factor in (1, 50))
    assert once == pytest.approx(more, abs=1e-9)


def test_soft_labels_are_their_rates(rng):
    p = rng.random(3000)
    rows = cal.Predictions(np.clip(p + 0.1, 0, 1), p, soft=True)
    found = cal.posterior_error(rows)
    assert found.value == pytest.approx(0.095, abs=0.01)
    assert found.interval.low < found.value < found.interval.high


def test_what_is_refused(rng):
    labels, p = drawn(rng, 10, np.square)
    with pytest.raises(cal.InputError, match="norm"):
        cal.posterior_error(labels, p, norm=3)
    with pytest.raises(cal.InputError, match="level"):
        cal.posterior_error(labels, p, level=95)
