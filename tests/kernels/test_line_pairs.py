"""Sums over all pairs of points on a line, and the median of their distances."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from math import exp, fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.pairs import line_pairs as laplace
from calibrant.kernels.pairs.line_pairs import laplace_pair_sum, median_distance, middle_counts, pair_sum
from calibrant.kernels.rows import blocks
from calibrant.kernels.rows.pooling import grouped
from naive import data
from naive.rows import counted
from tolerances import ROUNDING


def all_pairs(values, a, kernel):
    return fsum(
        x * y * kernel(float(abs(v - u)))
        for v, x in zip(values, a, strict=True)
        for u, y in zip(values, a, strict=True)
    )


@st.composite
def weighed_points(draw):
    values = np.unique(draw(st.lists(st.floats(0, 1), min_size=1, max_size=25)))
    a = draw(st.lists(st.floats(-1, 1).map(lambda v: round(v, 6)), min_size=len(values), max_size=len(values)))
    return values, np.array(a)


@given(weighed_points(), st.sampled_from([10.0, 0.4, 0.01, 1e-3, 1e-6, 1e-12, 1e-200]))
def test_the_recursion_is_the_sum_over_all_pairs(points, nu):
    values, a = points
    expected = all_pairs(values, a, lambda d: exp(-d / nu))
    assert laplace_pair_sum(values, a, nu) == pytest.approx(expected, abs=ROUNDING * max(1, float(a @ a)))


@pytest.mark.parametrize("longest", [0.5, 3.0, 40.0])
def test_the_length_of_a_stretch_does_not_matter(monkeypatch, rng, longest):
    values, a = np.sort(rng.random(200)), rng.normal(size=200)
    whole = laplace_pair_sum(values, a, 0.01)
    monkeypatch.setattr(laplace, "LARGEST_EXPONENT", longest)
    assert laplace_pair_sum(values, a, 0.01) == pytest.approx(whole, rel=1e-12)


def test_a_long_line_of_short_steps_neither_overflows_nor_loses_digits(rng):
    # bandwidth 1e-4: exponents up to 10⁴, so more than thirty stretches
    values, a = np.sort(rng.random(2000)), rng.normal(size=2000)
    kernel = np.exp(-np.abs(values[:, None] - values) / 1e-4)
    assert laplace_pair_sum(values, a, 1e-4) == pytest.approx(float(a @ kernel @ a), rel=1e-12)


@given(weighed_points(), st.sampled_from([10.0, 0.4, 1e-3, 1e-12, 1e-310]))
def test_point_by_point_compiled_or_not_is_the_sum_over_all_pairs(points, nu):
    values, a = points
    expected = all_pairs(values, a, lambda d: exp(-min(d / nu, 800.0)))
    for recursion in (laplace.laplace_recursion, laplace.laplace_recursion.plain):
        assert recursion(values, a, nu)[0] == pytest.approx(expected, abs=ROUNDING * max(1, float(a @ a)))


@pytest.mark.parametrize("nu", [10.0, 0.4, 1e-3, 1e-12])
@pytest.mark.parametrize("block", [1, 2, 7, 1000])
def test_blocks_of_points_meet(rng, monkeypatch, block, nu):
    values, a = np.sort(rng.random(100)), rng.normal(size=100)
    expected = all_pairs(values, a, lambda d: exp(-d / nu))
    monkeypatch.setattr(laplace, "over_blocks", partial(blocks.over_blocks, block=block))
    monkeypatch.setattr(laplace, "COMPILE_FROM", 1)
    assert laplace_pair_sum(values, a, nu) == pytest.approx(expected, rel=1e-12)


def test_many_stretches_are_handed_to_the_recursion(monkeypatch, rng):
    values, a = np.sort(rng.random(100)), rng.normal(size=100)
    stretches = laplace_pair_sum(values, a, 1e-4)
    monkeypatch.setattr(laplace, "MANY_STRETCHES", 1)
    assert laplace_pair_sum(values, a, 1e-4) == pytest.approx(stretches, rel=1e-12)


@given(weighed_points(), st.sampled_from([1, 3, 1000]))
def test_any_kernel_is_the_sum_over_all_pairs(points, block):
    values, a = points
    expected = all_pairs(values, a, lambda d: 1 / (1 + d * d))
    assert pair_sum(values, a, lambda d: 1 / (1 + d * d), block) == pytest.approx(
        expected, abs=ROUNDING * max(1, float(a @ a))
    )


@given(data.events(most=25).map(counted))
def test_the_median_is_that_of_all_pairs(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    rows = np.repeat(groups.values, groups.weight.astype(int))
    distances = [abs(p - q) for p, q in combinations(rows, 2)]
    expected = float(np.median(distances)) if distances else 0.0
    # bisection compares p + t with q, rounded, where the distance is q − p, rounded
    assert median_distance(groups.values, groups.weight) == pytest.approx(expected, abs=1e-15)


def test_the_median_of_an_even_number_of_pairs_is_the_middle_of_two():
    # distances 1, 2, 3, 1, 2, 1 over 8: in order 1 1 1 2 2 3
    values = np.array([0, 1, 2, 3]) / 8
    assert median_distance(values, np.ones(4)) == pytest.approx(1.5 / 8, abs=ROUNDING)


@pytest.mark.parametrize(("pairs", "counts"), [(1, (1, 1)), (2, (1, 2)), (3, (2, 2)), (6, (3, 4)), (2.5, (1.25, 1.25))])
def test_the_middle_of_so_many_pairs(pairs, counts):
    assert middle_counts(pairs) == counts


@pytest.mark.parametrize("plain", [False, True])
def test_a_compiled_count_of_pairs_gives_the_same_median(rng, monkeypatch, plain):
    values = np.unique(rng.integers(0, 400, 200) / 400)
    weight = rng.integers(1, 4, len(values)).astype(float)
    expected = laplace.median_distance(values, weight)
    monkeypatch.setattr(laplace, "COMPILE_FROM_GROUPS", 1)
    monkeypatch.setattr(laplace, "GROUPS_PER_CORE", 7)
    monkeypatch.setattr(blocks, "n_cores", lambda: 2)
    if plain:
        monkeypatch.setattr(laplace, "weight_within", laplace.weight_within.plain)
    assert laplace.median_distance(values, weight) == expected


@pytest.mark.parametrize("digits", [1, 3, 16])
@pytest.mark.parametrize("counted", [False, True])
def test_the_compiled_search_finds_the_very_distance_that_is_in_the_middle(monkeypatch, digits, counted):
    rng = np.random.default_rng(digits)
    values = np.unique(rng.random(90).round(digits))
    weight = rng.integers(1, 4, len(values)).astype(float) if counted else np.ones(len(values))
    rows = np.repeat(values, weight.astype(int))
    first, second = np.triu_indices(len(rows), 1)
    distances = np.sort(np.abs(rows[first] - rows[second]))
    monkeypatch.setattr(laplace, "COMPILE_FROM_GROUPS", 1)
    monkeypatch.setattr(laplace, "FEW_PAIRS", 8)
    middle = (distances[(len(distances) - 1) // 2] + distances[len(distances) // 2]) / 2
    assert laplace.median_distance(values, weight) == pytest.approx(middle, abs=1e-15)
    steps, mass = np.empty((2, len(values) ** 2))
    n = laplace.steps_between.plain(values, weight, 0.1, 0.3, steps, mass)
    pairs = (values[None, :] > values[:, None] + 0.1) & (values[None, :] <= values[:, None] + 0.3)
    expected = (values[None, :] - values[:, None])[pairs]
    assert np.allclose(np.sort(steps[:n]), np.sort(expected), rtol=0, atol=1e-15)
    assert mass[:n].sum() == (weight[:, None] * weight)[pairs].sum()
