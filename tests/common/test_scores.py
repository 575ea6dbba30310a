"""What every proper score must do, read from the table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as some
from calibrant import Predictions
from calibrant.results import Estimate
from registered import SCORES
from tolerances import ROUNDING

each = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)


@pytest.fixture
def said(rng):
    probs = rng.dirichlet(np.ones(3), 80)
    return some.Rows(rng.integers(0, 3, 80), probs)


@each
def test_the_order_of_the_rows_does_not_matter(score, said, rng):
    order = rng.permutation(said.n)
    there, back = score.score(said.labels, said.probs), score.score(said.labels[order], said.probs[order])
    assert there.value == pytest.approx(back.value, abs=ROUNDING)


@each
def test_weight_two_is_the_row_twice(score, said, rng):
    times = rng.integers(0, 4, said.n)
    weighted = score.score(said.labels, said.probs, counts=times)
    repeated = score.score(np.repeat(said.labels, times), np.repeat(said.probs, times, axis=0))
    assert weighted.value == pytest.approx(repeated.value, abs=ROUNDING)
    assert weighted.interval.high == pytest.approx(repeated.interval.high, abs=ROUNDING)


@each
def test_relabelling_the_classes_changes_nothing(score, said, rng):
    order = np.array([2, 1, 0]) if score.ordered else rng.permutation(3)  # an order may still be read backwards
    moved = score.score(np.argsort(order)[said.labels], said.probs[:, order])
    assert moved.value == pytest.approx(score.score(said.labels, said.probs).value, abs=ROUNDING)


@each
def test_float32_is_close_to_float64(score, said):
    narrow = score.score(said.labels, said.probs.astype(np.float32)).value
    assert narrow == pytest.approx(score.score(said.labels, said.probs).value, abs=1e-6)  # float32 rounding


@each
def test_probabilities_and_logits_agree(score, said):
    logits = Predictions.from_logits(said.labels, np.log(said.probs))
    assert score.score(logits).value == pytest.approx(score.score(said.labels, said.probs).value, abs=ROUNDING)


@each
def test_the_truth_scores_best_on_average(score, rng):
    q = rng.dirichlet(np.ones(4), 200)
    p = rng.dirichlet(np.ones(4), 200)
    assert (score.expected(p, q) >= score.entropy(q) - ROUNDING).all()
    assert (score.entropy(q) >= score.infimum).all()


@each
def test_an_event_is_a_pair_of_classes(score, rng):
    p, y = rng.random(50), rng.integers(0, 2, 50).astype(np.uint8)
    pair = np.stack([1 - p, p], axis=1)
    np.testing.assert_allclose(score.of_event(p, y), score.of_labels(pair, y), rtol=1e-12)
    q = rng.random(50)
    np.testing.assert_allclose(score.of_event(p, q), score.expected(pair, np.stack([1 - q, q], axis=1)), rtol=1e-12)


@each
@given(data=st.data())
def test_any_data_give_a_score_that_survives_as_json(score, data):
    said = data.draw(some.predictions())
    found = score.score(said.labels, said.probs, counts=said.weights)
    assert not math.isnan(found.value)
    assert found.value >= score.infimum - ROUNDING
    assert Estimate.from_json(found.to_json()) == found


@each
def test_every_score_has_names_and_an_infimum(score):
    assert score.name
    assert score.title
    assert type(SCORES[score.name]) is type(score)
    assert math.isfinite(score.infimum)
