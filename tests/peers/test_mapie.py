"""MAPIE 1.6: cumulative differences. It breaks ties by jitter and measures in units of the null's standard deviation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibrant as cal

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("mapie.metrics.calibration")

JITTER = 1e-7


def test_ks_and_kuiper(rng):
    p = rng.beta(2, 1, 500)
    y = (rng.random(500) < p**1.2).astype(int)
    sd = np.sqrt((p * (1 - p)).sum()) / 500
    found = cal.ks_error(y, p)
    assert found.value / sd == pytest.approx(theirs.kolmogorov_smirnov_statistic(y, p), rel=JITTER, abs=JITTER)
    steps = theirs.cumulative_differences(y, p)
    span = max(0, steps.max()) - min(0, steps.min())  # MAPIE leaves out that C begins at 0
    assert cal.ks_error(y, p, statistic="range").value == pytest.approx(span, abs=JITTER)


def test_top_label_ece(rng):
    probs = rng.dirichlet([3, 1, 1], 600)
    labels = rng.integers(0, 3, 600)
    said, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    expected = theirs.expected_calibration_error(right.astype(int), said, num_bins=10)
    assert cal.ece(labels, probs, bins=10).value == pytest.approx(expected, abs=1e-9)  # random scores avoid the edges
