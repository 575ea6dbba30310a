"""Softmax regression by Newton's method: the same minimum as L-BFGS, the curvature by differences, where it gives way."""

import numpy as np
import pytest

from calibrant.kernels.fit import softmax_newton, softmax_regression
from calibrant.kernels.fit.softmax_folds import Problems, least_each
from calibrant.kernels.fit.softmax_regression import Data, Linear, fit


def problem(rng, diagonal, k=4, n=150, soft=False):
    x = rng.normal(size=(n, k))
    labels = (x + rng.gumbel(size=x.shape)).argmax(axis=1)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.9)
    given = rng.dirichlet(np.ones(k), n) if soft else labels
    ridge = Linear(np.full(k if diagonal else (k, k), 0.03), np.full(k, 0.02))
    centre = Linear(np.ones(k) if diagonal else np.eye(k), np.zeros(k))
    return Data(x, given, weights / weights.sum()), centre, ridge


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_minimum_is_that_of_the_other_search(rng, monkeypatch, diagonal, soft):
    data, centre, ridge = problem(rng, diagonal, soft=soft)
    for prior in (0.0, 0.1):
        mine = fit(data, centre, centre, ridge, prior)
        with monkeypatch.context() as patched:
            patched.setattr(softmax_newton, "MOST_WORK", 0)
            other = fit(data, centre, centre, ridge, prior)
        assert mine.converged
        assert mine.at.packed() == pytest.approx(other.at.packed(), abs=1e-6)
        assert mine.objective == pytest.approx(other.objective, rel=1e-12)
        assert mine.loss == pytest.approx(other.loss, abs=1e-8)


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_curvature_is_that_of_differences(rng, monkeypatch, diagonal):
    data, centre, ridge = problem(rng, diagonal, k=3, n=40)
    seen = {}

    def watched(passed, x, weights, diagonal, ridge, start, *_):
        at = start + 0.3 * rng.normal(size=start.shape)
        seen["found"] = softmax_newton.curvature(x, passed(at)[2], weights, diagonal, ridge)
        sides = [[passed(at + s * e.reshape(at.shape))[1].ravel() for s in (1e-5, -1e-5)] for e in np.eye(at.size)]
        seen["expected"] = np.array([(up - down) / 2e-5 for up, down in sides])

    monkeypatch.setattr(softmax_regression, "newton_least", watched)
    fit(data, centre, centre, ridge)
    assert seen["found"] == pytest.approx(seen["expected"], abs=1e-8)


def test_without_a_penalty_on_every_parameter_or_with_many_it_gives_way(rng, monkeypatch):
    def refused(*_):
        raise AssertionError

    monkeypatch.setattr(softmax_regression, "newton_least", refused)
    data, centre, ridge = problem(rng, True)
    assert fit(data, centre, centre, Linear(ridge.weight, 0 * ridge.bias)).converged
    assert not softmax_newton.worth_newton(1000, 100)
    assert softmax_newton.worth_newton(1000, 30)


def test_a_search_from_far_away_ends_at_the_same_place(rng):
    data, centre, ridge = problem(rng, False)
    near = fit(data, centre, centre, ridge)
    far = fit(data, Linear(-8 * np.eye(4), np.full(4, 3.0)), centre, ridge)
    assert far.at.packed() == pytest.approx(near.at.packed(), abs=1e-6)


def test_a_search_that_begins_near_its_end_takes_one_step(rng):
    """Its error is that of a Newton step: far below the noise of the rows that a fold leaves out."""
    data, centre, ridge = problem(rng, False)
    exact = fit(data, centre, centre, ridge)
    moved = Linear(exact.at.weight + 1e-4, exact.at.bias - 1e-4)
    rough = fit(data, moved, centre, ridge, gain=1e-4)
    assert rough.objective == pytest.approx(exact.objective, rel=1e-9)
    assert rough.at.packed() == pytest.approx(exact.at.packed(), abs=1e-5)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("n_fits", [1, 1000])  # the curvature is worth while, or only scales the search
def test_what_guided_one_search_guides_those_of_nearly_the_same_rows(rng, diagonal, n_fits):
    data, centre, ridge = problem(rng, diagonal, k=6, n=1000 if n_fits == 1 else 150)
    exact = fit(data, centre, centre, ridge)
    guide = softmax_regression.guide_of(data, exact.at, ridge, n_fits)
    assert list(guide) == (["scale"] if n_fits == 1 and not diagonal else ["inverse"])
    part = data.rows(np.arange(len(data.x)) % 5 > 0)
    found, alone = fit(part, exact.at, centre, ridge, **guide), fit(part, centre, centre, ridge)
    assert found.objective == pytest.approx(alone.objective, rel=1e-9)
    turned = {"inverse": -guide["inverse"]} if "inverse" in guide else {}  # no descent: the curvature is found anew
    assert fit(part, exact.at, centre, ridge, **turned).objective == pytest.approx(alone.objective, rel=1e-9)


@pytest.mark.parametrize("diagonal", [False, True])
def test_searches_on_parts_at_once_end_where_each_does(rng, diagonal):
    data, centre, ridge = problem(rng, diagonal)
    exact = fit(data, centre, centre, ridge)
    parts = data.weights * (np.arange(3)[:, None] != np.arange(len(data.x)) % 5)
    parts /= parts.sum(axis=1, keepdims=True)
    x = np.stack([data.x, data.x + 0.01, 1.05 * data.x])
    ridges = np.stack([ridge.packed() * factor for factor in (1.0, 1.2, 0.9)])
    problems = Problems(x, data.labels, parts, centre.packed(), ridges)
    inverse = softmax_regression.guide_of(data, exact.at, ridge, 1000)["inverse"]
    found, ended = least_each(problems, exact.at.packed(), inverse, np.full(3, 1e-10))
    assert ended.all()
    for mine, features, weights, factor in zip(found, x, parts, (1.0, 1.2, 0.9), strict=True):
        other = Linear(ridge.weight * factor, ridge.bias * factor)
        alone = fit(Data(features, data.labels, weights), centre, centre, other)
        assert mine == pytest.approx(alone.at.packed(), abs=1e-4)
    _, ended = least_each(problems, exact.at.packed(), -inverse, np.full(3, 1e-12))
    assert not ended.any()  # up, not down
