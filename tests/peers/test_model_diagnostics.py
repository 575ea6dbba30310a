"""model-diagnostics 1.5 (Lorentzen): decompositions of the squared error and the log loss by isotonic regression."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibrant as cal
from tolerances import ROUNDING

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("model_diagnostics.scoring")


@pytest.fixture
def event(rng):
    p = rng.beta(2, 3, 1000).round(2).clip(0.01, 0.99)  # ties
    return (rng.random(1000) < p**1.5).astype(float), p, rng.integers(1, 5, 1000)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("score", ["brier", "log"])
def test_decompositions_agree(event, score, weighted):
    labels, probs, weights = event
    function = theirs.SquaredError() if score == "brier" else theirs.LogLoss()
    w = weights if weighted else None
    found = cal.decompose(labels, probs, score=score, weights=w, view="binary")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs.decompose(labels, probs, weights=w, scoring_function=function).to_dicts()[0]
    for name in ("miscalibration", "discrimination", "uncertainty"):
        assert getattr(found, name) == pytest.approx(expected[name], abs=ROUNDING)
    assert found.score.value == pytest.approx(expected["score"], abs=ROUNDING)


def test_the_parts_of_a_squared_error(rng):
    mean = rng.normal(size=300).round(1)
    labels = rng.normal(0.7 * mean, 1.0)
    found = cal.decompose(cal.Predictions.from_gaussian(labels, mean, np.ones(300)))
    expected = theirs.decompose(labels, mean, scoring_function=theirs.SquaredError(), functional="mean")
    parts = [expected[name][0] for name in ("miscalibration", "discrimination", "uncertainty", "score")]
    ours = [found.miscalibration, found.discrimination, found.uncertainty, found.score.value]
    np.testing.assert_allclose(ours, parts, atol=1e-10)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_the_parts_of_a_pinball_score(rng, level):
    mean = rng.normal(size=301)
    labels = rng.normal(0.7 * mean, 1.0)
    rows = cal.Predictions.from_quantiles(labels, [level], mean)
    found = cal.decompose(rows, score="pinball")
    score = theirs.PinballLoss(level=level)
    expected = theirs.decompose(labels, mean, scoring_function=score, functional="quantile", level=level)
    parts = [expected[name][0] for name in ("miscalibration", "discrimination", "uncertainty", "score")]
    ours = [found.miscalibration, found.discrimination, found.uncertainty, found.score.value]
    np.testing.assert_allclose(ours, parts, atol=1e-10)
