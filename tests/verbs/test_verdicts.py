"""Does the verdict name the truth, and do its words and numbers agree? Known worlds, and a check of any diagnosis."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import strategies as some
from calibrant import Predictions, diagnose
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.results import p_words
from calibrant.verbs.verdicts import GENERAL, MORE_ROWS, NEVER_ZERO, NO_ERROR_SEEN


@pytest.fixture(scope="module", autouse=True)
def few_draws():
    """p-values are exact with any number of draws, and coarser with fewer."""
    with pytest.MonkeyPatch.context() as patch:
        for place in ("diagnose", "all_classes"):
            patch.setattr(f"calibrant.verbs.{place}.MOST_DRAWS", 199)
        yield


def event(curve, low=0.0, high=1.0):
    """Predictions spread evenly from `low` to `high`, whose event has the rate that the curve says."""

    def make(rng, n):
        p = low + (high - low) * rng.random(n)
        return Predictions(rng.random(n) < curve(p), p)

    return make


def line(intercept, slope):
    return event(lambda p: sigmoid(intercept + slope * log_odds(p)))


def classes(change, n_classes=5):
    """Dirichlet predictions; the class is drawn from what `change` makes of them."""

    def make(rng, n):
        p = rng.dirichlet(np.full(n_classes, 0.7), n)
        q = change(p)
        q = q / q.sum(axis=1, keepdims=True)
        return Predictions((q.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p)

    return make


def impossible(rng, n):
    p = rng.random(n)
    y = rng.random(n) < p
    p[17], y[17] = 0.0, True
    return Predictions(y, p)


def answers(rng, n):
    made = event(lambda p: p - 0.15, 0.4)(rng, n)
    made.is_confidence = True
    return made


NOWHERE = r"^No miscalibration to be seen in [\d,]+ rows"
WORLDS = {
    "calibrated": (event(lambda p: p), 1000, NOWHERE),
    "few rows": (event(lambda p: p), 20, NOWHERE),
    "over-confident": (line(0.0, 0.6), 1500, r"^Not calibrated: over-confident, too low below 0\.[45].* and too high"),
    "under-confident": (line(0.0, 1.6), 1500, r"^Not calibrated: under-confident, too high below 0\.[45].* and too low"),
    "shifted up": (line(-0.6, 1.0), 1500, r"^Not calibrated: predicts too high( on average)?\. "),
    "shifted down": (line(0.6, 1.0), 1500, r"^Not calibrated: predicts too low( on average)?\. "),
    "shift and slope": (line(0.5, 0.6), 4000, r"^Not calibrated: over-confident, too low below 0\.[78]"),
    "tail": (event(lambda p: p - 0.2 * (p > 0.9)), 4000, r"too high above 0\.(8[6-9]|9)"),
    "bump": (event(lambda p: p - 0.3 * ((p > 0.6) & (p < 0.7))), 4000, r"too high between 0\.(5[6-9]|6).*and 0\.(6[6-9]|7)"),
    "waves": (
        event(lambda p: np.clip(p + 0.12 * np.sin(6 * np.pi * p), 0, 1)),
        6000,
        r"^Not calibrated: (too high in some places and too low in others|in places), most clearly ",
    ),
    "rare": (event(lambda p: 5 * p, 0.001, 0.004), 3000, r"^Not calibrated: predicts too low"),
    "impossible": (
        impossible,
        500,
        r"^Not calibrated: 1 outcome given probability 0, so the log loss is infinite: row 17 \(counted from 0\), predicted 0, observed 1",
    ),
    "confidence": (answers, 2000, r"^Not calibrated: over-confident( on average)?\. Mean confidence .* accuracy "),
    "classes calibrated": (classes(lambda p: p), 500, NOWHERE + ": not of the top class, not of any class, not of the whole"),
    "one class": (
        classes(lambda p: p * [1.0, 2.5, 1.0, 1.0, 1.0]),
        1000,
        r"^Not calibrated(, though the top class alone shows no clear error)?: (.*; )?wrong for (class(es)?|all 5 classes, most clearly) [^.]*\b1\b",
    ),
    "classes over-confident": (classes(lambda p: p**0.5), 1000, r"^Not calibrated: over-confident"),
}  # fmt: skip


ADVICE = {
    "shifted up": "platt",
    "over-confident": "slope",
    "tail": "gaussian_process",
    "waves": "gaussian_process",
    "one class": "vector",
    "classes over-confident": "one temperature",
    "calibrated": "no miscalibration to repair",
}
"""A word of the advice."""


def consistent(found):
    """No word contradicts a number of the same diagnosis."""
    text, error, gap = found.verdict, found["calibration_error"], found["mean_gap"].value
    infinite = bool(np.isinf(found["log_score"].value))
    p, least = (0.0, 0.0) if found.test is None else (found.test.p_value, found.test.least_p)
    start = "Weak evidence of miscalibration" if p > max(0.01, least) else "Not calibrated"
    assert text.startswith(start) == (found.calibrated is False)
    assert (" perhaps " in text) <= (found.calibrated is False)
    assert ("log loss is infinite" in text.split(". ")[0]) == infinite
    assert (NEVER_ZERO in found.advice) == infinite
    assert (
        (NO_ERROR_SEEN in found.advice) == (GENERAL not in found.advice) == (found.calibrated is None and not infinite)
    )
    if found.test is not None:
        assert (found.calibrated is False) == (found.test.p_value <= 0.05)
        assert f" {p_words(found.test.p_value, found.test.least_p)}. " in text
        assert "p = 0.0000" not in repr(found)
    low, high = map(float, re.search(r"interval (\S+) to ([^\s)]+)\)", text).groups())
    assert (low, high) == pytest.approx((error.interval.low, error.interval.high), abs=5.1e-5)
    stated = re.search(
        r"calibration error(?: of the top class)?(?:, detected but of uncertain size:)?( at most)? ([\d.e-]+)", text
    )
    assert float(stated[2]) == pytest.approx(error.interval.high if stated[1] else error.value, abs=5.1e-5)
    assert stated[1] or error.interval.low > 0
    whole = re.search(
        r": (?:otherwise )?(predicts too|over-confident|under-confident)( high| low)?(?: on average)?[.;] ", text
    )
    if whole and not infinite:
        high = whole[2] == " high" if whole[2] else whole[1] == "over-confident"
        assert (gap > 0) == high
        against = found.curve.x < found.curve.low if high else found.curve.x > found.curve.high
        assert " on average" in whole[0] or against.sum() <= 1  # one of 15 intervals may be off by chance


@pytest.mark.some(4)
@pytest.mark.parametrize("world", WORLDS)
def test_the_verdict_names_the_truth(world):
    make, n, expected = WORLDS[world]
    found = diagnose(make(np.random.default_rng(4), n))
    assert re.search(expected, found.verdict), found.verdict
    assert ADVICE.get(world, "") in " ".join(found.advice)
    consistent(found)


@pytest.mark.slow
@given(some.predictions())
def test_words_and_numbers_agree_whatever_the_data(predictions):
    found = diagnose(predictions.labels, predictions.probs, counts=predictions.weights)
    consistent(found)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_the_verdict_names_the_truth_on_other_data(world):
    """In at least eleven of twelve data sets: calibrated worlds raise false alarms, and chance moves where errors change sign."""
    make, n, expected = WORLDS[world]
    named = 0
    for seed in range(100, 112):
        found = diagnose(make(np.random.default_rng(seed), n))
        named += bool(re.search(expected, found.verdict))
        consistent(found)
    assert named >= 11


def test_a_small_error_that_is_detected_has_an_upper_end():
    """p-value below 5 % and an interval that starts at 0: the words say both."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(400)
        predictions = Predictions(rng.random(400) < sigmoid(0.8 * log_odds(p)), p)
        if cal.is_calibrated(predictions, n_draws=199).rejects():
            found = diagnose(predictions)
            if found.calibrated is False and found["calibration_error"].interval.low == 0:
                assert ", detected but of uncertain size: at most " in found.verdict
                return
    raise AssertionError


@pytest.mark.slow
def test_an_impossible_event_of_a_state_and_of_counts_is_told():
    y, p = [1, 0, 1, 0] * 50, [0.0, 0.0, 0.5, 0.5] * 50
    assert "50 outcomes given probability 0, so the log loss is infinite: the first is row 0" in diagnose(y, p).verdict
    assert diagnose(cal.collect(y, p)).verdict.startswith(
        "Not calibrated: 50 outcomes given probability 0, so the log loss is infinite"
    )
    counted = diagnose([0, 1, 1], [0.5, 0.5, 0.0], counts=[10, 10, 3])
    assert "3 outcomes given probability 0, so the log loss is infinite: the first is row 2 " in counted.verdict


def test_a_bin_free_error_that_bins_do_not_see_is_told(rng):
    p = np.repeat([0.28, 0.32], 400)  # one bin of ECE, errors of opposite sign
    y = np.concatenate([np.repeat([1, 0], [168, 232]), np.repeat([1, 0], [72, 328])])
    found = diagnose(y, p)
    assert found.calibrated is False
    assert "is no more than a calibrated model would show: its bins do not see this error" in found.verdict


def test_the_top_class_alone_is_said_to_be_all_that_was_tested(rng):
    predictions = WORLDS["one class"][0](np.random.default_rng(3), 300)
    found = diagnose(predictions, view="top")
    assert found.classes is None
    if found.calibrated is None:
        assert "for the top class, which is all that was tested" in found.verdict


@pytest.mark.slow
def test_a_state_is_judged_class_by_class():
    found = diagnose(cal.collect(WORLDS["one class"][0](np.random.default_rng(3), 800)))
    assert re.search("wrong for (class|classes) 1 .too low", found.verdict)
    assert "two tests (top class, each class) p " in found.verdict
    assert "the whole distribution was not tested: a state holds no rows" in found.cautions
    none = diagnose(cal.collect(WORLDS["classes calibrated"][0](np.random.default_rng(3), 300)))
    assert "not of any class; the whole distribution was not tested. " in none.verdict
    consistent(none)


@pytest.mark.slow
def test_weak_evidence_is_called_weak():
    """Of calibrated models, those that the test rejects with a p-value between 1 and 5 %."""
    rng, seen = np.random.default_rng(1), 0
    for _ in range(200):
        p = rng.random(60)
        predictions = Predictions(rng.random(60) < p, p)
        if 0.01 < cal.is_calibrated(predictions, n_draws=199, ties="count").p_value <= 0.05:
            found = diagnose(predictions)
            assert found.verdict.startswith("Weak evidence of miscalibration (")
            assert (
                " % of calibrated models would look as bad): perhaps " in found.verdict or "no single" in found.verdict
            )
            assert found.advice == (MORE_ROWS, GENERAL)
            seen += 1
            if seen == 3:
                return
    raise AssertionError


def test_confidences_of_one_column_get_the_advice_of_one_event():
    found = diagnose(answers(np.random.default_rng(4), 2000))
    assert "order_preserving" not in " ".join(found.advice)
