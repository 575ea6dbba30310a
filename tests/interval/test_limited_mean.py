"""Means of rows with known limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, norm

from calibrant.interval import LimitedMean, Limits, Moments, mean_with_interval, moments_of
from calibrant.kernels.sums.weighted_means import tail_beyond, value_beyond
from tolerances import STANDARD_ERRORS

ROWS = st.lists(st.floats(0, 1, width=32), min_size=2, max_size=30)


@given(st.integers(2, 200), st.integers(0, 200), st.floats(1.0, 4.0))
def test_zeros_and_ones_have_the_limits_of_a_beta_law(n, ones, z):
    """The mean of Dirichlet weights over ones is Beta(ones + 1, zeros)."""
    ones = min(ones, n)
    x, chance = (np.arange(n) < ones).astype(float), norm.sf(z)
    expected = beta.isf(chance, ones + 1, n - ones) if ones < n else 1.0
    assert value_beyond(x, np.ones(n), 1.0, z) == pytest.approx(expected, abs=0.01 * max(1 - ones / n, 2 / n))


@given(ROWS, st.floats(0.5, 4.0), st.floats(1.0, 3.0))
def test_the_tail_of_an_end_is_its_chance(rows, z, limit):
    x, w = np.array(rows, dtype=np.float64), np.ones(len(rows))
    end = value_beyond(x, w, limit, z)
    assert x.mean() <= end <= limit
    if end < limit:
        assert tail_beyond(x, w, limit, end) == pytest.approx(norm.sf(z), rel=1e-5)


def test_the_law_is_that_of_random_weights(rng):
    x, limit, draws = rng.random(20) ** 3, 1.5, 200_000
    gammas = rng.exponential(size=(draws, 21))
    means = gammas @ np.append(x, limit) / gammas.sum(axis=1)
    for z in (1.0, 1.96, 2.5):
        chance = norm.sf(z)
        seen = np.mean(means > value_beyond(x, np.ones(20), limit, z))
        assert seen == pytest.approx(chance, abs=STANDARD_ERRORS * np.sqrt(chance / draws))


@given(ROWS, st.floats(0.5, 0.99))
def test_ends_move_with_the_values_and_turn_with_their_sign(rows, level):
    x = np.array(rows, dtype=np.float64)
    _, plain, _ = mean_with_interval(x, None, level, Limits(0.0, 1.0))
    _, moved, _ = mean_with_interval(3 * x - 1, None, level, Limits(-1.0, 2.0))
    _, turned, _ = mean_with_interval(-x, None, level, Limits(-1.0, 0.0))
    assert 0 <= plain.low <= x.mean() <= plain.high <= 1
    assert (moved.low, moved.high) == pytest.approx((3 * plain.low - 1, 3 * plain.high - 1), abs=1e-7)
    assert (turned.low, turned.high) == pytest.approx((-plain.high, -plain.low), abs=1e-7)


def test_weights_are_repeated_rows(rng):
    for n in (30, 900):
        x, times = rng.random(n), rng.integers(0, 4, n)
        _, weighted, _ = mean_with_interval(x, times.astype(float), 0.95, Limits(0.0, 1.0))
        _, repeated, _ = mean_with_interval(np.repeat(x, times), None, 0.95, Limits(0.0, 1.0))
        assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high), abs=1e-8)


def test_many_rows_are_students(rng):
    x = rng.random(5000)
    assert LimitedMean.of(x, None, Limits(0.0, 1.0)) == moments_of(x, None)
    assert isinstance(LimitedMean.of(x[:100], None, Limits(0.0, np.inf)), Moments)  # no limit is known
    assert isinstance(LimitedMean.of(x[:1], None, Limits(0.0, 1.0)), Moments)


def test_where_all_rows_are_at_the_limit_nothing_lies_beyond():
    value, interval, cautions = mean_with_interval(np.ones(50), None, 0.95, Limits(0.0, 1.0))
    assert (value, interval.high, cautions) == (1.0, 1.0, ())
    assert interval.low == pytest.approx(0.025 ** (1 / 50), abs=1e-3)


def test_spread_weights_widen_the_interval(rng):
    x, w = rng.random(20), np.where(np.arange(20) < 4, 10.0, 1.0)
    w *= w.sum() / (w**2).sum()
    _, plain, _ = mean_with_interval(x, None, 0.95, Limits(0.0, 1.0))
    value, interval, cautions = mean_with_interval(x, w, 0.95, Limits(0.0, 1.0), w**2)
    assert value == pytest.approx(np.average(x, weights=w), abs=1e-12)
    assert 0 <= interval.low <= value <= interval.high <= 1
    assert interval.high - interval.low > 1.2 * (plain.high - plain.low)
    assert cautions == ()


@given(ROWS, st.floats(0, 1))
def test_the_p_value_is_small_where_zero_lies_outside(rows, centre):
    x = np.array(rows, dtype=np.float64) - centre
    found = LimitedMean.of(x, None, Limits(-1.0, 1.0))
    p = found.p_value()
    assert 0 <= p <= 1
    for level in (0.5, 0.9, 0.99):
        if isinstance(found, LimitedMean) and abs(p - (1 - level)) > 1e-4:
            assert (0 in found.interval(level)[0]) == (p > 1 - level)


def test_what_lies_beyond_the_limits_widens_the_interval_and_weakens_the_claim(rng):
    x = rng.random(50) - 0.8
    plain, wider = (LimitedMean.of(x, None, Limits(-1.0, 0.3, below, above)) for below, above in ((0, 0), (0.1, 0.2)))
    (narrow, _), (wide, _) = plain.interval(0.9), wider.interval(0.9)
    assert (wide.low, wide.high) == pytest.approx((narrow.low - 0.1, narrow.high + 0.2))
    assert plain.p_value() < wider.p_value()
    assert LimitedMean.of(np.full(50, -0.1), None, Limits(-0.1, -0.1, 0.0, 0.2, ("a warning",))).p_value() == 1.0


@pytest.mark.parametrize("share", [0.0, 0.004, 0.3])
def test_moments_alone_give_no_narrower_an_interval(rng, share):
    """Moments determine zeros and ones exactly, and anything else less well."""
    x = (rng.random(3000) < share).astype(float)
    limits = Limits(0.0, 1.0)
    (exact, _), (by_moments, _) = (
        found.interval(0.95)
        for found in (LimitedMean.of(x, None, limits), LimitedMean.of_moments(moments_of(x, None), limits))
    )
    assert by_moments.high == pytest.approx(exact.high, rel=2e-3)
    assert by_moments.low <= exact.low + 1e-9
    y = x * rng.random(3000) * 0.5
    (exact, _), (by_moments, _) = (
        found.interval(0.95)
        for found in (LimitedMean.of(y, None, limits), LimitedMean.of_moments(moments_of(y, None), limits))
    )
    assert by_moments.high >= exact.high - 1e-6
    assert by_moments.low <= exact.low + 1e-6


def test_a_mean_beyond_its_limit_has_students_interval():
    """A log score may be worse than its predictions make credible."""
    seen = moments_of(np.linspace(60, 70, 50), None)
    assert LimitedMean.of_moments(seen, Limits(0.0, 20.0)) == seen
