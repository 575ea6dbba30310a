"""Sorting by buckets and digits is sorting."""

from __future__ import annotations

import numpy as np
import pytest

import strategies as some
from calibrant.kernels.rows import buckets
from calibrant.kernels.rows import pooling as ordered
from calibrant.kernels.rows.buckets import bucket_index
from crowded import SCORES, scored


def keys_of(probs, outcomes):
    return ((probs.astype(np.float64) + 0).view(np.uint64) << np.uint64(1)) | outcomes


@pytest.fixture(params=["compiled", "plain", "numpy"])
def either(request, monkeypatch):
    """The compiled loops, the Python they are made of, and NumPy's sort."""
    sort = {"compiled": buckets.sort_buckets, "plain": buckets.sort_buckets.plain, "numpy": buckets.sort_stretch}
    monkeypatch.setattr(buckets, "sorting", lambda *_: sort[request.param])
    if request.param == "plain":
        for name in ("count_buckets", "scatter"):
            monkeypatch.setattr(buckets, name, getattr(buckets, name).plain)


@pytest.mark.some(7)
@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("n", [1, 2, 33, 700])
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_keys_come_out_in_order(rng, kind, dtype, n):
    probs, outcomes = scored(kind, rng, n, dtype)
    keys, ends = buckets.sorted_keys(probs, outcomes)
    assert np.array_equal(keys, np.sort(keys_of(probs, outcomes)))
    assert np.array_equal(ends, np.cumsum(np.bincount(bucket_index(probs), minlength=buckets.N_BUCKETS)))


@pytest.mark.some(3)
@pytest.mark.parametrize("kind", SCORES)
def test_the_cut_into_blocks_does_not_matter(rng, monkeypatch, kind):
    probs, outcomes = scored(kind, rng, 500)
    monkeypatch.setattr(buckets, "SCATTER_ROWS", 70)
    monkeypatch.setattr(buckets, "RUN_ROWS", 30)
    assert np.array_equal(buckets.sorted_keys(probs, outcomes)[0], np.sort(keys_of(probs, outcomes)))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("kind", SCORES)
def test_rows_of_other_buckets_are_left_out(rng, kind):
    probs, outcomes = scored(kind, rng, 300)
    index, wanted = bucket_index(probs), rng.random(buckets.N_BUCKETS) < 0.5
    keys, ends = buckets.sorted_keys(probs, outcomes, index, wanted)
    kept = wanted[index]
    assert np.array_equal(keys, np.sort(keys_of(probs[kept], outcomes[kept])))
    assert ends[-1] == kept.sum()


def test_columns_of_a_matrix_are_sorted_too(rng):
    probs, outcomes = rng.random((100, 3))[:, 1], rng.integers(0, 2, (100, 2)).astype(np.uint8)[:, 0]
    assert np.array_equal(buckets.sorted_keys(probs, outcomes)[0], np.sort(keys_of(probs, outcomes)))


@pytest.mark.some(5)
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_rows_come_out_the_same_either_way(rng, monkeypatch, kind, dtype):
    probs, outcomes = scored(kind, rng, 1000, dtype)
    expected = ordered.in_order(probs, outcomes, None)
    monkeypatch.setattr(buckets, "BUCKETS_FROM", 1)
    found = ordered.in_order(probs, outcomes, None)
    assert found[0].dtype == dtype
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])
    assert not np.signbit(found[0]).any()
