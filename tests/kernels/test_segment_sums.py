from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calibrant.interval.formulas import brownian_range_p_value
from calibrant.kernels.sums.segment_sums import (
    add_members,
    add_tile,
    cluster_powers,
    deviations,
    gap_scores,
    normal_scores,
    range_scores,
    walk_tile,
)
from tolerances import ROUNDING

P = np.array([0.1, 0.2, 0.2, 0.5, 0.7])
ERRORS = np.array([[1.0, -1.0], [2.0, 0.5], [-4.0, 0.25], [1.5, -1.0], [0.5, 3.0]])
MEMBERS, STARTS = np.array([0, 1, 2, 3, 4, 1, 3], np.int32), np.array([0, 5, 7])


def collected(walk, tile):
    total, high, low = (np.zeros((2, 2)) for _ in range(3))
    at = STARTS[:-1].copy()
    for base in range(0, 5, tile):
        walk(ERRORS[base : base + tile], P, base, MEMBERS, STARTS, at, total, high, low)
    np.testing.assert_array_equal(at, STARTS[1:])
    return total, high, low


@pytest.mark.parametrize("tile", [1, 2, 3, 5])
def test_a_walk_reads_totals_where_the_prediction_rises(run, tile):
    total, high, low = collected(run(walk_tile), tile)
    np.testing.assert_array_equal(total, [[1.0, 1.75], [3.5, -0.5]])
    np.testing.assert_array_equal(high, [[1.0, 1.75], [3.5, 0.5]])  # not 3, inside the tie at 0.2
    np.testing.assert_array_equal(low, [[-1.0, -1.25], [0.0, -0.5]])


def test_sums_alone_are_the_last_totals(run):
    total, at = np.zeros((2, 2)), STARTS[:-1].copy()
    for base in (0, 2, 4):
        run(add_tile)(ERRORS[base : base + 2], base, MEMBERS, STARTS, at, total)
    np.testing.assert_array_equal(total, collected(walk_tile, 5)[0])


def test_members_are_added_up(run):
    sums = np.zeros((2, 2))
    run(add_members)(ERRORS, MEMBERS, STARTS, sums)
    np.testing.assert_array_equal(sums, [ERRORS.sum(axis=0), ERRORS[[1, 3]].sum(axis=0)])


def test_clusters_are_added_before_they_are_squared(run):
    found = np.zeros((2, 2))
    run(cluster_powers)(ERRORS[:, 0].copy(), np.array([1, 0, 1, 0, 2]), MEMBERS, STARTS, np.zeros(3), found)
    sums = np.array([3.5, -3.0, 0.5])
    np.testing.assert_array_equal(found, [[(sums**2).sum(), (sums**4).sum()], [3.5**2, 3.5**4]])


@pytest.mark.parametrize("skew", [-1.2, -0.1, 0.0, 1e-7, 0.3, 2.0])
def test_the_way_back_is_the_way_back(skew):
    z = np.linspace(0, 4, 9)
    np.testing.assert_allclose(normal_scores(deviations(z, np.array(skew)), np.array(skew)), z, atol=1e-9)


def test_without_skewness_a_score_is_the_standardised_sum():
    scores = gap_scores(np.array([-6.0, 3.0]), np.array(2.0), np.array(0.0), np.array(0.0))
    np.testing.assert_allclose(scores, [3.0, 1.5], rtol=ROUNDING)


@pytest.mark.parametrize(("n", "p"), [(50, 0.02), (200, 0.01), (40, 0.3), (1000, 0.005), (30, 0.95)])
def test_a_score_is_close_to_the_exact_chance_of_a_binomial(n, p):
    """On the scale of a normal variable it is never more than exact, and at most a third less, where a standardised sum is off by 2."""
    k, law = np.arange(n + 1), stats.binom(n, p)
    mean = n * p
    exact = -stats.norm.ppf(np.where(k > mean, law.sf(k - 1), law.cdf(k)))
    asked = (exact > 1) & (exact < 4)
    found = gap_scores(mean - k, np.array(law.std()), np.array(float(law.stats("s"))), np.array(1.0))
    off = (found - exact)[asked]
    assert -1 / 3 < off.min() < off.max() < 0.02
    if p == 0.02:
        assert (np.abs(mean - k) / law.std() - exact)[asked].max() > 2


def test_the_range_follows_its_brownian_law_far_out():
    for x in (3.0, 4.0, 6.0):
        z = float(range_scores(np.array(x), np.array(1.0), np.array(0.0)))
        assert 2 * stats.norm.sf(z) == pytest.approx(brownian_range_p_value(x), rel=1e-3)


def test_scores_are_never_negative_nor_infinite():
    sums = np.array([0.0, 1e-9, 0.4, 1e6, -1e6])
    for skew in (-3.0, 0.0, 3.0):
        for scores in (
            gap_scores(sums, np.array(0.5), np.array(skew), np.array(1.0)),
            range_scores(np.abs(sums), np.array(0.5), np.array(skew)),
        ):
            assert (scores >= 0).all()
            assert np.isfinite(scores).all()
