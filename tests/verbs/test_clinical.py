"""The numbers of a clinical validation together."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.estimate.clinical.concordance import c_statistic
from calibrant.estimate.clinical.line import calibration_slope
from calibrant.methods import methods
from calibrant.results import ClinicalReport


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    odds = rng.normal(-1.5, 1.0, 1500)
    return (rng.random(1500) < 1 / (1 + np.exp(-odds))).astype(int), 1 / (1 + np.exp(-1.5 * odds))


@pytest.fixture(scope="module")
def found(rows):
    return cal.clinical(*rows, threshold=0.2, name="risk score")


def test_every_registered_measure_is_in_the_table(found):
    names = {each.name for each in found.estimates} - {"joint_intercept"}
    assert names == {each.function.__name__ for each in methods("clinical estimator").values()}
    assert all(each.interval is not None for each in found.estimates)
    assert len(found.tables()[0].rows) == len(found.estimates) == 10


@pytest.mark.slow
def test_it_says_what_is_wrong(found, rows):
    assert "Risks are too low on average (O/E ratio" in found.sentence()
    assert "Risks are too extreme (calibration slope" in found.sentence()
    assert found["calibration_slope"].value == calibration_slope(*rows).value
    assert found.events == rows[0].sum()
    assert found.expected == pytest.approx(rows[1].sum())
    assert ClinicalReport.from_json(found.to_json()) == found
    assert "ici/low" in found.to_dict()
    assert "<table" in found.to_html()


def test_measures_by_name_join_a_diagnosis(rows):
    predictions = cal.Predictions(rows[0][:80], rows[1][:80])
    made = cal.diagnose(predictions, measures=["slope", "AUC"])
    assert made["calibration_slope"] == calibration_slope(predictions)
    assert made["c_statistic"] == c_statistic(predictions)


def test_what_is_undefined_is_left_out_with_a_reason():
    made = cal.clinical([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.2])
    assert "c_statistic" not in made
    assert made["observed_over_expected"].value == 0
    assert any("must hold events and non-events" in caution for caution in made.cautions)


def test_groups_bring_a_warning(rows):
    made = cal.clinical(cal.Predictions(rows[0][:60], rows[1][:60], groups=np.arange(60) // 2))
    assert any("taken as independent" in caution for caution in made.cautions)


@pytest.mark.slow
def test_a_state_gives_the_same(rows):
    labels, probs = rows[0][:60], rows[1][:60]
    ours, theirs = cal.clinical(cal.collect(labels, probs)), cal.clinical(labels, probs)
    for one, other in zip(ours.estimates, theirs.estimates, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-9)
        assert one.interval.low == pytest.approx(other.interval.low, abs=1e-7)


@pytest.mark.parametrize(
    ("options", "text"),
    [({"threshold": 1.5}, "threshold must lie between 0 and 1"), ({"level": 2.0}, "level must lie between 0 and 1")],
)
def test_bad_options_are_refused(rows, options, text):
    with pytest.raises(cal.InputError, match=text):
        cal.clinical(*rows, **options)
