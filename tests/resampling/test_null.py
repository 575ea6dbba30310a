"""Null draws: any block of rows is the same part of the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.kernels.draws.null_draws import replicate_seeds
from calibrant.resampling.null import LabelDraws, SignFlips, hypothesis_of, nulls_of
from calibrant.resampling.rows import atoms_of


def rows(rng, how):
    p = rng.random(40).round(1 if how == "tied" else 6)
    weights = rng.random(40) + 0.1 if how == "fixed" else None
    return Predictions(rng.random(40) < p, p, weights=weights, groups=rng.integers(0, 9, 40))


CASES = [("plain", False), ("tied", False), ("fixed", False), ("plain", "same"), ("plain", "any")]


@pytest.mark.parametrize(("how", "cluster"), CASES)
def test_blocks_of_rows_are_parts_of_the_same_draws(rng, how, cluster):
    atoms, seeds = atoms_of(rows(rng, how), "auto", cluster), replicate_seeds(5, 7)
    for null in nulls_of(atoms):
        full = null.draws(seeds)
        parts = [null.draws(seeds, slice(start, start + 6)) for start in range(0, len(atoms.p), 6)]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), full)


def test_dependence_in_any_way_has_two_nulls_to_refute(rng):
    kinds = {
        kind: [type(null) for null in nulls_of(atoms_of(rows(rng, "plain"), "auto", kind))]
        for kind in (False, "same", "any")
    }
    assert kinds == {False: [LabelDraws], "same": [LabelDraws], "any": [SignFlips, LabelDraws]}
    assert hypothesis_of(atoms_of(rows(rng, "plain"), "auto", "any")).text.startswith("signs of the errors flipped")


def test_rows_of_a_cluster_share_one_number(rng):
    data = Predictions(np.ones(30, int), np.full(30, 0.4), groups=np.repeat(np.arange(10), 3))
    atoms = atoms_of(data, "auto", "same")
    errors = nulls_of(atoms)[0].draws(replicate_seeds(1, 50))
    for c in range(10):
        assert (np.ptp(errors[:, atoms.cluster == c], axis=1) == 0).all()
