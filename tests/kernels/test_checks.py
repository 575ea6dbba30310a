"""Both checks of a matrix, by NumPy and by a compiled loop."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.rows import checks


def rows(rng, dtype, k=7):
    probs = rng.dirichlet(np.ones(k), 60)
    probs[3] = np.eye(k)[2]
    return probs.astype(dtype)


MISTAKES = {
    "none": lambda p: None,
    "a row that sums to more": lambda p: p.__setitem__((17, 0), p[17, 0] + 1e-3),
    "a row that sums to less": lambda p: p.__setitem__((slice(40, 41)), p[40] * 0.999),
    "below 0": lambda p: p.__setitem__((5, slice(0, 2)), [-0.25, p[5, 0] + p[5, 1] + 0.25]),
    "above 1": lambda p: p.__setitem__((5, slice(None)), [1.5, -0.5, 0, 0, 0, 0, 0]),
    "infinite": lambda p: p.__setitem__((59, 6), np.inf),
    "not a number": lambda p: p.__setitem__((0, 0), np.nan),
    "a sum that wraps around": lambda p: p.__setitem__((8, slice(None)), 1),
    "two that make up for each other": lambda p: p.__setitem__((slice(8, 10)), p[8:10] * [[0.9], [1.1]]),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("road", ["NumPy", "compiled", "plain"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_only_rows_of_probabilities_pass(rng, monkeypatch, mistake, dtype, road):
    probs = rows(rng, dtype)
    MISTAKES[mistake](probs)
    monkeypatch.setattr(checks, "TWO_CHECKS", 70)
    if road != "NumPy":
        monkeypatch.setattr(checks, "COMPILE_FROM_ENTRIES", 1)
    if road == "plain":
        monkeypatch.setattr(checks, "fixed_point_sums", checks.fixed_point_sums.plain)
    assert checks.rows_are_distributions(probs) == (mistake == "none")


@pytest.mark.parametrize("off", [0.9, 1.1])
def test_sums_that_are_surely_close_pass(rng, monkeypatch, off):
    probs = rows(rng, np.float64)
    probs[11] *= 1 + off * checks.SURE
    monkeypatch.setattr(checks, "COMPILE_FROM_ENTRIES", 1)
    assert checks.rows_are_distributions(probs) == (off < 1)


def test_a_matrix_in_column_order_is_left_to_numpy(rng, monkeypatch):
    monkeypatch.setattr(checks, "COMPILE_FROM_ENTRIES", 1)
    monkeypatch.setattr(checks, "fixed_point_sums", None)
    assert checks.rows_are_distributions(np.asfortranarray(rows(rng, np.float64)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (50, 3)])
def test_only_finite_numbers_pass(rng, dtype, shape):
    values = rng.normal(size=shape).astype(dtype)
    assert checks.all_finite(values)
    assert checks.all_finite(values.T)
    if not values.size:
        return
    huge = values.copy()
    huge.flat[0] = np.finfo(dtype).max  # its square is infinite
    assert checks.all_finite(huge)
    for wrong in (np.nan, np.inf, -np.inf):
        bad = values.copy()
        bad.flat[rng.integers(bad.size)] = wrong
        assert not checks.all_finite(bad)
        assert not checks.all_finite(bad.T)
