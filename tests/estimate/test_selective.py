"""Risk and coverage: by hand, over all orders of ties, and in intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions
from calibrant.estimate.selective import selective_risk
from calibrant.results import Estimate
from naive import answers as naive
from tolerances import ROUNDING


def test_four_answers_by_hand():
    # wrong: the third. Risks 0, 0, 1/3, 1/4
    found = selective_risk([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5])
    assert found.value == pytest.approx((1 / 3 + 1 / 4) / 4, abs=ROUNDING)
    assert found.parts["curve"].y.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 4], abs=ROUNDING)
    assert found.parts["curve"].x.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert found.parts["thresholds"].y.tolist() == [0.9, 0.8, 0.6, 0.5]
    assert found.parts["risk"] == 0.25
    assert found.parts["best"] == pytest.approx(1 / 16, abs=ROUNDING)


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0.1, 0.4, 0.5, 0.9])), min_size=1, max_size=7))
def test_ties_are_averaged_over_their_orders(rows):
    labels, probs = zip(*rows, strict=True)
    found = selective_risk(labels, probs)
    assert found.value == pytest.approx(naive.area(labels, probs), abs=ROUNDING)
    assert found.parts["best"] - ROUNDING <= found.value


def test_confidence_that_says_nothing_has_the_error_rate():
    assert selective_risk([1, 0, 1, 1], [0.7] * 4).value == pytest.approx(0.25, abs=ROUNDING)


def test_influences_are_what_a_row_changes(rng):
    """The interval's spread against the jackknife, which leaves each row out in turn."""
    p = rng.choice([0.5, 0.6, 0.8, 0.9, 1.0], 400)
    y = rng.random(400) < p
    found = selective_risk(y, p)
    left = np.array([selective_risk(np.delete(y, i), np.delete(p, i)).value for i in range(400)])
    jackknife = np.sqrt(399 / 400 * ((left - left.mean()) ** 2).sum())
    width = np.log(found.interval.high / found.value) * found.value
    assert width / 1.966 == pytest.approx(jackknife, rel=0.05)  # two estimates of one spread, at n = 400


def test_questions_asked_often_widen_the_interval(rng):
    p = np.repeat(rng.choice([0.5, 0.7, 0.9], 60), 10)
    y = np.repeat(rng.random(60), 10) < p
    alone, clustered = selective_risk(y, p), selective_risk(y, p, groups=np.repeat(np.arange(60), 10))
    assert clustered.value == alone.value
    assert clustered.interval.high > 1.5 * (alone.interval.high - alone.value) + alone.value
    kept = selective_risk(Predictions(y, p, groups=np.repeat(np.arange(60), 10)))
    assert kept == clustered


def test_without_errors_there_is_no_interval():
    found = selective_risk([1, 1, 1], [0.5, 0.8, 0.9])
    assert (found.value, found.interval) == (0.0, None)
    assert any("wrong answers are few (0)" in caution for caution in found.cautions)
    assert Estimate.from_json(found.to_json()) == found


def test_several_classes_are_ranked_by_their_top(rng):
    probs = rng.dirichlet(np.ones(3), 50)
    labels = rng.integers(0, 3, 50)
    expected = selective_risk(probs.argmax(axis=1) == labels, probs.max(axis=1)).value
    assert selective_risk(labels, probs).value == pytest.approx(expected, abs=ROUNDING)


def test_counts_are_rows_repeated():
    counts, groups = [1, 3, 0, 2], ["a", "b", "b", "a"]
    labels, probs = [0, 1, 1, 0], [0.2, 0.7, 0.4, 0.6]
    repeated = [list(np.repeat(each, counts)) for each in (labels, probs, groups)]
    found = selective_risk(labels, probs, groups=groups, counts=counts)
    assert found == selective_risk(*repeated[:2], groups=repeated[2])


def test_weighted_answers_by_hand():
    # wrong: the second, of weight 2 in 8. Risks 0, 2/5, 2/8
    found = selective_risk([1, 0, 1], [0.9, 0.8, 0.6], weights=[3, 2, 3])
    assert found.value == pytest.approx((3 * 0 + 2 * 2 / 5 + 3 * 2 / 8) / 8, abs=ROUNDING)
    assert found.parts["curve"].x.tolist() == pytest.approx([3 / 8, 5 / 8, 1.0], abs=ROUNDING)
    assert found.parts["risk"] == pytest.approx(0.25, abs=ROUNDING)
    assert found.parts["best"] == pytest.approx(0.25 * 0.25, abs=ROUNDING)


def test_weighted_influences_are_what_a_row_changes(rng):
    p = rng.choice([0.5, 0.6, 0.8, 0.9, 1.0], 200)
    y, w = rng.random(200) < p, rng.exponential(size=200) + 0.2
    found = selective_risk(y, p, weights=w)
    left = [selective_risk(*(np.delete(each, i) for each in (y, p)), weights=np.delete(w, i)).value for i in range(200)]
    jackknife = np.sqrt(199 / 200 * ((left - np.mean(left)) ** 2).sum())
    width = np.log(found.interval.high / found.value) * found.value
    assert width / 1.98 == pytest.approx(jackknife, rel=0.12)  # two estimates of one spread, at n = 200


def test_one_weight_far_above_the_others_leaves_any_area_possible():
    found = selective_risk([1, 0, 1, 1], [0.9, 0.8, 0.6, 0.5], weights=[1e90, 1.0, 2.0, 1e-5])
    assert (found.interval is None) or (found.interval.low, found.interval.high) == (0.0, 1.0)


def test_soft_labels_are_refused():
    with pytest.raises(InputError, match="labels must be answers that are right or wrong; they are shares"):
        selective_risk(Predictions([0.5, 1.0], [0.2, 0.7], soft=True))
