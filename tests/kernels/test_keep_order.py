"""Order kept to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant.kernels.rows import keep_order as kernel
from calibrant.kernels.rows.keep_order import keep_order, ranked_as, rows_with_ties


def naive(values, model):
    """From the lowest entry up."""
    out = values.copy()
    for row, like in zip(out, model, strict=True):
        for j in range(len(row) - 2, -1, -1):
            if like[j] == like[j + 1]:
                row[j] = row[j + 1]
            elif row[j] <= row[j + 1]:
                row[j] = np.nextafter(row[j + 1], row.dtype.type(np.inf))
    return out


entries = st.one_of(st.sampled_from((0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0)), st.floats(-3, 3))


@pytest.mark.parametrize("dtype", some.DTYPES)
@given(data=st.data())
def test_it_is_the_naive_walk(dtype, data):
    k = data.draw(st.integers(1, 6))
    values = np.array([data.draw(st.lists(entries, min_size=k, max_size=k)) for _ in range(3)], dtype=dtype)
    model = -np.sort(-np.array([data.draw(st.lists(st.integers(0, 3), min_size=k, max_size=k)) for _ in range(3)]))
    found = keep_order(values, model)
    assert np.array_equal(found, naive(values, model))
    assert found.dtype == dtype


def test_what_is_in_order_is_not_touched():
    values = np.array([[3.0, 2.0, 2.0, -1.0]])
    assert keep_order(values, np.array([[9, 5, 5, 0]])) is values


@pytest.mark.parametrize("k", [1, 2, 3, kernel.FEW_CLASSES, kernel.FEW_CLASSES + 1, 40])
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("n", [1, 7, kernel.FROM_ROWS])
def test_rows_with_ties_are_those_with_fewer_numbers_than_classes(rng, n, k, dtype):
    values = rng.integers(1, 3 * k * k, size=(n, k)).astype(dtype)
    expected = [i for i, row in enumerate(values) if len(set(row.tolist())) < k]
    assert rows_with_ties(values).tolist() == expected
    assert rows_with_ties(np.asfortranarray(values)).tolist() == expected


@pytest.mark.parametrize("k", [3, 30])
@pytest.mark.parametrize("dtype", some.DTYPES)
def test_classes_that_rounding_has_tied_get_their_order_back_and_no_other_row_changes(rng, k, dtype):
    model = rng.integers(0, 10 * k, size=(1000, k)).astype(dtype)
    rounded = 1 + np.floor(model / 2)  # ties neighbours, swaps none
    found = ranked_as(rounded.copy(), model)
    for row, like, before in zip(found, model, rounded, strict=True):
        assert np.array_equal(np.sign(row[:, None] - row), np.sign(like[:, None] - like))
        order = np.argsort(-like, kind="stable")
        assert np.array_equal(row[order], naive(before[order][None], like[order][None])[0])
