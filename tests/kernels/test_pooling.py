"""Rows pooled by equal prediction, and cuts between the groups."""

from __future__ import annotations

from fractions import Fraction
from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant.kernels.rows import buckets
from calibrant.kernels.rows import pooling as kernel
from calibrant.kernels.rows.pooling import cut_sums, grouped, mass_cuts, width_cuts
from calibrant.state.pooled import Pooled
from crowded import SCORES, scored
from naive import data
from naive import sweep as naive
from tolerances import ROUNDING


def pooled(said):
    """{prediction: (weight, hits)} by plain loops; predictions of weight 0 left out."""
    w = np.ones(said.n) if said.weights is None else said.weights
    found = {}
    for p, y, u in zip(said.probs, said.labels, w, strict=True):
        weight, hits = found.get(float(p) + 0, (0.0, 0.0))
        found[float(p) + 0] = (weight + u, hits + u * y)
    return {p: row for p, row in sorted(found.items()) if row[0] > 0}


@given(data.events(), st.booleans())
def test_groups_are_those_of_plain_loops(said, soft):
    outcomes = said.labels / 2 if soft else said.labels.astype(np.uint8)
    groups = grouped(said.probs, outcomes, said.weights)
    expected = pooled(some.Rows(outcomes, said.probs, said.weights))
    assert groups.values.tolist() == list(expected)
    np.testing.assert_allclose(groups.weight, [w for w, _ in expected.values()], rtol=ROUNDING)
    np.testing.assert_allclose(groups.hits, [h for _, h in expected.values()], rtol=ROUNDING)
    assert groups.values.dtype == np.float64


def test_groups_of_weight_zero_are_left_out():
    outcomes, weights = np.array([1, 1, 0, 1], dtype=np.uint8), np.array([0.0, 2.0, 0.0, 0.5])
    groups = grouped(np.array([0.1, 0.2, 0.3, 0.2]), outcomes, weights)
    assert (groups.values.tolist(), groups.weight.tolist(), groups.hits.tolist()) == ([0.2], [2.5], [2.5])


@given(data.events())
def test_residuals_add_up_to_the_mean_gap(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    w = np.ones(said.n) if said.weights is None else said.weights
    terms = [u * (float(p) - y) for p, y, u in zip(said.probs, said.labels, w, strict=True)]
    assert groups.residual.sum() / groups.total == pytest.approx(fsum(terms) / fsum(w), abs=ROUNDING)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=30), st.integers(1, 60))
def test_mass_cuts_are_those_of_exact_shares(weights, n_bins):
    below = np.cumsum(weights).astype(float)
    total = int(below[-1])
    shares = [Fraction(int(b), total) for b in below]
    inner = [sum(share <= Fraction(i, n_bins) for share in shares) for i in range(1, n_bins)]
    assert mass_cuts(below, n_bins).tolist() == [0, *inner, len(weights)]


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 1e-6, 1e6])
def test_mass_cuts_do_not_change_when_all_weights_are_scaled(rng, scale):
    weights = rng.integers(1, 5, 40).astype(float)
    for n_bins in range(1, 50):
        expected = mass_cuts(np.cumsum(weights), n_bins)
        assert np.array_equal(mass_cuts(np.cumsum(weights * scale), n_bins), expected), n_bins


@given(data.events(weighted=False, most=20), st.integers(1, 30))
def test_cuts_part_the_rows_like_plain_loops(said, n_bins):
    groups = grouped(said.probs, said.labels.astype(np.uint8), None)
    p = [float(v) for v in said.probs]
    for rule, cuts in (("mass", mass_cuts(groups.below(), n_bins)), ("width", width_cuts(groups.values, n_bins))):
        bins = naive.RULES[rule](p, n_bins)
        sums = cut_sums(groups, cuts)
        expected = [
            [len(rows), fsum(p[j] for j in rows), fsum(p[j] ** 2 for j in rows), said.labels[rows].sum() if rows else 0]
            for rows in bins
        ]
        np.testing.assert_allclose(sums, expected, rtol=0, atol=ROUNDING * said.n, err_msg=rule)


def test_zero_is_in_the_first_bin_of_equal_width():
    assert width_cuts(np.array([0.0, 0.5, 1.0]), 2).tolist() == [0, 2, 3]


def test_empty_bins_are_rows_of_zeros():
    groups = Pooled(np.array([0.1, 0.9]), np.array([2.0, 3.0]), np.array([1.0, 3.0]))
    sums = cut_sums(groups, np.array([0, 0, 1, 1, 2, 2]))
    np.testing.assert_allclose(sums, [[0] * 4, [2, 0.2, 0.02, 1], [0] * 4, [3, 2.7, 2.43, 3], [0] * 4], atol=ROUNDING)


@pytest.mark.some(5)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_many_rows_are_pooled_alike(rng, monkeypatch, kind, dtype, plain):
    probs, outcomes = scored(kind, rng, 700, dtype)
    expected = grouped(probs, outcomes, None)
    monkeypatch.setattr(buckets, "BUCKETS_FROM", 1)
    monkeypatch.setattr(buckets, "RUN_ROWS", 70)
    if plain:
        for name in ("count_groups", "pool_rows"):
            monkeypatch.setattr(kernel, name, getattr(kernel, name).plain)
    found = grouped(probs, outcomes, None)
    for name in ("values", "weight", "hits", "integral", "single"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", SCORES)
def test_sums_between_cuts_are_the_same_in_one_pass(rng, monkeypatch, kind, plain):
    groups = grouped(*scored(kind, rng, 700), None)
    cuts = [mass_cuts(groups.below(), 9), width_cuts(groups.values, 20)]
    expected = [cut_sums(groups, cut) for cut in cuts]
    monkeypatch.setattr(kernel, "COMPILE_FROM", 1)
    if plain:
        monkeypatch.setattr(kernel, "add_between", kernel.add_between.plain)
    for cut, sums in zip(cuts, expected, strict=True):
        np.testing.assert_allclose(cut_sums(groups, cut), sums, rtol=1e-12, atol=0)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000, 1001])
@pytest.mark.parametrize("n_bins", [1, 2, 3, 15, 64, 997])
def test_cuts_of_single_rows_need_no_cumulative_weights(n, n_bins):
    values = (np.arange(n) + 0.5) / n
    single = Pooled(values, np.ones(n), np.zeros(n), single=True)
    np.testing.assert_array_equal(kernel.pooled_cuts(single, n_bins), mass_cuts(np.arange(1.0, n + 1), n_bins))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("digits", [0, 1, 3, 17])
@pytest.mark.parametrize("n", [1, 2, 500])
def test_rows_are_ordered_like_a_stable_sort(rng, n, digits, dtype):
    probs, outcomes = rng.random(n).round(digits).astype(dtype), rng.integers(0, 2, n).astype(np.uint8)
    probs[: n // 10] = -0.0
    for p, y in ((probs, outcomes), kernel.in_order(probs, outcomes, None)[:2]):
        np.testing.assert_array_equal(kernel.event_order(p, y), np.lexsort((y, p)))
