"""The ten worlds of Roelofs et al."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import InputError
from calibrant.simulate import NAMED_WORLDS, REAL_SIZES, named_world
from tolerances import STANDARD_ERRORS

MEAN_ECE = dict(zip(NAMED_WORLDS, (8.24, 6.92, 7.20, 7.44, 18.00, 16.32, 17.77, 19.24, 8.18, 5.51), strict=True))
"""Percent, RMS over 15 equal-width bins, from an earlier simulation of the same parameters, itself a mean over some data sets."""

EARLIER = 100
"""Data sets that the earlier means are taken to rest on."""


def equal_width_ece(probs, outcomes, m=15):
    """√Σ n_b/n (p̄ − ȳ)² of each row."""
    n_data_sets, n = probs.shape
    at = np.clip(np.ceil(probs * m).astype(int) - 1, 0, m - 1) + m * np.arange(n_data_sets)[:, None]
    sums = [np.bincount(at.ravel(), w, m * n_data_sets).reshape(-1, m) for w in (None, (probs - outcomes).ravel())]
    return np.sqrt((sums[1] ** 2 / np.maximum(sums[0], 1)).sum(axis=1) / n)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED_WORLDS)
def test_the_mean_ece_at_the_real_size_is_the_recorded_one(name):
    n, n_data_sets = REAL_SIZES[name], 60
    probs, outcomes, _ = NAMED_WORLDS[name].draw(n, n_data_sets, seed=11)
    found = 100 * equal_width_ece(probs, outcomes)
    error = found.std(ddof=1) * np.sqrt(1 / n_data_sets + 1 / EARLIER)
    assert abs(found.mean() - MEAN_ECE[name]) <= STANDARD_ERRORS * error


def test_sizes_and_names():
    assert len(NAMED_WORLDS) == 10
    assert {REAL_SIZES[name] for name in NAMED_WORLDS if "imgnet" in name} == {25_000}
    assert all(world.name == name for name, world in NAMED_WORLDS.items())


def test_a_calibrated_twin_keeps_the_scores():
    world = named_world("densenet161_imgnet", calibrated=True)
    assert world.true_error() == 0
    assert world.scores == NAMED_WORLDS["densenet161_imgnet"].scores
    assert "calibrated" in world.name


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="name must be one of 'resnet110_c10'"):
        named_world("resnet18")
