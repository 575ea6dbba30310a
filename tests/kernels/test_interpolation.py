"""Lines between knots that are too near to each other for a slope."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.kernels.interpolation import interpolated

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
