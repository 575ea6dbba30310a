from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import Watched

RNG = np.random.default_rng(4)
P = RNG.uniform(0.05, 0.95, 1500)


@pytest.fixture(scope="module")
def watch() -> cal.Monitor:
    return cal.Monitor().update(RNG.random(1500) < P**3, P, mark="monday")


def test_an_alarm_is_an_answer_with_its_change(watch):
    found = watch.answer(0.05)
    assert found.calibrated is False
    assert found.sentence() == watch.sentence(0.05)
    assert found.change == watch.since(0.05)
    rows = dict(found.tables()[0].rows)
    assert rows["alarm"] == "yes"
    assert rows["wrong since about row"].endswith("(monday)")
    assert Watched.from_json(found.to_json()) == found
    assert "Evidence against calibration" in found.to_html()


def test_without_an_alarm_there_is_no_change_and_no_proof():
    calm = cal.Monitor().update(RNG.random(50) < P[:50], P[:50]).answer(0.001)
    assert calm.calibrated is None
    assert calm.change is None
    assert dict(calm.tables()[0].rows)["alarm"] == "no"


def test_evidence_of_any_size_is_drawn():
    certain = cal.Monitor().update(np.zeros(3000), np.full(3000, 0.95)).answer()
    assert np.isfinite(certain.course.y).all()
    assert "inf" not in certain.to_html().partition("<svg")[2].partition("</svg>")[0]
