"""The running sum of errors, from all rows in order and from buckets."""

from __future__ import annotations

import numpy as np
import pytest

import strategies as some
from calibrant.kernels.rows.buckets import bucketed
from calibrant.kernels.rows.pooling import grouped
from calibrant.kernels.sums import running_error as cumulative
from calibrant.kernels.sums.running_error import bucket_course, group_course
from crowded import SCORES, scored
from tolerances import ROUNDING


def beyond_zero(course, sign):
    """The largest sum of one sign, 0 if there is none, and where it is."""
    at = int(np.argmax(sign * course.sums))
    return (course.sums[at], course.places[at]) if sign * course.sums[at] > 0 else (0.0, None)


@pytest.mark.some(7)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_buckets_give_the_course_of_the_sorted_rows(rng, monkeypatch, kind, dtype, plain):
    if plain:
        monkeypatch.setattr(cumulative, "inner_extremes", cumulative.inner_extremes.plain)
    probs, outcomes = scored(kind, rng, 2000, dtype)
    groups = grouped(probs, outcomes, None)
    expected, found = group_course(groups), bucket_course(bucketed(probs, outcomes))
    for sign in (1, -1):
        (sum_found, _), (sum_expected, _) = beyond_zero(found, sign), beyond_zero(expected, sign)
        assert sum_found == pytest.approx(sum_expected, abs=ROUNDING * 2000)
    assert found.total == expected.total
    assert found.variance == pytest.approx(expected.variance, rel=1e-12)
    assert (np.diff(found.places) > 0).all()
    running = dict(zip(groups.values, np.cumsum(groups.residual), strict=True))
    assert found.sums == pytest.approx([running[place] for place in found.places], abs=ROUNDING * 2000)


@pytest.mark.parametrize("kind", SCORES)
def test_the_farthest_sum_alone_is_that_of_the_sorted_rows(rng, kind):
    for outcomes_of in (lambda p: rng.random(len(p)) < p, lambda p: p < 0.9, lambda p: p > 0.9):
        probs = SCORES[kind](rng, 3000)
        outcomes = outcomes_of(probs).astype(np.uint8)
        expected = np.abs(group_course(grouped(probs, outcomes, None)).sums).max()
        found = bucket_course(bucketed(probs, outcomes), both=False)
        assert np.abs(found.sums).max() == pytest.approx(expected, abs=ROUNDING * 3000)


def test_an_extreme_inside_a_bucket_is_found():
    # C rises by 10 · 0.25 and falls by 10 · 0.7495 within a bucket; the row at 0.75 brings it up by 0.75
    probs = np.concatenate([np.full(10, 0.25), np.full(10, 0.2505), [0.75]])
    outcomes = np.array([0] * 10 + [1] * 10 + [0], np.uint8)
    made = bucketed(probs, outcomes)
    assert made.index[0] == made.index[10] != made.index[20]
    found = bucket_course(made)
    assert beyond_zero(found, 1) == (2.5, 0.25)
    assert found.sums == pytest.approx([2.5, -4.995, -4.245])
    assert bucket_course(made, both=False).places.tolist() == [0.2505, 0.75]
    swapped = bucket_course(bucketed(probs, 1 - outcomes), both=False)  # −7.5, then −4.995, −5.245
    assert beyond_zero(swapped, -1) == (-7.5, 0.25)


def test_a_long_course_is_thinned(rng):
    probs, outcomes = scored("uniform", rng, 5000)
    for found in (group_course(grouped(probs, outcomes, None)), bucket_course(bucketed(probs, outcomes))):
        assert 500 < len(found.places) <= 1004
        assert np.diff(found.places).max() < 0.01
