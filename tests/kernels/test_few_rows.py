"""Few rows of many classes: optima against their conditions and against the search in all parameters."""

import numpy as np
import pytest

from calibrant.kernels.fit import softmax_regression as kernel
from calibrant.kernels.fit.softmax_regression import Data, Linear, fit, loss, moments_of, value_and_slope

K = 70


def rows(rng, n=8, soft=False):
    x = rng.normal(size=(n, K)) * 2
    labels = rng.dirichlet(np.ones(K), n) if soft else rng.integers(0, K, n)
    weights = rng.random(n) + 0.1
    return Data(x, labels, weights / weights.sum())


def identity(scale=1.0):
    return Linear(np.eye(K) * scale, np.zeros(K))


def penalties(own, rest, bias):
    return Linear(np.where(np.eye(K) > 0, own, rest), np.full(K, bias))


def slopes(data, found, centre, penalty):
    """Of the penalised loss in all K(K + 1) parameters."""
    slope = value_and_slope(data, found.at)[1] - moments_of(data, centre)
    return slope + 2 * penalty.packed() * (found.at.packed() - centre.packed())


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("sizes", [(1e-9, 1.0, 1.0), (1e-9, 1e-3, 1e-5), (0.1, 0.1, 0.1), (3.0, 200.0, 3.0)])
def test_every_slope_vanishes(rng, sizes, soft):
    data, penalty = rows(rng, soft=soft), penalties(*sizes)
    found = fit(data, identity(), identity(), penalty)
    assert found.converged
    assert np.abs(slopes(data, found, identity(), penalty)).max() < 1e-7
    away = ((found.at.packed() - identity().packed()) ** 2 * penalty.packed()).sum()
    assert found.objective == pytest.approx(loss(data, found.at) + away, abs=1e-12)
    assert found.loss == pytest.approx(loss(data, found.at), abs=1e-12)


def test_it_agrees_with_the_search_in_all_parameters(rng, monkeypatch):
    data, penalty = rows(rng), penalties(0.05, 0.3, 0.1)
    few = fit(data, identity(0.7), identity(), penalty)
    monkeypatch.setattr(kernel, "MANY_CLASSES", K + 1)
    whole = fit(data, identity(0.7), identity(), penalty)
    # L-BFGS stops where a step gains 1e-12, with parameters known to its root
    np.testing.assert_allclose(few.at.packed(), whole.at.packed(), atol=1e-5)
    assert few.objective <= whole.objective + 1e-12


def test_where_the_search_starts_does_not_matter(rng):
    data, before, after = rows(rng), penalties(1e-9, 1.0, 1.0), penalties(1e-9, 0.1, 0.01)
    first = fit(data, identity(), identity(), before)
    ends = [fit(data, begin, identity(), after) for begin in (identity(), first.at)]
    assert ends[0].objective == pytest.approx(ends[1].objective, abs=1e-12)
    zero = Linear(np.zeros((K, K)), np.zeros(K))
    centred = [fit(data, begin, zero, penalties(0.1, 0.1, 0.1)).at.packed() for begin in (identity(), zero)]
    np.testing.assert_allclose(*centred, atol=1e-7)


def test_rows_without_weight_and_rows_that_are_repeated(rng):
    data, penalty = rows(rng), penalties(0.1, 1.0, 0.1)
    twice = Data(np.repeat(data.x, 2, axis=0), np.repeat(data.labels, 2), np.repeat(data.weights, 2) / 2)
    more = Data(np.r_[data.x, rng.normal(size=(2, K))], np.r_[data.labels, 0, 1], np.r_[data.weights, 0, 0])
    once = fit(data, identity(), identity(), penalty).at.packed()
    for same in (twice, more):
        np.testing.assert_allclose(fit(same, identity(), identity(), penalty).at.packed(), once, atol=1e-8)


def test_rows_that_are_all_zero_leave_the_offsets(rng):
    data = Data(np.zeros((2, K)), np.array([3, 3]), np.full(2, 0.5))
    found = fit(data, identity(), identity(), penalties(0.1, 0.1, 0.1))
    np.testing.assert_allclose(found.at.weight, np.eye(K), atol=1e-12)
    assert found.at.bias.argmax() == 3
