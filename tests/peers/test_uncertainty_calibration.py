"""Kumar et al.'s package (`import calibration`, 0.1.4): plain and debiased errors on the same equal-mass bins."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualMass
from tolerances import ROUNDING

theirs = pytest.importorskip("calibration")

CASES = pytest.mark.parametrize("n_bins", [1, 5, 10, 15])


@pytest.fixture(params=[30, 300, 3000])
def event(request, rng):
    """No ties, and a number of rows that every number of bins divides: their edges are then ours."""
    p = rng.beta(2, 1, request.param)
    return (rng.random(request.param) < p**1.5).astype(int), p


def binned(event, n_bins):
    labels, probs = event
    data = list(zip(probs.tolist(), labels.tolist(), strict=True))
    return theirs.bin(data, theirs.get_equal_bins(probs.tolist(), num_bins=n_bins))


@CASES
@pytest.mark.parametrize("norm", [1, 2])
def test_plain_error(event, n_bins, norm):
    found = cal.binned_error(*event, bins=EqualMass(n_bins), norm=norm)
    assert found.value == pytest.approx(theirs.plugin_ce(binned(event, n_bins), power=norm), abs=ROUNDING)


@CASES
def test_debiased_square(event, n_bins):
    found = cal.binned_error(*event, bins=EqualMass(n_bins), norm=2, debiased=True, root=False, clip=False)
    assert found.value == pytest.approx(theirs.unbiased_square_ce(binned(event, n_bins)), abs=ROUNDING)


def test_their_calibration_error_of_an_event(event):
    labels, probs = event
    # 15 bins, debiased; by default the mean over both classes' questions, which have the same squared error
    expected = theirs.get_calibration_error(probs, labels, p=2, debias=True)
    found = cal.binned_error(labels, probs, bins=EqualMass(15), norm=2, debiased=True)
    assert found.value == pytest.approx(expected, abs=ROUNDING)


def test_their_calibration_error_of_several_classes(rng):
    probs = rng.dirichlet(np.ones(3), 600)
    labels = rng.integers(0, 3, 600)
    expected = theirs.get_calibration_error(probs, labels, p=2, debias=True, mode="marginal")
    options = {"bins": EqualMass(15), "norm": 2, "debiased": True}
    found = cal.classwise_error(labels, probs, average="mean", **options)
    assert found.value == pytest.approx(expected, abs=ROUNDING)
    top = theirs.get_calibration_error(probs, labels, p=2, debias=True, mode="top-label")
    assert cal.binned_error(labels, probs, **options).value == pytest.approx(top, abs=ROUNDING)
