"""Scores for classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions
from calibrant.score import BrierScore
from calibrant.score.score import check_score
from naive import scores as naive
from registered import SCORES
from tolerances import ROUNDING

ALL = list(SCORES.values())
each = pytest.mark.parametrize("score", ALL, ids=lambda s: s.name)


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


def test_spherical_by_hand():
    # (0.6, 0.8) as shares of 1.4 has the direction (0.6, 0.8)
    probs = np.array([[0.6, 0.8], [0.6, 0.8]]) / 1.4
    assert cal.score.SphericalScore().of_labels(probs, np.array([0, 1])) == pytest.approx([0.4, 0.2], abs=ROUNDING)
    assert cal.spherical_score([0], [[0.0, 1.0]]).value == 1
    tiny = 1e-9  # 1 − (1−t)/√((1−t)² + t²) is t²/2 for small t
    assert cal.spherical_score([1], [1 - tiny]).value == pytest.approx(tiny**2 / 2, rel=1e-6)  # t³ is left out


def test_ranked_by_hand():
    probs = np.array([[0.2, 0.3, 0.5]] * 3)  # cumulative 0.2 and 0.5
    expected = [0.64 + 0.25, 0.04 + 0.25, 0.04 + 0.25]
    assert cal.score.RankedProbabilityScore().of_labels(probs, np.arange(3)) == pytest.approx(expected, abs=ROUNDING)
    assert cal.ranked_probability_score([3], [[1.0, 0, 0, 0]]).value == 3  # the far end is K−1 away


def test_a_near_miss_ranks_better_than_a_far_one():
    near, far = ([[0.1, 0.8, 0.1, 0]], [[0, 0.1, 0.1, 0.8]])
    assert cal.ranked_probability_score([0], near) < cal.ranked_probability_score([0], far)


@given(some.events())
def test_one_threshold_is_half_the_brier_score(said):
    ranked, brier = (f(said.labels, said.probs).value for f in (cal.ranked_probability_score, cal.brier_score))
    assert ranked == pytest.approx(brier / 2, abs=ROUNDING)


def test_the_log_score_of_rare_events_keeps_its_digits():
    assert cal.log_score([0, 0], [1e-12, 1e-12]).value == pytest.approx(1e-12, rel=1e-11)
    assert cal.log_score([1, 0], [1e-300, 0.0]).value == pytest.approx(150 * math.log(10), rel=ROUNDING)


@each
def test_blocks_give_what_one_block_gives(score, rng, monkeypatch):
    from calibrant.score import passes as module

    probs, labels = rng.dirichlet(np.ones(3), 500), rng.integers(0, 3, 500)
    times = np.where(np.arange(500) < 150, 0, rng.integers(0, 3, 500))  # whole blocks of no weight
    cases = [Predictions(labels, probs, counts=w) for w in (None, times)]
    cases += [Predictions(labels > 0, probs[:, 1], counts=w) for w in (None, times)]
    cases += [Predictions.from_logits(labels, np.log(probs))]
    whole = [score.score(said, view=view) for said in cases for view in ("canonical", "auto")]
    monkeypatch.setattr(module, "CACHED_ROWS", 16)
    for found, expected in zip(
        [score.score(s, view=v) for s in cases for v in ("canonical", "auto")], whole, strict=True
    ):
        assert found.value == pytest.approx(expected.value, abs=ROUNDING)
        assert found.interval.low == pytest.approx(expected.interval.low, abs=ROUNDING)
        assert found.cautions == expected.cautions


def test_an_infinite_row_in_a_late_block_is_named(monkeypatch):
    from calibrant.score import passes as module

    monkeypatch.setattr(module, "CACHED_ROWS", 16)
    labels = np.zeros(100, dtype=int)
    labels[70] = 1
    found = cal.log_score(labels, np.where(labels, 0.0, 0.5))
    assert found.value == math.inf
    assert found.cautions == ("infinite: row 70 gives probability 0 to its label",)


def test_probability_zero_of_what_happened_is_infinitely_bad():
    found = cal.log_score([0, 1, 1], [0.5, 0.0, 0.2])
    assert found.value == math.inf
    assert found.interval is None
    assert found.cautions == ("infinite: row 1 gives probability 0 to its label",)
    assert cal.results.Estimate.from_json(found.to_json()) == found


def test_a_row_of_weight_zero_is_not_there():
    found = cal.log_score([1, 0, 0], [0.0, 0.3, 0.4], counts=[0, 1, 1])
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
    brier = cal.brier_score(said.labels, said.probs, counts=said.weights).value
    assert brier == pytest.approx(naive.brier(*arguments), abs=ROUNDING)
    with np.errstate(all="ignore"):
        log = cal.log_score(said.labels, said.probs, counts=said.weights).value
    assert log == pytest.approx(naive.logarithmic(*arguments), rel=ROUNDING, abs=ROUNDING)
    spherical = cal.spherical_score(said.labels, said.probs, counts=said.weights).value
    assert spherical == pytest.approx(naive.spherical(*arguments), abs=ROUNDING)
    ranked = cal.ranked_probability_score(said.labels, said.probs, counts=said.weights).value
    assert ranked == pytest.approx(naive.ranked(*arguments), abs=ROUNDING)


@given(some.logit_rows())
def test_the_log_score_of_logits_is_that_of_plain_loops(said):
    found = cal.log_score(Predictions.from_logits(said.labels, said.probs, counts=said.weights)).value
    expected = naive.temperature_loss(said.labels, said.probs, 1.0, said.weights)
    assert found == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)


def test_sklearn_agrees(rng):
    from sklearn.metrics import brier_score_loss, log_loss

    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    w = rng.integers(1, 5, 200)
    assert cal.brier_score(y, p, view="binary").value == pytest.approx(brier_score_loss(y, p), abs=ROUNDING)
    weighted = cal.brier_score(y, p, view="binary", counts=w).value
    assert weighted == pytest.approx(brier_score_loss(y, p, sample_weight=w), abs=ROUNDING)
    assert cal.log_score(y, p, weights=w).value == pytest.approx(log_loss(y, p, sample_weight=w), abs=ROUNDING)
    q = rng.dirichlet(np.ones(4), 200)
    z = rng.integers(0, 4, 200)
    assert cal.log_score(z, q).value == pytest.approx(log_loss(z, q), abs=ROUNDING)
    assert cal.brier_score(z, q).value == pytest.approx(brier_score_loss(z, q, scale_by_half=False), abs=ROUNDING)


@pytest.mark.parametrize(("n", "wrong"), [(30, 3), (200, 0), (50, 49)])
def test_two_scores_have_the_interval_of_clopper_and_pearson(n, wrong):
    """What is said with certainty is right or wrong: the Brier score of a question is 0 or 1."""
    y = np.arange(n) < wrong
    found = cal.brier_score(y, np.zeros(n), view="binary", level=0.8).interval
    expected = binomtest(wrong, n).proportion_ci(0.8, method="exact")
    assert found.low == pytest.approx(expected.low, abs=0.02 / n)  # a saddlepoint approximation
    assert found.high == pytest.approx(expected.high, abs=0.04 / n)


def test_a_loss_not_seen_yet_widens_the_interval(rng):
    """A log score has no limit: the interval reaches to what the predictions themselves make credible."""
    p = rng.random(100) * 0.02
    found = cal.log_score(np.zeros(100, int), p).interval
    assert found.high > 0.1 > 5 * -np.log1p(-p).mean()
    assert found.low >= 0
    sure = cal.log_score(np.zeros(100, int), np.full(100, 1e-9)).interval
    assert 2e-8 < sure.high < 1e-6  # 20.7 nats with probability 1e-9, and nobody says that it is more likely


def test_what_is_said_to_be_impossible_is_told():
    found = cal.log_score([0] * 100, [0.0] * 99 + [0.5])
    assert found.cautions == ("99 rows give some class probability 0; if it ever occurs, the score is infinite",)


@pytest.mark.parametrize("score", ["brier", "log", "spherical"])
def test_large_tables_have_limits_too(rng, score, monkeypatch):
    p, y = np.full((400, 3), 0.002), np.zeros(400, int)
    p[:, 0] = 0.996
    small = cal.compare(cal.Predictions(y, p), cal.Predictions(y, 0.5 * p + 1 / 6), score=score)
    monkeypatch.setattr("calibrant.score.possible.MOST_NUMBERS", 1000)
    large = cal.compare(cal.Predictions(y, p), cal.Predictions(y, 0.5 * p + 1 / 6), score=score)
    for name in ("before", "after", "difference"):
        narrow, wide = (getattr(found, name).interval for found in (small, large))
        assert wide.low <= narrow.low + 1e-12
        assert wide.high >= narrow.high - 1e-12
        assert wide.high - wide.low < 0.3
    assert small.before.interval.high > 2 * small.before.value


def test_a_log_score_of_rare_events_is_not_called_better_for_saying_less(rng):
    y = np.zeros(150, int)
    found = cal.compare(cal.Predictions(y, np.full(150, 5e-4)), cal.Predictions(y, np.full(150, 5e-5)), score="log")
    assert found.verdict == "no detectable change"
    assert found.p_value > 0.5


def test_rows_of_a_group_may_depend_on_each_other(rng):
    which = np.repeat(np.arange(40), 25)
    q = rng.random(40)
    said = cal.Predictions((rng.random(40) < q)[which], q[which], groups=which)
    for measure in (cal.brier_score, cal.log_score, cal.spherical_score, cal.mean_gap):
        plain, clustered = measure(said), measure(said, cluster=True)
        assert clustered.value == pytest.approx(plain.value, rel=1e-12)
        assert clustered.interval.method == "Student t, clusters"
        assert clustered.interval.high - clustered.interval.low > 3 * (plain.interval.high - plain.interval.low)
    with pytest.raises(InputError, match="cluster needs groups; the predictions have none"):
        cal.brier_score([0, 1], [0.2, 0.3], cluster=True)


def test_large_data_use_the_normal_quantile(rng):
    p = rng.random(30_000)
    y = (rng.random(30_000) < p).astype(int)
    found = cal.brier_score(y, p, view="binary").interval
    expected = ttest_1samp((p - y) ** 2, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-4)  # the normal quantile, to four digits


@pytest.mark.parametrize("total", [1e-9, 0.5, 1.0, 1.0001, 1e9])
def test_the_sum_of_weights_does_not_change_the_interval(total):
    w = np.array([1, 2, 3])
    found = cal.brier_score([1, 0, 1], [0.1, 0.3, 0.4], weights=total / 6 * w)
    expected = cal.brier_score([1, 0, 1], [0.1, 0.3, 0.4], weights=w)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.interval.low, expected.interval.high))
    assert found.interval.low > -10
    assert found.interval.high < 10
    assert "one row has no interval" not in found.cautions


@each
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


@each
@given(data=st.data())
def test_the_expected_score_is_the_mean_over_what_may_happen(score, data):
    said = data.draw(some.soft_matrices())
    n, n_classes = said.probs.shape
    with np.errstate(all="ignore"):
        each = np.stack([score.of_labels(said.probs, np.full(n, k)) for k in range(n_classes)], axis=1)
        mean = np.where(said.labels > 0, said.labels * each, 0).sum(axis=1)
        np.testing.assert_allclose(score.expected(said.probs, said.labels), mean, rtol=1e-11, atol=1e-11)


@each
@given(data=st.data())
def test_the_entropy_is_concave(score, data):
    said, share = data.draw(some.soft_matrices()), data.draw(st.floats(0, 1))
    mixed = share * said.probs + (1 - share) * said.labels
    below = share * score.entropy(said.probs) + (1 - share) * score.entropy(said.labels)
    assert (score.entropy(mixed) >= below - ROUNDING).all()


@each
@given(data=st.data())
def test_only_the_truth_scores_as_well_as_the_truth(score, data):
    said = data.draw(some.soft_matrices())
    far = np.abs(said.probs - said.labels).max(axis=1) > 0.01
    with np.errstate(all="ignore"):
        divergence = score.divergence(said.probs, said.labels)
    assert (divergence[far] > 1e-7).all()  # a square of 0.01, over the norm of the spherical score


@each
def test_a_certain_and_right_model_scores_the_infimum(score):
    assert score.of_labels(np.eye(3), np.arange(3)).tolist() == [score.infimum] * 3


@given(some.soft_matrices())
def test_soft_labels_give_the_expected_score(said):
    made = Predictions(said.labels, said.probs, counts=said.weights, soft=True)
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
    assert isinstance(check_score("brier"), BrierScore)
    assert check_score(ALL[1]) is ALL[1]


@pytest.mark.parametrize("score", ["ece", None, ["brier"], 1, BrierScore])
def test_an_unknown_score_is_refused(score):
    with pytest.raises(InputError, match=r"score must be one of 'brier', 'log'.*, or a Score; it is"):
        check_score(score)


# A score of one's own.


class Tsallis(cal.extend.Score):
    """Only the expected score, with an entropy of 1 − Σ q³."""

    def expected(self, probs, truth):
        return 1 + (2 * probs**3 - 3 * truth * probs**2).sum(axis=-1)


class Cubed(Tsallis):
    """The same with its own way to a label."""

    name, title, infimum = "cubed", "cubed score", 0.0

    def of_labels(self, probs, labels):
        return 1 + 2 * (probs**3).sum(axis=1) - 3 * probs[np.arange(len(probs)), labels] ** 2


def test_a_score_of_ones_own_needs_only_the_expected_score(rng):
    probs, labels = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    whole, short = Tsallis().score(labels, probs), Cubed().score(labels, probs)
    assert whole.value == pytest.approx(short.value, abs=ROUNDING)
    assert (whole.title, whole.name) == ("Tsallis", "Tsallis_score")
    assert short.settings["score"] == "cubed"


def test_everything_works_for_a_score_of_ones_own(rng):
    p = rng.random(300)
    y = (rng.random(300) < p**2).astype(int)
    before, after = Predictions(y, p), Predictions(y, p**2)
    found = cal.compare(before, after, score=Cubed())
    assert found.difference.value == pytest.approx(
        Cubed().score(after).value - Cubed().score(before).value, abs=ROUNDING
    )
    assert found.root is None
    parts = cal.decompose(before, score=Tsallis())
    assert min(parts.miscalibration, parts.discrimination) >= 0
    assert cal.upper_bound(before, score=Cubed()).value == Cubed().score(before).value
    with pytest.raises(InputError, match=r"finite infimum; that of Tsallis is -inf.*Only differences are meaningful"):
        cal.upper_bound(before, score=Tsallis())
