"""Smooth ECE: the same grid by direct sums, the integral itself, and the fixed point."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.estimate import smooth
from naive import binned, data
from naive import smooth as naive
from naive.rows import counted, written_out
from tolerances import ROUNDING

GRID_ERROR = 1e-3
"""Sharing an error between two nodes widens the kernel by up to a quarter of a cell squared: (σ/32)²/4 of σ²."""


def test_one_prediction_has_its_gap_at_every_width():
    labels, probs = [1] * 7 + [0] * 3, [0.5] * 10
    for sigma in (0.01, 0.1, 1.0, 100.0, None):
        assert cal.smooth_error(labels, probs, sigma=sigma).value == pytest.approx(0.2, abs=1e-11)  # 4096 nodes add up


def test_two_opposite_errors_cancel_only_when_smoothed():
    labels, probs = [0, 1], [0.3, 0.7]  # +0.3 and −0.3, half the rows each
    assert cal.smooth_error(labels, probs, sigma=0.01).value == pytest.approx(0.3, abs=1e-9)
    assert cal.smooth_error(labels, probs, sigma=100.0).value == pytest.approx(0, abs=1e-9)


@given(data.events(most=12).map(counted), st.sampled_from([0.01, 0.05, 0.3, 1.0]))
def test_the_cosine_transform_is_the_sum_of_mirrored_gaussians(said, sigma):
    y, p = written_out(said.labels, said.probs, said.weights)
    found = cal.smooth_error(said.labels, said.probs, sigma=sigma, counts=said.weights)
    assert found.value == pytest.approx(naive.on_grid(p, y, sigma, smooth.cells_for(sigma)), abs=ROUNDING)


@pytest.mark.parametrize("ends", [[0.0, 1.0], [1e-5, 1 - 1e-5], [2e-4, 1 - 2e-4]])
def test_errors_at_the_ends_stay_there(ends):
    labels = [1, 0]
    for sigma in (0.01, 0.1):
        found = cal.smooth_error(labels, ends, sigma=sigma).value
        assert found == pytest.approx(naive.on_grid(ends, labels, sigma, smooth.cells_for(sigma)), abs=ROUNDING)


@given(data.events(most=12).map(counted), st.sampled_from([0.01, 0.05, 0.3]))
def test_it_is_the_integral_within_the_error_of_the_grid(said, sigma):
    y, p = written_out(said.labels, said.probs, said.weights)
    found = cal.smooth_error(said.labels, said.probs, sigma=sigma, counts=said.weights).value
    assert found == pytest.approx(naive.on_the_line(p, y, sigma), rel=GRID_ERROR, abs=ROUNDING)


def test_a_narrow_kernel_gets_a_finer_grid(rng):
    p = rng.random(8)
    y = (rng.random(8) < p).astype(int)
    assert smooth.cells_for(0.003) > smooth.COARSE
    found = cal.smooth_error(y, p, sigma=0.003).value
    assert found == pytest.approx(naive.on_grid(p, y, 0.003, smooth.cells_for(0.003)), abs=ROUNDING)
    assert found == pytest.approx(naive.on_the_line(p, y, 0.003), rel=GRID_ERROR)


@pytest.mark.some(3)
@pytest.mark.parametrize("n", [1, 3, 20])
def test_the_fixed_point_is_that_of_halving(rng, n):
    p = rng.beta(2, 1, n)
    y = (rng.random(n) < p**3).astype(int)
    found = cal.smooth_error(y, p)
    assert found.value == pytest.approx(naive.fixed_point(p, y), rel=GRID_ERROR)


@given(data.events())
def test_the_error_at_its_width_is_its_width(said):
    found = cal.smooth_error(said.labels, said.probs, counts=said.weights)
    sigma = found.settings["sigma"]
    if sigma > 32 / smooth.FINE:  # below, the finest grid is too coarse for the kernel
        assert found.value == pytest.approx(sigma, rel=1e-9)
    assert 0 <= found.value <= 1 + ROUNDING


@given(data.events())
def test_wider_kernels_show_less_and_the_widest_the_mean_gap(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    values = [cal.smooth_error(made, sigma=sigma).value for sigma in (0.01, 0.03, 0.1, 0.5, 100.0)]
    assert all(wide <= narrow + ROUNDING for narrow, wide in pairwise(values))
    assert values[-1] == pytest.approx(abs(cal.mean_gap(made).value), abs=ROUNDING)


@given(data.events())
def test_it_is_at_most_the_error_of_a_bin_for_each_prediction(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    groups = made.event().pooled
    assert cal.smooth_error(made).value <= np.abs(groups.residual).sum() / groups.total + ROUNDING


@given(data.matrices(most=10))
def test_the_top_view_is_that_of_its_event(said):
    p, y = binned.top(said.labels, said.probs)
    found = cal.smooth_error(Predictions(said.labels, said.probs, counts=said.weights))
    alone = cal.smooth_error(y, p, counts=said.weights)
    assert found.value == pytest.approx(alone.value, abs=ROUNDING)


@pytest.mark.parametrize(("labels", "probs", "expected"), [([0, 0], [1.0, 1.0], 1), ([1, 0], [1.0, 0.0], 0)])
def test_all_wrong_is_one_and_all_right_is_zero(labels, probs, expected):
    assert cal.smooth_error(labels, probs).value == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("size", [1e-4, 1e-6, 1e-9, 1e-15, 1e-300])
def test_tiny_errors_of_one_sign_are_not_lost(size):
    assert cal.smooth_error([0, 0], [size, size]).value == pytest.approx(size, rel=GRID_ERROR)


@pytest.mark.parametrize("sigma", [0, -0.1, float("nan"), float("inf")])
def test_a_width_is_positive_and_finite(sigma):
    with pytest.raises(InputError, match="sigma must be positive and finite; it is"):
        cal.smooth_error([0, 1], [0.2, 0.7], sigma=sigma)
