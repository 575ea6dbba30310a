"""Sorting by digits is sorting."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels import cumulative, ordered, radix

SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "saturated": lambda rng, n: rng.beta(2.8, 0.05, n),
    "tied": lambda rng, n: rng.integers(0, 11, n) / 10,
    "equal": lambda rng, n: np.full(n, 0.3),
    "tiny": lambda rng, n: rng.random(n) * 1e-300,
    "ends": lambda rng, n: rng.integers(0, 2, n).astype(float),
}


def keys_of(probs, outcomes):
    unsigned = np.uint32 if probs.dtype == np.float32 else np.uint64
    return (probs.view(unsigned) << unsigned(1)) | outcomes.astype(unsigned)


@pytest.mark.parametrize("n", [1, 2, 49, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", SCORES)
def test_keys_come_out_in_order(rng, kind, dtype, n):
    keys = keys_of(SCORES[kind](rng, n).astype(dtype), rng.integers(0, 2, n))
    assert np.array_equal(radix.radix_sorted(keys.copy()), np.sort(keys))


@pytest.mark.parametrize("kind", SCORES)
def test_the_uncompiled_loops_do_the_same(rng, monkeypatch, kind):
    for name in ("sort_digits", "mend_ties"):
        monkeypatch.setattr(radix, name, getattr(radix, name).plain)
    for dtype in (np.float32, np.float64):
        keys = keys_of(SCORES[kind](rng, 200).astype(dtype), rng.integers(0, 2, 200))
        assert np.array_equal(radix.radix_sorted(keys.copy()), np.sort(keys))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_come_out_the_same_either_way(rng, monkeypatch, dtype):
    probs, outcomes = SCORES["tied"](rng, 2000).astype(dtype), rng.integers(0, 2, 2000).astype(np.uint8)
    expected = ordered.in_order(probs, outcomes, None)
    monkeypatch.setattr(ordered, "COMPILE_FROM", 1)
    found = ordered.in_order(probs, outcomes, None)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize("plain", [False, True])
def test_running_extremes_are_those_of_the_cumulative_sum(rng, plain):
    scan = cumulative.running_extremes.plain if plain else cumulative.running_extremes
    for steps in (rng.normal(size=500), np.ones(3), -np.ones(3), np.zeros(2), np.array([1.0])):
        sums = np.cumsum(steps)
        high, low, top, bottom = scan(steps)
        assert (high, low) == (np.argmax(sums), np.argmin(sums))
        assert (top, bottom) == pytest.approx((sums.max(), sums.min()), abs=1e-12)
