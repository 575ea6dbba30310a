"""Logits to probabilities and back."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given

import strategies as some
from calibrant.kernels import logits as kernel
from tolerances import ROUNDING


@given(some.logit_rows())
def test_softmax_is_the_one_of_higher_precision(said):
    z = np.atleast_2d(said.probs.T).T.astype(np.longdouble)
    z = np.hstack([np.zeros_like(z), z]) if z.shape[1] == 1 else z
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    found = kernel.probabilities(said.probs)
    expected = shares[:, 1] if said.probs.ndim == 1 else shares
    np.testing.assert_allclose(found, expected.astype(float), rtol=1e-14, atol=1e-300)  # exp is good to an ulp or two


def test_log_softmax_holds_what_probabilities_lose():
    found = kernel.log_probabilities(np.array([[0.0, -2000.0]]))
    assert found.tolist() == [[0, -2000]]


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_log_odds_and_back(dtype):
    probs = np.array([0, 1e-30, 0.1, 0.5, 0.9, 1], dtype=dtype)
    odds = kernel.log_odds(probs)
    assert odds.dtype == dtype
    assert odds[0] == -np.inf
    assert odds[-1] == np.inf
    np.testing.assert_allclose(kernel.sigmoid(odds), probs, rtol=50 * np.finfo(dtype).eps)


def test_saturated_logits_raise_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel.sigmoid(np.array([-1e300, 1e300])).tolist() == [0, 1]
        assert kernel.probabilities(np.array([[1e300, -1e300]])).tolist() == [[1, 0]]


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_the_size_of_blocks_does_not_matter(monkeypatch, rng, block):
    z = rng.normal(size=(50, 3))
    whole = kernel.probabilities(z)
    monkeypatch.setattr(kernel, "BLOCK", block)
    np.testing.assert_allclose(kernel.probabilities(z), whole, rtol=ROUNDING)
    assert sum(rows.stop - rows.start for rows in kernel.row_blocks(50, 3)) == 50


def test_an_event_becomes_two_columns():
    assert kernel.two_columns(np.array([0.25, 1])).tolist() == [[0.75, 0.25], [0, 1]]


@pytest.mark.parametrize("k", [1, 2, 7, 32, 33, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_column_by_column_are_those_of_numpy(rng, k, dtype):
    x = rng.normal(size=(20, k)).astype(dtype)
    for each in (x, np.asfortranarray(x), x[:0]):
        assert np.array_equal(kernel.row_maxima(each), each.max(axis=1, keepdims=True))
    close = {"rtol": 0, "atol": 100 * np.finfo(dtype).eps}
    np.testing.assert_allclose(kernel.row_sums(x), x.sum(axis=1, keepdims=True), **close)
    assert kernel.row_sums(x).dtype == dtype
    wide = kernel.row_sums(x, np.float64)
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, x.astype(np.float64).sum(axis=1, keepdims=True), rtol=0, atol=1e-13)
    np.testing.assert_allclose(kernel.running_sums(x.copy()), x.cumsum(axis=1), **close)


def test_rows_without_columns_add_up_to_0():
    assert kernel.row_sums(np.empty((3, 0))).tolist() == [[0.0]] * 3


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_what_was_rounded_to_0_is_the_least_normal_number(dtype):
    tiny = np.finfo(dtype).tiny
    assert kernel.above_zero(np.array([[0, tiny / 2, tiny, 0.5]], dtype=dtype)).tolist() == [[tiny, tiny, tiny, 0.5]]
    assert kernel.above_zero(np.array([[0.5, 0.5]], dtype=dtype)).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("n", [1, 3, kernel.FEW_VALUES, kernel.FEW_VALUES + 1])
@pytest.mark.parametrize("bad", [0.5, 0.0, 1.0, -2.0, 3.0, np.nan, np.inf])
def test_what_has_to_be_clipped_is(rng, n, bad):
    values = rng.random(n)
    values[n // 2] = bad
    found = kernel.clipped(values, 0.0, 1.0)
    assert np.array_equal(found, np.clip(values, 0.0, 1.0), equal_nan=True)
    assert not np.shares_memory(found, values)
