from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import Examination
from calibrant.verbs import examine as module
from calibrant.verbs.comparison import Comparisons
from calibrant.verbs.examine import held_out_repairs

RNG = np.random.default_rng(11)


def binary(n: int = 400, **more):
    p = RNG.uniform(0.02, 0.98, n)
    return cal.Predictions(RNG.random(n) < p**1.6, p, **more)


def kinds(found: Examination) -> list[str]:
    return [type(each).__name__ for each in found.answers]


@pytest.fixture(scope="module")
def event() -> Examination:
    return cal.examine(binary(), name="risks")


@pytest.mark.slow
def test_a_binary_event_has_the_clinical_block_and_several_classes_have_their_table(event):
    assert kinds(event) == ["Where", "Comparisons", "Plan", "ClinicalReport"]
    assert kinds(cal.examine(cal.example()[1])) == ["Classes", "Where", "Comparisons", "Plan"]


@pytest.mark.slow
def test_stated_confidences_have_their_levels_in_place_of_the_clinical_block():
    answers = binary()
    answers.is_confidence = True
    assert kinds(cal.examine(answers))[-1] == "AnswerReport"
    assert "ClinicalReport" not in kinds(cal.examine(answers))


@pytest.mark.slow
def test_the_diagnosis_is_that_of_diagnose():
    data = binary()
    found = cal.examine(data, name="a", measures=["MMCE"]).diagnosis
    assert found == cal.diagnose(data, name="a", measures=["MMCE"])


@pytest.mark.slow
def test_what_is_given_is_not_computed_again(monkeypatch):
    data = binary()
    given = cal.where(data, n_draws=99)
    monkeypatch.setattr(module, "where", lambda *_, **__: pytest.fail("computed again"))
    other = cal.decompose(data)
    found = cal.examine(data, answers=[given, other])
    assert [each for each in found.answers if type(each).__name__ == "Where"] == [given]
    assert found.answers[-1] is other


@pytest.mark.slow
def test_what_takes_long_is_left_out_and_named(monkeypatch):
    monkeypatch.setattr(module, "MOST_TRIED", 10)
    monkeypatch.setattr(module, "MOST_PLANNED", 10)
    found = cal.examine(binary())
    assert kinds(found) == ["Where", "ClinicalReport"]
    text = " ".join(found.left_out)
    assert "Repairs were not tried, as there are 400 probabilities" in text
    assert "calibrant plan FILE --n 400" in text


@pytest.mark.slow
def test_in_full_it_simulates():
    assert kinds(cal.examine(binary(120), full=True))[:3] == ["Trust", "Where", "Comparisons"]


@pytest.mark.slow
def test_groups_are_audited_where_they_are_few():
    data = binary(300, groups=np.arange(300) % 3)
    found = cal.examine(data)
    assert "Audit" in kinds(found)
    assert "Comparisons" in kinds(found)  # segments need not stay in one fold
    many = cal.examine(binary(300, groups=np.arange(300) % 100))
    assert "Audit" not in kinds(many)
    assert any("The 100 groups are not looked at one by one" in each for each in many.left_out)


def test_few_rows_are_not_repaired():
    found = cal.examine(binary(30))
    assert "Comparisons" not in kinds(found)
    assert any("too few to judge" in each for each in found.left_out)


@pytest.mark.slow
def test_forecasts_and_states_have_their_diagnosis():
    forecasts = cal.Predictions.from_gaussian(RNG.normal(size=60), np.zeros(60), np.ones(60))
    assert cal.examine(forecasts).answers == ()
    data = cal.example()[1]
    state = cal.collect(data)
    found = cal.examine(state)
    assert found.diagnosis.n == data.n
    assert found.origin.fingerprint == ""


@pytest.mark.slow
def test_it_is_read_back(event):
    assert Examination.from_json(event.to_json()) == event


def test_repairs_are_judged_on_rows_that_they_were_not_fitted_on():
    n = 3000
    p = RNG.uniform(0.05, 0.95, n)
    true = p**2 / (p**2 + (1 - p) ** 2)
    found = held_out_repairs(cal.Predictions(RNG.random(n) < true, p), ["temperature", "identity"])
    assert isinstance(found, Comparisons)
    assert found["temperature"].verdict == "better"
    assert found["identity"].difference.value == pytest.approx(0, abs=1e-12)
    assert found.method.startswith("5-fold cross-validation")


def test_only_answers_are_taken():
    with pytest.raises(cal.InputError, match="answers must be answers of verbs, tests or estimators; there is a dict"):
        cal.examine(binary(50), answers=[{}])
