"""The report on a language model's answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.estimate.sampled import sampled_error
from calibrant.estimate.selective import selective_risk
from calibrant.verbs.answers import AnswerReport, assess_answers
from calibrant.verbs.confidence_levels import ConfidenceLevels
from naive import answers as naive
from tolerances import ROUNDING, STANDARD_ERRORS


def some_answers():
    right = [1] * 60 + [0] * 40 + [1] * 35 + [0] * 15
    return right, [0.9] * 100 + [0.7] * 50


def test_levels_are_tested_exactly_and_adjusted_jointly():
    right, confidences = [1] * 12 + [0] * 8 + [1] * 7 + [0] * 3, [0.9] * 20 + [0.7] * 10
    report = assess_answers(right, confidences)
    levels = report.levels
    assert levels.names() == ["0.7", "0.9"]
    assert levels.n.tolist() == [10, 20]
    assert levels.label_rate.tolist() == [0.7, 0.6]
    each = [naive.two_sided([0.7] * 10, 7), naive.two_sided([0.9] * 20, 12)]
    assert levels.p_value.tolist() == pytest.approx(each, rel=1e-9)
    assert levels.adjusted.tolist() == pytest.approx(naive.adjusted([(0.7, 10, 7), (0.9, 20, 12)])[:2], rel=1e-9)
    assert report.calibrated is False
    assert report.verdict == "Not calibrated: over-confident at 0.9. Mean confidence 83.3 %, right 63.3 %."


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
    confidences = [p for p, n, _ in counted for _ in range(n)]
    report = assess_answers(right, confidences)
    counted.sort()
    *levels, total = naive.adjusted(counted)
    assert report.levels.adjusted.tolist() == pytest.approx(levels, abs=2e-9)
    assert report.overall_p == pytest.approx(total, abs=2e-9)


@pytest.mark.slow
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
    right, confidences = [1, 1, 0, 0, 1, 1], [0.7] * 6
    counted = assess_answers(right, confidences).levels.p_value[0]
    drawn = {float(assess_answers(right, confidences, ties="random", seed=s).levels.p_value[0]) for s in range(20)}
    assert len(drawn) == 20
    assert max(drawn) <= counted
    sure = assess_answers([1] * 5, [1.0] * 5, ties="random")
    assert sure.levels.p_value.tolist() == sure.levels.adjusted.tolist() == [1.0]
    with pytest.raises(InputError, match="ties"):
        assess_answers(right, confidences, ties="toss")


def test_two_calibrated_levels_are_not_rejected_too_often():
    """All outcomes of two levels, with their chances: any level or the total is called wrong at 0.3 in at most 0.3 of cases."""
    wrong = 0.0
    for few, many in itertools.product(range(5), range(7)):
        right = [1] * few + [0] * (4 - few) + [1] * many + [0] * (6 - many)
        report = assess_answers(right, [0.5] * 4 + [0.8] * 6)
        chance = float(naive.hit_law([0.5] * 4)[few] * naive.hit_law([0.8] * 6)[many])
        wrong += chance * (min(*report.levels.adjusted, report.overall_p) <= 0.3)
    assert 0.1 < wrong <= 0.3


def test_with_questions_the_adjustment_is_holms(rng):
    right, confidences, questions = rng.integers(0, 2, 200), rng.choice([0.4, 0.6, 0.7], 200), np.arange(200) // 2
    report = assess_answers(right, confidences, groups=questions)
    total = assess_answers(right, np.full(200, confidences.mean()), groups=questions)
    assert total.levels.p_value[0] > 0
    each = report.levels.p_value
    smallest = min(*each)
    assert report.levels.adjusted.min() >= min(1.0, 3 * smallest)
    assert report.levels.adjusted.min() <= min(1.0, 4 * smallest) + ROUNDING


def test_the_estimates_are_those_of_their_functions():
    right, confidences = some_answers()
    report = assess_answers(right, confidences)
    assert report["selective_risk"] == selective_risk(right, confidences)
    assert report["binned_error"] == cal.ece(right, confidences, compat="hle")
    assert report["mean_gap"].value == pytest.approx(cal.mean_gap(right, confidences).value, abs=ROUNDING)
    assert report["accuracy"].interval.method == "Wilson"
    levels = cal.binned_error(right, confidences, bins=cal.Edges([0, 0.8, 1]), norm=2, debiased=True)
    assert report["level_error"].value == pytest.approx(levels.value, abs=ROUNDING)
    assert report["level_error"].interval == levels.interval
    with pytest.raises(KeyError, match="'no such' is not here; there are 'accuracy', 'mean_gap', 'level_error'"):
        report["no such"]


def test_calibrated_answers_pass():
    report = assess_answers([1] * 8 + [0] * 2 + [1] * 5 + [0] * 5, [0.8] * 10 + [0.5] * 10)
    assert report.calibrated is None
    assert (
        report.verdict
        == "These 20 answers show no miscalibration, at any level or in total. Mean confidence 65.0 %, right 65.0 %."
    )
    assert report["level_error"].value == 0


def test_both_directions_are_named():
    report = assess_answers([1] * 50 + [0] * 50, [0.6] * 50 + [0.9] * 50)
    assert report.verdict.startswith("Not calibrated: over-confident at 0.9; under-confident at 0.6.")


def test_a_small_shift_everywhere_shows_in_the_total_alone(rng):
    confidences = np.repeat(np.arange(1, 20) / 20, 40)
    right = np.concatenate([np.arange(40) < round(40 * p) - 2 for p in confidences[::40]])
    report = assess_answers(right, confidences)
    assert (report.levels.adjusted > 0.05).all()
    assert "over-confident in total, no single level" in report.verdict


def test_many_confidences_are_binned(rng):
    confidences = rng.random(300)
    right = rng.random(300) < confidences
    report = assess_answers(right, confidences)
    assert len(report.levels) == 10
    assert report.levels.n.tolist() == [30] * 10
    first = confidences <= np.sort(confidences)[29]
    expected = naive.two_sided(confidences[first], int(right[first].sum()))
    assert report.levels.p_value[0] == pytest.approx(expected, abs=ROUNDING)


def test_answers_to_one_question_are_a_cluster():
    """Sixty questions of which six were missed, each ten times: independent answers would be a catastrophe."""
    right = np.repeat([1] * 48 + [0] * 12, 10)
    confidences, questions = np.full(600, 0.9), np.repeat(np.arange(60), 10)
    alone, clustered = assess_answers(right, confidences), assess_answers(right, confidences, groups=questions)
    assert alone.calibrated is False
    assert clustered.calibrated is None
    assert clustered.questions == 60
    assert clustered["accuracy"].interval.method == "Student t, clusters"
    assert clustered["level_error"].value < alone["level_error"].value
    assert clustered["level_error"].interval is None


def test_few_questions_that_agree_are_no_proof():
    """Two questions, both wrong: their spread is 0, which must not make the test certain."""
    report = assess_answers([0, 0, 0, 0], [0.9] * 4, groups=[1, 1, 2, 2])
    assert report.levels.p_value[0] > 0.05
    assert assess_answers([0, 0], [0.9] * 2, groups=[1, 1]).levels.p_value[0] == 1
    assert "2 questions are few: tests by questions are rough" in report.cautions


def test_missing_confidences_are_refused_or_counted():
    right, confidences = [1, 0, 1, 1], [0.9, np.nan, 0.6, 0.6]
    with pytest.raises(
        InputError, match="probs must hold a confidence for every answer; 1 are missing, the first in row 1"
    ):
        assess_answers(right, confidences)
    for missing in (confidences, [0.9, None, 0.6, 0.6]):
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
    confidences = rng.binomial(4, 0.7, 100) / 4
    right = rng.random(100) < 0.7
    report = assess_answers(right, confidences, n_samples=4)
    assert report["sampled_error"] == sampled_error(right, confidences, n_samples=4)


def test_it_prints_and_survives_as_json():
    right, confidences = some_answers()
    report = assess_answers(right, confidences, name="GPT-X", source="stated in words")
    text = repr(report)
    assert text.startswith("GPT-X: 150 answers, confidence: stated in words\nNot calibrated")
    assert "Level by level" in text
    assert "If uncertain answers are withheld" in text
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
    with pytest.raises(InputError, match="abstentions must be one of 'refuse', 'count', 'drop'"):
        assess_answers([0, 1], [0.2, 0.7], abstentions="forget")
    with pytest.raises(InputError, match="labels must be answers that are right or wrong"):
        assess_answers(Predictions([0.5, 1.0], [0.2, 0.7], soft=True))
    with pytest.raises(InputError, match="groups must hold one value per row"):
        assess_answers([0, 1], [0.2, 0.7], groups=[1])
    with pytest.raises(InputError, match="divide by 100"):
        assess_answers([0, 1], [20, 70])


def test_the_order_of_answers_does_not_matter(rng):
    confidences = rng.choice([0.6, 0.8, 0.9], 40)
    right = (rng.random(40) < confidences).astype(int)
    order = rng.permutation(40)
    first, then = (assess_answers(right[at], confidences[at], ties="random") for at in (slice(None), order))
    np.testing.assert_array_equal(first.levels.adjusted, then.levels.adjusted)


def test_an_outcome_of_probability_zero_rejects_with_questions_too():
    right, groups = [1] * 48 + [0] * 2, np.arange(50)
    report = assess_answers(right, [1.0] * 50, groups=groups)
    assert report.calibrated is False
    assert report.levels.p_value.tolist() == [0.0]


def test_shares_of_samples_have_a_warning_about_noise(rng):
    share = rng.beta(2, 1, 300)
    report = assess_answers(rng.random(300) < share, rng.binomial(4, share) / 4, n_samples=4)
    assert any("their noise alone makes high levels look over-confident" in each for each in report.cautions)


def test_levels_with_weights_are_ranked_among_all_outcomes():
    """The chance of every outcome, the weights held fixed, against ranks among draws."""
    p, w = np.array([0.3, 0.3, 0.3, 0.8, 0.8, 0.8]), np.array([1.0, 2.5, 0.7, 1.2, 3.1, 0.4])
    right = np.array([1, 1, 0, 0, 1, 0])
    outcomes = np.array(list(itertools.product((0, 1), repeat=6)))
    chance = np.prod(np.where(outcomes == 1, p, 1 - p), axis=1)
    report = assess_answers(right, p, weights=w)
    for k, rows in enumerate((slice(0, 3), slice(3, 6))):
        far = np.abs(((outcomes - p) * w)[:, rows].sum(axis=1)) >= abs(((right - p) * w)[rows].sum()) - ROUNDING
        exact = chance[far].sum()
        assert report.levels.p_value[k] == pytest.approx(exact, abs=STANDARD_ERRORS * np.sqrt(0.25 / 9999))
    assert (report.levels.adjusted >= report.levels.p_value).all()
    assert report.levels.label_rate.tolist() == pytest.approx([3.5 / 4.2, 3.1 / 4.7], abs=ROUNDING)
    assert "binned_error" not in report
    assert any("HLE" in text for text in report.cautions)


def test_abstentions_count_as_often_as_they_occurred():
    right, stated = [1, 0, 1, 1, 0], [0.9, None, 0.6, 0.6, np.nan]
    report = assess_answers(right, stated, counts=[2, 3, 1, 2, 4], abstentions="count")
    assert (report.n, report.abstained) == (5, 7)
    weighed = assess_answers(right, stated, weights=[2, 3, 1, 2, 4], abstentions="count")
    assert (weighed.n, weighed.abstained) == (3, 2)
    assert weighed["accuracy"].value == 1.0
    with pytest.raises(InputError, match="counts must hold one number per row"):
        assess_answers(right, stated, counts=[1, 2], abstentions="count")


def test_neighbouring_ranges_are_named_as_one():
    low = np.array([0.1, 0.3, 0.5, 0.6, 0.8, 0.9])
    ranges = ConfidenceLevels(low, low + 0.05, *np.full((5, 6), 0.5))
    found = {text: ranges.stretches(np.array([*text]) == "x") for text in ("xxx.xx", ".....x", "xxxxxx", "......")}
    assert found == {
        "xxx.xx": ["0.1 – 0.55", "0.8 – 0.85", "0.9 – 0.95"],
        ".....x": ["0.9 – 0.95"],
        "xxxxxx": ["0.1 – 0.95"],
        "......": [],
    }
    values = ConfidenceLevels(low, low, *np.full((5, 6), 0.5))
    assert values.stretches(low > 0.4) == ["0.5", "0.6", "0.8", "0.9"]
