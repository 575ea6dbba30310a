"""Estimates of many rows take roads of their own; on few rows, with the limits lowered, they end at the same number."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
import strategies as some
from calibrant.kernels.pairs import line_pairs as laplace
from calibrant.kernels.rows import buckets
from calibrant.kernels.rows import pooling as groups
from calibrant.kernels.sums import bin_sums, error_grid
from calibrant.kernels.sums import stable_sums as sums
from crowded import SCORES, scored
from tolerances import ROUNDING

CALLS = {
    "KS": cal.ks_error,
    "KS, range": lambda y, p: cal.ks_error(y, p, statistic="range"),
    "equal mass": lambda y, p: cal.binned_error(y, p, bins=cal.EqualMass(15)),
    "sweep": cal.sweep_error,
    "sweep of widths": lambda y, p: cal.sweep_error(y, p, bins=cal.EqualWidth),
    "cross-validated": cal.crossvalidated_error,
    "MMCE": cal.mmce,
    "SKCE": lambda y, p: cal.skce(y, p, bandwidth=0.25),
    "smooth": cal.smooth_error,
}


@pytest.mark.some(3)
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_the_estimate_is_the_same(rng, monkeypatch, name, dtype):
    for kind in SCORES:
        probs, outcomes = scored(kind, rng, 400, dtype)
        expected = CALLS[name](outcomes, probs)
        with monkeypatch.context() as lowered:
            lowered.setattr(buckets, "BUCKETS_FROM", 1)
            for module in (groups, laplace, sums, bin_sums, error_grid):
                lowered.setattr(module, "COMPILE_FROM", 1)
            found = CALLS[name](outcomes, probs)
        assert found.value == pytest.approx(expected.value, abs=ROUNDING), kind
        if expected.noise_floor is not None:  # a root of Σp − Σp², of which little is left near 1
            assert found.noise_floor**2 == pytest.approx(expected.noise_floor**2, abs=ROUNDING), kind
        assert found.settings.keys() == expected.settings.keys()
        for key in {"n_bins", "bins", "view"} & found.settings.keys():
            assert found.settings[key] == expected.settings[key], kind
        assert found.parts.keys() == expected.parts.keys()
        if "bins" in found.parts:
            assert np.array_equal(found.parts["bins"].high, expected.parts["bins"].high), kind


def test_one_row_is_enough(monkeypatch):
    monkeypatch.setattr(buckets, "BUCKETS_FROM", 1)
    for module in (groups, laplace, sums, bin_sums, error_grid):
        monkeypatch.setattr(module, "COMPILE_FROM", 1)
    for name, call in CALLS.items():
        if name not in ("cross-validated", "SKCE"):
            assert call([1], [0.25]).value == pytest.approx(0.75, abs=ROUNDING), name
