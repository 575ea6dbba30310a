from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import Classes
from calibrant.verbs import class_findings
from calibrant.verbs import classes as module
from calibrant.verbs.classes import classes_of

TEST = cal.example()[1]
ECE = cal.ece(TEST, view="classwise").parts["classes"]


@pytest.fixture(scope="module")
def found() -> Classes:
    return classes_of(TEST, ECE, cal.diagnose(TEST).classes)


def test_the_largest_error_comes_first_and_every_class_is_there(found):
    assert (np.diff(found.error) <= 0).all()
    assert sorted(found.classes) == list(range(10))
    assert found.rows.sum() == pytest.approx(899)


def test_means_and_rates_are_those_of_the_columns(found):
    for name, mean, rate in zip(found.classes, found.mean_prob, found.label_rate, strict=True):
        assert mean == pytest.approx(TEST.probs[:, name].mean(dtype=float), abs=1e-12)
        assert rate == pytest.approx((TEST.labels == name).mean(), abs=1e-12)


def test_weights_are_rows_that_matter_more():
    doubled = cal.Predictions(TEST.labels, TEST.probs, weights=np.where(TEST.labels == 3, 2.0, 1.0))
    found = classes_of(doubled, cal.ece(doubled, view="classwise").parts["classes"], None)
    at = found.classes.index(3)
    assert found.label_rate[at] == pytest.approx(
        np.average(TEST.labels == 3, weights=1 + (TEST.labels == 3)), abs=1e-12
    )
    assert found.mean_prob[at] == pytest.approx(np.average(TEST.probs[:, 3], weights=1 + (TEST.labels == 3)), abs=1e-7)


@pytest.mark.slow
def test_its_error_is_the_gap_of_its_curve(found):
    curve = found.curves[0]
    assert found.error[0] == pytest.approx(float(curve.support @ np.abs(curve.x - curve.y)), abs=1e-12)


def test_the_table_says_what_was_tested(found):
    (table,) = found.tables()
    by_name = {row[0]: row for row in table.rows}
    assert len(by_name) == 10
    assert by_name["8"][7].startswith("over-confident")
    assert found.sentence().startswith("All 10 classes are clearly wrong, most clearly 8 (over-confident), ")


def test_every_class_has_its_p_value(monkeypatch, found):
    monkeypatch.setattr(class_findings, "SHOWN", 3)
    few = classes_of(TEST, ECE, cal.diagnose(TEST).classes)
    np.testing.assert_array_equal(few.adjusted, found.adjusted)
    (table,) = few.tables()
    assert all(row[6] for row in table.rows)
    assert sum(row[7] != "" for row in table.rows) == 3
    assert table.note.endswith("What is wrong is said of the 3 classes that are most clearly so.")
    assert all(row[6] == "" for row in classes_of(TEST, ECE, None).tables()[0].rows)


def test_of_many_classes_the_worst_are_drawn(monkeypatch):
    monkeypatch.setattr(module, "DRAWN", 4)
    some = classes_of(TEST, ECE, None)
    assert len(some.curves) == 4
    assert some.sentence().startswith("The largest class-wise ECE is that of class 8")
    assert some.figures()["n_classes"] == 10
    assert len(some.to_frame()) == 10


def test_it_is_read_back(found):
    assert Classes.from_json(found.to_json()) == found
