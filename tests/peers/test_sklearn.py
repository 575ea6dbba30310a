"""scikit-learn 1.9: Brier score, log loss and the points of its calibration curve."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualWidth
from tolerances import ROUNDING

metrics = pytest.importorskip("sklearn.metrics")
calibration = pytest.importorskip("sklearn.calibration")


@pytest.fixture
def event(rng):
    p = rng.beta(2, 1, 400)
    return (rng.random(400) < p**2).astype(int), p, rng.integers(1, 4, 400)


@pytest.fixture
def matrix(rng):
    return rng.integers(0, 3, 400), rng.dirichlet([2, 1, 1], 400)


def test_brier_score_of_an_event(event):
    labels, probs, weights = event
    found = cal.brier_score(labels, probs, view="binary")
    assert found.value == pytest.approx(metrics.brier_score_loss(labels, probs), abs=ROUNDING)
    expected = metrics.brier_score_loss(labels, probs, sample_weight=weights)
    assert cal.brier_score(labels, probs, view="binary", weights=weights).value == pytest.approx(expected, abs=ROUNDING)


def test_brier_score_of_several_classes(matrix):
    labels, probs = matrix
    expected = metrics.brier_score_loss(labels, probs, labels=[0, 1, 2], scale_by_half=False)
    assert cal.brier_score(labels, probs).value == pytest.approx(expected, abs=ROUNDING)


def test_log_score(event, matrix):
    for labels, probs in (event[:2], matrix):
        assert cal.log_score(labels, probs).value == pytest.approx(metrics.log_loss(labels, probs), abs=ROUNDING)


def test_the_points_of_its_calibration_curve(event):
    labels, probs, _ = event
    rate, mean = calibration.calibration_curve(labels, probs, n_bins=10)
    table = cal.binned_error(labels, probs, bins=EqualWidth(10)).parts["bins"]
    np.testing.assert_allclose(table.label_rate, rate, atol=ROUNDING)
    np.testing.assert_allclose(table.mean_prob, mean, atol=ROUNDING)


def test_its_temperature(matrix):
    pytest.importorskip("sklearn", minversion="1.8", reason="temperature scaling came with scikit-learn 1.8")
    labels, probs = matrix
    theirs = calibration._TemperatureScaling().fit(np.log(probs), labels)
    assert cal.Temperature(penalty=None).fit(labels, probs).temperature == pytest.approx(1 / theirs.beta_, rel=1e-6)


def test_its_isotonic_regression(event):
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression(out_of_bounds="clip")
    labels, probs, weights = event
    isotonic.fit(probs, labels, sample_weight=weights)
    fitted = cal.Isotonic(bounded=False).fit(labels, probs, weights=weights)
    at = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(fitted.apply(at), isotonic.predict(at), atol=ROUNDING)
