"""Means collected in parts on fixed cells."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.interval import CellMoments, LimitedMean, Limits, Moments, moments_of
from calibrant.problems import MapError

AGREEMENT = 1e-3
"""How far ends from cells may be from those of the rows, relative to the interval's width."""

BEYOND = 1e-2
"""The same where a tenth of the rows lies beyond the cells, all of them in one more."""

SAME = 1e-12


def softmax_scores(rng, n, sharpness):
    """Brier and log scores of a calibrated model of five classes, and its gaps of one class."""
    z = rng.normal(size=(n, 5)) * sharpness
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=4)
    hit = np.eye(5)[y]
    return {
        "brier": (((p - hit) ** 2).sum(axis=1), Limits(0.0, 2.0)),
        "log": (-np.log(p[np.arange(n), y]).clip(max=0), Limits(0.0, 36.05)),
        "gap": (p[:, 0] - hit[:, 0], Limits(-1.0, 1.0)),
    }


def folded(parts, order):
    """Parts merged in an order, every second pair by itself first."""
    states = [parts[k] for k in order]
    while len(states) > 1:
        first, second, *rest = states
        states = [*rest, first.merge(second)]
    return states[0]


@pytest.mark.parametrize("kind", ["brier", "log", "gap"])
@pytest.mark.parametrize("sharpness", [0.5, 3.0, 12.0])
@pytest.mark.parametrize("n", [3, 40, 700, 6000])
def test_ends_agree_with_those_of_the_rows(rng, n, sharpness, kind, monkeypatch):
    monkeypatch.setattr("calibrant.interval.limited_mean.CELLS", 10**9)  # every row by itself
    values, limits = softmax_scores(rng, n, sharpness)[kind]
    found, expected = CellMoments.collect(values, None, limits), LimitedMean.of(values, None, limits)
    assert found.mean == pytest.approx(expected.mean, abs=SAME)
    assert isinstance(found.within(), type(expected))
    for level in (0.5, 0.95, 0.999):
        ends, exact = found.interval(level)[0], expected.interval(level)[0]
        assert (ends.low, ends.high) == pytest.approx(
            (exact.low, exact.high), abs=AGREEMENT * (exact.high - exact.low) + SAME
        )
    assert found.p_value() == pytest.approx(expected.p_value(), rel=1e-2, abs=1e-6)


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=40), st.floats(0.5, 0.999))
def test_any_values_agree_with_the_rows(rows, level):
    values = np.array(rows, dtype=np.float64) ** 4  # many small ones share a cell
    found, exact = (
        each.interval(level)[0]
        for each in (
            CellMoments.collect(values, None, Limits(0.0, 1.0)),
            LimitedMean.of(values, None, Limits(0.0, 1.0)),
        )
    )
    assert (found.low, found.high) == pytest.approx(
        (exact.low, exact.high), abs=AGREEMENT * (exact.high - exact.low) + SAME
    )


@given(st.integers(2, 300), st.integers(1, 6), st.booleans(), st.integers(0, 2**32 - 1))
def test_any_split_and_any_order_give_the_same_answer(n, n_parts, weighted, seed):
    rng = np.random.default_rng(seed)
    for values, limits in softmax_scores(rng, n, 4.0).values():
        w = rng.integers(0, 4, n).astype(float) if weighted else None
        cuts = np.sort(rng.integers(0, n + 1, n_parts - 1))
        rows = rng.permutation(n)
        picked = [rows[a:b] for a, b in pairwise([0, *cuts.tolist(), n])]
        parts = [CellMoments.collect(values[at], None if w is None else w[at], limits) for at in picked]
        once, merged = CellMoments.collect(values, w, limits), folded(parts, rng.permutation(n_parts))
        assert merged.rows == once.rows
        assert merged.mean == pytest.approx(once.mean, abs=SAME)
        (one, warned), (many, also) = once.interval(0.95), merged.interval(0.95)
        assert warned == also
        if one is not None:
            assert (many.low, many.high) == pytest.approx((one.low, one.high), rel=SAME, abs=SAME)
            assert merged.p_value() == pytest.approx(once.p_value(), rel=1e-9)


def test_the_points_have_the_moments_of_the_rows(rng):
    values = rng.normal(0.5, 0.4, 400)  # some beyond the limits on either side
    found = CellMoments.collect(values, None, Limits(0.0, 1.0))
    points = moments_of(*found.points())
    assert (points.weight, points.mean) == pytest.approx((400, values.mean()), rel=SAME)
    assert points.squares == pytest.approx(moments_of(values, None).squares, rel=1e-9)
    x, _ = found.points()
    assert values.min() <= x.min() < 0 < 1 < x.max() <= values.max()


def test_rows_beyond_the_limits_widen_them_as_they_do_without_cells(rng):
    values, limits = rng.exponential(0.5, 60), Limits(0.0, 1.0)
    found, _ = CellMoments.collect(values, None, limits).interval(0.9)
    exact, _ = LimitedMean.of(values, None, limits).interval(0.9)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=BEYOND * (exact.high - exact.low))


def test_narrower_limits_can_be_given_at_the_end(rng):
    values = rng.random(80)
    cells = CellMoments.collect(values, None, Limits(0.0, 36.0))
    narrow, exact = cells.interval(0.95, Limits(0.0, 1.0))[0], LimitedMean.of(values, None, Limits(0.0, 1.0))
    assert narrow.high == pytest.approx(exact.interval(0.95)[0].high, abs=AGREEMENT)
    assert narrow.high < cells.interval(0.95)[0].high
    assert cells.p_value(Limits(0.0, 1.0)) == pytest.approx(exact.p_value(), abs=1e-9)


def test_zeros_and_ones_are_exact():
    for ones in (0, 3, 50):
        values = (np.arange(50) < ones).astype(float)
        cells, rows = (
            each.interval(0.95)
            for each in (
                CellMoments.collect(values, None, Limits(0.0, 1.0)),
                LimitedMean.of(values, None, Limits(0.0, 1.0)),
            )
        )
        assert cells[0].low == pytest.approx(rows[0].low, abs=SAME)
        assert cells[0].high == pytest.approx(rows[0].high, abs=SAME)


@pytest.mark.parametrize("limits", [Limits(-np.inf, np.inf), Limits(0.0, np.inf), Limits(-np.inf, 3.0)])
def test_without_a_finite_range_the_interval_is_students(rng, limits):
    values = 1e6 + rng.random(50)
    merged = CellMoments.collect(values[:20], None, limits).merge(CellMoments.collect(values[20:], None, limits))
    exact = moments_of(values, None).interval(0.95)[0]
    found = merged.interval(0.95)[0]
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), rel=SAME)


def test_few_rows_infinite_rows_and_none(rng):
    one = CellMoments.collect(np.array([0.3]), None, Limits(0.0, 1.0))
    assert one.interval(0.95) == (None, ("one row has no interval",))
    assert one.p_value() is None
    infinite = CellMoments.collect(np.array([0.3, np.inf]), None, Limits(0.0, 1.0))
    assert (infinite.mean, infinite.interval(0.95)) == (np.inf, (None, ()))
    assert infinite.merge(one).mean == np.inf
    none = CellMoments.collect(rng.random(3), np.zeros(3), Limits(0.0, 1.0))
    assert (none.rows, none.interval(0.95)[0]) == (0, None)
    assert none.merge(one) == one == one.merge(none)
    same = CellMoments.collect(np.full(9, 0.5), None, Limits(0.5, 0.5))
    assert same.interval(0.9)[0].high == same.interval(0.9)[0].low == 0.5


def test_a_state_travels_as_json(rng):
    for values in (rng.random(30), np.array([0.1, np.inf])):
        state = CellMoments.collect(
            values, rng.integers(1, 3, len(values)).astype(float), Limits(0.0, 1.0, 0.1, 0.2, ("a warning",))
        )
        back = CellMoments.from_json(state.to_json())
        assert back == state
        assert back.interval(0.95) == state.interval(0.95)
    with pytest.raises(MapError, match="damaged"):
        CellMoments.from_dict(state.to_dict() | {"sums": [[1.0]]})
    with pytest.raises(MapError, match="incomplete: low is missing"):
        CellMoments.from_dict({k: v for k, v in state.to_dict().items() if k != "low"})


def test_parts_on_other_cells_are_refused(rng):
    one, other = (CellMoments.collect(rng.random(5), None, Limits(0.0, top)) for top in (1.0, 2.0))
    with pytest.raises(InputError, match=r"limits must be the same in both parts"):
        one.merge(other)


def test_moments_are_a_record(rng):
    found = moments_of(rng.random(10), None)
    assert Moments.from_json(found.to_json()) == found
