"""Cubic splines over evenly spaced knots."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from calibrant.kernels.fit.cubic_basis import bends, fit_spline, heights_at, slopes_at

T = np.linspace(0, 1, 101)


@pytest.mark.parametrize(("ends", "scipys"), [("natural", "natural"), ("cubic", "not-a-knot")])
@pytest.mark.parametrize("n_knots", [4, 5, 9])
def test_it_is_scipys(rng, ends, scipys, n_knots):
    y = rng.normal(size=n_knots)
    m = bends(n_knots, ends) @ y
    peer = CubicSpline(np.linspace(0, 1, n_knots), y, bc_type=scipys)
    np.testing.assert_allclose(heights_at(T, y, m), peer(T), atol=1e-11)
    np.testing.assert_allclose(slopes_at(T, y, m), peer(T, 1), atol=1e-10)


@pytest.mark.parametrize("n_knots", [3, 4, 8])
def test_a_parabolic_run_out_is_a_parabola_in_the_outer_pieces(rng, n_knots):
    m = bends(n_knots, "parabolic") @ rng.normal(size=n_knots)
    assert m[0] == pytest.approx(m[1])
    assert m[-1] == pytest.approx(m[-2])


@pytest.mark.parametrize("ends", ["natural", "parabolic", "cubic"])
def test_a_straight_line_has_no_bends(ends):
    y = np.linspace(-1, 2, 7)
    assert np.abs(bends(7, ends) @ y).max() < 1e-10


@pytest.mark.parametrize("ends", ["natural", "parabolic", "cubic"])
def test_the_fit_is_least_squares_between_fixed_ends(rng, ends):
    t, weight = np.sort(rng.random(200)), rng.random(200)
    t[-1] = 1.0
    curve = rng.normal(size=200)
    y, m = fit_spline(t, curve, weight / weight.sum(), 6, ends)
    assert (y[0], y[-1]) == (0, curve[-1])
    basis = heights_at(t, np.eye(6), bends(6, ends))
    root = np.sqrt(weight)
    inner = np.linalg.lstsq(root[:, None] * basis[:, 1:-1], root * (curve - basis[:, -1] * curve[-1]), rcond=None)[0]
    np.testing.assert_allclose(y[1:-1], inner, atol=1e-7)  # the smoother moves it by less
    np.testing.assert_allclose(m, bends(6, ends) @ y, atol=1e-9)


@pytest.mark.parametrize("ends", ["natural", "parabolic", "cubic"])
def test_where_the_data_do_not_reach_it_is_straight(ends):
    y, m = fit_spline(np.array([1.0]), np.array([0.3]), np.array([1.0]), 7, ends)
    np.testing.assert_allclose(y, 0.3 * np.linspace(0, 1, 7), atol=1e-9)
    assert np.abs(m).max() < 1e-7


def test_several_splines_at_once_are_those_one_by_one(rng):
    weight, curves = rng.random((3, 40)), rng.normal(size=(3, 40)).cumsum(axis=1)
    share = weight / weight.sum(axis=1, keepdims=True)
    t = share.cumsum(axis=1)
    y, m = fit_spline(t, curves, share, 7, "natural")
    slopes = slopes_at(t, y, m)
    for i in range(3):
        alone = fit_spline(t[i], curves[i], share[i], 7, "natural")
        np.testing.assert_allclose((y[i], m[i]), alone, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(slopes[i], slopes_at(t[i], y[i], m[i]), rtol=1e-12)
