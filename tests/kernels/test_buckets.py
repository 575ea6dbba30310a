"""Buckets keep the order of the predictions, and hold the sums of their rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import strategies as some
from calibrant.kernels.rows import blocks, buckets
from calibrant.kernels.rows.buckets import HALF, N_BUCKETS, bucket_index, bucketed
from crowded import SCORES, scored


def index_by_plain_python(probs):
    index = np.empty(len(probs), np.uint16)
    buckets.find_buckets.plain(probs, index)
    return index


@pytest.mark.parametrize("index", [bucket_index, index_by_plain_python])
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_larger_predictions_are_in_later_buckets(rng, kind, dtype, index):
    probs = np.sort(SCORES[kind](rng, 500).astype(dtype))
    found = index(probs).astype(int)
    assert (np.diff(found) >= 0).all()
    assert np.array_equal(found, index(probs.astype(np.float64)))
    assert (found >= 0).all()
    assert (found < N_BUCKETS).all()


@pytest.mark.parametrize("index", [bucket_index, index_by_plain_python])
def test_the_ends_have_buckets_of_their_own(index):
    tiny, short = np.finfo(float).smallest_subnormal, 1 - 2.0**-53
    probs = np.array([0.0, -0.0, tiny, 2.0**-53, np.nextafter(0.5, 0), 0.5, short, 1.0])
    assert index(probs).tolist() == [0, 0, 1, 1, HALF - 1, HALF, 2 * HALF - 1, 2 * HALF]


def test_both_ends_are_cut_alike(rng):
    probs = rng.integers(0, 2**30, 1000) / 2.0**31  # below ½, so that 1 − p is exact and not on the edge of a bucket
    assert np.array_equal(bucket_index(1 - probs).astype(int), 2 * HALF - bucket_index(probs).astype(int))


def test_a_bucket_is_no_wider_than_a_256th_of_its_distance_from_the_nearer_end(rng):
    probs = np.sort(rng.random(20_000))
    index = bucket_index(probs)
    for b in np.unique(index):
        inside = probs[index == b]
        assert np.ptp(inside) <= min(inside[-1], 1 - inside[0]) / 256


@pytest.mark.some(5)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_sums_are_those_of_the_rows(rng, monkeypatch, kind, dtype, plain):
    if plain:
        for name in ("find_buckets", "add_to_buckets"):
            monkeypatch.setattr(buckets, name, getattr(buckets, name).plain)
    probs, outcomes = scored(kind, rng, 300, dtype)
    monkeypatch.setattr(buckets, "over_blocks", partial(blocks.over_blocks, block=70))
    made = bucketed(probs, outcomes)
    p, y = probs.astype(float), outcomes.astype(float)
    assert np.array_equal(made.index, bucket_index(probs))
    assert made.filled.tolist() == sorted(set(made.index.tolist()))
    for column, terms in enumerate([np.ones(300), p, p * (1 - p), y, np.maximum(p - y, 0)]):
        np.testing.assert_allclose(
            made.table[:, column], np.bincount(made.index, terms, N_BUCKETS), rtol=1e-12, atol=1e-15
        )
    np.testing.assert_allclose(made.sums(made.filled)[:, 2], np.bincount(made.index, p * p, N_BUCKETS)[made.filled], rtol=1e-12, atol=1e-15)  # fmt: skip
    for b in made.filled:
        inside = p[made.index == b]
        assert (made.table[b, buckets.LOW], made.table[b, buckets.HIGH]) == (inside.min(), inside.max())
        assert made.mixed[b] == (len(set(inside + 0)) > 1)
    assert not made.mixed[made.table[:, 0] == 0].any()


def test_only_many_plain_rows_are_worth_it(monkeypatch):
    monkeypatch.setattr(buckets, "BUCKETS_FROM", 3)
    plain, soft, weights = np.zeros(3, np.uint8), np.zeros(3), np.ones(3)
    assert buckets.worth_buckets(soft, plain, None)
    assert not buckets.worth_buckets(soft[:2], plain[:2], None)
    assert not buckets.worth_buckets(soft, plain, weights)
    assert not buckets.worth_buckets(soft, soft, None)
