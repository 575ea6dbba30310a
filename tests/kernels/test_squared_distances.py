"""Mean and spread of a block."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.sums.stable_sums import spread, weighted_spread
from tolerances import ROUNDING

roads = pytest.mark.parametrize("road", ["compiled", "plain"])


def by(kernel, road):
    return kernel if road == "compiled" else kernel.plain


@roads
@given(values=st.lists(st.integers(-1000, 1000), min_size=1, max_size=70), shift=st.sampled_from([0, 10**9]))
def test_it_is_that_of_exact_sums_even_far_from_zero(road, values, shift):
    mean = Fraction(sum(values), len(values))
    squares = float(sum((Fraction(v) - mean) ** 2 for v in values))
    found = by(spread, road)(np.array(values, dtype=float) + shift)
    assert found[0] == pytest.approx(float(mean) + shift, abs=ROUNDING * max(1, shift))
    assert found[1] == pytest.approx(squares, rel=1e-9, abs=1e-6 if shift else ROUNDING * 1e6)  # squares of 10⁻³·10⁶


@roads
@given(data=st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 3)), min_size=1, max_size=70))
def test_a_weight_is_a_row_that_often(road, data):
    values, times = np.array(data, dtype=float).T
    rows, weight, mean, squares = by(weighted_spread, road)(values, times)
    assert (rows, weight) == ((times > 0).sum(), times.sum())
    if rows:
        repeated = np.repeat(values, times.astype(int))
        assert mean == pytest.approx(repeated.mean(), abs=1e-11)
        assert squares == pytest.approx(((repeated - repeated.mean()) ** 2).sum(), abs=1e-9)
    else:
        assert (mean, squares) == (0, 0)


@roads
def test_a_row_of_no_weight_is_not_there_even_if_infinite(road):
    found = by(weighted_spread, road)(np.array([np.inf, 1.0, 3.0]), np.array([0.0, 1.5, 1.5]))
    assert found == (2, 3.0, 2.0, 3.0)


def test_an_infinite_row_makes_the_mean_infinite():
    assert spread(np.array([1.0, np.inf]))[0] == np.inf
    assert weighted_spread(np.array([1.0, np.inf]), np.ones(2))[2] == np.inf
