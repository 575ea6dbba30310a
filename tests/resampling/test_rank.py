"""Ranks among draws."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.resampling.rank import counted_ranks, joint_rank, rank_p_value


def test_the_p_value_counts_the_observed_among_the_draws():
    values = np.array([3.0, 1.0, 2.0, 3.5, 4.0])
    assert rank_p_value(values, "count", 0.0) == 3 / 5
    assert rank_p_value(values, "random", 0.9) == 3 / 5


def test_ties_are_counted_or_shared_out():
    values = np.array([3.0, 3.0, 3.0, 3.0 + 1e-12, 1.0])
    assert rank_p_value(values, "count", 0.0) == 4 / 5
    assert [rank_p_value(values, "random", coin) for coin in (0.0, 0.3, 0.6, 0.9)] == [1 / 5, 2 / 5, 3 / 5, 4 / 5]


@pytest.mark.slow
def test_random_places_make_p_values_uniform(rng):
    p = [rank_p_value(rng.integers(0, 3, 20).astype(float), "random", rng.random()) for _ in range(20_000)]
    share = np.bincount((np.array(p) * 20).round().astype(int), minlength=21)[1:] / 20_000
    assert share == pytest.approx(0.05, abs=5 * np.sqrt(0.05 * 0.95 / 20_000))


def test_ranks_count_what_is_at_least_as_large():
    assert counted_ranks(np.array([1.0, 5.0, 5.0, 2.0])).tolist() == [4, 2, 2, 3]


def test_one_statistic_together_is_that_statistic(rng):
    values = rng.normal(size=(100, 1))
    found = joint_rank(values, "random", 0.5)
    assert found.p_value == rank_p_value(values[:, 0], "random", 0.5)
    assert found.each == found.adjusted == (found.p_value,)


def test_statistics_judged_together_written_out(rng):
    values = rng.normal(size=(60, 3))
    each = np.array([[(column >= column[m]).sum() / 60 for column in values.T] for m in range(60)])
    harmonic, least = (1 / each).sum(axis=1), each.min(axis=1)
    found = joint_rank(values, "count", 0.0)
    assert found.p_value == pytest.approx((harmonic >= harmonic[0] - 1e-9).mean())
    assert found.each == pytest.approx(each[0])
    assert found.adjusted == pytest.approx([(least <= p).mean() for p in each[0]])
    assert found.smallest == least[0]
    weighted = (np.array([3.0, 1.0, 0.2]) / each).sum(axis=1)
    assert joint_rank(values, "count", 0.0, (3.0, 1.0, 0.2)).p_value == (weighted >= weighted[0] - 1e-9).mean()


@pytest.mark.slow
def test_judging_together_keeps_its_size(rng):
    p = [joint_rank(rng.normal(size=(100, 4)), "random", rng.random()).p_value for _ in range(4000)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=5 * np.sqrt(0.05 * 0.95 / 4000))


@pytest.mark.slow
def test_adjusted_p_values_err_at_all_in_five_percent(rng):
    least = [min(joint_rank(rng.normal(size=(100, 4)), "random", 0.0).adjusted) for _ in range(4000)]
    assert np.mean(np.array(least) <= 0.05) <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 4000)
