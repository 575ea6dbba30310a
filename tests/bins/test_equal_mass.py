"""Equal-mass bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant import EqualMass, InputError, Predictions
from naive import binning
from naive.binning import SPLITS
from tolerances import ROUNDING


def bins_of(rule, said, counts=None):
    event = Predictions(said.labels, said.probs, counts=counts).event()
    index = rule.index(event)
    return [np.flatnonzero(index == k).tolist() for k in range(rule.n_bins)]


def heavy(bins, weights):
    """Rows that weigh nothing may lie in any bin."""
    return bins if weights is None else [[j for j in rows if weights[j] > 0] for rows in bins]


@given(some.events(most=25), st.integers(1, 20))
def test_cuts_come_after_the_largest_prediction_whose_share_is_small_enough(said, n_bins):
    found = bins_of(EqualMass(n_bins), said, said.weights)
    expected = binning.equal_mass(said.probs, n_bins, said.weights)
    assert heavy(found, said.weights) == heavy(expected, said.weights)


@given(some.events(weighted=False), st.integers(1, 20))
def test_split_ties_cut_the_sorted_rows_at_equal_counts(said, n_bins):
    found = bins_of(EqualMass(n_bins, ties="split"), said)
    assert found == [sorted(rows) for rows in binning.equal_mass_split(said.probs, n_bins)]


@given(some.events(), st.integers(1, 20), st.sampled_from(["keep", "split"]))
def test_sums_are_those_of_the_rows_in_each_bin(said, n_bins, ties):
    rule, weights = EqualMass(n_bins, ties), None if ties == "split" else said.weights
    state = rule.collect(Predictions(said.labels, said.probs, counts=weights).event())
    w, p = np.ones(said.n) if weights is None else weights, said.probs.astype(float)
    expected = [[w[i].sum(), (w * p)[i].sum(), (w * p * p)[i].sum(), (w * said.labels)[i].sum()] for i in bins_of(rule, said, weights)]  # fmt: skip
    np.testing.assert_allclose(state.sums[0], expected, rtol=1e-12, atol=0)


@given(some.events(), st.integers(1, 20))
def test_equal_predictions_share_a_bin(said, n_bins):
    bins = bins_of(EqualMass(n_bins), said, said.weights)
    values = [set(said.probs[rows].tolist()) for rows in bins]
    assert sum(map(len, values)) == len(set(said.probs.tolist()))


@given(some.events(weighted=False), st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter_to_the_last_bit(said, n_bins, random):
    order = list(range(said.n))
    random.shuffle(order)
    a = EqualMass(n_bins).collect(Predictions(said.labels, said.probs).event())
    b = EqualMass(n_bins).collect(Predictions(said.labels[order], said.probs[order]).event())
    assert np.array_equal(a.sums, b.sums)
    assert np.array_equal(a.low, b.low)
    assert np.array_equal(a.high, b.high)


def test_distinct_predictions_fill_bins_evenly():
    event = Predictions([0] * 12, np.arange(12) / 12).event()
    assert EqualMass(4).collect(event).weight.tolist() == [[3, 3, 3, 3]]
    assert EqualMass(5).collect(event).weight.tolist() == [[2, 2, 3, 2, 3]]


def test_the_ends_of_a_bin_are_the_last_predictions():
    state = EqualMass(2).collect(Predictions([0] * 4, [0.1, 0.2, 0.6, 0.9]).event())
    assert state.low.tolist() == [[0, 0.2]]
    assert state.high.tolist() == [[0.2, 1]]


@given(some.events(), st.integers(1, 20))
def test_every_row_lies_within_the_ends_of_its_bin(said, n_bins):
    weights = None if said.weights is None else said.weights + 1
    event = Predictions(said.labels, said.probs, counts=weights).event()
    state, index = EqualMass(n_bins).collect(event), EqualMass(n_bins).index(event)
    p = said.probs.astype(float)
    assert (state.low[0][index] <= p).all()
    assert (p <= state.high[0][index]).all()


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1, 7.3])
def test_weights_are_not_undone_by_rounding(scale):
    """Ten pairs of weights 0.1 and 0.3 hold a tenth of the weight each, whatever the scale."""
    event = Predictions([0] * 20, np.arange(20) / 20, weights=[0.1 * scale, 0.3 * scale] * 10).event()
    effective = 20 * 0.4**2 / (2 * (0.1**2 + 0.3**2))
    np.testing.assert_allclose(EqualMass(10).collect(event).weight, [[effective / 10] * 10])


@given(some.matrices(), st.integers(1, 10))
def test_class_by_class_is_each_class_alone(said, n_bins):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    together = EqualMass(n_bins).collect_classes(made)
    alone = [EqualMass(n_bins).collect(event).sums[0] for event in made.class_events()]
    assert np.array_equal(together.sums, alone)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="n_bins must be a whole number"):
        EqualMass(0)
    with pytest.raises(
        InputError, match="ties must be one of 'keep', 'split', 'caltrain', 'array_split'; it is 'drop'"
    ):
        EqualMass(5, ties="drop")
    with pytest.raises(InputError, match="bins must keep ties with counts or weights; it has ties='split'"):
        EqualMass(2, ties="split").collect(Predictions([0, 1], [0.2, 0.3], counts=[1, 2]).event())


@pytest.mark.parametrize("integer", [np.uint8, np.int8])
def test_any_integer_type_counts_bins(integer, rng):
    event = Predictions(np.zeros(200), rng.random(200)).event()
    assert EqualMass(integer(127)).collect(event).weight.sum() == 200


def test_rules_describe_themselves():
    assert EqualMass(10).describe() == "10 equal-mass bins"
    assert EqualMass(10, "split").describe() == "10 equal-mass bins, ties split"
    assert not EqualMass(10).mergeable


@pytest.mark.parametrize("ties", SPLITS)
@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=40), st.integers(1, 45))
def test_sorted_rows_are_cut_as_in_plain_loops(ties, rows, n_bins):
    p, y = np.array([v / 8 for v, _ in rows]), np.array([int(hit) for _, hit in rows])
    rule, event = EqualMass(n_bins, ties), Predictions(y, p).event()
    bins = SPLITS[ties](p, n_bins)
    state = rule.collect(event)
    assert state.weight[0].tolist() == [len(each) for each in bins]
    np.testing.assert_allclose(state.sums[0, :, 1], [p[each].sum() for each in bins], atol=ROUNDING)
    assert state.sums[0, :, 3].tolist() == [y[each].sum() for each in bins]
    index = rule.index(event)
    assert all((index[each] == k).all() for k, each in enumerate(bins))
    low, high = rule.ranges(event)
    ends = [(p[each].min(), p[each].max()) if each else (0.0, 0.0) for each in bins]
    assert list(zip(low, high, strict=True)) == ends


def test_ranges_of_kept_ties_hold_their_rows():
    p = np.array([0.1, 0.2, 0.2, 0.2, 0.9, 1.0])
    low, high = EqualMass(3).ranges(Predictions([0, 1] * 3, p).event())
    assert (low.tolist(), high.tolist()) == ([0.1, 0.2, 0.9], [0.1, 0.2, 1.0])
