"""Intervals of any estimator."""

from __future__ import annotations

from functools import partial
from statistics import NormalDist

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth, InputError, Predictions
from calibrant.infer import calibration_error_interval, interval_of
from calibrant.infer.any_estimator import CAUTION
from calibrant.infer.error import KEPT, inverted
from calibrant.infer.error_path import path_of
from calibrant.predictions.content import in_own_order
from tolerances import ROUNDING


def sample(rng, n=300, power=1.5):
    p = rng.random(n)
    return Predictions(rng.random(n) < p**power, p)


@pytest.mark.slow
def test_inversion_around_a_known_value(rng):
    data = sample(rng)
    found = interval_of(cal.smooth_error, data, n_draws=50)
    assert found.interval.low < 0.1 < found.interval.high  # E(p − p^1.5) = 0.1, all of one sign
    assert found.value == cal.smooth_error(data).value
    assert interval_of(cal.smooth_error, data, n_draws=50) == found  # the seed is fixed


@pytest.mark.slow
def test_drawing_the_law_agrees_with_computing_it(rng):
    """The binned error on the bins of the closed form: both intervals differ only by 200 draws and by what is hidden in bins."""
    data = sample(rng, 343)
    drawn = interval_of(partial(cal.binned_error, bins=cal.EqualMass(7)), data, n_draws=200).interval
    path, error = path_of(data.event()), calibration_error_interval(data)
    seen = path.statistic(1)
    ends = inverted(lambda t: path.law(t, 1), seen, max(seen, path.law(0.0, 1).mean), KEPT[1] * 0.025)
    along = [path.error(t, 1) for t in ends]
    assert drawn.low == pytest.approx(min(along[0], error.low), abs=0.015)
    assert drawn.high == pytest.approx(max(along[1], error.high), abs=0.015)


@pytest.mark.slow
def test_a_calibrated_model_gets_an_interval_from_zero(rng):
    found = interval_of(cal.sweep_error, sample(rng, power=1.0), n_draws=60).interval
    assert found.low == pytest.approx(0, abs=1e-12)
    assert found.high > 0.01


@pytest.mark.slow
def test_percentiles_and_bca_by_hand(rng):
    """The mean gap on the same resampled rows; BCa with every row left out in turn."""
    data = in_own_order(sample(rng, 80))  # rows are drawn from this order
    gap = data.probs - data.labels
    rows = [np.random.default_rng(s).integers(0, 80, 80) for s in np.random.SeedSequence(0).spawn(200)]
    drawn = np.array([gap[r].mean() for r in rows])
    plain = interval_of(cal.mean_gap, data, method="bootstrap").interval
    assert (plain.low, plain.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]).tolist(), abs=ROUNDING)
    normal = NormalDist()
    bias = normal.inv_cdf((drawn < gap.mean()).mean())
    away = gap - gap.mean()  # the mean without a row moves the other way
    bend = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    shifted = (bias - normal.inv_cdf(0.975), bias + normal.inv_cdf(0.975))
    ends = [np.quantile(drawn, normal.cdf(bias + z / (1 - bend * z))) for z in shifted]
    found = interval_of(cal.mean_gap, data, method="bca").interval
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)  # normal quantiles by another routine


@pytest.mark.slow
def test_the_bootstrap_carries_its_caution(rng):
    found = interval_of(partial(cal.ece, bins=10), sample(rng), method="bootstrap", n_draws=50)
    assert found.cautions[-1] == CAUTION
    assert found.interval.method == "percentile bootstrap"
    assert CAUTION not in interval_of(cal.mean_gap, sample(rng), n_draws=50).cautions


def test_what_cannot_be_done_is_refused(rng):
    with pytest.raises(InputError, match="Estimate"):
        interval_of(lambda rows: 0.1, sample(rng))
    with pytest.raises(InputError, match="one question"):
        interval_of(cal.static_error, [0, 1, 2], np.eye(3) / 2 + 1 / 6)
    with pytest.raises(InputError, match="n_draws"):
        interval_of(cal.ece, sample(rng), n_draws=3)


@pytest.mark.some(3)
@pytest.mark.parametrize("method", ["bootstrap", "inversion", "bca"])
def test_counts_are_rows_repeated_and_weights_have_no_scale(rng, method):
    estimator, options = partial(cal.binned_error, bins=EqualWidth(3)), {"method": method, "n_draws": 50}
    p, times = rng.random(60), rng.integers(1, 3, 60)
    y = rng.random(60) < p
    counted = interval_of(estimator, y, p, counts=times, **options).interval
    repeated = interval_of(estimator, np.repeat(y, times), np.repeat(p, times), **options).interval
    assert (counted.low, counted.high) == pytest.approx((repeated.low, repeated.high), abs=1e-9)
    w = rng.random(60)
    one, other = (interval_of(estimator, y, p, weights=scale * w, **options).interval for scale in (1.0, 300.0))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)


@pytest.mark.slow
def test_an_estimate_of_the_error_also_takes_in_the_interval_of_the_error(rng):
    p = rng.random(200)
    data = cal.Predictions(rng.random(200) < p**1.5, p)
    for estimator, norm in ((cal.sweep_error, 1), (partial(cal.binned_error, norm=2, root=False), 2)):
        found = interval_of(estimator, data, n_draws=50).interval
        error = calibration_error_interval(data, norm=norm)
        assert found.low <= error.low**norm
        assert found.high >= error.high**norm


@pytest.mark.some(3)
@pytest.mark.parametrize("method", ["bootstrap", "inversion", "bca"])
def test_the_order_of_rows_changes_nothing(rng, method):
    data = sample(rng, 60)
    several = Predictions(rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60))
    for rows in (data, several):
        first = interval_of(cal.ece, rows, method=method, n_draws=50)
        assert interval_of(cal.ece, rows.rows(rng.permutation(60)), method=method, n_draws=50) == first


def test_weighted_rows_are_resampled_in_any_order(rng):
    plain = sample(rng, 60)
    for mass in ({"counts": rng.integers(1, 4, 60)}, {"weights": rng.random(60)}):
        data = Predictions(plain.labels, plain.probs, **mass)
        first = interval_of(cal.ece, data, method="bootstrap", n_draws=50)
        assert interval_of(cal.ece, data.rows(rng.permutation(60)), method="bootstrap", n_draws=50) == first
