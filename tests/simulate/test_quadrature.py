"""Integrals and suprema against closed forms, kinks and jumps included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.simulate.quadrature import integral, panel_nodes, supremum
from tolerances import ROUNDING

UNIT = np.linspace(0, 1, 5)


def test_a_polynomial_is_exact():
    assert integral(lambda x: 7 * x**6, UNIT) == pytest.approx(1, abs=ROUNDING)


@given(at=st.floats(0, 1))
def test_a_kink_anywhere_is_found(at):
    assert integral(lambda x: np.abs(x - at), UNIT) == pytest.approx((at**2 + (1 - at) ** 2) / 2, abs=1e-10)


@given(at=st.floats(0, 1))
def test_a_jump_anywhere_is_found(at):
    assert integral(lambda x: (x < at).astype(float), UNIT) == pytest.approx(at, abs=1e-10)


def test_a_singular_end_is_found():
    assert integral(np.sqrt, UNIT) == pytest.approx(2 / 3, abs=1e-10)
    assert integral(lambda x: x**0.05, UNIT) == pytest.approx(1 / 1.05, abs=1e-10)


def test_noise_below_the_tolerance_does_not_go_on_for_ever(rng):
    found = integral(lambda x: x + 1e-10 * rng.normal(size=x.shape), UNIT)
    assert found == pytest.approx(0.5, abs=1e-10)


def test_many_jumps_are_all_found():
    """A staircase of 300 uneven steps: the sum of its areas."""
    edges = np.append(0, np.sort(np.random.default_rng(0).random(299)))
    heights = np.random.default_rng(1).random(300)
    exact = np.sum(heights * np.diff(np.append(edges, 1)))
    found = integral(lambda x: heights[np.searchsorted(edges, x, side="right") - 1], np.linspace(0, 1, 65))
    assert found == pytest.approx(exact, abs=1e-10)


def test_panels_hold_the_rule_of_each():
    x, weights = panel_nodes(np.array([0.0, 1.0, 3.0]))
    assert weights.sum() == pytest.approx(3, abs=ROUNDING)
    assert weights @ x**9 == pytest.approx(3**10 / 10, rel=ROUNDING)


@given(at=st.floats(0, 1), height=st.floats(0.1, 5))
def test_the_top_of_a_hill_is_found(at, height):
    assert supremum(lambda x: height - (x - at) ** 2, UNIT) == pytest.approx(height, abs=ROUNDING)


@given(at=st.floats(0.01, 0.99))
def test_a_supremum_before_a_jump_is_found(at):
    assert supremum(lambda x: np.where(x < at, x, 0.0), UNIT) == pytest.approx(at, abs=1e-10)
