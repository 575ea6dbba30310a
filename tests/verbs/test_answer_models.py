"""Answers of several models compared."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.problems import InputError
from calibrant.verbs.answer_models import AnswerComparison, compare_answers
from calibrant.verbs.answers import assess_answers

RNG = np.random.default_rng(5)
N = 200
QUESTIONS = np.tile(np.arange(N), 3)
MODELS = np.repeat(["a", "b", "c"], N)
STATED = RNG.choice([0.6, 0.8, 0.95], 3 * N)
RIGHT = RNG.random(3 * N) < STATED - 0.3 * (MODELS == "c")


def test_each_model_is_assessed_by_itself():
    found = compare_answers(RIGHT, STATED, MODELS)
    for name in "abc":
        alone = assess_answers(RIGHT[name == MODELS], STATED[name == MODELS], name=name)
        assert found[name].to_json() == alone.to_json()
    assert [pair.name for pair in found.pairs] == ["a − b", "a − c", "b − c"]


def test_paired_differences_are_means_over_common_questions():
    order = RNG.permutation(3 * N)
    kept = order[QUESTIONS[order] + 7 * (MODELS[order] == "b") >= 7]  # b lacks no question, the others the first seven
    found = compare_answers(RIGHT[kept], STATED[kept], MODELS[kept], groups=QUESTIONS[kept])
    pair = next(each for each in found.pairs if {each.first, each.second} == {"a", "b"})
    sign = 1 if pair.first == "a" else -1
    gaps = {name: {} for name in "ab"}
    for name in "ab":
        for k in kept[MODELS[kept] == name]:
            gaps[name][QUESTIONS[k]] = 2 * (STATED[k] - RIGHT[k]) ** 2
    naive = np.mean([gaps["a"][q] - gaps["b"][q] for q in gaps["a"]])
    assert pair.questions == N - 7
    assert pair.of("brier").value == pytest.approx(sign * naive, abs=1e-14)


def test_answers_to_a_question_count_once():
    right, stated = [1, 0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.5]
    found = compare_answers(right, stated, ["a", "a", "a", "b", "b"], groups=["q", "q", "r", "q", "r"])
    assert found.pairs[0].of("accuracy").value == pytest.approx((0.5 - 1 + 0 - 1) / 2)


def test_intervals_allow_for_the_number_of_differences():
    two = compare_answers(RIGHT[: 2 * N], STATED[: 2 * N], MODELS[: 2 * N], groups=QUESTIONS[: 2 * N])
    three = compare_answers(RIGHT, STATED, MODELS, groups=QUESTIONS)
    assert (two.pairs[0].of("brier").interval.level, three.pairs[0].of("brier").interval.level) == pytest.approx(
        (1 - 0.05 / 3, 1 - 0.05 / 9)
    )
    assert three.pairs[0].of("brier").value == two.pairs[0].of("brier").value
    assert "9 differences (Bonferroni)" in three.method
    assert "The confidences of a are better than those of c" in three.sentence()
    assert "Answers are unpaired" in compare_answers(RIGHT, STATED, MODELS).method


def test_pairing_helps_where_questions_are_easy_or_hard():
    ease = np.tile(RNG.choice([0.05, 0.95], N), 2)
    right, stated = RNG.random(2 * N) < ease, np.full(2 * N, 0.5)
    paired = compare_answers(right, stated, MODELS[: 2 * N], groups=QUESTIONS[: 2 * N]).pairs[0].of("accuracy").interval
    alone = compare_answers(right, stated, MODELS[: 2 * N]).pairs[0].of("accuracy").interval
    assert paired.high - paired.low < 0.6 * (alone.high - alone.low)


def test_abstentions_are_counted_or_dropped():
    stated = STATED.copy()
    stated[:5] = np.nan
    with pytest.raises(InputError, match="must hold a confidence for every answer"):
        compare_answers(RIGHT, stated, MODELS)
    assert compare_answers(RIGHT, stated, MODELS, abstentions="count")["a"].abstained == 5
    dropped = compare_answers(RIGHT, stated, MODELS, abstentions="drop")
    assert dropped["a"].abstained == 0
    assert "a: answers without a confidence were dropped: 5" in dropped.cautions
    report = assess_answers(RIGHT, stated, abstentions="drop")
    assert (report.n, report.abstained) == (3 * N - 5, 0)
    assert report.cautions[0] == "answers without a confidence were dropped: 5"


def test_it_is_saved_and_shown(tmp_path):
    found = compare_answers(RIGHT, STATED, MODELS, groups=QUESTIONS)
    assert AnswerComparison.from_json(found.to_json()).to_json() == found.to_json()
    found.save(tmp_path / "models.html")
    assert "Pair by pair" in (tmp_path / "models.html").read_text(encoding="utf-8")
    assert found.to_dict()["a/accuracy"] == pytest.approx(RIGHT[:N].mean())
    assert len(found.to_frame()) == 15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ["a"] * 3}, "models must name at least two models; it names 'a' only"),
        ({"models": ["a", "b"]}, "models must name a model per answer"),
        ({"models": ["a", None, "b"]}, "models"),
        ({"models": None}, "models must be given"),
        ({"groups": ["q", "r", "s"]}, "groups must hold questions that both models answered; 'a' and 'b' share none"),
        ({"level": 2.0}, "level"),
    ],
)
def test_what_cannot_be_compared_is_refused(change, message):
    given = {"labels": [1, 0, 1], "probs": [0.5, 0.6, 0.7], "models": ["a", "b", "b"]} | change
    with pytest.raises(InputError, match=message):
        cal.compare_answers(**given)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_all_intervals_hold_at_once_as_often_as_they_say(paired):
    rng, held, runs, n = np.random.default_rng(8), 0, 150, 120
    for _ in range(runs):
        ease = rng.beta(2, 1, n)
        rates = np.concatenate([ease, 0.9 * ease])
        stated = np.round(np.concatenate([ease, ease]), 1)
        right = rng.random(2 * n) < rates
        groups = np.tile(np.arange(n), 2) if paired else None
        found = compare_answers(right, stated, np.repeat(["a", "b"], n), groups=groups).pairs[0]
        gap = 0.1 * 2 / 3  # E[ease] − 0.9 E[ease]
        # E over ease of 2(p − y)² is 2(p² − 2pr + r): b less a is 2·Σ(1 − 2p)(r_b − r_a)
        grid = (np.arange(20000) + 0.5) / 20000
        density = 2 * grid / np.sum(2 * grid)
        brier = -float(density @ (2 * (1 - 2 * np.round(grid, 1)) * (-0.1 * grid)))
        truth = {"accuracy": gap, "mean_gap": -gap, "brier": brier}
        held += all(truth[each.name] in each.interval for each in found.differences)
    assert held / runs > 0.95 - 3 * np.sqrt(0.05 * 0.95 / runs)
