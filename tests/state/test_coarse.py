"""States of bounded size: beyond a number of distinct predictions, buckets; any split gives the same table."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.problems import InputError, MapError
from calibrant.state.state import State


@pytest.fixture
def rows(rng):
    probs = rng.beta(0.4, 0.7, 5000)
    return (rng.random(5000) < probs**1.2).astype(int), probs


def same(one: State, other: State) -> None:
    a, b = one.pooled("binary"), other.pooled("binary")
    assert a.coarse == b.coarse
    for name in ("weight", "hits") + (("low", "high") if a.coarse else ()):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_allclose(a.values, b.values, rtol=1e-14)


@pytest.mark.parametrize("limit", [10, 1000, 4999, 5000, None])
def test_any_split_and_order_give_the_table_of_one_pass(rng, rows, limit):
    labels, probs = rows
    whole = cal.collect(labels, probs, max_distinct=limit)
    assert whole.pooled("binary").coarse == (limit is not None and limit < 5000)
    parts = np.split(rng.permutation(5000), sorted(rng.integers(1, 4999, 6)))
    states = [cal.collect(labels[k], probs[k], max_distinct=limit) for k in parts if len(k)]
    merged = states[0]
    for state in states[1:]:
        merged = merged.merge(state)
    same(whole, merged)
    left = states[0].merge(states[1])
    right = states[2].merge(states[3])
    for state in states[4:]:
        right = state.merge(right)
    same(whole, right.merge(left))
    assert cal.is_calibrated(whole, n_draws=99).p_value == cal.is_calibrated(merged, n_draws=99).p_value


@pytest.mark.parametrize("bins", [1, 10, 15, 20, 100, 300])
def test_equal_width_bins_are_exact(rows, bins):
    found = cal.ece(cal.collect(*rows, max_distinct=50), bins=bins)
    assert found.value == pytest.approx(cal.ece(*rows, bins=bins).value, rel=1e-12)


def test_what_depends_on_order_is_within_the_stated_bound(rows):
    state = cal.collect(*rows, max_distinct=50)
    share = state.pooled("binary").mixed_share
    assert 0 < share < 0.02
    assert cal.mean_gap(state).value == pytest.approx(cal.mean_gap(*rows).value, rel=1e-12)
    assert abs(cal.ks_error(state).value - cal.ks_error(*rows).value) <= share
    for n_bins in (5, 15, 50):
        bins = cal.EqualMass(n_bins)
        off = abs(cal.ece(state, bins=bins).value - cal.ece(*rows, bins=bins).value)
        assert off <= 2 * (n_bins - 1) * share
    assert abs(cal.smooth_error(state).value - cal.smooth_error(*rows).value) < 1e-3
    assert abs(cal.brier_score(state).value - cal.brier_score(*rows).value) < 1e-4


def test_a_table_of_buckets_is_small(rng):
    probs = rng.beta(0.05, 0.05, 400_000)
    state = cal.collect(rng.random(400_000) < probs, probs, max_distinct=1000)
    assert len(state.pooled("binary")) < 27_000
    state.update(rng.random(400_000) < probs, probs)
    assert len(state.pooled("binary")) < 27_000
    assert state.pooled("binary").total == 800_000


def test_the_smaller_limit_counts_when_states_are_merged(rows):
    labels, probs = rows
    exact = cal.collect(labels[:100], probs[:100])
    assert exact.merge(cal.collect(labels[100:], probs[100:], max_distinct=200)).pooled("binary").coarse


@pytest.mark.parametrize("ending", [".json", ".arrow"])
def test_saved_and_read_back(tmp_path, rows, ending):
    state = cal.collect(*rows, max_distinct=50)
    state.save(tmp_path / f"state{ending}")
    assert State.load(tmp_path / f"state{ending}") == state
    assert "buckets of predictions" in repr(state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"high": None}, "low"),
        ({"low": None}, "high"),
        ({"high": 0.0}, "high"),
        ({"low": 1.0}, "low"),
    ],
)
def test_damaged_ends_are_refused(rows, change, message):
    data = cal.collect(*rows, max_distinct=50).to_data()
    table = data["events"]["binary"]
    for name, value in change.items():
        table[name] = value if value is None else [value] * len(table["values"])
    with pytest.raises(MapError, match=message):
        State.from_data(data)


@pytest.mark.parametrize("limit", [0, -3, 1.5, "many"])
def test_a_limit_must_be_a_number_of_predictions(rows, limit):
    with pytest.raises(InputError, match="max_distinct"):
        cal.collect(*rows, max_distinct=limit)


@pytest.mark.slow
def test_the_exact_test_of_buckets_keeps_its_size():
    """Labels drawn per bucket: rejections at 5 % of calibrated data whose predictions are all different."""
    rejected, sets = 0, 400
    for seed in range(sets):
        rng = np.random.default_rng([7, seed])
        probs = rng.beta(0.5, 0.5, 3000)
        state = cal.collect(rng.random(3000) < probs, probs, max_distinct=100)
        rejected += cal.calibration_test(state, statistic="ks", n_draws=99).p_value <= 0.05
    assert abs(rejected / sets - 0.05) < 3 * np.sqrt(0.05 * 0.95 / sets)
