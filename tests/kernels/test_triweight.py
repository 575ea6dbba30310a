"""Sums of the triweight kernel: every point one by one, and three ways to the same sums."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.fit import smooth_rate as triweight
from tolerances import ROUNDING

WIDTHS = st.sampled_from([1.0, 0.3, 0.05, 0.011])


def loop_sums(at, points, columns, h):
    def one(x, c):
        return fsum(w * (1 - ((x - p) / h) ** 2) ** 3 for p, w in zip(points, c, strict=True) if abs(x - p) <= h)

    return [[one(x, c) for x in at] for c in columns]


@st.composite
def lines(draw):
    """Sorted points with ties, on and beside the cells, within [−1, 2]; a column of weights and one of hits."""
    n = draw(st.integers(1, 25))
    one = st.one_of(st.floats(-1, 2).map(lambda v: round(v, 4)), st.integers(-20, 40).map(lambda i: i / 20))
    points = np.sort(draw(st.lists(one, min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=float)
    return points, weight, weight * np.array(draw(st.lists(st.sampled_from([0, 0.5, 1]), min_size=n, max_size=n)))


@given(lines(), WIDTHS)
def test_prefix_moments_give_the_sums_of_loops(line, h):
    points, weight, hits = line
    at = np.concatenate([points, np.linspace(0, 1, 7), points + h, points - h])
    expected = loop_sums(at, points, (weight, hits), h)
    found = triweight.triweight_sums(at, points, weight, hits, h)
    for a, b in zip(found, expected, strict=True):
        # a polynomial of degree 6 with coefficients up to 100 in a cell
        np.testing.assert_allclose(a, b, rtol=0, atol=100 * ROUNDING * max(1, weight.sum()))


@pytest.mark.parametrize("h", [0.5, 0.03, 0.002])
def test_compiled_plain_and_numpy_sums_are_the_same(monkeypatch, rng, h):
    points = np.sort(rng.uniform(-0.2, 1.2, 300).round(3))
    weight = rng.integers(0, 5, 300).astype(float)
    hits, at = weight * rng.random(300), np.concatenate([points, rng.random(50)])
    found = {"numpy": triweight.triweight_sums(at, points, weight, hits, h)}
    monkeypatch.setattr(triweight, "COMPILE_FROM_POINTS", 1)
    found["compiled"] = triweight.triweight_sums(at, points, weight, hits, h)
    for name in ("cell_moments", "window_sums"):
        monkeypatch.setattr(triweight, name, getattr(triweight, name).plain)
    found["uncompiled"] = triweight.triweight_sums(at, points, weight, hits, h)
    for name, sums in found.items():
        np.testing.assert_allclose(sums, found["numpy"], rtol=0, atol=ROUNDING * weight.sum(), err_msg=name)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_size_of_blocks_does_not_matter(monkeypatch, rng, block):
    points, ones = np.sort(rng.random(60)), np.ones(60)
    whole = triweight.triweight_sums(points, points, ones, points, 0.1)
    monkeypatch.setattr(triweight, "BLOCK_QUERIES", block)
    assert np.array_equal(triweight.triweight_sums(points, points, ones, points, 0.1), whole)


@pytest.mark.parametrize("t", [-1.5, -0.3, 0.0, 0.7, 1.5])
def test_the_polynomial_is_the_kernel(t):
    coefficients = [*triweight.polynomial(t), -1.0]
    for u in (-0.5, -0.1, 0.0, 0.25, 0.5):
        expected = (1 - (t - u) ** 2) ** 3
        assert sum(c * u**k for k, c in enumerate(coefficients)) == pytest.approx(expected, abs=ROUNDING)


def test_points_out_of_reach_add_nothing():
    mass, hits = triweight.triweight_sums(np.array([0.9]), np.array([0.1]), np.ones(1), np.ones(1), 0.2)
    assert mass.tolist() == hits.tolist() == [0]
