"""The diagnosis of forecasts of a real number."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.forecasts import GaussianForecasts, SampleForecasts
from calibrant.results import Record
from calibrant.verbs.diagnose_regression import ForecastDiagnosis
from kinds_of_forecasts import every_kind
from tolerances import STANDARD_ERRORS

kinds = pytest.mark.parametrize("kind", ["Gaussian", "bent", "quantile", "sample"])


@pytest.mark.slow
@kinds
def test_a_right_model_passes_and_a_narrow_one_does_not(kind, rng):
    fine, narrow = (cal.diagnose(every_kind(rng, 400, width)[kind], name="m") for width in (1.0, 0.6))
    assert fine.calibrated is None
    assert fine.verdict.startswith("No miscalibration to be seen in 400 rows.")
    assert narrow.calibrated is False
    assert narrow.verdict.startswith("Not calibrated" + ("" if kind == "quantile" else ": too sure"))
    assert (fine.spread is None) == (kind == "quantile")
    assert len(fine.tests) == (4 if kind == "Gaussian" else 2)


@pytest.mark.slow
def test_directions(rng):
    forecasts = every_kind(rng, 300)["Gaussian"]
    wide = cal.diagnose(forecasts.with_gaussian(forecasts.mean, 4 * forecasts.variance))
    high = cal.diagnose(forecasts.with_gaussian(forecasts.mean + 0.5, forecasts.variance))
    assert ": too cautious." in wide.verdict
    assert "predicts too high" in high.verdict


@pytest.mark.some(4)
@kinds
def test_a_diagnosis_survives_as_json_and_shows_itself(kind, rng):
    found = cal.diagnose(every_kind(rng, 120)[kind], name="<b>")
    assert Record.from_data(found.to_data()) == found
    assert ForecastDiagnosis.from_json(found.to_json()) == found
    text = repr(found)
    assert "Measured" in text
    assert "Tested" in text
    assert "Level by level" not in text
    assert [table.title for table in found.tables()][2] == "Level by level"
    assert "&lt;b&gt;" in found._repr_html_()
    assert found["PIT error"] is found["pit_error"]
    with pytest.raises(KeyError, match="there are"):
        found["ECE"]


def test_the_numbers_are_those_of_the_functions(rng):
    from calibrant.detect.pit import pit_test
    from calibrant.estimate.regression.variance_bins import ence
    from calibrant.score import crps

    forecasts = every_kind(rng, 150)["Gaussian"]
    found = cal.diagnose(forecasts)
    assert found["ENCE"] == ence(forecasts)
    assert found["CRPS"] == crps(forecasts)
    assert found.tests[0] == pit_test(forecasts)
    assert found["mse"].value == pytest.approx(np.mean((forecasts.labels - forecasts.mean) ** 2))
    assert all(p >= test.p_value for p, test in zip(found.adjusted, found.tests, strict=True))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_rows_are_diagnosed_with_a_caution(n, rng):
    for kind, forecasts in every_kind(rng, n).items():
        found = cal.diagnose(forecasts)
        assert found.cautions[0] == f"{n} rows are few: even a clear error cannot be distinguished from noise", kind


def test_counts_are_rows_and_weights_have_no_scale(rng):
    forecasts, times = every_kind(rng, 80)["Gaussian"], rng.integers(0, 3, 80)
    columns = forecasts.labels, forecasts.mean, forecasts.variance
    found = cal.diagnose(GaussianForecasts(*columns, counts=times))
    assert found == cal.diagnose(GaussianForecasts(*(np.repeat(column, times) for column in columns)))
    weighted = cal.diagnose(GaussianForecasts(*columns, weights=times + 0.5))
    assert len(weighted.tests) == 3  # the SKCE test takes no weights
    scaled = cal.diagnose(GaussianForecasts(*columns, weights=80 * (times + 0.5)))
    for one, other in zip(weighted.tests, scaled.tests, strict=True):
        assert one.p_value == pytest.approx(other.p_value, rel=1e-9)


@pytest.mark.slow
def test_many_rows_take_blocks(rng, monkeypatch):
    from calibrant.verbs import diagnose_regression as module

    monkeypatch.setattr(module, "MOST_PAIRED", 100)
    found = cal.diagnose(every_kind(rng, 220)["Gaussian"])
    assert found["gaussian_skce"].settings["estimator"] == "block"


def test_few_samples_are_warned_of(rng):
    forecasts = SampleForecasts(rng.normal(size=150), rng.normal(size=(150, 8)))
    assert any("8 samples per row" in caution for caution in cal.diagnose(forecasts).cautions)


@pytest.mark.slow
def test_false_alarms_are_no_more_than_stated(rng):
    alarms = [cal.diagnose(every_kind(rng, 30)["Gaussian"]).calibrated is False for _ in range(150)]
    assert np.mean(alarms) <= 0.05 + STANDARD_ERRORS * math.sqrt(0.05 * 0.95 / 150)


def test_what_belongs_to_classes_is_refused(rng):
    forecasts = every_kind(rng, 20)["Gaussian"]
    for options in ({"view": "top"}, {"weights": np.ones(20)}):
        with pytest.raises(InputError, match="labels are forecasts, which have no views and carry their own data"):
            cal.diagnose(forecasts, **options)
