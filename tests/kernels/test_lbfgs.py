"""A bounded search: inside, at a bound, and where it must give up."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.fit.lbfgs import least
from tolerances import OPTIMISER


def bowl(centre):
    """Σ (x − centre)² with its slopes."""
    return lambda x: (float(((x - centre) ** 2).sum()), 2 * (x - centre))


@pytest.mark.parametrize(("centre", "expected"), [([2.0, -1.0], [2.0, 0.5]), ([1.0, 3.0], [1.0, 3.0])])
def test_the_bottom_or_the_bound(centre, expected):
    found = least(bowl(np.array(centre)), np.array([5.0, 5.0]), np.array([0.0, 0.5]))
    np.testing.assert_allclose(found.at, expected, atol=OPTIMISER)
    assert found.value == pytest.approx(bowl(np.array(centre))(np.array(expected))[0], abs=OPTIMISER)
    assert found.converged


def test_wrong_slopes_are_no_convergence():
    found = least(lambda x: (float((x**2).sum()), -2 * x - 1), np.array([1.0]), np.array([-9.0]))
    assert not found.converged
