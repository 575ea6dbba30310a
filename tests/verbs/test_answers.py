"""The report on a language model's answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.estimate.sampled import sampled_error
from calibrant.estimate.selective import selective_risk
from calibrant.verbs.answers import AnswerReport, ConfidenceLevels, assess_answers
from naive import answers as naive
from tolerances import ROUNDING, STANDARD_ERRORS


def some_answers():
    right = [1] * 60 + [0] * 40 + [1] * 35 + [0] * 15
    return right, [0.9] * 100 + [0.7] * 50


def test_levels_are_tested_exactly_and_adjusted_together():
    right, said = some_answers()
    report = assess_answers(right, said)
    levels = report.levels
    assert levels.names() == ["0.7", "0.9"]
    assert levels.n.tolist() == [50, 100]
    assert levels.label_rate.tolist() == [0.7, 0.6]
    each = [naive.two_sided([0.7] * 50, 35), naive.two_sided([0.9] * 100, 60)]
    assert levels.p_value.tolist() == pytest.approx(each, rel=1e-9)
    assert levels.adjusted.tolist() == pytest.approx(naive.adjusted([(0.7, 50, 35), (0.9, 100, 60)])[:2], rel=1e-9)
    assert report.calibrated is False
    assert report.verdict == "Not calibrated: over-confident at 0.9. Mean confidence 83.3 %, right 63.3 %."


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.2, 0.5, 0.9, 1.0]), st.integers(1, 5), st.integers(0, 5)),
        min_size=1,
        max_size=3,
        unique_by=lambda row: row[0],
    )
)
def test_adjusted_p_values_are_the_chance_that_any_is_as_small(rows):
    counted = [(p, n, min(hits, n)) for p, n, hits in rows]
    right = [int(i < hits) for _, n, hits in counted for i in range(n)]
    said = [p for p, n, _ in counted for _ in range(n)]
    report = assess_answers(right, said)
    counted.sort()
    *levels, total = naive.adjusted(counted)
    assert report.levels.adjusted.tolist() == pytest.approx(levels, abs=2e-9)
    assert report.overall_p == pytest.approx(total, abs=2e-9)


def test_p_values_drawn_within_their_steps_have_exactly_the_promised_false_alarms():
    """All outcomes of two levels, with their chances; the coin is moved by the seed."""
    wrong, n_seeds = 0.0, 60
    for few, many in itertools.product(range(3), range(5)):
        right = [1] * few + [0] * (2 - few) + [1] * many + [0] * (4 - many)
        chance = float(naive.hit_law([0.5] * 2)[few] * naive.hit_law([0.9] * 4)[many])
        reports = [assess_answers(right, [0.5] * 2 + [0.9] * 4, ties="random", seed=seed) for seed in range(n_seeds)]
        wrong += chance * np.mean([min(*r.levels.adjusted, r.overall_p) <= 0.3 for r in reports])
    assert wrong == pytest.approx(0.3, abs=STANDARD_ERRORS * np.sqrt(0.3 * 0.7 / n_seeds / 4))


def test_a_drawn_p_value_lies_in_its_step():
    right, said = [1, 1, 0, 0, 1, 1], [0.7] * 6
    counted = assess_answers(right, said).levels.p_value[0]
    drawn = {float(assess_answers(right, said, ties="random", seed=s).levels.p_value[0]) for s in range(20)}
    assert len(drawn) == 20
    assert max(drawn) <= counted
    sure = assess_answers([1] * 5, [1.0] * 5, ties="random")
    assert sure.levels.p_value.tolist() == sure.levels.adjusted.tolist() == [1.0]
    with pytest.raises(InputError, match="ties"):
        assess_answers(right, said, ties="toss")


def test_no_two_calibrated_levels_are_blamed_too_often():
    """All outcomes of two levels, with their chances: any level or the total is called wrong at 0.3 in at most 0.3 of cases."""
    wrong = 0.0
    for few, many in itertools.product(range(5), range(7)):
        right = [1] * few + [0] * (4 - few) + [1] * many + [0] * (6 - many)
        report = assess_answers(right, [0.5] * 4 + [0.8] * 6)
        chance = float(naive.hit_law([0.5] * 4)[few] * naive.hit_law([0.8] * 6)[many])
        wrong += chance * (min(*report.levels.adjusted, report.overall_p) <= 0.3)
    assert 0.1 < wrong <= 0.3


def test_with_questions_the_adjustment_is_holms(rng):
    right, said, questions = rng.integers(0, 2, 200), rng.choice([0.4, 0.6, 0.7], 200), np.arange(200) // 2
    report = assess_answers(right, said, groups=questions)
    total = assess_answers(right, np.full(200, said.mean()), groups=questions)
    assert total.levels.p_value[0] > 0
    each = report.levels.p_value
    smallest = min(*each)
    assert report.levels.adjusted.min() >= min(1.0, 3 * smallest)
    assert report.levels.adjusted.min() <= min(1.0, 4 * smallest) + ROUNDING


def test_the_estimates_are_those_of_their_functions():
    right, said = some_answers()
    report = assess_answers(right, said)
    assert report["selective_risk"] == selective_risk(right, said)
    assert report["binned_error"] == cal.ece(right, said, compat="hle")
    assert report["mean_gap"].value == pytest.approx(cal.mean_gap(right, said).value, abs=ROUNDING)
    assert report["accuracy"].interval.method == "Wilson"
    levels = cal.binned_error(right, said, bins=cal.Edges([0, 0.8, 1]), norm=2, debiased=True)
    assert report["level_error"].value == pytest.approx(levels.value, abs=ROUNDING)
    assert report["level_error"].interval == levels.interval
    with pytest.raises(KeyError, match="'no such'; there are accuracy, mean_gap, level_error"):
        report["no such"]


def test_answers_that_are_as_sure_as_right_pass():
    report = assess_answers([1] * 8 + [0] * 2 + [1] * 5 + [0] * 5, [0.8] * 10 + [0.5] * 10)
    assert report.calibrated is None
    assert report.verdict == "No miscalibration to be seen in 20 answers. Mean confidence 65.0 %, right 65.0 %."
    assert report["level_error"].value == 0


def test_both_directions_are_named():
    report = assess_answers([1] * 50 + [0] * 50, [0.6] * 50 + [0.9] * 50)
    assert report.verdict.startswith("Not calibrated: over-confident at 0.9; under-confident at 0.6.")


def test_a_small_shift_everywhere_shows_in_the_total_alone(rng):
    said = np.repeat(np.arange(1, 20) / 20, 40)
    right = np.concatenate([np.arange(40) < round(40 * p) - 2 for p in said[::40]])
    report = assess_answers(right, said)
    assert (report.levels.adjusted > 0.05).all()
    assert "over-confident on the whole, no level by itself" in report.verdict


def test_many_confidences_are_put_in_ranges(rng):
    said = rng.random(300)
    right = rng.random(300) < said
    report = assess_answers(right, said)
    assert len(report.levels) == 10
    assert report.levels.n.tolist() == [30] * 10
    first = said <= np.sort(said)[29]
    expected = naive.two_sided(said[first], int(right[first].sum()))
    assert report.levels.p_value[0] == pytest.approx(expected, abs=ROUNDING)


def test_answers_to_one_question_count_as_a_whole():
    """Sixty questions of which six were missed, each ten times: independent answers would be a catastrophe."""
    right = np.repeat([1] * 48 + [0] * 12, 10)
    said, questions = np.full(600, 0.9), np.repeat(np.arange(60), 10)
    alone, together = assess_answers(right, said), assess_answers(right, said, groups=questions)
    assert alone.calibrated is False
    assert together.calibrated is None
    assert together.questions == 60
    assert together["accuracy"].interval.method == "Student t, clusters"
    assert together["level_error"].value < alone["level_error"].value
    assert together["level_error"].interval is None


def test_few_questions_that_agree_are_no_proof():
    """Two questions, both wrong: their spread is 0, which must not make the test certain."""
    report = assess_answers([0, 0, 0, 0], [0.9] * 4, groups=[1, 1, 2, 2])
    assert report.levels.p_value[0] > 0.05
    assert assess_answers([0, 0], [0.9] * 2, groups=[1, 1]).levels.p_value[0] == 1
    assert "2 questions are few: tests by questions are rough" in report.cautions


def test_missing_confidences_are_refused_or_counted():
    right, said = [1, 0, 1, 1], [0.9, np.nan, 0.6, 0.6]
    with pytest.raises(
        InputError, match="probs must hold a confidence for every answer; 1 are missing, the first in row 1"
    ):
        assess_answers(right, said)
    for missing in (said, [0.9, None, 0.6, 0.6]):
        report = assess_answers(right, missing, abstentions="count", groups=["a", "b", "c", "c"])
        assert (report.n, report.abstained, report.questions) == (3, 1, 2)
        assert report["accuracy"].value == 1
        assert report.tables()[2].rows[-1][0] == "75.0%"
    with pytest.raises(InputError, match="all are missing"):
        assess_answers([1, 0], [np.nan, np.nan], abstentions="count")
    with pytest.raises(InputError, match="labels has 1, probs 2"):
        assess_answers([1], [0.5, np.nan], abstentions="count")


def test_the_unknown_label_of_an_abstention_does_not_matter():
    report = assess_answers([1.0, np.nan], [0.9, np.nan], abstentions="count")
    assert report.n == 1


def test_sampled_confidences_join_the_report(rng):
    said = rng.binomial(4, 0.7, 100) / 4
    right = rng.random(100) < 0.7
    report = assess_answers(right, said, samples=4)
    assert report["sampled_error"] == sampled_error(right, said, samples=4)


def test_it_prints_and_survives_as_json():
    right, said = some_answers()
    report = assess_answers(right, said, name="GPT-X", source="stated in words")
    text = repr(report)
    assert text.startswith("GPT-X: 150 answers, confidence: stated in words\nNot calibrated")
    assert "Level by level" in text
    assert "If unsure answers are kept back" in text
    assert "<h4>GPT-X" in report._repr_html_()
    assert AnswerReport.from_json(report.to_json()) == report
    assert repr(report.levels) == "ConfidenceLevels(2 levels)"
    assert ConfidenceLevels.from_json(report.levels.to_json()) == report.levels


def test_predictions_of_several_classes_are_their_top(rng):
    probs = rng.dirichlet(np.ones(4), 60)
    labels = rng.integers(0, 4, 60)
    made = Predictions(labels, probs, groups=np.arange(60) // 3)
    report = assess_answers(made)
    assert report.questions == 20
    assert report["accuracy"].value == pytest.approx((probs.argmax(axis=1) == labels).mean())


def test_what_it_refuses():
    with pytest.raises(InputError, match="probs is required"):
        assess_answers([0, 1])
    with pytest.raises(InputError, match="abstentions must be one of 'refuse', 'count'"):
        assess_answers([0, 1], [0.2, 0.7], abstentions="drop")
    with pytest.raises(InputError, match="labels must be plain answers"):
        assess_answers(Predictions([0, 1], [0.2, 0.7], weights=[1, 2]))
    with pytest.raises(InputError, match="groups must hold one value a row"):
        assess_answers([0, 1], [0.2, 0.7], groups=[1])
    with pytest.raises(InputError, match="divide by 100"):
        assess_answers([0, 1], [20, 70])


def test_the_order_of_answers_does_not_matter(rng):
    said = rng.choice([0.6, 0.8, 0.9], 40)
    right = (rng.random(40) < said).astype(int)
    order = rng.permutation(40)
    first, then = (assess_answers(right[at], said[at], ties="random") for at in (slice(None), order))
    np.testing.assert_array_equal(first.levels.adjusted, then.levels.adjusted)


def test_what_was_said_to_be_impossible_counts_for_questions_too():
    right, groups = [1] * 48 + [0] * 2, np.arange(50)
    report = assess_answers(right, [1.0] * 50, groups=groups)
    assert report.calibrated is False
    assert report.levels.p_value.tolist() == [0.0]


def test_shares_of_samples_are_told_to_be_noisy(rng):
    share = rng.beta(2, 1, 300)
    report = assess_answers(rng.random(300) < share, rng.binomial(4, share) / 4, samples=4)
    assert any("their noise alone makes high levels look over-confident" in each for each in report.cautions)
