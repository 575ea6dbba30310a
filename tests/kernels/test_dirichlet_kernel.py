"""Leave-one-out Dirichlet kernel sums: plain loops, tiles and weights."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.pairs import row_pairs as dirichlet
from naive import canonical as naive

EXPONENTS = 1e-10
"""Kernels are exponentials of numbers up to 1e3/h, rounded in the fifteenth digit."""


@pytest.fixture
def data(rng):
    rows = rng.dirichlet([1, 2, 3], 20)
    rows[:3] = [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]
    return rows, np.eye(3)[rng.integers(0, 3, 20)]


@pytest.mark.parametrize("h", [0.01, 0.1, 1.0])
def test_rates_are_those_of_plain_loops(data, h):
    rows, labels = data
    found, _ = dirichlet.loo_rates(rows, labels, np.ones(20), h)
    np.testing.assert_allclose(found, naive.rates(rows.tolist(), labels.tolist(), h), rtol=0, atol=EXPONENTS)


@pytest.mark.parametrize("h", [0.01, 0.1, 1.0])
def test_the_density_is_that_of_plain_loops(data, h):
    rows, _ = data
    found = dirichlet.loo_log_density(rows, np.ones(20), h, np.arange(20))
    assert found.mean() == pytest.approx(naive.log_likelihood(rows.tolist(), h), rel=EXPONENTS)


def test_some_rows_are_judged_like_all(data):
    rows, labels = data
    _, every = dirichlet.loo_rates(rows, labels, np.ones(20), 0.1)
    at = np.array([4, 4, 0, 19])
    np.testing.assert_allclose(dirichlet.loo_log_density(rows, np.ones(20), 0.1, at), every[at], rtol=EXPONENTS)


def test_a_row_of_weight_three_leaves_two_of_itself(data, rng):
    rows, labels = data
    times = rng.integers(1, 4, 20)
    rates, density = dirichlet.loo_rates(rows, labels, times.astype(float), 0.1)
    out_rates, out_density = dirichlet.loo_rates(
        np.repeat(rows, times, axis=0), np.repeat(labels, times, axis=0), np.ones(times.sum()), 0.1
    )
    np.testing.assert_allclose(np.repeat(rates, times, axis=0), out_rates, rtol=0, atol=EXPONENTS)
    np.testing.assert_allclose(np.repeat(density, times), out_density, rtol=EXPONENTS, atol=EXPONENTS)


@pytest.mark.parametrize("entries", [1, 60, 10_000])
def test_the_size_of_tiles_does_not_matter(monkeypatch, data, entries):
    rows, labels = data
    whole = dirichlet.loo_rates(rows, labels, np.ones(20), 0.1)
    monkeypatch.setattr(dirichlet, "TILE_ENTRIES", entries)
    for a, b in zip(dirichlet.loo_rates(rows, labels, np.ones(20), 0.1), whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=EXPONENTS, atol=EXPONENTS)


def test_rates_are_shares(data):
    rows, labels = data
    for h in (1e-5, 1e-2, 1.0):
        found, density = dirichlet.loo_rates(rows, labels, np.ones(20), h)
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=EXPONENTS)
        assert np.isfinite(density).all()
