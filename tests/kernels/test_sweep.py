"""Counting bins up while rates rise: compiled, uncompiled and one set of cuts at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import strategies as some
from calibrant.kernels import sweep
from calibrant.kernels.groups import grouped, mass_cuts, width_cuts
from naive import sweep as naive
from naive.rows import counted, written_out


def arguments(groups):
    return groups.below(), np.cumsum(groups.hits)


@settings(max_examples=40)
@given(some.events(most=14).map(counted))
def test_compiled_and_uncompiled_counts_are_those_of_plain_loops(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    y, p = written_out(said.labels, said.probs, said.weights)
    for how in ("__call__", "plain"):
        mass = getattr(sweep.rising_mass_bins, how)(*arguments(groups), 2, len(p), 0.0)
        width = getattr(sweep.rising_width_bins, how)(groups.values, *arguments(groups), 2, len(p), 0.0)
        assert mass == naive.n_bins(p, y, "mass")
        assert width == naive.n_bins(p, y, "width")


@given(some.events(most=20).map(counted))
def test_one_set_of_cuts_is_judged_like_plain_loops(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    below, hits = (np.concatenate([[0.0], x]) for x in arguments(groups))
    y, p = written_out(said.labels, said.probs, said.weights)
    p = [float(v) for v in p]
    for b in (2, 3, 7):
        for rule, cuts in (("mass", mass_cuts(below[1:], b)), ("width", width_cuts(groups.values, b))):
            rates = naive.rates(naive.RULES[rule](p, b), y)
            assert sweep.rates_rise(below, hits, cuts, 0.0) == (rates == sorted(rates)), (b, rule)


@given(some.events(most=20).map(counted))
def test_groups_that_rise_make_every_binning_rise(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    if sweep.always_rising(groups.weight, groups.hits):
        most = int(groups.total)
        assert sweep.rising_mass_bins(*arguments(groups), 2, most, 0.0) == max(most, 1)


def test_a_fall_within_the_slack_is_no_fall():
    below, hits = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0 - 1e-14])
    cuts = np.array([0, 1, 2])
    assert not sweep.rates_rise(below, hits, cuts, 0.0)
    assert sweep.rates_rise(below, hits, cuts, 1e-13)
    for how in ("__call__", "plain"):
        count = getattr(sweep.rising_mass_bins, how)
        assert count(below[1:], hits[1:], 2, 2, 0.0) == 1
        assert count(below[1:], hits[1:], 2, 2, 1e-13) == 2


@pytest.mark.parametrize("first", [2, 5, 30])
def test_counting_may_begin_later(rng, first):
    outcomes = np.array([0] * 29 + [1, 0] + [1] * 29, dtype=np.uint8)  # one fall, seen when bins hold a row or two
    groups = grouped(np.sort(rng.random(60)), outcomes, None)
    expected = sweep.rising_mass_bins(*arguments(groups), 2, 60, 0.0)
    assert expected >= 30
    assert sweep.rising_mass_bins(*arguments(groups), first, 60, 0.0) == expected
