"""The parts of the squared error of forecast means, and of the pinball score of quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError
from calibrant.forecasts import GaussianForecasts, QuantileForecasts
from calibrant.score import PinballScore
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
    with pytest.raises(
        InputError, match="score must be 'squared', 'pinball' or a PinballScore for forecasts; it is 'brier'"
    ):
        cal.decompose(rows, score="brier")
    with pytest.raises(InputError, match="method must be 'isotonic' for forecasts of a number; it is 'platt'"):
        cal.decompose(rows, method="platt")
    with pytest.raises(InputError, match="labels are forecasts, which have no views"):
        cal.decompose(rows, cross_fitted=True)
