"""Intervals of means and rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

from calibrant.interval import (
    cluster_mean,
    design_effect,
    holm,
    mean_with_interval,
    moments_of,
    normal_quantile,
    two_sided,
    wilson,
)
from calibrant.interval.mean import CACHED_ROWS
from tolerances import ROUNDING


def test_wilson_is_scipys(rng):
    for n in (1, 5, 40, 1000):
        for hits in {0, 1, n // 2, n}:
            low, high = wilson(np.array([hits / n]), np.array([float(n)]), 0.9)
            expected = binomtest(hits, n).proportion_ci(0.9, method="wilson")
            assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=ROUNDING)


def test_weight_two_is_the_row_twice(rng):
    values, times = rng.normal(size=20), rng.integers(1, 4, 20)
    weighted = mean_with_interval(values, times.astype(float), 0.95)
    repeated = mean_with_interval(np.repeat(values, times), None, 0.95)
    assert weighted[0] == pytest.approx(repeated[0], abs=ROUNDING)
    assert (weighted[1].low, weighted[1].high) == pytest.approx((repeated[1].low, repeated[1].high), abs=ROUNDING)


def test_the_mean_has_students_interval(rng):
    values = rng.normal(size=12)
    _, interval, cautions = mean_with_interval(values, None, 0.99)
    expected = ttest_1samp(values, 0).confidence_interval(0.99)
    assert (interval.low, interval.high) == pytest.approx(expected, abs=ROUNDING)
    assert interval.method == "Student t"
    assert cautions == ("12 rows are few for an interval of a mean: it may be too short",)


def test_squares_of_weights_widen_the_interval_of_a_mean(rng):
    """The standard error of a weighted mean is √Σw²(x − mean)² / Σw, but for n − 1 instead of n."""
    values, w = rng.normal(size=4000), rng.random(4000) + 0.1
    w *= w.sum() / (w**2).sum()
    value, interval, cautions = mean_with_interval(values, w, 0.95, squares=w**2)
    error = np.sqrt((w**2 * (values - value) ** 2).sum()) / w.sum()
    assert value == pytest.approx(np.average(values, weights=w), abs=ROUNDING)
    assert interval.high - value == pytest.approx(1.96 * error, rel=2e-3)
    assert cautions == ()


def test_the_normal_quantile():
    assert normal_quantile(0.95) == pytest.approx(1.959963984540054, abs=ROUNDING)


def test_one_row_a_cluster_is_the_ordinary_interval(rng):
    values, w = rng.normal(size=40), rng.integers(1, 4, 40).astype(float)
    plain, plain_interval, _ = mean_with_interval(values, None, 0.9)
    found = cluster_mean(values, None, rng.permutation(40))
    assert found.mean == pytest.approx(plain, abs=ROUNDING)
    interval, cautions = found.interval(0.9)
    assert (interval.low, interval.high) == pytest.approx((plain_interval.low, plain_interval.high), abs=ROUNDING)
    assert cautions == ()
    names = np.arange(40)
    weighted = cluster_mean(values, w, names)
    times = w.astype(int)
    repeated = cluster_mean(np.repeat(values, times), None, np.repeat(names, times))
    assert (weighted.mean, weighted.error) == pytest.approx((repeated.mean, repeated.error), abs=ROUNDING)


def test_clusters_by_hand():
    # mean 2; sums about it −2 and 2: 8 / 4² · 2/1 = 1
    found = cluster_mean(np.array([0.0, 2.0, 3.0, 3.0]), None, np.array(["a", "a", "b", "b"]))
    assert (found.mean, found.error, found.degrees) == (2, 1, 1)
    interval, cautions = found.interval(0.95)
    assert interval.high == pytest.approx(2 + 12.706204736174694, abs=1e-9)  # Student's table
    assert cautions == ("2 clusters are few for an interval of a mean: it may be too short",)
    assert cluster_mean(np.ones(3), None, np.zeros(3)).interval(0.95) == (None, ("one cluster has no interval",))


def test_a_cluster_of_no_weight_is_not_there():
    found = cluster_mean(np.array([1.0, 2.0, np.inf]), np.array([1.0, 1.0, 0.0]), np.array([0, 1, 2]))
    assert (found.mean, found.clusters) == (1.5, 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_are_the_whole(rng, weighted):
    values = 1e6 + rng.normal(size=CACHED_ROWS * 2 + 7)
    w = rng.integers(0, 3, len(values)).astype(float) if weighted else None
    if w is not None:
        w[:CACHED_ROWS] = 0  # all rows of a block have weight 0
    found = moments_of(values, w)
    kept = np.repeat(values, w.astype(int)) if weighted else values
    assert found.weight == len(kept)
    assert found.mean == pytest.approx(kept.mean(), rel=ROUNDING)
    assert found.error == pytest.approx(kept.std(ddof=1) / len(kept) ** 0.5, rel=1e-9)  # a mean of a million cancels


def test_the_p_value_is_students(rng):
    for n in (10, 30_000):
        values = rng.normal(0.3 if n == 10 else 0.0, 1, n)
        found, expected = moments_of(values, None), ttest_1samp(values, 0).pvalue
        close = {"rel": 1e-9} if n == 10 else {"rel": 1e-3}  # the normal distribution, from 20 000 on
        assert two_sided(found.mean, found.error, found.degrees) == pytest.approx(expected, **close)
    assert (two_sided(0.0, 0.0, 5), two_sided(0.1, 0.0, 5)) == (1, 0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_step_by_step(p_values):
    order, reached = sorted(range(len(p_values)), key=p_values.__getitem__), 0.0
    expected = [0.0] * len(p_values)
    for passed, k in enumerate(order):
        reached = max(reached, p_values[k] * (len(p_values) - passed))
        expected[k] = min(reached, 1.0)
    assert holm(p_values) == pytest.approx(expected, abs=ROUNDING)


def test_the_design_effect_is_the_ratio_of_the_two_variances(rng):
    values, names = (
        rng.normal(size=(60, 2)) + np.repeat(rng.normal(size=(12, 2)), 5, axis=0),
        np.repeat(np.arange(12), 5),
    )
    order = rng.permutation(60)
    centred = values - values.mean(axis=0)
    expected = sum((centred[names == each].sum(axis=0) ** 2).sum() for each in range(12)) / (centred**2).sum()
    assert 1 < expected < 5
    assert design_effect(values[order], None, None, names[order]) == pytest.approx(expected)
    one = values[:, 0]
    by_clusters, by_rows = cluster_mean(one, None, names).squares, ((one - one.mean()) ** 2).sum() / 60**2
    assert design_effect(one, None, None, names) == pytest.approx(by_clusters / by_rows)


def test_the_design_effect_is_at_least_one_and_the_size_of_equal_rows(rng):
    values, names = rng.normal(size=30), np.arange(30)
    assert design_effect(values, None, None, names) == 1
    assert design_effect(np.repeat(values, 4), None, None, np.repeat(names, 4)) == pytest.approx(4)
    assert design_effect(values, np.full(30, 4.0), None, names) == pytest.approx(4)  # each row four times
    assert design_effect(values, np.full(30, 4.0), np.full(30, 16.0), names) == 1  # weights that only matter relatively
    assert design_effect(np.ones(30), None, None, names // 3) == 3  # nothing varies: the cautious answer
    pairs = np.stack([values, -values], axis=1).ravel()
    assert design_effect(pairs, None, None, np.repeat(names, 2)) == 1  # errors that cancel are not read as more rows
