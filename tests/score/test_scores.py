"""Brier and log score."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

import calibrant as cal
import strategies as some
from calibrant import BrierScore, InputError, LogScore, Predictions
from calibrant.score import SCORES
from calibrant.score.score import check_score
from naive import scores as naive
from tolerances import ROUNDING

BOTH = [BrierScore(), LogScore()]


def test_brier_by_hand():
    # (0.5−1)² + 0.3² + 0.2² = 0.38 and 0.1² + 0.1² + (0.8−1)² = 0.06
    found = cal.brier_score([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    assert found.value == pytest.approx(0.22, abs=ROUNDING)
    assert cal.brier_score([0], [[0.0, 1.0]]).value == 2
    assert cal.brier_score([1], [[0.0, 1.0]]).value == 0


def test_one_column_and_two_columns_agree():
    p = np.array([0.8, 0.4, 0.1])
    for score in (cal.brier_score, cal.log_score):
        one = score([1, 0, 0], p).value
        assert one == pytest.approx(score([1, 0, 0], np.stack([1 - p, p], axis=1)).value, abs=ROUNDING)


def test_log_by_hand():
    assert cal.log_score([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]).value == pytest.approx(
        -math.log(0.4) / 2, abs=ROUNDING
    )
    assert cal.log_score([1], [1.0]).value == 0
    assert math.copysign(1, cal.log_score([1], [1.0]).value) == 1


def test_probability_zero_of_what_happened_is_infinitely_bad():
    found = cal.log_score([0, 1, 1], [0.5, 0.0, 0.2])
    assert found.value == math.inf
    assert found.interval is None
    assert found.cautions == ("infinite: row 1 gives probability 0 to what happened",)
    assert cal.Estimate.from_json(found.to_json()) == found


def test_a_row_of_weight_zero_is_not_there():
    found = cal.log_score([1, 0, 0], [0.0, 0.3, 0.4], weights=[0, 1, 1])
    assert found.value == pytest.approx(cal.log_score([0, 0], [0.3, 0.4]).value, abs=ROUNDING)


def test_logits_hold_what_probabilities_lose():
    said = Predictions.from_logits([1, 0], [[2000.0, 0.0], [0.0, 0.0]])
    assert cal.log_score(said).value == pytest.approx((2000 + math.log(2)) / 2)
    assert cal.log_score(Predictions.from_logits([0], [1000.0])).value == 1000
    assert cal.log_score(Predictions.from_logits([1], [1000.0])).value == 0


def test_the_view_does_not_lose_what_logits_hold():
    said = Predictions.from_logits([0, 1], [1000.0, 0.0])
    assert cal.log_score(said, view="binary").value == pytest.approx(cal.log_score(said).value)


@given(some.predictions())
def test_scores_are_those_of_plain_loops(said):
    arguments = said.labels, said.probs, said.weights
    brier = cal.brier_score(said.labels, said.probs, weights=said.weights).value
    assert brier == pytest.approx(naive.brier(*arguments), abs=ROUNDING)
    with np.errstate(all="ignore"):
        log = cal.log_score(said.labels, said.probs, weights=said.weights).value
    assert log == pytest.approx(naive.logarithmic(*arguments), rel=ROUNDING, abs=ROUNDING)


@given(some.logit_rows())
def test_the_log_score_of_logits_is_that_of_plain_loops(said):
    found = cal.log_score(Predictions.from_logits(said.labels, said.probs, weights=said.weights)).value
    expected = naive.temperature_loss(said.labels, said.probs, 1.0, said.weights)
    assert found == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)


def test_sklearn_agrees(rng):
    from sklearn.metrics import brier_score_loss, log_loss

    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    w = rng.integers(1, 5, 200)
    assert cal.brier_score(y, p, view="binary").value == pytest.approx(brier_score_loss(y, p), abs=ROUNDING)
    weighted = cal.brier_score(y, p, view="binary", weights=w).value
    assert weighted == pytest.approx(brier_score_loss(y, p, sample_weight=w), abs=ROUNDING)
    assert cal.log_score(y, p, weights=w).value == pytest.approx(log_loss(y, p, sample_weight=w), abs=ROUNDING)
    q = rng.dirichlet(np.ones(4), 200)
    z = rng.integers(0, 4, 200)
    assert cal.log_score(z, q).value == pytest.approx(log_loss(z, q), abs=ROUNDING)
    assert cal.brier_score(z, q).value == pytest.approx(brier_score_loss(z, q, scale_by_half=False), abs=ROUNDING)


def test_the_interval_is_students(rng):
    p = rng.random(30)
    y = (rng.random(30) < p).astype(int)
    found = cal.brier_score(y, p, view="binary", level=0.8).interval
    expected = ttest_1samp((p - y) ** 2, 0).confidence_interval(0.8)
    assert (found.low, found.high) == pytest.approx(expected, abs=ROUNDING)


def test_large_data_use_the_normal_quantile(rng):
    p = rng.random(30_000)
    y = (rng.random(30_000) < p).astype(int)
    found = cal.brier_score(y, p, view="binary").interval
    expected = ttest_1samp((p - y) ** 2, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-4)  # the normal quantile, to four digits


@pytest.mark.parametrize("total", [0.5, 1.0, 1.0001])
def test_weights_that_sum_to_about_one_give_no_absurd_interval(total):
    found = cal.brier_score([1, 0, 1], [0.1, 0.3, 0.4], weights=np.full(3, total / 3))
    assert found.interval is None or (found.interval.low > -10 and found.interval.high < 10)
    assert "one row has no interval" not in found.cautions


@pytest.mark.parametrize("score", BOTH, ids=lambda s: s.name)
@given(data=st.data())
def test_expected_less_entropy_is_a_divergence(score, data):
    said = data.draw(some.soft_matrices())
    with np.errstate(all="ignore"):
        divergence = score.divergence(said.probs, said.labels)
        expected, entropy = score.expected(said.probs, said.labels), score.entropy(said.labels)
    assert (divergence >= -ROUNDING).all()
    finite = np.isfinite(expected)
    np.testing.assert_allclose(divergence[finite], (expected - entropy)[finite], atol=ROUNDING)
    assert np.isfinite(entropy).all()
    assert (entropy >= score.infimum - ROUNDING).all()
    np.testing.assert_allclose(score.divergence(said.labels, said.labels), 0, atol=ROUNDING)


@pytest.mark.parametrize("score", BOTH, ids=lambda s: s.name)
@given(data=st.data())
def test_the_expected_score_is_the_mean_over_what_may_happen(score, data):
    said = data.draw(some.soft_matrices())
    n, n_classes = said.probs.shape
    with np.errstate(all="ignore"):
        each = np.stack([score.of_labels(said.probs, np.full(n, k)) for k in range(n_classes)], axis=1)
        mean = np.where(said.labels > 0, said.labels * each, 0).sum(axis=1)
        np.testing.assert_allclose(score.expected(said.probs, said.labels), mean, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("score", BOTH, ids=lambda s: s.name)
def test_a_certain_and_right_model_scores_the_infimum(score):
    assert score.of_labels(np.eye(3), np.arange(3)).tolist() == [score.infimum] * 3


@given(some.soft_matrices())
def test_soft_labels_give_the_expected_score(said):
    made = Predictions(said.labels, said.probs, weights=said.weights, soft=True)
    rows = ((said.probs[:, None, :] - np.eye(said.probs.shape[1])) ** 2).sum(axis=2)
    expected = np.average((rows * said.labels).sum(axis=1), weights=said.weights)
    assert cal.brier_score(made).value == pytest.approx(expected, abs=1e-10)  # rows of labels sum to 1 within rounding


def test_views_ask_one_question():
    probs = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    assert cal.brier_score([0, 1], probs, view="top").value == pytest.approx((0.09 + 0.36) / 2)
    assert cal.brier_score([0, 1], probs, view=1).value == pytest.approx((0.04 + 0.49) / 2)
    assert cal.log_score([0, 1], probs, view="class 1").value == pytest.approx((-math.log(0.8) - math.log(0.3)) / 2)
    with pytest.raises(InputError, match="'classwise' is many questions"):
        cal.brier_score([0, 1], probs, view="classwise")


def test_scores_go_by_name():
    assert check_score("brier") is SCORES["brier"]
    assert check_score(BOTH[1]) is BOTH[1]


@pytest.mark.parametrize("score", ["spherical", None, ["brier"], 1, BrierScore])
def test_an_unknown_score_is_refused(score):
    with pytest.raises(InputError, match=r"score must be one of 'brier', 'log'.*, or a Score; it is"):
        check_score(score)
