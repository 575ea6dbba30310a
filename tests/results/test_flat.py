"""Numbers of answers under stable keys, and the summary that JSON starts with."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.results import Estimate, Interval, TestResult, by_slug, keyed, looked_up, slug
from results.every_answer import ANSWERS

KEYS = (
    "calibration_error", "rms_calibration_error", "ece", "debiased_ece", "debiased_rms_calibration_error", "mce", "sweep_ece",
    "smooth_ece", "ks_calibration_error", "mean_gap", "brier_score", "log_score", "root_brier_score",
)  # fmt: skip
FORECAST_KEYS = (
    "mean_error", "average_variance", "mean_squared_error", "average_variance_mse", "se_variance_ratio", "ence", "debiased_ence",
    "pit_error", "coverage_error", "miscalibration_area", "marginal_error", "skce_of_gaussians", "dawid_sebastiani_score", "crps",
    "interval_score", "pit_test", "marginal_test", "spread_test", "gaussian_skce_test",
)  # fmt: skip
each = pytest.mark.parametrize("name", ANSWERS)


def test_keys_of_a_diagnosis_never_change():
    """Loggers and dashboards rely on them."""
    assert ANSWERS["diagnosis"].keys() == KEYS
    assert ANSWERS["diagnosis of classes"].keys() == (*KEYS, "classwise/ece", "canonical_ce")
    assert ANSWERS["forecasts"].keys() == FORECAST_KEYS


def test_estimates_are_found_by_key_title_or_name():
    several = ANSWERS["diagnosis of classes"]
    assert several["ece"] is several["ECE"] is several["top/ece"] is several.estimates[2]
    assert several["classwise/ece"] is several["ECE, class by class (mean)"] is several.estimates[-2]
    assert several["ks_error"] is several["ks_calibration_error"]
    assert dict(several) == dict(zip(several.keys(), several.estimates, strict=True))
    assert list(several) == list(several.keys())
    assert len(several) == len(several.estimates)
    assert "ece" in several
    assert "eec" not in several
    assert 3 not in several


def test_what_is_not_there_or_not_clear_is_refused():
    with pytest.raises(
        KeyError, match="'eec' is not here; there are 'calibration_error', 'rms_calibration_error', 'ece'"
    ):
        ANSWERS["diagnosis"]["eec"]
    with pytest.raises(KeyError, match="'binned_error' stands for several: 'ece', 'debiased_ece'"):
        ANSWERS["diagnosis"]["binned_error"]


def test_further_estimates_leave_the_keys_as_they_are():
    def of_class_1(predictions):
        return cal.ece(predictions, view="class 1")

    labels, probs = [0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]]
    found = cal.diagnose(labels, probs, measures=["ece", of_class_1, of_class_1, "mmce"])
    assert found.keys() == (*KEYS, "classwise/ece", "canonical_ce", "top/ece", "class_1/ece", "ece_2", "mmce")
    assert len(found.to_frame()["key"].unique()) == len(found.estimates)
    assert set(found.keys()) <= set(found.to_dict())


def test_keys_are_unique_whatever_the_titles():
    found = keyed(Estimate("x", title, 0.0, 1) for title in ("Δ ECE", "ece", "ECE!", "χ"))
    assert list(found) == ["ece", "ece_2", "ece_3", "χ"]
    assert by_slug({"a b": 1, "a-b": 2}) == {"a_b": 1, "a_b_2": 2}
    assert slug("Hosmer–Lemeshow's χ²") == "hosmer_lemeshows"


@each
def test_answers_are_flat_numbers(name):
    answer = ANSWERS[name]
    found = answer.to_dict()
    assert found
    assert all(type(value) is float for value in found.values())
    assert all(isinstance(key, str) and key and not key.startswith("/") and not key.endswith("/") for key in found)


def test_an_estimate_is_named_by_its_key():
    estimate = Estimate("x", "The error, doubled", 0.5, 7, Interval(0.25, math.inf, 0.9, ""), noise_floor=0.125)
    expected = {"the_error": 0.5, "the_error/low": 0.25, "the_error/high": math.inf, "the_error/noise_floor": 0.125}
    assert estimate.to_dict() == expected | {"n": 7.0}
    test = TestResult("cox", "Cox's χ²", 3.5, 0.25, 7, "")
    assert test.to_dict() == {"cox_test": 3.5, "cox_test/p_value": 0.25, "n": 7.0}


def test_a_diagnosis_holds_every_estimate_and_the_test():
    found = ANSWERS["diagnosis"].to_dict()
    assert [found[key] for key in KEYS] == [estimate.value for estimate in ANSWERS["diagnosis"].estimates]
    assert (found["n"], found["test/p_value"]) == (ANSWERS["diagnosis"].n, ANSWERS["diagnosis"].test.p_value)
    assert found["mean_gap/low"] == ANSWERS["diagnosis"]["mean_gap"].interval.low


@each
def test_json_starts_with_a_summary_that_is_not_read_back(name):
    answer = ANSWERS[name]
    written = json.loads(answer.to_json())
    assert list(written)[:3] == ["schema", "kind", "summary"]
    summary = written.pop("summary")
    assert summary["question"] == answer.question
    assert summary["answer"] == answer.sentence()
    assert summary["numbers"].keys() <= answer.to_dict().keys()
    assert summary["numbers"]
    assert type(answer).from_json(answer.to_json()) == type(answer).from_json(json.dumps(written)) == answer
    assert "summary" not in answer.to_data()


def test_the_summary_of_a_diagnosis_is_short():
    summary = ANSWERS["diagnosis"].summary()
    assert summary["calibrated"] is ANSWERS["diagnosis"].calibrated
    assert "verdict" not in summary  # it is the answer
    assert {key.split("/")[0] for key in summary["numbers"]} == {"n", "calibration_error", "ece", "mean_gap", "test"}
    assert ANSWERS["comparison"].summary()["verdict"] == ANSWERS["comparison"].verdict


def test_numbers_that_json_lacks_are_written_as_everywhere():
    written = json.loads(cal.log_score([1, 0], [0.0, 0.5]).to_json())
    assert written["summary"]["numbers"]["log_score"] == written["value"] == {"kind": "float", "value": "inf"}


def test_an_audit_counts_its_segments():
    audit = ANSWERS["audit"]
    assert audit.to_dict()["n_segments"] == len(audit.segments)
    assert np.isclose(audit.to_dict()["p_value"], audit.p_value)


def test_segments_candidates_and_estimators_are_found_by_name():
    audit, several, trusted = (ANSWERS[name] for name in ("audit", "comparisons", "trust"))
    assert audit[audit.segments[0].name] is audit.segments[0]
    assert [audit[name] for name in audit] == list(audit.segments)
    assert "nobody" not in audit
    assert several["platt"] is several.candidates["platt"]
    assert trusted[trusted.best.estimator] is trusted.best
    with pytest.raises(KeyError, match="'beta' is not here; there are 'platt', '<b>'"):
        several["beta"]


def test_errors_list_some_of_many_keys():
    many = {f"key {k}": Estimate("x", "x", 0.0, 1) for k in range(30)}
    with pytest.raises(KeyError, match="'key 19', 10 more"):
        looked_up("nothing", many)
