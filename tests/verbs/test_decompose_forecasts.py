"""The parts of the squared error of forecast means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError
from calibrant.forecasts import GaussianForecasts
from tolerances import ROUNDING


def said(labels, mean, weights=None):
    return GaussianForecasts(labels, mean, np.ones(len(mean)), weights=weights)


def test_by_hand():
    found = cal.decompose(said([0.0, 4.0, 2.0], [0.0, 1.0, 2.0]))  # mended to 0, 3, 3
    assert found.score.value == pytest.approx(3)
    assert found.miscalibration == pytest.approx(3 - 2 / 3)
    assert found.uncertainty == pytest.approx(8 / 3)
    assert found.discrimination == pytest.approx(2)
    assert repr(found).startswith("Mean squared error 3.0000 = miscalibration 2.3333 − discrimination 2.0000")


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=20))
def test_parts_add_up_and_are_not_negative(rows):
    labels, mean = (np.array(x, dtype=float) for x in zip(*rows, strict=True))
    found = cal.decompose(said(labels, mean))
    total = found.miscalibration - found.discrimination + found.uncertainty
    assert total == pytest.approx(found.score.value, abs=ROUNDING * 100)
    assert min(found.miscalibration, found.discrimination) >= -ROUNDING * 100


def test_a_linear_distortion_is_all_miscalibration(rng):
    mean = rng.normal(size=500)
    labels = rng.normal(mean, 0.3)
    good, bent = cal.decompose(said(labels, mean)), cal.decompose(said(labels, 3 * mean + 1))
    assert bent.discrimination == pytest.approx(good.discrimination, abs=1e-9)
    assert bent.miscalibration > 10 * good.miscalibration


def test_weight_two_is_the_row_twice(rng):
    labels, mean, times = rng.normal(size=30), rng.normal(size=30).round(1), rng.integers(0, 3, 30)
    found = cal.decompose(said(labels, mean, times))
    expected = cal.decompose(said(np.repeat(labels, times), np.repeat(mean, times)))
    for part in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(found, part) == pytest.approx(getattr(expected, part), abs=ROUNDING)


def test_what_belongs_to_classes_is_refused(rng):
    rows = said([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InputError, match="score must be 'squared' for forecasts of a number; it is 'brier'"):
        cal.decompose(rows, score="brier")
    with pytest.raises(InputError, match="by must be 'isotonic' for forecasts of a number; it is 'platt'"):
        cal.decompose(rows, by="platt")
    with pytest.raises(InputError, match="labels are forecasts, which have no views"):
        cal.decompose(rows, cross_fitted=True)
