"""The diagnosis of multi-label predictions."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions, report
from calibrant.verbs import diagnose_labels

RNG = np.random.default_rng(5)
P = RNG.random((600, 3))
Y = RNG.random((600, 3)) < P * [1.0, 1.0, 0.6]
NAMES = ("sea", "sky", "boat")
TAGS = Predictions.from_multilabel(Y, P, classes=NAMES)


def test_the_verdict_names_the_labels_at_fault():
    found = cal.diagnose(TAGS)
    assert found.calibrated is False
    assert found.verdict.startswith("Not calibrated: wrong for class boat (too high). Class-wise ECE ")
    assert found.classes.n_wrong == 1
    assert found["ece"].value == cal.static_error(TAGS).value
    assert found.test.p_value == pytest.approx(found.classes.adjusted.min())
    assert found.tables()[-1].title == "Bin by bin, class boat"
    assert "label(NAME)" in found.advice[-1]
    assert found.bins.weight.sum() == 600


def test_calibrated_labels_are_left_alone():
    found = cal.diagnose(TAGS.rows(slice(None)).with_probs(P * [1.0, 1.0, 0.6]))
    assert found.calibrated is None
    assert found.verdict.startswith("No miscalibration to be seen in 600 rows: not of any of the 3 labels.")
    assert found.classes.n_wrong == 0


@pytest.mark.slow
def test_one_label_is_an_event():
    found, alone = cal.diagnose(TAGS, view="class boat"), cal.diagnose(Y[:, 2], P[:, 2])
    assert found.heading.startswith("model, class boat: 600 rows")
    assert found.verdict == alone.verdict


def test_impossible_outcomes_are_told():
    probs = P.copy()
    probs[7, 1] = 1.0 - Y[7, 1]
    found = cal.diagnose(Predictions.from_multilabel(Y, probs, classes=NAMES))
    assert "1 outcome given probability 0, the first in row 7 (counted from 0), class sky" in found.verdict
    assert any("probability 0" in each for each in found.advice)


def test_many_labels_are_tested_on_some_of_the_rows(monkeypatch):
    monkeypatch.setattr(diagnose_labels, "MOST_DRAWN", 50 * 3 * 1800 / 2)
    assert "the tests of all labels use 300 of the 600 rows, one in 2" in cal.diagnose(TAGS).cautions


@pytest.mark.slow
def test_reports_and_json(tmp_path):
    found = cal.diagnose(TAGS, measures=["ACE"])
    assert type(found).from_json(found.to_json()).verdict == found.verdict
    report.write(tmp_path / "x.html", found)
    text = (tmp_path / "x.html").read_text()
    assert "Reliability diagram, class boat" in text
    assert "3 classes · view: classwise (each label)" in text
    assert found["ace"].value == cal.adaptive_error(TAGS).value


def test_clusters_are_tested_as_such():
    grouped = TAGS.with_groups(np.arange(600) // 2)
    assert cal.diagnose(grouped, cluster="any").calibrated is False


@pytest.mark.slow
def test_calibrated_labels_that_depend_on_each_other_are_accused_in_five_percent():
    """Labels of a row share one uniform number, so that they depend as strongly as they can."""
    rng, accused = np.random.default_rng(11), 0
    for _ in range(40):
        probs = rng.random((100, 3)) ** 2
        labels = rng.random((100, 1)) < probs
        accused += cal.diagnose(Predictions.from_multilabel(labels, probs)).calibrated is False
    assert accused <= 6  # binomial(40, 0.05) exceeds it with probability 0.3 %
