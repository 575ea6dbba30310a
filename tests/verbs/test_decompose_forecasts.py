"""The parts of the squared error of forecast means, and of the pinball score of quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError
from calibrant.forecasts import GaussianForecasts, QuantileForecasts
from calibrant.methods import methods
from calibrant.score import PinballScore, crps
from calibrant.simulate import GaussianWorld
from naive import forecasts as naive
from tolerances import ROUNDING


def forecasts(labels, mean, counts=None):
    return GaussianForecasts(labels, mean, np.ones(len(mean)), counts=counts)


def test_by_hand():
    found = cal.decompose(forecasts([0.0, 4.0, 2.0], [0.0, 1.0, 2.0]))  # recalibrated to 0, 3, 3
    assert found.score.value == pytest.approx(3)
    assert found.miscalibration == pytest.approx(3 - 2 / 3)
    assert found.uncertainty == pytest.approx(8 / 3)
    assert found.discrimination == pytest.approx(2)
    assert repr(found).startswith("Mean squared error 3.0000 = miscalibration 2.3333 − discrimination 2.0000")


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=20))
def test_parts_add_up_and_are_not_negative(rows):
    labels, mean = (np.array(x, dtype=float) for x in zip(*rows, strict=True))
    found = cal.decompose(forecasts(labels, mean))
    total = found.miscalibration - found.discrimination + found.uncertainty
    assert total == pytest.approx(found.score.value, abs=ROUNDING * 100)
    assert min(found.miscalibration, found.discrimination) >= -ROUNDING * 100


def test_a_linear_distortion_is_all_miscalibration(rng):
    mean = rng.normal(size=500)
    labels = rng.normal(mean, 0.3)
    good, bent = cal.decompose(forecasts(labels, mean)), cal.decompose(forecasts(labels, 3 * mean + 1))
    assert bent.discrimination == pytest.approx(good.discrimination, abs=1e-9)
    assert bent.miscalibration > 10 * good.miscalibration


def test_weight_two_is_the_row_twice(rng):
    labels, mean, times = rng.normal(size=30), rng.normal(size=30).round(1), rng.integers(0, 3, 30)
    found = cal.decompose(forecasts(labels, mean, times))
    expected = cal.decompose(forecasts(np.repeat(labels, times), np.repeat(mean, times)))
    for part in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(found, part) == pytest.approx(getattr(expected, part), abs=ROUNDING)


def test_the_parts_of_a_median_by_hand():
    rows = QuantileForecasts([0.0, 4.0, 2.0], [0.5], [0.0, 1.0, 2.0])  # recalibrated to 0, 2, 2; overall 2
    found = cal.decompose(rows, score="pinball")
    assert found.score.value == pytest.approx(3 / 2 / 3)
    assert found.miscalibration == pytest.approx((3 - 2) / 2 / 3)
    assert found.uncertainty == pytest.approx(4 / 2 / 3)
    assert found.discrimination == pytest.approx((4 - 2) / 2 / 3)


@given(st.integers(0, 300))
def test_parts_of_quantiles_add_up_and_are_not_negative(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    labels, mean = rng.normal(size=n).round(1), rng.normal(size=n).round(1)
    found = cal.decompose(forecasts(labels, mean, rng.integers(0, 3, n) + (np.arange(n) == 0)), score="pinball")
    total = found.miscalibration - found.discrimination + found.uncertainty
    assert total == pytest.approx(found.score.value, abs=ROUNDING)
    assert min(found.miscalibration, found.discrimination) >= -ROUNDING


def test_levels_are_averaged(rng):
    mean = rng.normal(size=60)
    rows = forecasts(rng.normal(mean, 2.0), mean)
    both = cal.decompose(rows, score=PinballScore([0.1, 0.8]))
    each = [cal.decompose(rows, score=PinballScore([tau])) for tau in (0.1, 0.8)]
    for part in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(both, part) == pytest.approx(np.mean([getattr(one, part) for one in each]), abs=ROUNDING)
    assert both.score.value == pytest.approx(PinballScore([0.1, 0.8]).score(rows).value, abs=ROUNDING)


def test_a_wrong_width_is_miscalibration_of_the_outer_quantiles(rng):
    mean = rng.normal(size=2000)
    labels = rng.normal(mean, 2.0)
    right, narrow = (GaussianForecasts(labels, mean, np.full(2000, v)) for v in (4.0, 1.0))
    outer = PinballScore([0.05, 0.95])
    found = [cal.decompose(each, score=outer) for each in (right, narrow)]
    assert found[1].miscalibration > 3 * found[0].miscalibration
    assert found[1].discrimination == pytest.approx(found[0].discrimination, abs=1e-9)  # the same order of rows


def test_what_belongs_to_classes_is_refused(rng):
    rows = forecasts([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InputError, match=r"score must be one of 'squared', 'crps', .* for forecasts; it is 'brier'"):
        cal.decompose(rows, score="brier")
    with pytest.raises(
        InputError, match=r"method must be one of 'isotonic', .* for forecasts, or a recipe with fit; it is 'platt'"
    ):
        cal.decompose(rows, method="platt")
    with pytest.raises(InputError, match="labels are forecasts, which have no views"):
        cal.decompose(rows, cross_fitted=True)


def moments(rng, n=12):
    mean, variance = rng.normal(size=n).round(1), rng.uniform(0.3, 2, n).round(1)
    return GaussianForecasts(rng.normal(mean, 1.3), mean, variance)


@pytest.mark.parametrize("score", ["dawid_sebastiani", "gaussian_log"])
def test_scores_of_moments_have_the_parts_of_lemma_4_1(rng, score):
    said = moments(rng)
    found = cal.decompose(said, score=score)
    expected = naive.lemma(said.labels, said.mean, said.variance, log=score == "gaussian_log")
    parts = (found.score.value, found.miscalibration, found.discrimination, found.uncertainty)
    assert parts == pytest.approx(expected, abs=ROUNDING * 100)
    assert found.score.value == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty)


def test_uncertainty_of_crps_is_half_the_mean_distance_of_labels(rng):
    said = moments(rng, 25)
    found = cal.decompose(said, score="crps")
    assert found.score.value == pytest.approx(crps(said).value, abs=ROUNDING)
    assert found.uncertainty == pytest.approx(naive.crps_entropy(said.labels), abs=ROUNDING)
    assert found.score.value == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty)
    assert found.miscalibration > 0


def test_a_forecast_that_never_changes_discriminates_nothing(rng):
    labels = rng.normal(size=30)
    said = GaussianForecasts(labels, np.full(30, 0.5), np.full(30, 2.0))
    for score in ("crps", "dawid_sebastiani", "gaussian_log"):
        found = cal.decompose(said, score=score)
        assert found.discrimination == pytest.approx(0, abs=1e-9), score
        assert found.miscalibration > 0


def test_a_map_of_forecasts_may_recalibrate_them(rng):
    said = moments(rng, 200)
    found = cal.decompose(said, score="dawid_sebastiani", method="std_scaling")
    fitted = cal.regression.StdScaling().fit(said)
    assert found.refinement == pytest.approx(fitted.fit.loss)
    assert found.settings["how"] == "by std_scaling on the same rows"
    with pytest.raises(InputError, match="method must be one of 'isotonic', 'quantile_recalibration'"):
        cal.decompose(said, score="crps", method="platt")


def test_counts_are_rows_repeated_whatever_the_score(rng):
    said, times = moments(rng, 20), rng.integers(0, 3, 20)
    counted = GaussianForecasts(said.labels, said.mean, said.variance, counts=times)
    for score in ("crps", "dawid_sebastiani"):
        found, expected = (
            cal.decompose(counted, score=score),
            cal.decompose(said.rows(np.repeat(np.arange(20), times)), score=score),
        )
        assert found.miscalibration == pytest.approx(expected.miscalibration, abs=1e-9)


def test_a_variance_of_zero_is_pooled_with_the_next():
    said = GaussianForecasts([0.0, 5.0, 5.5, 4.0, 9.0], [0.0, 5.0, 5.0, 6.0, 7.0], [0.1, 1.0, 2.0, 3.0, 4.0])
    assert np.isfinite(cal.decompose(said, score="dawid_sebastiani").refinement)
    with pytest.raises(InputError, match="forecasts must leave residuals for this score"):
        cal.decompose(GaussianForecasts([0.0, 1.0], [0.0, 1.0], [1.0, 1.0]), score="dawid_sebastiani")
    with pytest.raises(InputError, match="labels must differ for this score"):
        cal.decompose(GaussianForecasts([1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 2.0]), score="gaussian_log")


@pytest.mark.slow
@pytest.mark.parametrize("score", ["dawid_sebastiani", "crps", "gaussian_log"])
def test_the_parts_approach_those_of_a_world_with_a_known_truth(score):
    """Predicted variances are three times too small; the true distribution given the forecast has three times as large ones.

    A map with one parameter finds them. Isotonic regression follows the noise of the rows: its refinement lies below the
    score of the truth, by less the more rows there are.
    """
    world, rule, below = GaussianWorld(factor=1 / 3), methods("forecast score")[score].function(), []
    for n in (500, 4000):
        said = world.sample(n, seed=1)
        truth = rule.score(said.with_gaussian(said.mean, 3 * said.variance)).value
        found = cal.decompose(said, score=score)
        below.append(truth - found.refinement)
        scaled = cal.decompose(said, score=score, method="std_scaling")
        assert scaled.refinement == pytest.approx(truth, abs=4 / n)
    assert 0 < below[1] < below[0] / 2
    calibration = float(rule.divergence(said, said.with_gaussian(said.mean, 3 * said.variance)).mean())
    assert found.miscalibration - below[1] == pytest.approx(calibration, rel=0.1)
