"""Equal-width bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from naive import binning


def bins_of(index, n_bins):
    return [np.flatnonzero(index == k).tolist() for k in range(n_bins)]


@given(some.events(), st.integers(1, 25), st.sampled_from(["right", "left"]))
def test_rows_fall_where_the_definition_puts_them(said, n_bins, closed):
    event = Predictions(said.labels, said.probs).event()
    found = bins_of(EqualWidth(n_bins, closed).index(event), n_bins)
    assert found == binning.equal_width(said.probs, n_bins, closed)


def test_an_edge_belongs_to_the_bin_below_and_zero_to_the_first():
    event = Predictions([0] * 4, [0.0, 0.2, 0.4, 1.0]).event()
    assert EqualWidth(5).index(event).tolist() == [0, 0, 1, 4]


def test_closed_on_the_left_an_edge_belongs_to_the_bin_above_and_one_to_the_last():
    event = Predictions([0] * 4, [0.0, 0.2, 0.4, 1.0]).event()
    assert EqualWidth(5, closed="left").index(event).tolist() == [0, 1, 2, 4]


def test_a_float32_is_compared_as_the_number_it_is():
    event = Predictions([0, 0], np.float32([0.2, 0.7])).event()  # 0.200000003 and 0.699999988
    assert EqualWidth(10).index(event).tolist() == [2, 6]
    assert EqualWidth(10, "left").index(event).tolist() == [2, 6]


@given(some.events(), st.integers(1, 25), st.sampled_from(["right", "left"]))
def test_sums_are_those_of_the_rows_in_each_bin(said, n_bins, closed):
    event = Predictions(said.labels, said.probs, counts=said.weights).event()
    bins = EqualWidth(n_bins, closed)
    state = bins.collect(event)
    w = np.ones(said.n) if said.weights is None else said.weights
    p = said.probs.astype(float)
    expected = [[w[i].sum(), (w * p)[i].sum(), (w * p * p)[i].sum(), (w * said.labels)[i].sum()] for i in bins_of(bins.index(event), n_bins)]  # fmt: skip
    np.testing.assert_allclose(state.sums[0], expected, rtol=1e-12, atol=0)
    assert state.n == w.sum()


@given(some.matrices(), st.integers(1, 20))
def test_class_by_class_is_each_class_alone(said, n_bins):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    together = EqualWidth(n_bins).collect_classes(made)
    alone = [EqualWidth(n_bins).collect(event).sums[0] for event in made.class_events()]
    np.testing.assert_allclose(together.sums, alone, rtol=1e-12, atol=0)


@pytest.mark.some(3)
@pytest.mark.parametrize("n_bins", [70_000, 1_000_000, 3_000_000])
@pytest.mark.parametrize("dtype", some.DTYPES)
def test_very_many_bins_hold_the_right_rows(n_bins, dtype, rng):
    probs = np.concatenate([rng.random(200), rng.integers(0, n_bins, 200) / n_bins, [0, 1]]).astype(dtype)
    event = Predictions(np.zeros(402), probs).event()
    edges = np.arange(n_bins + 1) / n_bins
    expected = np.maximum(np.searchsorted(edges, probs.astype(float), side="left") - 1, 0)
    assert np.array_equal(EqualWidth(n_bins).index(event), expected)
    assert np.array_equal(np.flatnonzero(EqualWidth(n_bins).collect(event).weight[0]), np.unique(expected))


@pytest.mark.slow
@pytest.mark.parametrize("compile_from", [1, 10**9], ids=["compiled", "numpy"])
def test_very_many_bins_class_by_class(monkeypatch, rng, compile_from):
    monkeypatch.setattr("calibrant.kernels.sums.bin_sums.COMPILE_FROM", compile_from)
    probs = np.concatenate(
        [np.eye(3), rng.dirichlet(np.ones(3), 50), rng.multinomial(2000, [0.9, 0.05, 0.05], 50) / 2000]
    )
    made = Predictions(rng.integers(0, 3, 103), probs)
    rule = EqualWidth(2_000_000)
    found = [np.flatnonzero(row) for row in rule.collect_classes(made).weight]
    for k, event in enumerate(made.class_events()):
        assert np.array_equal(found[k], np.unique(rule.index(event)))


@pytest.mark.parametrize("n_bins", [0, -1, 2.0, "10", None, True, np.float64(3)])
def test_the_number_of_bins_must_be_whole_and_positive(n_bins):
    with pytest.raises(InputError, match=r"n_bins must be a whole number.*; it is"):
        EqualWidth(n_bins)


@pytest.mark.parametrize("integer", [np.uint8, np.int8, np.int16, np.int64])
def test_any_integer_type_counts_bins(integer):
    assert len(EqualWidth(integer(127)).edges()) == 128
    assert len(EqualWidth(np.uint8(255)).edges()) == 256


def test_closed_must_be_a_side():
    with pytest.raises(InputError, match="closed must be one of 'right', 'left'; it is 'both'"):
        EqualWidth(5, closed="both")


def test_rules_are_values_that_describe_themselves():
    assert EqualWidth(10) == EqualWidth(10)
    assert EqualWidth(10).describe() == "10 equal-width bins"
    assert EqualWidth(10, "left").describe() == "10 equal-width bins closed on the left"
    assert EqualWidth(10).mergeable
    assert hash(EqualWidth(10)) == hash(EqualWidth(10, "right"))


@pytest.mark.parametrize(
    "rule", [EqualWidth(7), EqualWidth(7, closed="left"), EqualMass(9), EqualMass(9, ties="split")]
)
def test_cuts_among_sorted_rows_are_where_the_bins_begin(rule):
    rng = np.random.default_rng(5)
    probs = np.sort(np.append(rng.integers(0, 29, 60) / 28, [0.0, 1.0]))  # ties, and predictions on edges
    event = Predictions(np.zeros(len(probs), dtype=int), probs).event()
    expected = np.searchsorted(rule.index(event), np.arange(rule.n_bins + 1))
    assert rule.cuts_in(event).tolist() == expected.tolist()
