"""The loss of a temperature, its slopes, and the search for its minimum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant.kernels import logits
from calibrant.kernels.fit import inverse_temperature as temperature
from naive.scores import temperature_loss


def pair(z):
    return np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z


def slopes(said, beta):
    z = pair(said.probs)
    gaps = z[np.arange(len(z)), said.labels].astype(float) - z.max(axis=1)
    return temperature.slopes(z, gaps, said.weights, beta)


@given(some.logit_rows(), st.sampled_from([0.01, 0.3, 1.0, 2.5]))
def test_the_loss_is_the_naive_one(said, beta):
    expected = temperature_loss(said.labels, said.probs, 1 / beta, said.weights)
    assert slopes(said, beta)[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_slopes_are_those_of_the_loss(rng):
    said = some.Rows(rng.integers(0, 4, 60), rng.normal(size=(60, 4)) * 2, rng.uniform(0.5, 2, 60))
    for beta in (0.2, 1.0, 3.0):
        h = 1e-4  # central differences: error about h² in the first and second slope
        low, here, high = (slopes(said, b) for b in (beta - h, beta, beta + h))
        assert here[1] == pytest.approx((high[0] - low[0]) / (2 * h), abs=1e-6)
        assert here[2] == pytest.approx((high[1] - low[1]) / (2 * h), abs=1e-6)
        assert here[2] > 0


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_size_of_blocks_does_not_matter(monkeypatch, rng, block):
    said = some.Rows(rng.integers(0, 4, 60), rng.normal(size=(60, 4)), rng.uniform(0.5, 2, 60))
    whole = slopes(said, 0.7)
    monkeypatch.setattr(logits, "BLOCK", block)
    assert slopes(said, 0.7) == pytest.approx(whole, rel=1e-12)


def quadratic(at):
    """Slopes in β of a loss with its minimum at ln β = at."""
    best = math.exp(at)
    return lambda beta: ((beta - best) ** 2 + 1, 2 * (beta - best), 2.0)


@pytest.mark.parametrize("start", [-6.0, 0.0, 6.0, 99.0])
@pytest.mark.parametrize("at", [-3.0, -0.1, 0.0, 2.0])
def test_the_search_finds_the_minimum_from_anywhere(start, at):
    found = temperature.search(quadratic(at), start, -7.0, 7.0, 1e-5)
    assert found.converged
    assert found.at_bound == 0
    assert found.log_beta == pytest.approx(at, abs=1e-8)


@pytest.mark.parametrize(("at", "bound", "side"), [(9.0, 7.0, 1), (-9.0, -7.0, -1)])
def test_the_search_stops_at_a_bound(at, bound, side):
    found = temperature.search(quadratic(at), 0.0, -7.0, 7.0, 1e-5)
    assert found.log_beta == pytest.approx(bound)
    assert found.at_bound == side


def test_the_search_gives_up_on_a_loss_that_leads_it_nowhere():
    turns = iter(range(10**6))
    found = temperature.search(lambda beta: (1.0, (-1.0) ** next(turns) * beta, 0.01), 0.0, -7.0, 7.0, 1e-9)
    assert found.passes <= temperature.MOST_PASSES
