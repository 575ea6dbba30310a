"""Lines between knots that are too near to each other for a slope."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.kernels.interpolation import between_knots, interpolated

TINY = np.array([0.0, 1e-320, 0.5, 1.0])


def test_a_slope_that_overflows_is_a_step():
    heights = np.array([0.1, 0.3, 0.6, 1.0])
    found = interpolated(np.array([0.0, 5e-321, 1e-320, 0.25, 1.0, 2.0]), TINY, heights)
    assert found == pytest.approx([0.1, 0.1, 0.3, 0.45, 1.0, 1.0])


@pytest.mark.parametrize("method", ["spline", "isotonic", "centered_isotonic", "kernel_density", "piecewise_linear"])
@pytest.mark.filterwarnings("error")
def test_maps_of_denormal_predictions_answer_between_their_neighbours(method, rng):
    p = np.concatenate([np.arange(40) * 1e-321, rng.random(60)])
    labels = rng.random(100) < np.where(p < 1e-300, 0.2, p)
    fitted = cal.recalibrate(cal.Predictions(labels, p), method)
    low = fitted.apply(np.arange(0, 400, 7) * 1e-322)
    assert np.isfinite(low).all()
    assert low.max() < 0.9


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("n_knots", [1, 2, 7, 300])
def test_the_compiled_form_is_that_of_numpy_to_the_last_bit(rng, n_knots, plain):
    knots = np.unique(np.concatenate([[0.03], rng.random(n_knots) ** 9]))[-n_knots:]  # crowded near 0
    heights, x = rng.random(len(knots)), np.concatenate([rng.random(500) ** 5, knots, [-0.5, 0.0, 1.0, 2.0, np.nan]])
    found = np.empty(len(x))
    form = between_knots.plain if plain else between_knots.fast
    if n_knots > 1:
        form(x, knots, heights, 4 * n_knots, found)
        np.testing.assert_array_equal(found, np.interp(x, knots, heights))
    np.testing.assert_array_equal(interpolated(x, knots, heights), np.interp(x, knots, heights))


def test_the_compiled_form_has_steps_where_a_slope_overflows():
    x, heights, found = np.array([0.0, 5e-321, 1e-320, 0.25, 1.0, 2.0]), np.array([0.1, 0.3, 0.6, 1.0]), np.empty(6)
    between_knots.fast(x, TINY, heights, 16, found)
    assert found == pytest.approx([0.1, 0.1, 0.3, 0.45, 1.0, 1.0])
