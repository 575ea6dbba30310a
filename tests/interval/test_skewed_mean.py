"""The interval of a mean of skewed rows, and its p-value."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from calibrant.interval import Possible, SkewedMean, moments_of
from calibrant.interval.clusters import cluster_mean
from tolerances import ROUNDING


def ends(values, level=0.95, **options):
    interval, _ = SkewedMean.of(values, options.pop("weights", None), **options).interval(level)
    return interval.low, interval.high


def naive(x, level):
    """By the formula, for rows of equal weight whose possible values are unknown."""
    n, d = len(x), x - x.mean()
    r = (d**3).sum() / (d**2).sum() ** 1.5
    q, error = student.ppf((1 + level) / 2, n - 1), x.std(ddof=1) / n**0.5

    def distance(side):
        bend = min(side + 12 * side**3, 1.0) if side > 0 else 0.3 * side
        bent = min(max(bend * q, -0.6), 3.0)
        return error * q * (math.exp(bent) - 1) / bent

    return x.mean() - distance(-r), x.mean() + distance(r)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("power", [1, 3, 8])
def test_the_formula(level, power, rng):
    x = rng.exponential(size=60) ** power
    assert ends(x, level) == pytest.approx(naive(x, level), rel=1e-9)
    assert ends(-x, level) == pytest.approx(tuple(-end for end in reversed(naive(x, level))), rel=1e-9)


def test_symmetric_rows_have_students_interval(rng):
    x = rng.standard_t(3, 40)
    x = np.concatenate([x, -x]) + 2.0
    assert ends(x) == pytest.approx(tuple(ttest_1samp(x, 0).confidence_interval(0.95)), rel=1e-9)


def test_skewed_rows_reach_further_on_their_side(rng):
    x = rng.exponential(size=50)
    usual, found = ttest_1samp(x, 0).confidence_interval(0.95), ends(x)
    assert found[1] > usual.high
    assert found[0] > usual.low


def possible_of(x, rng, shape=5):
    return Possible(tuple(x + step for step in rng.exponential(size=(shape, len(x)))), tuple(np.full(shape, 1 / shape)))


def test_units_signs_and_the_order_of_rows_do_not_matter(rng):
    x = rng.lognormal(size=50)
    law = possible_of(x, rng)
    plain = np.array(ends(x, possible=law))
    for factor in (1e-120, 1e100, -3.0):
        other = Possible(tuple(factor * each for each in law.values), law.chances)
        assert ends(factor * x, possible=other) == pytest.approx(sorted(factor * plain), rel=1e-9)
    moved = Possible(tuple(each + 10 for each in law.values), law.chances)
    assert ends(x + 10, possible=moved) == pytest.approx(plain + 10, rel=1e-9)
    order = rng.permutation(50)
    mixed = Possible(tuple(each[order] for each in law.values), law.chances)
    assert ends(x[order], possible=mixed) == pytest.approx(plain, rel=1e-9)


def test_the_p_value_agrees_with_the_interval(rng):
    for shift in (-2.5, -1.3, -0.9, 0.3):
        for x in (rng.lognormal(size=40) + shift, -rng.lognormal(size=40) - shift):
            found = SkewedMean.of(x, None, None, possible_of(x, rng))
            p = found.p_value()
            for level, inside in ((1 - p * 1.001, False), (1 - p * 0.999, True)):
                if 0 < level < 1 - 1e-6:
                    interval, _ = found.interval(level)
                    assert (0 in interval) == inside


def test_equal_weights_are_none_and_weightless_rows_do_not_count(rng):
    x, w = rng.lognormal(size=50), np.full(50, 1.0)
    law = possible_of(x, rng)
    assert ends(x, weights=w, possible=law) == pytest.approx(ends(x, possible=law), rel=1e-12)
    kept = np.arange(50) < 40
    shorter = Possible(tuple(each[kept] for each in law.values), law.chances)
    assert ends(x, weights=kept * 1.0, possible=law) == pytest.approx(ends(x[kept], possible=shorter), rel=1e-12)


def test_a_row_that_weighs_much_is_a_long_tail(rng):
    x = np.concatenate([rng.normal(size=60), [4.0]])
    w = np.where(np.arange(61) < 60, 1.0, 5.0)
    w *= w.sum() / (w**2).sum()
    found = SkewedMean.of(x, w, w**2)
    assert found.above.bend > SkewedMean.of(x, None).above.bend > 0
    assert found.mean == pytest.approx(np.average(x, weights=w))


def test_the_interval_does_not_collapse_where_worse_was_possible():
    x = np.full(50, 3.0)
    low, high = ends(x, possible=Possible((x, x + 20), (0.99, 0.01)))  # half a row of 50 was expected there
    assert low == 3.0
    spread = math.sqrt(30 * 0.0099 * 400 / 79 / 50)  # thirty rows more with the variance of the forecasts
    bend = 0.98 / math.sqrt(0.0099) / math.sqrt(50)
    q = student.ppf(0.975, 49)
    assert high == pytest.approx(3.0 + spread * (math.exp(min(bend, 1.0) * q) - 1) / min(bend, 1.0))
    assert ends(x) == (3.0, 3.0)


def test_a_law_that_the_rows_refute_counts_less(rng):
    x = rng.normal(size=200)
    skewed = np.concatenate([np.zeros(9), [1.0]]) - 0.1
    found = []
    for size in (3.0, 30.0):
        law = Possible(tuple(np.full(200, size * step) for step in skewed), tuple(np.full(10, 0.1)))
        found.append(SkewedMean.of(x, None, None, law).above)
    assert found[0].bend == pytest.approx(8 / 3 / 200**0.5)  # the skewness of one in ten
    assert found[1].bend < 0.7 * found[0].bend
    assert found[1].error < 2 * moments_of(x, None).error  # 20 rows of 27 were expected: that none was seen counts


def test_forecasts_that_are_too_sure_do_not_shorten_the_interval(rng):
    x = rng.lognormal(size=40)
    law = Possible(tuple(np.full(40, 0.01 * step) for step in (0.0, 0.0, 1.0)), (0.6, 0.3, 0.1))
    alone, beside = SkewedMean.of(x, None), SkewedMean.of(x, None, None, law)
    assert beside.above.error == alone.above.error
    assert beside.above.bend >= alone.above.bend


@pytest.mark.parametrize("n", [60, 400, 3000])
def test_squares_of_errors_without_a_variance_are_warned_of(n, rng):
    """Student's errors with three degrees of freedom; symmetric rows are not."""
    told = [SkewedMean.of(rng.standard_t(3, n) ** 2, None).interval(0.95)[1] for _ in range(40)]
    assert sum(any("long tail" in each for each in some) for some in told) >= 38
    x = rng.normal(size=n)
    assert not SkewedMean.of(np.concatenate([x, -x]), None).interval(0.95)[1]


def test_a_tail_that_other_numbers_hide_is_seen_in_units_of_the_forecasts(rng):
    """Squared errors added to numbers that vary far more; a law of normal errors knows those."""
    normal = NormalDist()
    steps = [normal.inv_cdf((k + 0.5) / 40) ** 2 for k in range(40)]
    told = []
    for errors in (rng.standard_t(3, 2000) / 3**0.5, rng.normal(size=2000)):
        known = 30.0 * rng.normal(size=2000)
        law = Possible(tuple(known + step for step in steps), (1 / 40,) * 40)
        told.append([SkewedMean.of(known + errors**2, None, None, each).heavy for each in (None, law)])
    assert told == [[False, True], [False, False]]


def test_few_rows_clusters_and_warnings(rng):
    interval, cautions = SkewedMean.of(np.array([1.0]), None).interval(0.95)
    assert (interval, cautions) == (None, ("one row has no interval",))
    assert SkewedMean.of(np.array([1.0]), None).p_value() is None
    two = SkewedMean.of(np.array([1.0, 2.0]), None)
    assert two.interval(0.95)[0].high == pytest.approx(moments_of(np.array([1.0, 2.0]), None).interval(0.95)[0].high)
    x = rng.lognormal(size=90)
    alone, plain = SkewedMean.of_clusters(x, None, np.arange(90)), SkewedMean.of(x, None)
    assert alone.interval(0.95)[0].high == pytest.approx(plain.interval(0.95)[0].high, rel=1e-9)
    found = SkewedMean.of_clusters(x, None, np.arange(90) // 3)
    assert found.error == cluster_mean(x, None, np.arange(90) // 3).error
    assert found.interval(0.95)[0].method == "Student t, skewed, clusters"
    assert SkewedMean.of_clusters(x, None, np.zeros(90)).interval(0.95)[0] is None
    x[0] = 1e4
    assert any("the rows have a long tail" in each for each in SkewedMean.of(x, None).interval(0.95)[1])
    assert abs(SkewedMean.of(np.zeros(5), None).p_value() - 1.0) < ROUNDING
