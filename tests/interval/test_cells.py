"""Cells that are fixed in advance: where values lie, what is kept of them, and the interval that follows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.interval import Cells, LimitedMean, Limits, moments_of
from calibrant.interval.cells import PER_OCTAVE, SMALLEST
from calibrant.kernels.sums.weighted_means import value_beyond

values = st.floats(-1e12, 1e12, allow_subnormal=False)


def naive_cell(x):
    """The lower and the upper end of the cell of one value."""
    if abs(x) < 2.0**SMALLEST:
        return -(2.0**SMALLEST), 2.0**SMALLEST
    octave = 2.0 ** math.floor(math.log2(abs(x)))
    octave = octave * 2 if octave * 2 <= abs(x) else octave / 2 if octave > abs(x) else octave
    step = math.floor((abs(x) / octave - 1) * PER_OCTAVE)
    ends = octave * (1 + step / PER_OCTAVE), octave * (1 + (step + 1) / PER_OCTAVE)
    return ends if x > 0 else (-ends[1], -ends[0])


@given(values)
def test_a_value_lies_in_its_cell(x):
    held = Cells.of(np.array([x, -1e13, 1e13]))
    at = next(i for i, cell in enumerate(held.cells) if cell == Cells.of(np.array([x])).cells[0])
    low, high = held.ends()
    assert (low[at], high[at]) == naive_cell(x)
    assert low[at] <= x <= high[at]


@given(st.lists(values, min_size=1, max_size=40), st.integers(0, 40))
def test_parts_merge_to_all_values(x, cut):
    x = np.array(x)
    merged, once = Cells.of(x[:cut]).merge(Cells.of(x[cut:])), Cells.of(x)
    assert merged.cells.tolist() == once.cells.tolist()
    assert (merged.low, merged.high) == (x.min(), x.max())
    np.testing.assert_allclose(merged.sums, once.sums, rtol=1e-12, atol=0)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=60))
def test_points_have_mean_and_variance_of_the_values(x):
    points, weights = Cells.of(np.array(x)).points()
    scale = max(map(abs, x)) + 1
    assert weights.sum() == pytest.approx(len(x))
    assert weights @ points / len(x) == pytest.approx(np.mean(x), abs=1e-12 * scale)
    assert weights @ points**2 / len(x) == pytest.approx(np.mean(np.square(x)), abs=1e-9 * scale**2)
    assert points.min() >= min(x)
    assert points.max() <= max(x)


def test_whole_values_are_kept_as_they_are():
    """Two scores keep the interval of Clopper and Pearson."""
    points, weights = Cells.of(np.array([0.0, 1.0, 1.0, 0.0, 0.0]), np.array([1, 2, 1, 1, 0])).points()
    assert sorted(zip(points.tolist(), weights.tolist(), strict=True)) == [(0.0, 2.0), (1.0, 3.0)]


def laws():
    rng = np.random.default_rng(5)
    yield "uniform", rng.random(400), Limits(0.0, 1.0)
    yield "skewed", rng.beta(0.2, 3, 300), Limits(0.0, 1.0)
    yield "log", -np.log(rng.random(200)), Limits(0.0, 12.0)
    yield "both signs", rng.normal(size=60) / 4, Limits(-2.0, 2.0)
    yield "narrow", 0.98 + rng.random(50) / 100, Limits(0.0, 2.0)
    yield "many", rng.random(3000) ** 8, Limits(0.0, 1.0)
    yield "rare losses", np.where(rng.random(500) < 0.01, 0.9, 0.01) + rng.random(500) / 1000, Limits(0.0, 1.0)


@pytest.mark.parametrize(("x", "limits"), [pytest.param(*law, id=name) for name, *law in laws()])
@pytest.mark.parametrize("z", [1.0, 1.96, 3.3])
def test_interval_ends_are_those_of_the_values(x, limits, z):
    found = LimitedMean.of(x, None, limits)
    one = np.ones(len(x))
    low, high = -value_beyond(-x, one, -limits.lower, z), value_beyond(x, one, limits.upper, z)
    assert -value_beyond(-found.below[0], found.below[1], -limits.lower, z) == pytest.approx(
        low, abs=1e-8 * (high - low)
    )
    assert value_beyond(*found.above, limits.upper, z) == pytest.approx(high, abs=1e-8 * (high - low))


def test_damaged_cells_are_refused():
    saved = Cells.of(np.array([0.1, 0.5])).to_data()
    assert Cells.from_data(saved).to_data() == saved
    damages = [({"cells": [3, 2]}, "cells must increase"), ({"low": 0.3}, "low must not exceed high")]
    damages += [({"sums": [[1.0], [1.0], [1.0]]}, "shape"), ({"sums": [[-1.0, 1], [0, 0], [0, 0]]}, "sums of values")]
    for damage, text in damages:
        with pytest.raises(cal.MapError, match=text):
            Cells.from_data(saved | damage)


def test_moments_of_rows_and_cells_agree():
    x = np.random.default_rng(0).random(1000)
    weight, total = Cells.of(x).totals()
    assert total.sum() / weight.sum() == pytest.approx(moments_of(x, None).mean, rel=1e-13)
