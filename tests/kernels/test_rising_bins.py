"""Counting bins up while rates rise: one set of cuts at a time, and the long sweep over the blocks of an isotonic fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from calibrant.kernels.rows.pooling import grouped, mass_cuts, width_cuts
from calibrant.kernels.sums import rising_bins as sweep
from naive import data
from naive import sweep as naive
from naive.rows import counted, written_out


def from_zero(terms):
    return np.concatenate([[0.0], np.cumsum(terms)])


def counts(groups, first, most, slack=0.0):
    """(kernel, rule, number of bins) for both rules, compiled and not."""
    below, hits = from_zero(groups.weight), from_zero(groups.hits)
    blocks = sweep.falling_blocks(groups.weight, groups.hits)
    for name, kernel in (("compiled", sweep.long_sweep), ("plain", sweep.long_sweep.plain)):
        rest = (below, hits, blocks, first, most, slack)
        yield name, "mass", kernel(below[1:], below[-1], 1e-12 * below[-1], *rest)
        yield name, "width", kernel(groups.values, 1.0, 0.0, *rest)


@settings(max_examples=50)
@given(data.events(most=14).map(counted))
def test_the_long_sweep_is_that_of_plain_loops(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    y, p = written_out(said.labels, said.probs, said.weights)
    for kernel, rule, found in counts(groups, 2, len(p)):
        assert found == max(naive.n_bins(p, y, rule), 1), (kernel, rule)


@given(data.events(most=20).map(counted))
def test_one_set_of_cuts_is_judged_like_plain_loops(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    below, hits = from_zero(groups.weight), from_zero(groups.hits)
    y, p = written_out(said.labels, said.probs, said.weights)
    p = [float(v) for v in p]
    for b in (2, 3, 7, 12):
        for rule, cuts in (("mass", mass_cuts(below[1:], b)), ("width", width_cuts(groups.values, b))):
            rates = naive.rates(naive.RULES[rule](p, b), y)
            assert sweep.rates_rise(below, hits, cuts, 0.0) == (rates == sorted(rates)), (b, rule)


def test_a_fall_after_predictions_of_zero_is_a_fall():
    groups = grouped(np.array([0.0, 0.0, 1.0]), np.array([0, 1, 0], dtype=np.uint8), None)  # rates ½ and 0
    assert [found for _, rule, found in counts(groups, 2, 3) if rule == "width"] == [1, 1]


def test_a_fall_across_an_empty_bin_is_a_fall():
    below, hits = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0])
    assert not sweep.rates_rise(below, hits, np.array([0, 1, 1, 2]), 0.0)


@given(data.events(most=25).map(counted))
def test_blocks_are_the_runs_that_an_isotonic_fit_pools(said):
    groups = grouped(said.probs, said.labels.astype(np.uint8), said.weights)
    blocks = sweep.falling_blocks(groups.weight, groups.hits)
    rates = groups.hits / groups.weight
    for first, last in blocks:
        assert first < last
        mean = np.average(rates[first : last + 1], weights=groups.weight[first : last + 1])
        for cut in range(first + 1, last + 1):  # every first part lies above the mean, every last part below
            assert np.average(rates[first:cut], weights=groups.weight[first:cut]) >= mean - 1e-9
    falls = np.flatnonzero(np.diff(rates) < 0)
    assert all(any(first <= g < last for first, last in blocks) for g in falls)


def test_a_fall_within_the_slack_is_no_fall():
    groups = grouped(np.array([0.2, 0.7]), np.array([0.5, 0.5 - 1e-14]), None)
    below, hits = from_zero(groups.weight), from_zero(groups.hits)
    for slack, rises in ((0.0, False), (1e-13, True)):
        assert sweep.rates_rise(below, hits, np.array([0, 1, 2]), slack) == rises
        assert {found for _, _, found in counts(groups, 2, 2, slack)} == {2 if rises else 1}


@pytest.mark.parametrize("first", [2, 5, 30])
def test_counting_may_begin_later(rng, first):
    outcomes = np.array([0] * 29 + [1, 0] + [1] * 29, dtype=np.uint8)  # one fall, seen when bins hold a row or two
    groups = grouped(np.arange(1, 61) / 61, outcomes, None)
    expected = [found for _, _, found in counts(groups, 2, 60)]
    assert min(expected) >= 30
    assert [found for _, _, found in counts(groups, first, 60)] == expected
