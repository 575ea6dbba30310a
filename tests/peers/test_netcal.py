"""netcal 1.4: ECE and MCE through its own edges, and MMCE."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("netcal.metrics")

CLOSE = 1e-9
"""netcal sums in float64 but bins with a histogram of weights."""


@pytest.fixture
def matrix(rng):
    probs = rng.dirichlet([3, 1, 1, 0.5], 500)
    return rng.integers(0, 4, 500), probs


@pytest.fixture
def event(rng):
    p = rng.beta(2, 1, 500)
    return (rng.random(500) < p**2).astype(int), p


def measured(metric, labels, probs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(metric.measure(np.asarray(probs), np.asarray(labels)))


@pytest.mark.parametrize("n_bins", [5, 10, 15])
@pytest.mark.parametrize("shape", ["event", "matrix"])
def test_ece(request, shape, n_bins):
    labels, probs = request.getfixturevalue(shape)
    expected = measured(theirs.ECE(n_bins), labels, probs)
    assert cal.ece(labels, probs, bins=n_bins, compat="netcal").value == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("shape", ["event", "matrix"])
def test_mce(request, shape):
    labels, probs = request.getfixturevalue(shape)
    expected = measured(theirs.MCE(10), labels, probs)
    found = cal.binned_error(labels, probs, bins=EqualWidth(10, "left"), norm="max")
    assert found.value == pytest.approx(expected, abs=CLOSE)


def test_mmce_of_the_top_class(matrix):
    labels, probs = matrix
    assert cal.mmce(labels, probs).value == pytest.approx(measured(theirs.MMCE(), labels, probs), abs=CLOSE)
