"""Cumulative differences: by hand and against exact sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError, Predictions
from naive import binned, data
from naive import cumulative as naive
from tolerances import ROUNDING


def test_three_rows_by_hand():
    # running sums of p − y: 0.2, −0.3, −0.7, over 3
    labels, probs = [0, 1, 1], [0.2, 0.5, 0.6]
    found = cal.ks_error(labels, probs)
    assert found.value == pytest.approx(0.7 / 3, abs=ROUNDING)
    assert found.parts["curve"].y.tolist() == pytest.approx([0.2 / 3, -0.1, -0.7 / 3], abs=ROUNDING)
    assert found.parts["where"] == [0.0, 0.6]
    span = cal.ks_error(labels, probs, statistic="range")
    assert span.value == pytest.approx(0.9 / 3, abs=ROUNDING)
    assert span.parts["where"] == [0.2, 0.6]


def test_a_tie_is_added_together_before_the_maximum():
    # in the order they come the running sum would reach 0.5 after the first row
    assert cal.ks_error([0, 1], [0.5, 0.5]).value == 0
    assert cal.ks_error([0, 1], [0.5, 0.5], statistic="range").value == 0


def test_the_curve_begins_at_zero():
    # C never exceeds 0, and never falls below it
    assert cal.ks_error([1, 1], [0.5, 0.5], statistic="range").value == pytest.approx(0.5, abs=ROUNDING)
    assert cal.ks_error([0, 0], [0.5, 0.5], statistic="range").value == pytest.approx(0.5, abs=ROUNDING)


def test_the_noise_floor_is_that_of_a_brownian_motion():
    probs = [0.5] * 16
    sd = math.sqrt(16 * 0.25) / 16
    assert cal.ks_error([0] * 16, probs).noise_floor == pytest.approx(math.sqrt(math.pi / 2) * sd, abs=ROUNDING)
    span = cal.ks_error([0] * 16, probs, statistic="range").noise_floor
    assert span == pytest.approx(2 * math.sqrt(2 / math.pi) * sd, abs=ROUNDING)


@given(data.events())
def test_it_is_that_of_exact_sums(said):
    steps = naive.steps(said.probs, said.labels, said.weights)
    found = cal.ks_error(said.labels, said.probs, counts=said.weights)
    assert found.value == pytest.approx(naive.ks(steps), abs=ROUNDING)
    np.testing.assert_allclose(found.parts["curve"].y, steps, rtol=0, atol=ROUNDING)
    span = cal.ks_error(said.labels, said.probs, statistic="range", counts=said.weights)
    assert span.value == pytest.approx(naive.kuiper(steps), abs=ROUNDING)


@given(data.matrices(most=15))
def test_top_and_class_views_are_those_of_exact_sums(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    views = {"top": binned.top(said.labels, said.probs), "class 1": binned.one_class(said.labels, said.probs, 1)}
    for view, (p, y) in views.items():
        expected = naive.ks(naive.steps(p, y, said.weights))
        assert cal.ks_error(made, view=view).value == pytest.approx(expected, abs=ROUNDING)


@given(data.events())
def test_the_mean_gap_is_below_the_maximum_and_that_below_the_range(said):
    gap = abs(cal.mean_gap(said.labels, said.probs, counts=said.weights).value)
    largest = cal.ks_error(said.labels, said.probs, counts=said.weights).value
    span = cal.ks_error(said.labels, said.probs, statistic="range", counts=said.weights).value
    assert gap <= largest + ROUNDING
    assert largest <= span + ROUNDING
    assert span <= 2 * largest + ROUNDING


@given(data.events(), st.integers(1, 20))
def test_it_is_at_most_the_error_of_a_bin_for_each_prediction(said, n_bins):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    fine = sum(float(r) for r in np.abs(made.event().pooled.residual) / made.event().pooled.total)
    assert cal.ks_error(made).value <= fine + ROUNDING


def test_a_long_curve_is_thinned_but_keeps_its_extremes(rng):
    p = rng.random(5000)
    y = rng.random(5000) < p
    found = cal.ks_error(y, p)
    curve = found.parts["curve"]
    assert len(curve.x) <= 1002
    assert np.abs(curve.y).max() == pytest.approx(found.value, abs=ROUNDING)


def test_an_unknown_statistic_is_refused():
    with pytest.raises(InputError, match="statistic must be one of 'max', 'range'; it is 'mean'"):
        cal.ks_error([0, 1], [0.2, 0.7], statistic="mean")


@given(data.matrices(most=10, weighted=False))
def test_class_by_class_is_definition_c2_of_gruber_and_buettner(said):
    found = cal.ks_error(said.labels, said.probs, view="classwise")
    assert found.value == pytest.approx(naive.ks_of_classes(said.labels, said.probs), abs=ROUNDING)
    alone = [cal.ks_error(said.labels, said.probs, view=f"class {k}").value for k in range(said.probs.shape[1])]
    assert found.parts["classes"].values.tolist() == pytest.approx(alone, abs=ROUNDING)
    mean = cal.ks_error(said.labels, said.probs, view="classwise", average="mean")
    assert mean.value == pytest.approx(np.mean(alone), abs=ROUNDING)
    total = cal.ks_error(said.labels, said.probs, view="classwise", average="sum", statistic="range")
    ranges = [
        cal.ks_error(said.labels, said.probs, view=f"class {k}", statistic="range").value
        for k in range(said.probs.shape[1])
    ]
    assert total.value == pytest.approx(sum(ranges), abs=ROUNDING)


def test_other_averages_are_refused():
    with pytest.raises(InputError, match="average must be one of 'top', 'mean', 'sum'"):
        cal.ks_error([0, 1], [[0.5, 0.5], [0.2, 0.8]], view="classwise", average="median")
