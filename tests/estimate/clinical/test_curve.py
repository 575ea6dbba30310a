"""ICI, E50, E90 and Emax."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.estimate.clinical import curve
from calibrant.infer.possible_curves import possible_curves
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
    np.testing.assert_allclose(curves.error_quantiles(share)[:50], expected, atol=0)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shares_are_refused(function):
    with pytest.raises(InputError, match="right or wrong"):
        function(cal.Predictions([0.2, 0.7], [0.3, 0.4], soft=True))
