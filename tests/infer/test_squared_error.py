"""The interval of the squared error over bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from calibrant.infer import squared_error_interval
from calibrant.infer.squared import cube_root, squared_ends
from calibrant.interval import normal_quantile
from tolerances import ROUNDING


def by_hand(n, p, y, level):
    """The formula bin by bin, in plain Python."""
    total, z2 = sum(n), normal_quantile(level) ** 2
    squares = [(a - b) ** 2 - b * (1 - b) / (m - 1) for m, a, b in zip(n, p, y, strict=True)]
    value = sum(m / total * s for m, s in zip(n, squares, strict=True))
    squares = [max(s, 0) for s in squares]
    rates = [(m * b + 1) / (m + 2) for m, b in zip(n, y, strict=True)]
    v = [r * (1 - r) for r in rates]
    mean = sum(m / total * s for m, s in zip(n, squares, strict=True))
    far = sum(m / total * (4 * s * w + (s - mean) ** 2) for m, s, w in zip(n, squares, v, strict=True))
    near = sum(2 * m / (m - 1) * w**2 for m, w in zip(n, v, strict=True))
    spread = far / total + near / total**2
    half = 2 * z2 * max(v) / total
    return max(value - (z2 * spread) ** 0.5, 0), min(value + half + (half**2 + z2 * spread) ** 0.5, 1)


def test_the_formula_by_hand(rng):
    p = rng.random(400)
    y = rng.random(400) < p**1.5
    state = EqualMass(6).collect(Predictions(y, p).event())
    low, high = squared_ends(state, 0.9)
    expected = by_hand(state.weight[0], state.mean_prob[0], state.label_rate[0], 0.9)
    assert (low[0], high[0]) == pytest.approx(expected, abs=ROUNDING)
    found = squared_error_interval(y, p, bins=EqualMass(6), level=0.9)
    assert (found.low**2, found.high**2) == pytest.approx(expected, abs=ROUNDING)
    squared = squared_error_interval(y, p, bins=EqualMass(6), level=0.9, root=False)
    assert (squared.low, squared.high) == pytest.approx(expected, abs=ROUNDING)


def test_it_comes_with_the_debiased_square(rng):
    p = rng.random(500)
    y = rng.random(500) < p**2
    found = cal.binned_error(y, p, norm=2, debiased=True)
    assert found.interval.low < found.value < found.interval.high
    assert found.interval == squared_error_interval(y, p, bins=EqualMass(15))
    squared = cal.binned_error(y, p, norm=2, debiased=True, root=False).interval
    assert (squared.low**0.5, squared.high**0.5) == pytest.approx(
        (found.interval.low, found.interval.high), abs=ROUNDING
    )
    assert cal.binned_error(y, p, norm=2).interval is None
    assert cal.binned_error(y, p, debiased=True).interval is None


def test_classes_hold_all_at_once(rng):
    probs = rng.dirichlet(np.ones(4), 300)
    labels = rng.integers(0, 4, 300)
    found = cal.binned_error(labels, probs, norm=2, debiased=True, view="classwise", bins=EqualWidth(5))
    table = found.parts["classes"]
    for k in range(4):
        alone = squared_error_interval(labels == k, probs[:, k], bins=EqualWidth(5), level=1 - 0.05 / 4)
        assert (table.low[k], table.high[k]) == pytest.approx((alone.low, alone.high), abs=ROUNDING)
    ends = found.interval.low**2, found.interval.high**2
    assert ends == pytest.approx(((table.low**2).mean(), (table.high**2).mean()), abs=ROUNDING)
    total = cal.classwise_error(labels, probs, debiased=True, bins=EqualWidth(5)).interval
    assert total.high**2 == pytest.approx((table.high**2).sum(), abs=ROUNDING)


def test_weight_two_is_the_row_twice(rng):
    p, times = rng.random(90), rng.integers(1, 4, 90)
    y = rng.random(90) < p
    weighted = squared_error_interval(y, p, bins=EqualWidth(5), counts=times)
    repeated = squared_error_interval(np.repeat(y, times), np.repeat(p, times), bins=EqualWidth(5))
    assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high), abs=ROUNDING)


def test_one_row_and_rows_that_never_miss_still_leave_room():
    assert squared_error_interval([1], [0.3]).high > 0.3
    sure = squared_error_interval([1] * 50, [1.0] * 50)
    assert (sure.low, sure.high > 0) == (0, True)


@given(st.integers(1, 10**6))
def test_the_number_of_bins_is_the_cube_root_rounded_up(n):
    bins = cube_root(n)
    assert bins**3 >= n > (bins - 1) ** 3


def test_many_questions_are_refused():
    with pytest.raises(InputError, match="one question"):
        squared_error_interval([0, 1], [[0.5, 0.5], [0.5, 0.5]], view="classwise")


def test_the_order_of_rows_changes_nothing(rng):
    p = rng.random(400)
    y, w, order = rng.random(400) < p, rng.random(400) + 0.5, rng.permutation(400)
    for bins in (None, 10, cal.EqualWidth(10), cal.EqualMass(10)):
        for weights in (None, w):
            there = None if weights is None else weights[order]
            first = squared_error_interval(y, p, bins=bins, weights=weights)
            assert squared_error_interval(y[order], p[order], bins=bins, weights=there) == first


def test_the_number_of_cores_changes_nothing(rng, monkeypatch):
    p = rng.random((1 << 19) + 100_000)  # more than one block, and compiled
    y = rng.random(len(p)) < p
    several = squared_error_interval(y, p, bins=cal.EqualWidth(15))
    monkeypatch.setattr("calibrant.kernels.rows.blocks.n_cores", lambda: 1)
    assert squared_error_interval(y, p, bins=cal.EqualWidth(15)) == several
