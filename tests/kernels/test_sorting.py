"""Rows in order: exact, whatever order they came in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant.kernels.rows.pooling import event_order, group_starts, in_order


def sorted_rows(probs, outcomes, weights):
    w = [None] * len(probs) if weights is None else weights.tolist()
    rows = zip((probs + 0).tolist(), outcomes.tolist(), w, strict=True)
    return sorted(rows, key=lambda row: row if row[2] is not None else row[:2])


def as_rows(found):
    probs, outcomes, weights = found
    w = [None] * len(probs) if weights is None else weights.tolist()
    return list(zip(probs.tolist(), outcomes.tolist(), w, strict=True))


@given(some.events(), st.booleans())
def test_rows_are_sorted_exactly(said, soft):
    outcomes = said.labels.astype(np.uint8)
    if soft:
        outcomes = outcomes * 0.5
    found = in_order(said.probs, outcomes, said.weights)
    assert as_rows(found) == sorted_rows(said.probs, outcomes, said.weights)
    assert found[0].dtype == said.probs.dtype


@given(some.events(), st.sampled_from(["probabilities", "log-odds", "steps"]), st.booleans())
def test_the_order_of_an_event_is_that_of_values_and_then_outcomes(said, kind, soft):
    outcomes = said.labels.astype(np.uint8) * (0.5 if soft else np.uint8(1))
    with np.errstate(divide="ignore"):
        values = {
            "probabilities": said.probs,
            "log-odds": np.log(said.probs) - np.log(1 - said.probs),
            "steps": np.floor(said.probs * 3),
        }[kind]
    np.testing.assert_array_equal(event_order(values, outcomes), np.lexsort((outcomes, values)))


@given(some.events(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(said, random):
    outcomes = said.labels.astype(np.uint8)
    order = list(range(said.n))
    random.shuffle(order)
    weights = None if said.weights is None else said.weights[order]
    first = in_order(said.probs, outcomes, said.weights)
    second = in_order(said.probs[order], outcomes[order], weights)
    assert as_rows(first) == as_rows(second)


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_negative_zero_ties_with_zero(dtype):
    probs, outcomes, _ = in_order(np.array([0.0, -0.0, 1.0, -0.0], dtype=dtype), np.array([0, 1, 1, 0], np.uint8), None)
    assert probs.tolist() == [0, 0, 0, 1]
    assert not np.signbit(probs).any()
    assert outcomes.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("dtype", some.DTYPES)
def test_extreme_floats_keep_their_order(dtype):
    info = np.finfo(dtype)
    values = np.array([0, info.smallest_subnormal, info.tiny, info.eps, 0.5, 1 - info.epsneg, 1], dtype=dtype)
    probs, outcomes, _ = in_order(values[::-1].copy(), np.ones(7, np.uint8), None)
    assert np.array_equal(probs, values)
    assert outcomes.all()


def test_sorting_leaves_its_input_alone(rng):
    probs, outcomes = rng.random(20), rng.integers(0, 2, 20).astype(np.uint8)
    before = probs.copy(), outcomes.copy()
    in_order(probs, outcomes, None)
    in_order(probs, outcomes, np.ones(20))
    assert np.array_equal(probs, before[0])
    assert np.array_equal(outcomes, before[1])


def test_groups_begin_where_the_value_changes():
    assert group_starts(np.array([0.0, 0.0, 0.2, 0.5, 0.5])).tolist() == [0, 2, 3]
    assert group_starts(np.array([0.3])).tolist() == [0]
