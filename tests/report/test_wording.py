from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calibrant as cal
from calibrant.report.wording import about_confidence, plain_words

RNG = np.random.default_rng(5)


def test_a_wrong_model_is_to_be_repaired(results):
    text = plain_words(results["diagnosis"])
    assert text.startswith("A model is calibrated if what it calls 70 % likely happens 70 % of the time.")
    assert "91.6 % sure of its answers on average, and 82.8 % of them are right" in text
    assert "off by 8.95 percentage points on average (with 95 % confidence between 6.59 and 11.4)" in text
    assert "fit a correction" in text


def test_weak_evidence_asks_for_other_cases(results):
    found = results["diagnosis"]
    weak = replace(found, test=replace(found.test, p_value=0.04))
    assert "Chance would look as bad now and then (p = 0.0400). What to do: look at other cases" in plain_words(weak)
    assert "fit a correction" not in plain_words(weak)


def test_where_nothing_is_seen_nothing_is_proved():
    p = RNG.uniform(0.1, 0.9, 500)
    found = cal.diagnose(RNG.random(500) < p, p)
    found = replace(found, calibrated=None)
    text = plain_words(found)
    assert "These 500 cases show no error in its probabilities. That is no proof: an average error of up to" in text
    assert "nothing needs to be repaired" in text


def test_shares_have_no_test_and_get_a_sentence_all_the_same():
    p = RNG.uniform(0.1, 0.9, 300)
    found = cal.diagnose(cal.Predictions(p**2, p, soft=True))
    assert found.test is None
    assert "Do not take them at face value" in plain_words(replace(found, calibrated=False))


def test_forecasts_have_their_own_words():
    wrong_errors = RNG.normal(size=200) * 3
    wrong = cal.diagnose(cal.Predictions.from_gaussian(wrong_errors, np.zeros(200), np.ones(200)))
    right = cal.diagnose(cal.Predictions.from_gaussian(RNG.normal(size=50), np.zeros(50), np.ones(50)))
    told = plain_words(replace(wrong, calibrated=False))
    assert "They are not calibrated, and chance does not explain it." in told
    inside = np.mean(np.abs(wrong_errors) <= 1.6448536269514722)
    assert f"Here they hold it in {100 * inside:.3g} % of the cases" in told
    assert f"above the middle of the forecast in {100 * np.mean(wrong_errors > 0):.3g} % of them" in told
    assert "These 50 cases show no error." in plain_words(replace(right, calibrated=None))


@pytest.mark.parametrize("stated", [True, False])
def test_stated_confidences_are_called_so(stated):
    p = np.round(RNG.uniform(0.1, 0.9, 200), 1)
    answers = cal.Predictions(RNG.random(200) < p, p)
    answers.is_confidence = stated
    found = cal.diagnose(answers)
    assert about_confidence(found) is stated
    assert ("sure of its answers" in plain_words(found)) is stated
