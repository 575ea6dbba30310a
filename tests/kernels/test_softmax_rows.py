"""Softmax of many rows by compiled loops: the bits of NumPy's form, and the rows with ties."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
import strategies as some
from calibrant.kernels import compiled
from calibrant.kernels.rows import softmax_rows as kernel
from calibrant.kernels.rows.keep_order import rows_with_ties
from calibrant.maps import temperature
from calibrant.maps.temperature import TemperatureMap

COLUMNS = [2, 3, 7, 8, 9, 32, 33, 40, 100, 127, kernel.MOST_COLUMNS]


def map_of(k, temperature, zero=0.0):
    return TemperatureMap(tuple(range(k)), False, temperature=temperature, zero=zero)


def quick(logits, t):
    found = np.empty_like(logits)
    return found, kernel.softmax_into(logits, logits.dtype.type(t), found)


@pytest.mark.parametrize("k", COLUMNS)
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize(("spread", "t"), [(2.0, 1.25), (40.0, 0.3), (1e30, 1e-3), (1e-7, 50.0)])
def test_the_bits_are_those_of_numpy(rng, k, dtype, spread, t):
    logits = (spread * rng.normal(size=(200, k))).astype(dtype)
    logits[::7, 0] = logits[::7, -1]
    logits[3], logits[4, :2] = 0.0, -0.0
    expected = map_of(k, t).rounded(logits, True)
    found, tied = quick(logits, t)
    assert np.array_equal(found, expected)
    assert np.array_equal(tied, rows_with_ties(expected))


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_the_plain_form_is_the_same(rng, dtype, monkeypatch):
    logits = (3 * rng.normal(size=(30, 40))).astype(dtype)
    logits[::5, 3] = logits[::5, 20]
    found, tied = quick(logits, 1.5)
    for name in ("below_maxima", "into_shares", "find_ties"):
        monkeypatch.setattr(kernel, name, getattr(kernel, name).plain)
    plain, also = quick(logits, 1.5)
    assert np.array_equal(found, plain)
    assert np.array_equal(tied, also)


@pytest.mark.parametrize("places", [1, 2, 1 << 13])
def test_ties_are_found_wherever_numbers_leave_their_marks(rng, monkeypatch, places):
    monkeypatch.setattr(kernel, "PLACES", places)
    logits = rng.integers(0, 60, size=(500, 13)).astype(np.float32)
    found, tied = quick(logits, 10.0)
    assert tied.tolist() == [i for i, row in enumerate(logits) if len(set(row.tolist())) < 13]
    assert np.array_equal(tied, rows_with_ties(found))


def test_marks_of_many_rows_begin_anew():
    logits = np.tile(np.arange(3, dtype=np.float32), (2 * 65535 + 10, 1))
    logits[[0, 65534, 65535, 65536, 131070], 1] = 2.0
    assert quick(logits, 1.0)[1].tolist() == [0, 65534, 65535, 65536, 131070]


@pytest.mark.parametrize("are_logits", [True, False])
@pytest.mark.parametrize("dtype", some.DTYPES)
def test_a_map_gives_the_same_before_and_after_the_loops_are_compiled(rng, monkeypatch, dtype, are_logits):
    logits = (4 * rng.normal(size=(3000, 50))).astype(dtype)
    logits[:, 1] = np.nextafter(logits[:, 0], dtype(np.inf))  # rounding ties these
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    powers[::9, 4] = 0.0
    given = {"logits": logits} if are_logits else {"probs": powers / powers.sum(axis=1, keepdims=True)}
    by_columns = {name: np.asfortranarray(values) for name, values in given.items()}
    for data, few in ((by_columns, 100), (given, 100), (given, 10_000)):
        monkeypatch.setattr(temperature, "FEW_TIED", few)
        found = []
        for ready in (False, True):
            monkeypatch.setattr(kernel.below_maxima, "ready", lambda *_, ready=ready: ready)
            found.append(map_of(50, 1.7, 1e-7).apply(**data))
        assert np.array_equal(*found)
    model = next(iter(given.values()))
    assert np.array_equal(np.argsort(found[1], axis=1, kind="stable"), np.argsort(model, axis=1, kind="stable"))


def test_which_arrays_the_loops_work_on(monkeypatch):
    monkeypatch.setattr(compiled, "_loaded", [None])
    monkeypatch.setattr(kernel.below_maxima, "_expected", set())
    for shape, dtype, order, fits in (
        ((9, 40), np.float32, "C", True),
        ((9, 40), np.float64, "C", True),
        ((9, 40), np.float64, "F", False),
        ((9, kernel.MOST_COLUMNS + 1), np.float64, "C", False),
    ):
        logits = np.zeros(shape, dtype, order)
        assert not kernel.is_quick(logits, logits)  # not worth it yet
        kernel.below_maxima.expect(logits, logits)
        assert kernel.is_quick(logits, logits) is fits
    assert not kernel.is_quick(np.zeros((9, 4), np.float64), np.zeros((9, 4), np.float32))


def test_logits_that_are_not_finite_are_refused_as_before():
    recalibrate = cal.Temperature().fit([0, 1, 2, 0], logits=np.eye(4, 3))
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(cal.InputError, match="must be finite"):
            recalibrate.apply(logits=np.array([[0.0, bad, 1.0]]))
