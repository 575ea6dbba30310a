"""Weights of a mixture: optimality by the conditions of Karush, Kuhn and Tucker."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.fit.newton import fit_mixture


@given(st.integers(1, 40), st.integers(0, 10_000))
def test_no_move_among_the_weights_lowers_the_loss(n, seed):
    rng = np.random.default_rng(seed)
    chances = rng.beta(rng.choice([0.3, 1, 4]), 1, size=(n, 3)) + 1e-9
    w = rng.random(n) + 0.01
    found = fit_mixture(chances, w)
    assert found.coefficients.sum() == pytest.approx(1, abs=1e-12)
    assert (found.coefficients >= 0).all()
    slope = -((w / w.sum()) @ (chances / (chances @ found.coefficients)[:, None]))
    assert slope.min() > -1 - 1e-7
    assert np.abs(slope[found.coefficients > 1e-9] + 1).max() < 1e-6


def test_the_only_good_forecaster_gets_everything():
    chances = np.array([[0.9, 0.1, 0.5], [0.8, 0.2, 0.5]])
    assert fit_mixture(chances, np.ones(2)).coefficients.tolist() == [1, 0, 0]


def test_a_forecaster_that_called_it_impossible_gets_no_more_than_it_may():
    found = fit_mixture(np.array([[0.0, 0.5], [1.0, 0.5]]), np.ones(2))
    assert np.isfinite(found.loss)
    assert found.coefficients[1] > 0
