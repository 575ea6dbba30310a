"""relplot 1.0.3 (Błasiok & Nakkiran): smooth ECE.

relplot sums over a mesh that includes both ends and bisects ten times, so it is good to about 1e-3.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibrant as cal

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("relplot")

MESH = 1e-3

WORLDS = {"bell": (2, 2), "rising": (2, 1), "flat": (1, 1)}


@pytest.fixture(params=WORLDS)
def event(request, rng):
    """Predictions in [0.05, 0.95], away from the ends, where relplot's mesh counts half a cell too much."""
    p = 0.05 + 0.9 * rng.beta(*WORLDS[request.param], 2000)
    return (rng.random(2000) < np.clip(p**1.5 + 0.05, 0, 1)).astype(float), p


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.2])
def test_smooth_ece_at_a_width(event, sigma):
    labels, probs = event
    expected = theirs.smECE_sigma(probs, labels, sigma)
    assert cal.smooth_error(labels, probs, sigma=sigma).value == pytest.approx(expected, abs=MESH)


def test_smooth_ece(event):
    labels, probs = event
    expected, width = theirs.smECE(probs, labels, return_width=True)
    assert cal.smooth_error(labels, probs).value == pytest.approx(expected, abs=MESH)
    assert cal.smooth_error(labels, probs, sigma=width).value == pytest.approx(expected, abs=MESH)
