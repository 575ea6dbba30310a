"""Mean gap and root Brier score: numbers without bins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import ttest_1samp

import calibrant as cal
import strategies as some
from calibrant import InputError
from naive import scores
from tolerances import ROUNDING


def test_the_mean_gap_by_hand():
    found = cal.mean_gap([0, 1, 0, 1], [0.4, 0.8, 0.6, 0.8])  # mean 0.65, rate 0.5
    assert found.value == pytest.approx(0.15, abs=ROUNDING)
    assert cal.mean_gap([1, 1], [0.5, 0.25]).value == pytest.approx(-0.625, abs=ROUNDING)


def test_its_interval_is_wider_than_students_for_few_rows_and_the_same_for_many(rng):
    for n, wider in ((40, 1.05), (200, 1.01)):
        p = rng.random(n)
        y = rng.random(n) < p
        interval = cal.mean_gap(y, p, level=0.9).interval
        low, high = ttest_1samp(p - y, 0).confidence_interval(0.9)
        assert interval.high - interval.low > wider * (high - low)
        assert interval.level == 0.9
    p = rng.random(10_000)
    y = rng.random(10_000) < p
    interval = cal.mean_gap(y, p, level=0.9).interval
    expected = ttest_1samp(p - y, 0).confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx(expected, abs=ROUNDING)


@given(some.events())
def test_it_is_the_difference_of_means(said):
    found = cal.mean_gap(said.labels, said.probs, counts=said.weights).value
    expected = scores.mean([float(p) - y for p, y in zip(said.probs, said.labels, strict=True)], said.weights)
    assert found == pytest.approx(expected, abs=ROUNDING)


def test_few_rows_and_one_row_are_reported():
    assert cal.mean_gap([1], [0.5]).interval is None
    assert cal.mean_gap([1], [0.5]).cautions == ("one row has no interval",)
    two = cal.mean_gap([1, 0], [0.5, 0.5])
    assert two.cautions == ()  # its limits are known
    assert two.interval.high == pytest.approx(-two.interval.low)
    assert 0.45 < two.interval.high < 0.5  # the limit


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, float("nan"), "0.9", None])
def test_a_level_lies_between_zero_and_one(level):
    with pytest.raises(InputError, match=r"level must lie between 0 and 1; it is"):
        cal.mean_gap([0, 1], [0.2, 0.7], level=level)


def test_the_root_brier_score_is_the_root_with_the_roots_of_its_interval(rng):
    p = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    root, brier = cal.root_brier(y, p), cal.brier_score(y, p)
    assert root.value == math.sqrt(brier.value)
    assert root.interval.low == math.sqrt(brier.interval.low)
    assert root.interval.high == math.sqrt(brier.interval.high)


@given(some.events())
def test_the_root_brier_score_bounds_the_binned_error(said):
    bound = cal.root_brier(said.labels, said.probs, view="binary", counts=said.weights).value
    error = cal.binned_error(said.labels, said.probs, norm=2, bins=cal.EqualMass(7), counts=said.weights).value
    assert bound >= error - 1e-8  # both are roots: rounding of 1e-16 shows as 1e-8


@given(some.matrices())
def test_the_root_brier_score_bounds_every_view(said):
    bound = cal.root_brier(said.labels, said.probs, counts=said.weights).value
    for view in ("top", "class 0"):
        made = cal.Predictions(said.labels, said.probs, counts=said.weights)
        assert bound >= cal.binned_error(made, norm=2, view=view).value - 1e-8
    total = cal.binned_error(made, norm=2, view="classwise", average="sum").value
    assert bound >= total - 1e-8
