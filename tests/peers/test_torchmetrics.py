"""torchmetrics 1.9: ECE through its own edges, and its other norms away from the edges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torchmetrics.functional.classification")

FLOAT32 = 2e-6
"""torchmetrics adds up in float32."""


@pytest.fixture
def matrix(rng):
    probs = rng.dirichlet([3, 1, 1, 0.5], 500)
    return rng.integers(0, 4, 500), probs


@pytest.fixture
def event(rng):
    p = rng.beta(2, 1, 500)
    return (rng.random(500) < p**2).astype(int), p


def measured(labels, probs, **options):
    labels, probs = torch.tensor(np.asarray(labels)), torch.tensor(np.asarray(probs))
    if probs.ndim == 1:
        return float(theirs.binary_calibration_error(probs, labels, **options))
    return float(theirs.multiclass_calibration_error(probs, labels, num_classes=probs.shape[1], **options))


@pytest.mark.parametrize("n_bins", [5, 10, 15])
@pytest.mark.parametrize("shape", ["event", "matrix"])
def test_ece(request, shape, n_bins):
    labels, probs = request.getfixturevalue(shape)
    expected = measured(labels, probs, n_bins=n_bins)
    assert cal.ece(labels, probs, bins=n_bins, compat="torchmetrics").value == pytest.approx(expected, abs=FLOAT32)


@pytest.mark.parametrize("shape", ["event", "matrix"])
@pytest.mark.parametrize(("norm", "name"), [(2, "l2"), ("max", "max")])
def test_other_norms(request, shape, norm, name):
    labels, probs = request.getfixturevalue(shape)
    found = cal.binned_error(labels, probs, bins=EqualWidth(15), norm=norm)
    assert found.value == pytest.approx(measured(labels, probs, n_bins=15, norm=name), abs=FLOAT32)
