"""Softmax regression: slopes against finite differences, optima against their conditions."""

import numpy as np
import pytest

from calibrant.kernels.fit import softmax_regression as kernel
from calibrant.kernels.fit.softmax_regression import Data, Linear, fit, loss, value_and_slope


def rows(rng, n=60, k=4, soft=False):
    x = rng.normal(size=(n, k)) * 2
    labels = rng.dirichlet(np.ones(k), n) if soft else (x + rng.gumbel(size=x.shape)).argmax(axis=1)
    weights = rng.random(n) + 0.1
    return Data(x, labels, weights / weights.sum())


def start(k, diagonal):
    return Linear(np.ones(k) if diagonal else np.eye(k), np.zeros(k))


def penalties(k, diagonal, size):
    return Linear(np.full(k if diagonal else (k, k), size), np.full(k, size))


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_slope_is_that_of_the_loss(rng, diagonal, soft):
    data = rows(rng, soft=soft)
    at = start(4, diagonal).like(start(4, diagonal).packed() + rng.normal(size=(4, 2 if diagonal else 5)) * 0.3)
    slope = value_and_slope(data, at)[1] - kernel.moments_of(data, at)
    step = 1e-6
    for place in np.ndindex(slope.shape):
        bump = np.zeros(slope.shape)
        bump[place] = step
        up, down = (loss(data, at.like(at.packed() + sign * bump)) for sign in (1, -1))
        assert slope[place] == pytest.approx((up - down) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("most", [1 << 24, 0], ids=["a block per class", "one block"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_slope_vanishes_at_the_optimum(rng, diagonal, most, monkeypatch):
    monkeypatch.setattr(kernel, "MOST_CURVATURE", most)
    data, begin, penalty = rows(rng, 300), start(4, diagonal), penalties(4, diagonal, 1e-3)
    found = fit(data, begin, begin, penalty)
    slope = value_and_slope(data, found.at)[1] - kernel.moments_of(data, begin)
    pull = 2 * penalty.packed() * (found.at.packed() - begin.packed())
    assert found.converged
    assert np.abs(slope + pull).max() < 1e-7
    away = ((found.at.packed() - begin.packed()) ** 2 * penalty.packed()).sum()
    assert found.objective == pytest.approx(loss(data, found.at) + away, abs=1e-12)
    assert found.loss == pytest.approx(loss(data, found.at), abs=1e-12)


def test_where_the_search_starts_does_not_matter(rng):
    data, penalty = rows(rng, 200), penalties(4, False, 1e-3)
    centre = start(4, False)
    ends = [fit(data, begin, centre, penalty).at.packed() for begin in (centre, Linear(np.zeros((4, 4)), np.ones(4)))]
    between_classes = [end - end.mean(axis=0) for end in ends]  # adding a row to every row changes no prediction
    np.testing.assert_allclose(*between_classes, atol=1e-7)


def test_a_strong_penalty_holds_the_centre(rng):
    data = rows(rng)
    centre = Linear(np.full((4, 4), 0.3), np.full(4, -0.2))
    found = fit(data, start(4, False), centre, penalties(4, False, 1e6))
    np.testing.assert_allclose(found.at.packed(), centre.packed(), atol=1e-5)
