"""Order kept to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant.kernels.rows.keep_order import keep_order


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
