"""Optimism of a model judged by its own rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.estimate.clinical.line import calibration_slope
from calibrant.problems import InputError
from calibrant.verbs.optimism import MEASURES, OptimismReport, optimism


class Logit:
    """Logistic regression by Newton's method, with the interface of scikit-learn."""

    def fit(self, rows, labels):
        x, y = np.column_stack([np.ones(len(rows)), np.asarray(rows)]), np.asarray(labels)
        self.b = np.zeros(x.shape[1])
        for _ in range(25):
            mu = 1 / (1 + np.exp(-x @ self.b))
            self.b = self.b + np.linalg.solve((x.T * (mu * (1 - mu) + 1e-9)) @ x, x.T @ (y - mu))
        return self

    def predict_proba(self, rows):
        p = 1 / (1 + np.exp(-np.column_stack([np.ones(len(rows)), np.asarray(rows)]) @ self.b))
        return np.column_stack([1 - p, p])


def data(n, k, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, k))
    return x, (rng.random(n) < 1 / (1 + np.exp(1 - 0.8 * x[:, 0] - 0.5 * x[:, 1]))).astype(int)


X, Y = data(80, 4, 1)
RIDGE = 1e-6
"""By which the ridge of the logistic fit, 1e-10 of the weight, may move a slope of few rows."""
QUICK = [name for name in MEASURES if name != "integrated_calibration_index"]


# A twin of the definition (validate of R's rms): plain loops over rows, pairs and draws.


def naive_line(p, y):
    """Intercept and slope of the outcomes on the log-odds, by Newton's method on sums."""
    a = b = 0.0
    z = [math.log(each / (1 - each)) for each in p]
    for _ in range(50):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for each, label in zip(z, y, strict=True):
            mu = 1 / (1 + math.exp(-a - b * each))
            g0, g1 = g0 + label - mu, g1 + (label - mu) * each
            v = mu * (1 - mu)
            h00, h01, h11 = h00 + v, h01 + v * each, h11 + v * each * each
        det = h00 * h11 - h01 * h01
        a, b = a + (h11 * g0 - h01 * g1) / det, b + (h00 * g1 - h01 * g0) / det
    return a, b


def naive_measures(p, y):
    intercept, slope = naive_line(p, y)
    wins = [(e > o) + (e == o) / 2 for e, i in zip(p, y, strict=True) if i for o, j in zip(p, y, strict=True) if not j]
    return {
        "calibration_slope": slope,
        "joint_intercept": intercept,
        "observed_over_expected": sum(y) / sum(p),
        "c_statistic": sum(wins) / len(wins),
        "brier_score": sum(2 * (e - i) ** 2 for e, i in zip(p, y, strict=True)) / len(y),
    }


def test_it_is_what_plain_loops_give():
    found = optimism(Logit(), X, Y, measures=[m for m in QUICK if m != "calibration_intercept"], n_draws=6, seed=3)
    rng, n = np.random.default_rng(3), len(Y)
    apparent = naive_measures(Logit().fit(X, Y).predict_proba(X)[:, 1].tolist(), Y.tolist())
    training, test = {name: [] for name in apparent}, {name: [] for name in apparent}
    for _ in range(6):
        drawn = rng.integers(n, size=n)
        model = Logit().fit(X[drawn], Y[drawn])
        for kept, rows, labels in ((training, X[drawn], Y[drawn]), (test, X, Y)):
            for name, value in naive_measures(model.predict_proba(rows)[:, 1].tolist(), labels.tolist()).items():
                kept[name].append(value)
    for name, estimate in found.results().items():
        by = sum(a - b for a, b in zip(training[name], test[name], strict=True)) / 6
        assert estimate.parts["optimism"] == pytest.approx(by, abs=RIDGE)
        assert estimate.parts["apparent"] == pytest.approx(apparent[name], abs=RIDGE)
        assert estimate.value == pytest.approx(apparent[name] - by, abs=RIDGE)
        assert (estimate.parts["training"], estimate.parts["test"]) == pytest.approx(
            (sum(training[name]) / 6, sum(test[name]) / 6), abs=RIDGE
        )


def test_intervals_are_those_of_the_apparent_measures_moved():
    found = optimism(Logit(), X, Y, measures="calibration_slope", n_draws=5)["calibration_slope"]
    apparent = calibration_slope(Y, Logit().fit(X, Y).predict_proba(X)[:, 1])
    by = found.parts["optimism"]
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (apparent.interval.low - by, apparent.interval.high - by)
    )
    assert found.interval.method == "profile likelihood, moved by the optimism"


@pytest.mark.slow
def test_every_measure_is_that_of_its_estimator_on_the_rows():
    found = optimism(Logit(), X, Y, n_draws=2)
    rows = cal.Predictions(Y, Logit().fit(X, Y).predict_proba(X)[:, 1])
    for name, measure in MEASURES.items():
        assert measure.quick(rows.event("binary")) == pytest.approx(found[name].parts["apparent"], abs=1e-12)
    assert OptimismReport.from_json(found.to_json()).to_json() == found.to_json()
    assert "Corrected for optimism" in str(found)
    assert found.to_dict()["c_statistic"] == found["c_statistic"].value


@pytest.mark.slow
def test_the_model_stays_as_it_is_and_frames_are_taken():
    model = Logit().fit(X, 1 - Y)
    before = model.b.copy()
    frame = pd.DataFrame(X, index=np.arange(len(X))[::-1])
    whole = optimism(model, frame, pd.Series(Y), measures=QUICK, n_draws=3)
    assert model.b.tolist() == before.tolist()
    other = optimism(model, X, Y.astype(bool), measures=QUICK, n_draws=3).to_dict()
    assert whole.to_dict() == pytest.approx(other, abs=1e-9)
    seen = []
    optimism(Logit(), X, Y, measures="c_statistic", n_draws=3, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


class Separating(Logit):
    """Knows the rows by heart."""

    def fit(self, rows, labels):
        self.known = dict(zip(np.asarray(rows)[:, 0].tolist(), np.asarray(labels).tolist(), strict=True))
        return self

    def predict_proba(self, rows):
        return np.array([0.1 + 0.8 * self.known.get(float(row[0]), 0.5) for row in np.asarray(rows)])


def test_a_model_that_knows_its_rows_by_heart_has_no_slope_there():
    found = optimism(Separating(), X, Y, measures="c_statistic", n_draws=5)["c_statistic"]
    assert found.parts["apparent"] == found.parts["training"] == 1
    # e⁻¹ of the rows are not drawn, and of two such it knows nothing: half of these pairs are lost
    assert found.parts["optimism"] == pytest.approx(np.exp(-2) / 2, abs=0.03)
    with pytest.raises(InputError, match="must leave calibration slope defined in some refit"):
        optimism(Separating(), X, Y, measures="calibration_slope", n_draws=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": object()}, "model must have fit and predict_proba; it is a object"),
        ({"labels": np.arange(80)}, "labels must be 0 and 1, one per row"),
        ({"labels": np.zeros(80)}, "labels must hold events and non-events; events are 0 of 80 rows"),
        ({"labels": Y[:-1]}, "labels and X must have as many rows; labels has 79, X 80"),
        ({"measures": ["auc"]}, "measures must be one of 'calibration_slope'"),
        ({"measures": []}, "measures must name at least one"),
        ({"n_draws": 0}, "n_draws"),
        ({"level": 1.5}, "level"),
    ],
)
def test_what_cannot_be_corrected_is_refused(change, message):
    given = {"model": Logit(), "X": X, "labels": Y, "measures": QUICK, "n_draws": 2} | change
    with pytest.raises(InputError, match=message):
        cal.optimism(**given)


@pytest.mark.slow
def test_corrected_values_are_nearer_to_the_truth_and_their_intervals_hold_it():
    """The truth is the model's own: its measures on 20,000 new rows."""
    names, runs = ("calibration_slope", "c_statistic"), 25
    new = data(20_000, 10, 99)
    rows = {name: [] for name in names}
    for seed in range(runs):
        x, y = data(250, 10, 1000 + seed)
        found = optimism(Logit(), x, y, measures=names, n_draws=20, seed=seed)
        truth = cal.Predictions(new[1], Logit().fit(x, y).predict_proba(new[0])[:, 1]).event("binary")
        for name in names:
            true = MEASURES[name].quick(truth)
            each = found[name]
            rows[name].append((each.parts["apparent"] - true, each.value - true, true in each.interval))
    for found in rows.values():
        apparent, corrected, held = np.array(found, dtype=float).T
        assert abs(corrected.mean()) < 0.4 * abs(apparent.mean())
        assert held.mean() > 0.95 - 4 * np.sqrt(0.05 * 0.95 / runs)
