"""Maximum mean calibration error: by hand and over all pairs."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError, Predictions
from naive import binned, data
from naive import mmce as naive
from tolerances import ROUNDING

BANDWIDTHS = st.sampled_from([0.4, 0.05, 1e-3, 1e-6, 10.0])


def test_two_rows_by_hand():
    # errors 0.2 and −0.4 at distance 0.4: (0.04 + 0.16 − 2·0.08/e)/4
    square = (0.2 - 0.16 / math.e) / 4
    assert cal.mmce([1, 0], [0.8, 0.4], root=False).value == pytest.approx(square, abs=ROUNDING)
    assert cal.mmce([1, 0], [0.8, 0.4]).value == pytest.approx(math.sqrt(square), abs=ROUNDING)


def test_the_noise_floor_is_the_diagonal_of_a_calibrated_model():
    found = cal.mmce([1, 0], [0.8, 0.4], root=False)
    assert found.noise_floor == pytest.approx((0.16 + 0.24) / 4, abs=ROUNDING)
    assert cal.mmce([1, 0], [0.8, 0.4]).noise_floor == pytest.approx(math.sqrt(0.1), abs=ROUNDING)


@given(data.events(most=25), BANDWIDTHS)
def test_it_is_the_sum_over_all_pairs(said, nu):
    kernels = {"laplace": lambda d: math.exp(-d / nu), "gaussian": lambda d: math.exp(-((d / nu) ** 2) / 2)}
    for name, kernel in kernels.items():
        options = {"kernel": name, "bandwidth": nu, "counts": said.weights}
        square = cal.mmce(said.labels, said.probs, root=False, **options).value
        expected = max(naive.square(said.probs, said.labels, kernel, said.weights), 0)
        assert square == pytest.approx(expected, abs=ROUNDING)
        assert cal.mmce(said.labels, said.probs, **options).value ** 2 == pytest.approx(expected, abs=ROUNDING)


@given(data.events(most=15))
def test_any_function_of_the_distance_is_a_kernel(said):
    found = cal.mmce(said.labels, said.probs, kernel=lambda d: 1 / (1 + d), root=False, counts=said.weights)
    expected = naive.square(said.probs, said.labels, lambda d: 1 / (1 + d), said.weights)
    assert found.value == pytest.approx(expected, abs=ROUNDING)


@given(data.matrices(most=12))
def test_the_top_view_is_the_sum_over_all_pairs(said):
    p, y = binned.top(said.labels, said.probs)
    found = cal.mmce(Predictions(said.labels, said.probs, counts=said.weights), root=False)
    expected = naive.square(p, y, lambda d: math.exp(-d / 0.4), said.weights)
    assert found.value == pytest.approx(max(expected, 0), abs=ROUNDING)


@given(data.events())
def test_a_wide_kernel_leaves_the_mean_gap_and_it_is_never_above_the_mean_error(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    gap = abs(cal.mean_gap(made).value)
    assert cal.mmce(made, bandwidth=1e14).value == pytest.approx(gap, abs=1e-6)  # a root of 1e-14
    groups = made.event().pooled
    assert cal.mmce(made).value <= np.abs(groups.residual).sum() / groups.total + 1e-8  # a root of 1e-16


def soft_kernel(scale, distance):
    return np.exp(-distance * scale)


def test_a_kernel_without_a_name_still_travels_as_json():
    found = cal.mmce([0, 1], [0.2, 0.7], kernel=partial(soft_kernel, 2.0))
    assert json.loads(found.to_json())["value"] == found.value


@pytest.mark.parametrize("bandwidth", [0, -1, float("nan"), float("inf")])
def test_a_bandwidth_is_positive_and_finite(bandwidth):
    with pytest.raises(InputError, match="bandwidth must be positive and finite; it is"):
        cal.mmce([0, 1], [0.2, 0.7], bandwidth=bandwidth)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(InputError, match="kernel must be 'laplace', 'gaussian' or a function of the distance; it is"):
        cal.mmce([0, 1], [0.2, 0.7], kernel="box")
