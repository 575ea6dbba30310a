"""Is it calibrated? The verdict, its numbers, and what is handed back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binomtest

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions, diagnose
from calibrant.results import Diagnosis
from tolerances import ROUNDING


def sampled(rng, n, sharpen=1.0, n_classes=3):
    """The probabilities are softmax(z), the model predicts softmax(sharpen · z)."""
    z = rng.normal(size=(n, n_classes)) * 1.5
    return Predictions.from_logits((z + rng.gumbel(size=z.shape)).argmax(axis=1), z * sharpen)


@pytest.mark.slow
def test_an_overconfident_model(rng):
    found = diagnose(sampled(rng, 3000, 2.5))
    assert found.calibrated is False
    assert found.verdict.startswith("Not calibrated: over-confident; wrong for classes ")
    assert "in brackets what a calibrated model would show" in found.verdict
    assert "temperature" in found.advice[0]


@pytest.mark.slow
def test_an_underconfident_model(rng):
    found = diagnose(sampled(rng, 3000, 0.4))
    assert found.calibrated is False
    assert found.verdict.startswith("Not calibrated: under-confident; wrong for classes ")


@pytest.mark.slow
def test_a_calibrated_model(rng):
    found = diagnose(sampled(rng, 3000))
    assert found.calibrated is None
    assert found.verdict.startswith("No miscalibration to be seen in 3,000 rows: not of the top class, not of any ")
    assert "no miscalibration to repair" in found.advice[0]


@pytest.mark.slow
def test_an_event_is_predicted_too_high_or_too_low(rng):
    p = rng.random(3000)
    y = rng.random(3000) < p
    assert diagnose(y, np.sqrt(p)).verdict.startswith("Not calibrated: predicts too high. Mean prediction ")
    assert diagnose(y, p**2).verdict.startswith("Not calibrated: predicts too low. Mean prediction ")
    assert "observed rate" in diagnose(y, p).verdict


def test_errors_that_cancel_have_both_directions():
    p = np.repeat([0.2, 0.8], 2000)
    y = np.concatenate([np.repeat([1, 0], [800, 1200]), np.repeat([1, 0], [1200, 800])])  # rates 0.4 and 0.6
    assert diagnose(y, p).verdict.startswith(
        "Not calibrated: over-confident, too low below 0.50 and too high above it. Mean prediction 50.0 %"
    )


@pytest.mark.slow
def test_the_numbers_in_the_verdict_are_the_estimates(rng):
    predictions = sampled(rng, 500, 2.5)
    found = diagnose(predictions)
    event = predictions.event()
    assert (
        f"Mean confidence {event.probs.mean():.1%}, accuracy {event.outcomes.mean():.1%}".replace("%", " %")
        in found.verdict
    )
    canonical = cal.canonical_error(predictions)
    for key, value in {"ECE of the top class": cal.ece(predictions), "canonical error": canonical}.items():
        assert f"{key} {value.value:.4f} (about " in found.verdict
    assert found["canonical_ce"].value == canonical.value
    assert 0 < found["canonical_ce"].noise_floor < canonical.value


def test_certain_and_right_is_not_called_miscalibrated():
    found = diagnose([0, 1, 1] * 100, [0.0, 1.0, 1.0] * 100)
    assert found.calibrated is None


def test_certain_and_once_wrong_is_miscalibrated():
    assert diagnose([0] + [1] * 999, [1.0] * 1000).calibrated is False


def test_vanishing_predictions_of_what_never_happens_are_not_called_miscalibrated():
    for tiny in (1e-30, 1e-300, 5e-324):
        assert diagnose([0] * 300, [tiny] * 300).calibrated is None


@pytest.mark.slow
def test_what_is_measured(rng):
    found = diagnose(sampled(rng, 500))
    titles = [estimate.title for estimate in found.estimates]
    for title in ("ECE", "debiased ECE", "MCE", "mean gap", "Brier score", "log score", "root Brier score"):
        assert title in titles
    assert "ECE, class by class (mean)" in titles
    assert found["ECE"].settings["bins"] == "15 equal-width bins"
    assert found["mean_gap"] is found["mean gap"]
    with pytest.raises(KeyError, match=r"no such.*there are .*'ece'"):
        found["no such"]


@pytest.mark.slow
def test_each_estimate_is_the_one_its_function_gives(rng):
    predictions = sampled(rng, 400)
    found = diagnose(predictions, view="class 1")
    assert found["ECE"] == cal.ece(predictions, view="class 1")
    assert found["mean gap"] == cal.mean_gap(predictions, view="class 1")
    assert found["Brier score"] == cal.brier_score(predictions)
    assert found.view == "class 1"


@pytest.mark.slow
def test_the_curve_has_wilson_intervals(rng):
    predictions = sampled(rng, 600)
    found = diagnose(predictions)
    table = cal.binned_error(predictions, bins=cal.EqualMass(15)).parts["bins"]
    assert np.array_equal(found.curve.x, table.mean_prob)
    assert np.array_equal(found.curve.y, table.label_rate)
    assert found.curve.support.sum() == pytest.approx(1)
    for rate, weight, low, high in zip(table.label_rate, table.weight, found.curve.low, found.curve.high, strict=True):
        expected = binomtest(round(rate * weight), int(weight)).proportion_ci(0.95, method="wilson")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=ROUNDING)


@pytest.mark.slow
@given(some.predictions())
def test_any_data_can_be_diagnosed_and_survive_as_json(predictions):
    with np.errstate(all="ignore"):
        found = diagnose(predictions.labels, predictions.probs, counts=predictions.weights)
    assert Diagnosis.from_json(found.to_json()) == found
    assert found.n == predictions.total
    assert len(found.bins) == len(found.curve.x)
    assert not any(np.isnan(estimate.value) for estimate in found.estimates)


def test_the_name_is_shown_and_escaped(rng):
    found = diagnose([0, 1], [0.2, 0.7], name="<b>model</b>")
    assert repr(found).startswith("<b>model</b>: 2 rows, view: binary\n")
    assert "<b>model" not in found._repr_html_()


def test_few_rows_are_reported():
    found = diagnose([0, 1], [0.2, 0.7])
    assert found.cautions[0] == "2 rows are few: an error of a few points cannot be distinguished from noise"
    assert len(set(found.cautions)) == len(found.cautions)


@pytest.mark.slow
def test_tables_have_one_row_per_estimate_and_per_bin(rng):
    predictions = sampled(rng, 300)
    assert len(diagnose(predictions, view="top").tables()[1].rows) == 1 + len(
        [part for part in cal.is_calibrated(predictions, n_draws=99).parts.values() if hasattr(part, "p_value")]
    )
    found = diagnose(predictions)
    measured, tests, classes, bins = found.tables()
    assert [row[0] for row in tests.rows] == ["top class", "class by class", "all classes together", "all three"]
    assert len(classes.rows) == 3
    assert len(measured.rows) == len(found.estimates)
    assert len(bins.rows) == len(found.bins)
    assert measured.to_text().splitlines()[0] == "Measured"
    assert measured.to_html().startswith("<table>")


def test_wrong_views_are_refused(rng):
    with pytest.raises(InputError, match="'classwise' is many questions"):
        diagnose(sampled(rng, 20), view="classwise")
    with pytest.raises(InputError, match="'top' needs one column per class"):
        diagnose([0, 1], [0.2, 0.7], view="top")


@pytest.mark.slow
@pytest.mark.parametrize("bend", [1.0, 1.1, 1.2, 1.4])
def test_the_verdict_is_that_of_the_test(rng, bend):
    for _ in range(3):
        p = rng.random(200)
        found = diagnose((rng.random(200) < p**bend).astype(int), p)
        assert (found.calibrated is False) == found.test.rejects(0.05)


def test_shares_are_judged_without_a_test(rng):
    p = rng.random(400)
    found = diagnose(cal.Predictions(p**2, p, soft=True))
    assert found.test is None
    assert found.calibrated is False


@pytest.mark.slow
def test_groups_are_warned_of_or_taken_as_clusters():
    rng = np.random.default_rng(0)
    groups, q = np.repeat(np.arange(40), 25), rng.random(40)
    predictions = Predictions((rng.random(40) < q)[groups], q[groups], groups=groups)
    assert diagnose(predictions).cautions[0].startswith("rows of a group are taken as independent: pass cluster='same'")
    assert not any("of a group" in caution for caution in diagnose(predictions, cluster=False).cautions)
    clustered = diagnose(predictions, cluster="same")
    assert (diagnose(predictions).calibrated, clustered.calibrated) == (False, None)
    assert "intervals of calibration errors take rows as independent" in clustered.cautions[0]
    with pytest.raises(InputError, match="cluster needs groups"):
        diagnose(predictions.labels, predictions.probs, cluster="same")
    with pytest.raises(InputError, match="cluster cannot be used for forecasts; it is 'same'"):
        diagnose(Predictions.from_gaussian([1.0, 2.0], [1.0, 2.0], [1.0, 1.0]), cluster="same")


def rms_gap(predictions):
    """A third party's estimator, without a view."""
    return cal.results.Estimate(
        "rms_gap", "RMS gap", np.sqrt(np.mean((predictions.probs - predictions.labels) ** 2)), predictions.n
    )


@pytest.mark.slow
def test_further_measures_join_the_table(rng):
    p = rng.random(300)
    predictions = Predictions(rng.random(300) < p, p)
    plain, found = diagnose(predictions), diagnose(predictions, measures=["MMCE", cal.averaged_two_bin_error, rms_gap])
    assert found.estimates[:-3] == plain.estimates
    assert [e.name for e in found.estimates[-3:]] == ["mmce", "averaged_two_bin_error", "rms_gap"]
    assert found["mmce"] == cal.mmce(predictions)
    assert found.tables()[0].rows[-1][:2] == ("RMS gap", found["rms_gap"].value)
    assert found.verdict == plain.verdict
    assert diagnose(predictions, measures="mmce").estimates[-1] == cal.mmce(predictions)
    several = sampled(rng, 200)
    assert diagnose(several, view="class 1", measures=["mmce"])["mmce"] == cal.mmce(several, view="class 1")


def test_further_measures_of_forecasts(rng):
    predictions = Predictions.from_gaussian(rng.normal(size=50), np.zeros(50), np.ones(50))
    assert diagnose(predictions, measures=[cal.regression.uncertainty_error]).estimates[
        -1
    ] == cal.regression.uncertainty_error(predictions)


def test_measures_that_are_none_are_refused():
    with pytest.raises(InputError, match=r"measures must be functions or among .*'sweep', .*; 'sweeep' is not"):
        diagnose([0, 1], [0.2, 0.7], measures=["sweeep"])
    with pytest.raises(InputError, match="measures must hold names of estimators or functions; it holds 3"):
        diagnose([0, 1], [0.2, 0.7], measures=[3])
    with pytest.raises(InputError, match="measures must return an Estimate; len returns a int"):
        diagnose([0, 1], [0.2, 0.7], measures=[len])


def test_rows_are_sorted_once(rng, monkeypatch):
    from calibrant.kernels.rows import pooling

    sizes, sort = [], pooling.in_order
    monkeypatch.setattr(pooling, "in_order", lambda probs, *rest: sizes.append(len(probs)) or sort(probs, *rest))
    probs = rng.random(2000)
    cal.diagnose(rng.random(2000) < probs, probs)
    assert sizes == [2000]


def test_a_slope_beside_a_mean_that_is_off_is_not_left_to_temperature(rng):
    """One number cannot repair both."""
    p = rng.random(3000)
    z = np.log(p / (1 - p))
    both, alone = (cal.diagnose(rng.random(3000) < 1 / (1 + np.exp(-0.5 * z - by)), p) for by in (0.6, 0.0))
    assert both.advice[0].endswith("the mean prediction is off as well: platt can repair both.")
    assert "or temperature where there is no shift" in alone.advice[0]
