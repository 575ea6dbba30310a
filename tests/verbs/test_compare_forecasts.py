"""Comparing, bounding and repairing forecasts of a real number."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, ttest_rel

import calibrant as cal
from calibrant import InputError
from calibrant.forecasts import GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.maps import StdScaling, VariancePlatt
from calibrant.score import CRPS, PinballScore
from registered import FORECAST_METHODS, FORECAST_SCORES
from tolerances import ROUNDING, STANDARD_ERRORS


def drawn(rng, n, **options):
    mean, variance = rng.normal(size=n), rng.gamma(2.0, 1.0, n)
    return GaussianForecasts(rng.normal(mean, np.sqrt(2 * variance + 0.5)), mean, variance, **options)


@pytest.fixture
def valid(rng):
    return drawn(rng, 400)


@pytest.fixture
def test(rng):
    return drawn(rng, 300, groups=np.arange(300) // 3)


@pytest.mark.parametrize("score", FORECAST_SCORES)
@pytest.mark.parametrize("method", FORECAST_METHODS)
def test_every_repair_helps_by_every_score(method, score, valid, test):
    fitted = cal.recalibrate(valid, method)
    found = cal.compare(test, fitted, score=score)
    rule = FORECAST_SCORES[score]
    old, new = rule.rows(test), rule.rows(fitted.apply(test))
    assert found.verdict == "better"
    assert found.difference.value == pytest.approx((new - old).mean(), abs=ROUNDING)
    usual, interval = ttest_rel(new, old).confidence_interval(0.95), found.difference.interval
    assert interval.method == "Student t, skewed"
    assert 0.9 < (interval.high - interval.low) / (usual.high - usual.low) < 2.5
    assert found.p_value < 0.05
    assert found.injective
    assert found.grounds == f"{method} does by construction"
    assert "so all of it is calibration" in found.sentence()
    assert (found.root, found.split) == (None, None)
    assert cal.results.Comparison.from_json(found.to_json()) == found


def test_the_usual_score_and_the_usual_map(valid, test):
    fitted = cal.recalibrate(valid)
    assert fitted == VariancePlatt().fit(valid)
    assert cal.compare(test, fitted).difference.settings["score"] == "dawid_sebastiani"
    assert cal.recalibrate(valid, StdScaling()) == cal.recalibrate(valid, "std_scaling")


def test_maps_take_forecasts_or_arrays(valid, test):
    for method in (VariancePlatt(), StdScaling()):
        fitted = method.fit(valid)
        assert fitted == method.fit(valid.labels, valid.mean, valid.variance)
        mean, variance = fitted.apply(test.mean, test.variance)
        repaired = fitted.apply(test)
        assert np.array_equal(repaired.variance, variance)
        assert np.array_equal(repaired.mean, mean)
        assert repaired.source == (test, fitted)


def test_a_bent_forecast_answers_as_its_map_does(valid, test):
    fitted = cal.recalibrate(valid, "quantile_recalibration")
    bent = fitted.apply(test)
    np.testing.assert_allclose(bent.cdf(test.labels), fitted.cdf(test.labels, test.mean, test.variance), atol=ROUNDING)
    expected = fitted.quantile(np.full(test.n, 0.9), test.mean, test.variance)
    np.testing.assert_allclose(bent.quantile(0.9), expected, atol=ROUNDING)


def test_clusters_and_several_candidates(valid, test):
    candidates = {name: cal.recalibrate(valid, name) for name in FORECAST_METHODS}
    found = cal.compare(test, candidates, score="crps", cluster=True)
    assert set(found.better) == set(candidates)
    assert found["std_scaling"].difference.interval.method == "Student t, skewed, clusters"
    with pytest.raises(InputError, match="cluster needs groups"):
        cal.compare(valid, candidates, cluster=True)


def test_rows_can_refute_injectivity_not_prove_it(test):
    wider = cal.compare(test, test.with_gaussian(test.mean, 2 * test.variance))
    assert wider.injective is None
    assert "these rows cannot distinguish a map of the predictions from another model" in wider.sentence()
    rounded = test.with_gaussian(test.mean.round(), test.variance.round() + 1)
    wider = rounded.with_gaussian(rounded.mean, 2 * rounded.variance)
    assert cal.compare(rounded, wider).injective is None
    assert cal.compare(rounded, wider, injective=True).injective is True
    assert cal.compare(rounded, test).injective is None
    assert cal.compare(test, rounded).injective is False


def test_margins_hold_for_forecasts_too(test):
    found = cal.compare(test, test.with_gaussian(test.mean, test.variance * 1.0001), margin=0.1)
    assert found.equivalent


def test_a_quantile_forecast_sets_the_levels_for_both(test):
    levels = [0.1, 0.5, 0.8]
    values = norm.ppf(levels, test.mean[:, None], np.sqrt(test.variance)[:, None])
    quantiles = QuantileForecasts(test.labels, levels, values)
    found = cal.compare(quantiles, test)
    assert found.difference.value == pytest.approx(0, abs=ROUNDING)
    assert found.before.value == pytest.approx(PinballScore(levels).score(test).value, abs=ROUNDING)
    assert cal.compare(quantiles, test, score="crps").difference.value == pytest.approx(0, abs=ROUNDING)
    assert cal.compare(test, quantiles, score=CRPS(levels=levels)).difference.value == pytest.approx(0, abs=ROUNDING)
    with pytest.raises(InputError, match=r"'crps' of quantiles is a sum over levels.*CRPS\(levels=after.levels\)"):
        cal.compare(test, quantiles, score="crps")


def test_samples_are_compared_by_their_crps(rng, test):
    near, far = (SampleForecasts(test.labels, rng.normal(test.mean[:, None] + shift, 1, (300, 30))) for shift in (0, 3))
    assert cal.compare(near, far).verdict == "worse"


def test_weights_of_rows_count(rng):
    forecasts, times = drawn(rng, 60), rng.integers(0, 3, 60)
    wider = forecasts.with_gaussian(forecasts.mean, 2 * forecasts.variance)
    weighted = [
        GaussianForecasts(forecasts.labels, each.mean, each.variance, counts=times) for each in (forecasts, wider)
    ]
    rows = np.repeat(np.arange(60), times)
    found, expected = cal.compare(*weighted), cal.compare(forecasts.rows(rows), wider.rows(rows))
    assert found.difference.value == pytest.approx(expected.difference.value, abs=ROUNDING)
    assert found.difference.interval.high == pytest.approx(expected.difference.interval.high, abs=ROUNDING)
    light = GaussianForecasts(forecasts.labels, forecasts.mean, forecasts.variance, weights=np.full(60, 1 / 60))
    assert cal.recalibrate(light) == cal.recalibrate(forecasts)


@pytest.mark.slow
def test_the_difference_is_that_of_the_divergences(rng):
    """Prop. 4.5, where the truth is known: E S(before) − E S(after) = E d(before) − E d(after)."""
    changes, n = [], 200
    mean, variance = rng.normal(size=n), rng.gamma(2.0, 1.0, n)
    truth = GaussianForecasts(np.zeros(n), mean, 2 * variance + 0.5)
    before, after = (truth.with_gaussian(mean, v) for v in (variance, 1.7 * variance + 0.3))
    for score in FORECAST_SCORES.values():
        expected = float((score.divergence(after, truth) - score.divergence(before, truth)).mean())
        changes = []
        for _ in range(100):
            labels = truth.draw(rng)
            pair = [GaussianForecasts(labels, mean, each.variance) for each in (before, after)]
            changes.append(cal.compare(*pair, score=score).difference.value)
        assert abs(np.mean(changes) - expected) < STANDARD_ERRORS * np.std(changes) / np.sqrt(100)


def test_bounds(test):
    found = cal.upper_bound(test)
    assert found.value == CRPS().score(test).value
    assert found.settings["infimum"] == 0
    assert cal.upper_bound(test, score="interval").value > 0
    for score in ("dawid_sebastiani", "gaussian_log"):
        with pytest.raises(
            InputError, match=rf"finite infimum; that of {score} is -inf.*Only differences are meaningful"
        ):
            cal.upper_bound(test, score=score)
    with pytest.raises(InputError, match="labels are forecasts and carry their own data"):
        cal.upper_bound(test, [0.5])


def test_wrong_pairs_are_refused(rng, test, valid):
    classes = cal.Predictions([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match="after must be Forecasts, as before is; it is a Predictions"):
        cal.compare(test, classes)
    with pytest.raises(InputError, match="after must be Predictions, as before is; it is a GaussianForecasts"):
        cal.compare(classes, test)
    with pytest.raises(InputError, match="after must have the 300 rows of before; it has 400"):
        cal.compare(test, valid)
    other = GaussianForecasts(test.labels + 1, test.mean, test.variance)
    with pytest.raises(InputError, match="after must have the labels of before; row 0 differs"):
        cal.compare(test, other)
    with pytest.raises(InputError, match="after must have the weights of before"):
        cal.compare(test, GaussianForecasts(test.labels, test.mean, test.variance, weights=np.arange(300) + 1))
    with pytest.raises(InputError, match="score must be one of 'crps'"):
        cal.compare(test, test, score="brier")
    with pytest.raises(InputError, match="method is for probabilities of classes, not for forecasts"):
        cal.compare(test, test, method="isotonic")


def test_wrong_repairs_are_refused(rng, valid):
    with pytest.raises(
        InputError, match=r"method must be one of 'quantile_recalibration', .* for forecasts, or a recipe"
    ):
        cal.recalibrate(valid, "temperature")
    with pytest.raises(InputError, match="forecasts must be Gaussian for this map; they are SampleForecasts"):
        cal.recalibrate(SampleForecasts([1.0], [[0.0, 1.0]]))
    with pytest.raises(InputError, match="forecasts must be Gaussian for this map"):
        cal.recalibrate(valid).apply(SampleForecasts([1.0], [[0.0, 1.0]]))
    with pytest.raises(InputError, match="labels are forecasts and carry their own data"):
        VariancePlatt().fit(valid, valid.mean)
