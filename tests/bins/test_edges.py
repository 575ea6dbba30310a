"""Bins between given edges, and states of all bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant import Edges, EqualMass, EqualWidth, InputError, Predictions
from calibrant.bins import from_settings
from calibrant.bins.binning import settings as plain_settings
from naive import binning

INNER = st.lists(st.sampled_from([k / 20 for k in range(1, 20)]), unique=True, max_size=6).map(sorted)


@given(some.events(), INNER, st.sampled_from(["right", "left"]), st.booleans())
def test_rows_fall_where_the_definition_puts_them(said, inner, closed, ends):
    rule = Edges([0, *inner, 1], closed=closed, ends=ends)
    index = rule.index(Predictions(said.labels, said.probs).event())
    found = [np.flatnonzero(index == k).tolist() for k in range(rule.n_bins)]
    assert found == binning.by_edges(said.probs, rule.edges, closed, ends)


@given(some.events(), INNER, st.sampled_from(["right", "left"]), st.booleans())
def test_weight_inside_and_outside_is_all_the_weight(said, inner, closed, ends):
    event = Predictions(said.labels, said.probs, counts=said.weights).event()
    state = Edges([0, *inner, 1], closed=closed, ends=ends).collect(event)
    assert state.total[0] == pytest.approx(said.n if said.weights is None else said.weights.sum(), rel=1e-12)
    assert ends <= (state.outside == 0)


@given(some.events(), st.integers(1, 20), st.sampled_from(["right", "left"]))
def test_equal_width_is_these_edges(said, n_bins, closed):
    event = Predictions(said.labels, said.probs, counts=said.weights).event()
    a = EqualWidth(n_bins, closed).collect(event)
    b = Edges(np.arange(n_bins + 1) / n_bins, closed).collect(event)
    np.testing.assert_allclose(a.sums, b.sums, rtol=1e-12, atol=0)


def test_without_ends_the_open_end_is_outside():
    event = Predictions([0, 1, 1], [0.0, 0.5, 1.0], counts=[1, 2, 4]).event()
    assert Edges([0, 0.5, 1], ends=False).collect(event).outside == 1
    assert Edges([0, 0.5, 1], closed="left", ends=False).collect(event).outside == 4


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_the_size_of_chunks_does_not_matter(monkeypatch, rng, chunk):
    event = Predictions(rng.integers(0, 2, 50), rng.random(50), weights=rng.random(50)).event()
    whole = Edges([0, 0.3, 1]).collect(event)
    monkeypatch.setattr("calibrant.bins.binning.CHUNK", chunk)
    found = Edges([0, 0.3, 1]).collect(event)
    np.testing.assert_allclose(found.sums, whole.sums, rtol=1e-12)
    np.testing.assert_allclose(found.squares, whole.squares, rtol=1e-12)


WRONG = {
    "falling": ([0, 0.6, 0.5, 1], r"edges must be at least two numbers that increase; it is \[0, 0\.6, 0\.5, 1\]"),
    "twice": ([0, 0.5, 0.5, 1], r"edges must be at least two numbers that increase"),
    "one": ([0], r"edges must be at least two numbers that increase"),
    "NaN": ([0, float("nan"), 1], r"edges must be at least two numbers that increase"),
    "flat": ([[0, 1]], r"edges must be at least two numbers that increase"),
    "short": ([0, 0.5], r"edges must cover \[0, 1\]; they run from 0\.0 to 0\.5\. Add 0 and 1"),
    "late": ([0.1, 1], r"edges must cover \[0, 1\]; they run from 0\.1 to 1\.0"),
    "None": (None, r"edges is required; it is None"),
    "text": (["low", "high"], r"edges must "),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_edges_are_refused(case):
    with pytest.raises(InputError, match=case[1]):
        Edges(case[0])


def test_wrong_sides_are_refused():
    with pytest.raises(InputError, match="closed must be one of 'right', 'left'; it is None"):
        Edges([0, 1], closed=None)


def test_class_by_class_needs_ends():
    said = Predictions([0, 1], [[1.0, 0.0], [0.5, 0.5]])
    with pytest.raises(InputError, match=r"bins must hold every row class by class.*ends=True"):
        Edges([0, 0.5, 1], ends=False).collect_classes(said)


def test_rules_describe_themselves():
    assert Edges([0, 0.5, 1]).describe() == "2 given bins"
    assert Edges([0, 0.5, 1], "left").describe() == "2 given bins closed on the left"
    assert Edges([0, 0.5, 1]) == Edges((0, 0.5, 1.0)) == Edges(np.array([0, 0.5, 1]))


RULES = [EqualWidth(7, "left"), EqualMass(3, "split"), Edges([0, 0.25, 1], "left", False), EqualWidth(np.int64(4))]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_survive_as_plain_data(rule):
    assert from_settings(plain_settings(rule)) == rule


# States: additive sums.


@given(
    some.events(),
    st.integers(0, 40),
    st.sampled_from([EqualWidth(7), EqualWidth(7, "left"), Edges([0, 0.5, 1], ends=False)]),
)
def test_states_of_two_parts_add_up_to_the_whole(said, cut, rule):
    made = Predictions(said.labels, said.probs, counts=None if said.weights is None else said.weights + 1)
    cut = min(max(cut, 1), said.n)
    whole, state = rule.collect(made.event()), rule.collect(made.rows(slice(0, cut)).event())
    if cut < said.n:
        state = state.merge(rule.collect(made.rows(slice(cut, None)).event()))
    np.testing.assert_allclose(state.sums, whole.sums, rtol=1e-12, atol=0)
    assert (state.n, state.outside) == (whole.n, whole.outside)


def test_states_of_other_bins_do_not_add_up():
    event = Predictions([0, 1], [0.2, 0.7]).event()
    with pytest.raises(
        InputError, match=r"bins must be the same in both parts; EqualWidth\(n_bins=5.* is not EqualWidth\(n_bins=6"
    ):
        EqualWidth(5).collect(event).merge(EqualWidth(6).collect(event))
    with pytest.raises(
        InputError, match=r"bins cannot be merged; 5 equal-mass bins depend on all rows. Use EqualWidth or Edges"
    ):
        EqualMass(5).collect(event).merge(EqualMass(5).collect(event))


def test_means_of_empty_bins_are_zero():
    state = EqualWidth(4).collect(Predictions([0, 1], [0.3, 0.3]).event())
    assert state.mean_prob.tolist() == [[0, 0.3, 0, 0]]
    assert state.label_rate.tolist() == [[0, 0.5, 0, 0]]
    np.testing.assert_allclose(state.mean_variance, [[0, 0.21, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(state.prob_variance, [[0, 0, 0, 0]], atol=1e-15)
