"""Isotonic quantile regression beside the max-min formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.fit.isotonic import isotonic_quantile
from tolerances import ROUNDING


def quantile(y, w, level):
    order = np.argsort(y)
    return y[order][np.searchsorted(np.cumsum(w[order]) / w.sum(), level - ROUNDING)]


def max_min(x, y, w, level):
    """At each x the largest, over starts to the left, of the least quantile over ends to the right."""
    groups = np.unique(x)
    found = []
    for at in groups:
        starts, ends = groups[groups <= at], groups[groups >= at]
        inside = [[(x >= a) & (x <= b) for b in ends] for a in starts]
        found.append(max(min(quantile(y[rows], w[rows], level) for rows in line) for line in inside))
    return np.array(found)[np.searchsorted(groups, x)]


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.25, 0.5, 0.8, 0.9]))
def test_it_is_the_max_min_formula(seed, level):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    x, y = rng.integers(0, 8, n).astype(float), rng.integers(0, 6, n).astype(float)
    w = rng.integers(1, 4, n).astype(float)
    assert np.array_equal(isotonic_quantile(x, y, w, level), max_min(x, y, w, level))


def test_nothing_that_rises_scores_better(rng):
    x, y, level = np.sort(rng.normal(size=60)), rng.normal(size=60), 0.3
    fitted = isotonic_quantile(x, y, np.ones(60), level)
    assert (np.diff(fitted) >= 0).all()

    def score(q):
        return np.maximum(level * (y - q), (level - 1) * (y - q)).sum()

    for _ in range(300):
        other = np.sort(fitted + rng.normal(0, 0.2, 60))
        assert score(fitted) <= score(other) + ROUNDING


def test_one_x_has_the_plain_quantile(rng):
    y = rng.normal(size=9)
    assert isotonic_quantile(np.zeros(9), y, np.ones(9), 0.5)[0] == pytest.approx(np.median(y))
