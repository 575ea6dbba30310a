"""Sums within equal-width bins: exact bins, and three ways to the same sums."""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import cache, partial, reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant.bins import EqualWidth
from calibrant.kernels.rows import blocks
from calibrant.kernels.sums import bin_sums
from calibrant.kernels.sums import bin_sums as class_sums
from tolerances import ROUNDING

FROM_GRIDS = (*range(1, 41), 49, 64, 97, 100, 128, 255, 1000, 1023, 4096, 65535)
BIN_COUNTS = (1, 2, 3, 5, 7, 10, 15, 16, 20, 49, 100, 1000)
NEVER = 10**12


@cache
def exact_edges(n_bins):
    return [Fraction(i / n_bins) for i in range(n_bins + 1)]


def exact_bin(p, n_bins, closed):
    """By rational arithmetic, against the float64 edges i/n_bins."""
    p, edges = Fraction(float(p)), exact_edges(n_bins)
    if closed == "right":
        return max(0, bisect_left(edges, p) - 1)
    return min(n_bins - 1, bisect_right(edges, p) - 1)


def on_and_beside_the_grid(grid, dtype):
    on = (np.arange(grid + 1) / grid).astype(dtype)
    if grid > 100:
        on = np.concatenate([on[:20], on[grid // 2 - 5 : grid // 2 + 5], on[-20:]])
    beside = np.concatenate([on, np.nextafter(on, dtype(2)), np.nextafter(on, dtype(-1))])
    return np.unique(beside[(beside >= 0) & (beside <= 1)])


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("dtype", some.DTYPES)
def test_every_grid_value_and_its_neighbours_fall_into_the_exact_bin(dtype, closed):
    for n_bins in BIN_COUNTS:
        thresholds = EqualWidth(n_bins, closed).thresholds(dtype)
        grids = {n_bins, 2 * n_bins, 3, 10, 64}
        probs = np.unique(np.concatenate([on_and_beside_the_grid(grid, dtype) for grid in grids]))
        if n_bins >= 100:
            probs = probs[:: max(1, len(probs) // 400)]
        found = bin_sums.grid_index(probs, thresholds)
        assert found.tolist() == [exact_bin(p, n_bins, closed) for p in probs], n_bins


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("dtype", some.DTYPES)
def test_own_grid_values_fall_into_the_exact_bin_for_many_numbers_of_bins(dtype, closed):
    for n_bins in FROM_GRIDS:
        probs = on_and_beside_the_grid(n_bins, dtype)
        found = bin_sums.grid_index(probs, EqualWidth(n_bins, closed).thresholds(dtype))
        edges = np.arange(n_bins + 1) / n_bins  # searchsorted in float64 is the exact rule, checked above
        wide = probs.astype(np.float64)
        if closed == "right":
            expected = np.maximum(np.searchsorted(edges, wide, side="left") - 1, 0)
        else:
            expected = np.minimum(np.searchsorted(edges, wide, side="right") - 1, n_bins - 1)
        assert np.array_equal(found, expected), n_bins


@given(some.events(weighted=False), st.integers(1, 30), st.sampled_from(["right", "left"]))
def test_any_value_falls_into_the_exact_bin(said, n_bins, closed):
    thresholds = EqualWidth(n_bins, closed).thresholds(said.probs.dtype)
    found = bin_sums.grid_index(said.probs, thresholds)
    assert found.tolist() == [exact_bin(p, n_bins, closed) for p in said.probs]


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_rounding_down_never_passes_the_edge_and_is_the_nearest_below(dtype):
    edges = np.concatenate([np.arange(m + 1) / m for m in (3, 7, 10, 49)])
    down = bin_sums.rounded_down(edges, dtype)
    assert down.dtype == dtype
    assert (down.astype(np.float64) <= edges).all()
    assert (np.nextafter(down, dtype(2)).astype(np.float64) > edges).all()


# The compiled kernel, the Python it is made of, and the NumPy path below COMPILE_FROM.


def loop_sums(index, probs, outcomes, weights, n_bins):
    sums = np.zeros((n_bins, 4))
    for b, p, y, w in zip(index, map(float, probs), outcomes, weights, strict=True):
        sums[b] += (w, w * p, w * p * p, w * float(y))
    return sums


def fused_sums(kernel, probs, outcomes, weights, thresholds):
    n_bins = len(thresholds) - 1
    sums = np.zeros((bin_sums.LANES, n_bins, 4))
    step, w = (0, bin_sums.ONE) if weights is None else (1, weights)
    kernel(probs, outcomes, w, step, thresholds, probs.dtype.type(n_bins * bin_sums.UP), sums)
    return sums.sum(axis=0)


@pytest.fixture(params=some.DTYPES, ids=["float64", "float32"])
def event(request, rng):
    on_edges = rng.integers(0, 16, 150) / 15
    probs = np.concatenate([on_edges, rng.random(148), [0.0, 1.0]]).astype(request.param)
    return probs, (rng.random(300) < probs).astype(np.uint8), rng.integers(0, 5, 300).astype(float)


@pytest.mark.some(4)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("soft", [False, True])
def test_compiled_plain_and_numpy_sums_are_the_same(event, monkeypatch, weighted, soft):
    probs, outcomes, weights = event
    outcomes = outcomes / 2 if soft else outcomes
    weights = weights if weighted else None
    thresholds = EqualWidth(15).thresholds(probs.dtype)
    index = bin_sums.grid_index(probs, thresholds)
    expected = loop_sums(index, probs, outcomes, np.ones(300) if weights is None else weights, 15)
    found = {
        "compiled": fused_sums(bin_sums.fused_pass, probs, outcomes, weights, thresholds),
        "uncompiled": fused_sums(bin_sums.fused_pass.plain, probs, outcomes, weights, thresholds),
    }
    for name, size in (("numpy", NEVER), ("by size", 1)):
        monkeypatch.setattr(bin_sums, "COMPILE_FROM", size)
        found[name] = bin_sums.grid_sums(probs, outcomes, weights, thresholds)
    monkeypatch.setattr(bin_sums, "counted_pass", bin_sums.counted_pass.plain)
    if not (weighted or soft):
        found["counted"] = bin_sums._counted_sums(probs, outcomes, *bin_sums.guarded(thresholds), True)[:15]
    for name, sums in found.items():
        np.testing.assert_allclose(sums, expected, rtol=ROUNDING, atol=0, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
def test_few_rows_give_the_same_bits_before_and_after_many_were_compiled(monkeypatch, weighted):
    rng = np.random.default_rng(3)
    probs, outcomes = rng.random(4000), (rng.random(4000) < 0.4).astype(np.uint8)
    weights = rng.random(4000) if weighted else None
    thresholds = EqualWidth(15).thresholds(probs.dtype)
    monkeypatch.setattr(bin_sums, "CHUNK", 1024)
    monkeypatch.setattr(bin_sums.fused_pass, "_expected", set())
    monkeypatch.setattr(bin_sums.counted_pass, "_expected", set())
    before = bin_sums.grid_sums(probs, outcomes, weights, thresholds)
    monkeypatch.setattr(bin_sums, "COMPILE_FROM", 1)
    bin_sums.grid_sums(probs, outcomes, weights, thresholds)
    monkeypatch.setattr(bin_sums, "COMPILE_FROM", NEVER)
    monkeypatch.setattr(bin_sums, "index_sums", None)  # which the compiled loop does without
    assert np.array_equal(bin_sums.grid_sums(probs, outcomes, weights, thresholds), before)


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_gaps_have_the_same_bits_compiled_or_not(monkeypatch, dtype):
    rng = np.random.default_rng(4)
    probs = np.append(np.arange(16) / 15, rng.random(4000)).astype(dtype)
    outcomes, thresholds = (rng.random(4016) < 0.4).astype(np.uint8), EqualWidth(15).thresholds(probs.dtype)
    found = {}
    for name, ready in (("numpy", False), ("compiled", True)):
        monkeypatch.setattr(bin_sums.gap_pass, "ready", lambda *_, ready=ready: ready)
        found[name] = bin_sums.grid_gaps(probs, outcomes, thresholds)
    sums = bin_sums.grid_sums(probs, outcomes, None, thresholds)
    assert np.array_equal(found["numpy"], found["compiled"])
    np.testing.assert_allclose(found["numpy"], sums[:, 1] - sums[:, 3], atol=1e-10)


@pytest.mark.parametrize("rows", [1, 7, 1 << 20])
def test_gaps_and_sums_have_the_same_bits_however_they_are_added(event, monkeypatch, rows):
    probs, outcomes, weights = event
    thresholds = EqualWidth(15).thresholds(probs.dtype)
    gaps, sums = (
        bin_sums.grid_gaps(probs, outcomes, thresholds),
        bin_sums.grid_sums(probs, outcomes, weights, thresholds),
    )
    monkeypatch.setattr(bin_sums, "ADDED_AT", rows)
    monkeypatch.setattr(bin_sums, "PAIRS", rows)
    assert np.array_equal(bin_sums.grid_gaps(probs, outcomes, thresholds), gaps)
    assert np.array_equal(bin_sums.grid_sums(probs, outcomes, weights, thresholds), sums)


def test_strided_and_read_only_columns_give_the_same_sums(event, monkeypatch):
    probs, outcomes, _ = event
    thresholds = EqualWidth(15).thresholds(probs.dtype)
    wide = np.stack([probs, 1 - probs], axis=1)
    wide.flags.writeable = False
    plain = bin_sums.grid_sums(probs, outcomes, None, thresholds)
    monkeypatch.setattr(bin_sums, "COMPILE_FROM", 1)
    assert np.allclose(bin_sums.grid_sums(wide[:, 0], outcomes, None, thresholds), plain, rtol=ROUNDING, atol=0)


@pytest.mark.parametrize("rows", [1, 7, 100, 299, 300, 1000])
def test_the_size_of_chunks_and_blocks_does_not_matter(event, monkeypatch, rows):
    probs, outcomes, weights = event
    thresholds = EqualWidth(10).thresholds(probs.dtype)
    whole = bin_sums.grid_sums(probs, outcomes, weights, thresholds)
    monkeypatch.setattr(bin_sums, "CHUNK", rows)
    np.testing.assert_allclose(bin_sums.grid_sums(probs, outcomes, weights, thresholds), whole, rtol=ROUNDING)
    monkeypatch.setattr(bin_sums, "COMPILE_FROM", 1)
    monkeypatch.setattr(bin_sums, "added_over_blocks", partial(blocks.added_over_blocks, block=rows))
    np.testing.assert_allclose(bin_sums.grid_sums(probs, outcomes, weights, thresholds), whole, rtol=ROUNDING)


def test_blocks_cover_every_row_once_and_in_order():
    for n, block in ((1, 5), (5, 5), (6, 5), (23, 4)):
        seen = [list(range(rows.start, rows.stop)) for rows in blocks.over_blocks(n, lambda rows: rows, block)]
        assert reduce(operator.iadd, seen, []) == list(range(n))


def test_the_number_of_cores_does_not_change_the_sums(monkeypatch, rng):
    part = lambda rows: np.cumsum(numbers[rows])[-1]  # noqa: E731
    numbers = rng.random(5000)
    many = blocks.added_over_blocks(5000, part, 100)
    monkeypatch.setattr(blocks, "n_cores", lambda: 1)
    assert blocks.added_over_blocks(5000, part, 100) == many


# The same for every class at once.


def class_loop(probs, labels, weights, n_bins):
    thresholds = EqualWidth(n_bins).thresholds(probs.dtype)
    shares = np.eye(probs.shape[1])[labels] if labels.ndim == 1 else labels
    w = np.ones(len(probs)) if weights is None else weights
    columns = range(probs.shape[1])
    return np.stack(
        [loop_sums(bin_sums.grid_index(probs[:, k], thresholds), probs[:, k], shares[:, k], w, n_bins) for k in columns]
    )


@pytest.fixture(params=some.DTYPES, ids=["float64", "float32"])
def matrix(request, rng):
    shares = rng.integers(0, 6, (120, 4)) + np.eye(4, dtype=int)[rng.integers(0, 4, 120)]  # many exact 0, ties, edges
    probs = (shares / shares.sum(axis=1, keepdims=True)).astype(request.param)
    probs[:4] = np.eye(4)
    return probs, rng.integers(0, 4, 120).astype(np.int32), rng.uniform(0.1, 3, 120)


@pytest.mark.some(11)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("n_bins", [1, 5, 15])
def test_compiled_plain_and_numpy_class_sums_are_the_same(matrix, monkeypatch, weighted, soft, n_bins):
    probs, labels, weights = matrix
    labels = np.eye(4)[labels] * 0.5 + 0.125 if soft else labels
    weights = weights if weighted else None
    thresholds = EqualWidth(n_bins).thresholds(probs.dtype)
    expected = class_loop(probs, labels, weights, n_bins)
    found = {}
    for name, size in (("numpy", NEVER), ("compiled", 1)):
        monkeypatch.setattr(class_sums, "COMPILE_FROM", size)
        found[name] = class_sums.class_grid_sums(probs, labels, weights, thresholds)
    for name in ("fused_class_pass", "hard_outcome_pass", "soft_outcome_pass"):
        monkeypatch.setattr(class_sums, name, getattr(class_sums, name).plain)
    found["uncompiled"] = class_sums.class_grid_sums(probs, labels, weights, thresholds)
    for name, sums in found.items():
        np.testing.assert_allclose(sums, expected, rtol=ROUNDING, atol=0, err_msg=name)


@pytest.mark.some(6)
@pytest.mark.parametrize("stretch", [1, 7, 64, 1000])
@pytest.mark.parametrize("n_classes", [63, 64, 130])
def test_large_entries_are_found_anywhere_in_a_row(rng, monkeypatch, n_classes, stretch):
    probs = rng.dirichlet(np.full(n_classes, 0.05), 90)
    probs[:n_classes] = np.where(np.eye(n_classes)[:90], 0.9, 0.1 / (n_classes - 1))[: len(probs[:n_classes])]
    labels, thresholds = rng.integers(0, n_classes, 90), EqualWidth(15).thresholds(np.float64)
    expected = class_sums.class_grid_sums(probs, labels, None, thresholds)
    monkeypatch.setattr(class_sums, "COMPILE_FROM", 1)
    monkeypatch.setattr(class_sums, "STRETCH", stretch)
    if stretch != 64:  # what is compiled already knows the constant
        monkeypatch.setattr(class_sums, "fused_class_pass", class_sums.fused_class_pass.plain)
    found = class_sums.class_grid_sums(probs, labels, None, thresholds)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=1e-14)


@pytest.mark.some(3)
@pytest.mark.parametrize("entries", [1, 4, 50, 10_000])
def test_the_size_of_class_blocks_does_not_matter(matrix, monkeypatch, entries):
    probs, labels, weights = matrix
    thresholds = EqualWidth(10).thresholds(probs.dtype)
    whole = class_sums.class_grid_sums(probs, labels, weights, thresholds)
    monkeypatch.setattr("calibrant.kernels.logits.BLOCK", entries)
    np.testing.assert_allclose(class_sums.class_grid_sums(probs, labels, weights, thresholds), whole, rtol=ROUNDING)
    monkeypatch.setattr(class_sums, "COMPILE_FROM", 1)
    monkeypatch.setattr(class_sums, "BLOCK_ENTRIES", entries)
    np.testing.assert_allclose(class_sums.class_grid_sums(probs, labels, weights, thresholds), whole, rtol=ROUNDING)


def test_an_empty_first_bin_stays_empty_with_any_weights(monkeypatch, rng):
    q = rng.uniform(0.2, 0.8, 500)
    probs, weights = np.stack([q, 1 - q], axis=1), rng.uniform(0, 1e6, 500) ** 3
    monkeypatch.setattr(class_sums, "COMPILE_FROM", 1)
    thresholds = EqualWidth(15).thresholds(np.float64)
    assert not class_sums.class_grid_sums(probs, np.zeros(500, dtype=np.int32), weights, thresholds)[:, 0].any()


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("dtype", some.DTYPES)
def test_a_search_and_a_guess_find_the_same_bins(monkeypatch, dtype, closed):
    for n_bins in (*BIN_COUNTS, 65535):
        probs, thresholds = on_and_beside_the_grid(n_bins, dtype), EqualWidth(n_bins, closed).thresholds(dtype)
        found = []
        for most in (0, NEVER):
            monkeypatch.setattr(bin_sums, "SEARCHED", most)
            found.append(bin_sums.grid_index(probs, thresholds))
        assert np.array_equal(*found), n_bins
