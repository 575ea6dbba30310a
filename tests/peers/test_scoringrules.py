"""scoringrules 0.10: scores of forecasts of a real number."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.forecasts import GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.score import CRPS, DawidSebastianiScore, GaussianLogScore, IntervalScore, PinballScore
from tolerances import ROUNDING

theirs = pytest.importorskip("scoringrules")


@pytest.fixture
def rows(rng):
    mean, sd = rng.normal(size=200), rng.uniform(0.3, 3, 200)
    return rng.normal(mean, sd), mean, sd


def test_gaussians(rows):
    labels, mean, sd = rows
    said = GaussianForecasts(labels, mean, sd**2)
    np.testing.assert_allclose(CRPS().rows(said), theirs.crps_normal(labels, mean, sd), atol=1e-10)
    np.testing.assert_allclose(GaussianLogScore().rows(said), theirs.logs_normal(labels, mean, sd), atol=1e-10)


@pytest.mark.parametrize("fair", [False, True])
def test_ensembles(rows, fair, rng):
    labels, mean, sd = rows
    samples = rng.normal(mean[:, None], sd[:, None], (200, 17))
    said = SampleForecasts(labels, samples)
    expected = theirs.crps_ensemble(labels, samples, estimator="fair" if fair else "nrg")
    np.testing.assert_allclose(CRPS(fair=fair).rows(said), expected, atol=1e-10)


def test_the_dawid_sebastiani_score_of_an_ensemble(rows, rng):
    labels, mean, sd = rows
    samples = rng.normal(mean[:, None], sd[:, None], (200, 17))
    expected = theirs.dssuv_ensemble(labels, samples, bias=True)
    np.testing.assert_allclose(DawidSebastianiScore().rows(SampleForecasts(labels, samples)), expected, atol=1e-10)


def test_quantiles(rows, rng):
    labels, mean, sd = rows
    levels = np.array([0.05, 0.25, 0.5, 0.9, 0.95])
    values = np.sort(rng.normal(mean[:, None], sd[:, None], (200, 5)), axis=1)
    said = QuantileForecasts(labels, levels, values)
    np.testing.assert_allclose(CRPS().rows(said), theirs.crps_quantile(labels, values, levels), atol=ROUNDING * 100)
    one = theirs.quantile_score(labels, values[:, 1], 0.25)
    np.testing.assert_allclose(PinballScore([0.25]).rows(said), one, atol=ROUNDING * 100)
    interval = theirs.interval_score(labels, values[:, 0], values[:, 4], 0.1)
    np.testing.assert_allclose(IntervalScore(0.9).rows(said), interval, atol=1e-9)
