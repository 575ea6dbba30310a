"""The bound over all runs of groups, against trying every run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from calibrant.kernels.fit import isotonic as simultaneous_band
from calibrant.kernels.fit.isotonic import lower_bound, lower_limit, upper_bound
from tolerances import ROUNDING


def every_run(trials, hits, chance):
    """The best limit over all runs that end at or before each group, one by one."""
    best, found = 0.0, []
    for i in range(len(trials)):
        for j in range(i + 1):
            s, m = hits[j : i + 1].sum(), trials[j : i + 1].sum()
            best = max(best, lower_limit(np.array([s]), np.array([m]), chance)[0])
        found.append(best)
    return np.array(found)


groups = st.lists(st.tuples(st.integers(1, 30), st.floats(0, 1)), min_size=1, max_size=25)


@given(groups, st.sampled_from([0.2, 0.05, 1e-3, 1e-8, 1e-14]))
def test_corners_of_the_hull_are_enough(drawn, chance):
    trials = np.array([float(m) for m, _ in drawn])
    hits = np.round(trials * [share for _, share in drawn])
    assert lower_bound(trials, hits, chance) == pytest.approx(every_run(trials, hits, chance), abs=ROUNDING)


@given(groups)
def test_the_upper_bound_is_the_lower_one_turned_round(drawn):
    trials = np.array([float(m) for m, _ in drawn])
    hits = np.round(trials * [share for _, share in drawn])
    expected = 1 - every_run(trials[::-1], (trials - hits)[::-1], 0.01)[::-1]
    assert upper_bound(trials, hits, 0.01) == pytest.approx(expected, abs=ROUNDING)


def test_limits_are_clopper_and_pearsons():
    for hits, trials in ((0, 4), (1, 4), (4, 4), (30, 100)):
        expected = binomtest(hits, trials).proportion_ci(0.9, method="exact").low
        assert lower_limit(np.array([float(hits)]), np.array([float(trials)]), 0.05)[0] == pytest.approx(
            expected, abs=1e-9
        )


@pytest.mark.slow
def test_blocks_and_compiled_code_change_nothing(rng, monkeypatch):
    trials = rng.integers(1, 4, 300).astype(float)
    hits = rng.binomial(trials.astype(int), np.linspace(0.1, 0.9, 300)).astype(float)
    plain = lower_bound(trials, hits, 1e-6)
    monkeypatch.setattr(simultaneous_band, "BLOCK", 7)
    assert lower_bound(trials, hits, 1e-6).tolist() == plain.tolist()
    monkeypatch.setattr(simultaneous_band, "COMPILE_FROM_GROUPS", 1)
    assert lower_bound(trials, hits, 1e-6).tolist() == plain.tolist()
