"""Equal-mass bins from buckets are those of the sorted rows."""

from __future__ import annotations

import numpy as np
import pytest

import strategies as some
from calibrant.bins import EqualMass
from calibrant.kernels.rows import buckets
from calibrant.kernels.rows.buckets import bucketed
from calibrant.kernels.rows.pooling import cut_sums, grouped, mass_cuts, mass_pieces
from calibrant.predictions import Event
from crowded import SCORES, scored


@pytest.mark.some(5)
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_bins_are_those_of_the_sorted_rows(rng, kind, dtype):
    probs, outcomes = scored(kind, rng, 1000, dtype)
    groups, made = grouped(probs, outcomes, None), bucketed(probs, outcomes)
    for n_bins in (1, 2, 7, 15, 64):
        pieces = mass_pieces(made, n_bins)
        if pieces is None:
            continue
        expected = mass_cuts(groups.below(), n_bins, 0.0)
        cuts = mass_cuts(pieces.below, n_bins, 0.0)
        np.testing.assert_allclose(pieces.between(cuts), cut_sums(groups, expected), rtol=1e-12, atol=1e-15)
        inner = expected[1:-1] > 0
        assert np.array_equal(pieces.last[cuts[1:-1][inner] - 1], groups.values[expected[1:-1][inner] - 1])
        assert np.array_equal(cuts[1:-1] > 0, inner)


def test_few_rows_are_opened_and_crowded_rows_are_handed_back(rng):
    probs, outcomes = scored("skewed", rng, 20_000)
    made = bucketed(probs, outcomes)
    assert len(mass_pieces(made, 15).last) < len(made.filled) + 0.05 * 20_000
    assert mass_pieces(bucketed(0.3 + 1e-12 * rng.random(1000), np.zeros(1000, np.uint8)), 15) is None


@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_the_rule_takes_either_road(rng, monkeypatch, kind, dtype):
    probs, outcomes = scored(kind, rng, 800, dtype)
    expected = EqualMass(15).collect(Event(probs, outcomes, None, "binary"))
    monkeypatch.setattr(buckets, "BUCKETS_FROM", 1)
    found = EqualMass(15).collect(Event(probs, outcomes, None, "binary"))
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-15)
    assert np.array_equal(found.low, expected.low)
    assert np.array_equal(found.high, expected.high)
