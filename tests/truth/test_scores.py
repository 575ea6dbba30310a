"""What is claimed of proper scores, on a world whose truth is known. Seeds are fixed; standard errors computed here.

The world has 2000 kinds of rows, all equally likely, each with its own true distribution of three classes: c, but for the 15 % of
rows that have a label at random. The model says softmax(1.8·ln c). Every expectation is then a mean over the kinds.
`studies/improvement.py` does the same at full length.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.kernels.logits import probabilities
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow

KINDS, CLASSES, TOO_SURE, MISLABELLED = 2000, 3, 1.8, 0.15
CLEAN = probabilities(1.5 * np.random.default_rng(7).normal(size=(KINDS, CLASSES)))
TRUTH = (1 - MISLABELLED) * CLEAN + MISLABELLED / CLASSES
SAID = TOO_SURE * np.log(CLEAN)
STEPS = TRUTH.cumsum(axis=1)

REPEATS = {100: 1200, 1000: 1200, 10_000: 600}
AT_LEAST = 0.935
AT_MOST = {100: 1.0, 1000: 0.965, 10_000: 0.965}

MAPS = {"temperature": cal.Temperature(), "ensemble_temperature": cal.maps.EnsembleTemperature()}


def sample(rng, n):
    which = rng.integers(0, KINDS, n)
    labels = (rng.random((n, 1)) > STEPS[which, :-1]).sum(axis=1)
    return which, cal.Predictions.from_logits(labels, SAID[which])


def squared_error(probs):
    """CE², of the whole distribution: no two kinds are told the same."""
    return float(((probs - TRUTH) ** 2).sum(axis=1).mean())


def top_error(probs):
    """CE₁ of the top class, whose probability differs from kind to kind."""
    rows, top = np.arange(KINDS), probs.argmax(axis=1)
    return float(np.abs(probs[rows, top] - TRUTH[rows, top]).mean())


def assert_mean(values, truth):
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - truth) <= STANDARD_ERRORS * error, (values.mean(), truth, error)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("n", REPEATS)
def test_the_paired_interval_covers_the_true_improvement(rng, n, name):
    fitted = MAPS[name].fit(sample(rng, 1000)[1])
    assert name == "temperature" or fitted.weights.max() < 0.95  # another map than temperature alone
    truth = squared_error(fitted.apply(logits=SAID)) - squared_error(probabilities(SAID))
    assert truth < -0.01
    covered, values = [], []
    for _ in range(REPEATS[n]):
        found = cal.compare(sample(rng, n)[1], fitted)
        assert found.injective
        covered.append(truth in found.difference.interval)
        values.append(found.difference.value)
    assert_mean(values, truth)
    assert AT_LEAST <= np.mean(covered) <= AT_MOST[n], np.mean(covered)


@pytest.mark.parametrize("name", MAPS)
def test_a_difference_of_plain_errors_is_biased_and_less_so_with_more_rows(rng, name):
    fitted = MAPS[name].fit(sample(rng, 1000)[1])
    truth = top_error(fitted.apply(logits=SAID)) - top_error(probabilities(SAID))
    bias = {}
    for n, repeats in {100: 1000, 1000: 300}.items():
        values = []
        for _ in range(repeats):
            before = sample(rng, n)[1]
            values.append(cal.ece(fitted.apply(before)).value - cal.ece(before).value)
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        bias[n] = np.mean(values) - truth
        assert bias[n] > STANDARD_ERRORS * error, (n, bias[n], truth, error)  # it promises too little
    assert bias[100] > 2 * bias[1000]
    assert bias[100] > -truth / 5


def test_the_interval_of_clusters_covers_where_the_plain_one_does_not(rng):
    fitted = cal.Temperature().fit(sample(rng, 1000)[1])
    truth = squared_error(fitted.apply(logits=SAID)) - squared_error(probabilities(SAID))
    clusters, size, covered = 40, 5, {True: [], False: []}
    for _ in range(1000):
        _, one = sample(rng, clusters)
        groups = np.repeat(np.arange(clusters), size)  # the same row five times
        said = cal.Predictions.from_logits(
            np.repeat(one.labels, size), np.repeat(one.logits, size, axis=0), groups=groups
        )
        for cluster, inside in covered.items():
            inside.append(truth in cal.compare(said, fitted, cluster=cluster).difference.interval)
    assert 0.92 <= np.mean(covered[True]) <= 0.965  # 40 clusters of a skewed score
    assert np.mean(covered[False]) < 0.75


def test_no_candidate_is_called_better_by_luck(rng):
    """All say the truth ± 0.1, each with signs of its own: none is better than another."""
    found, wrong = [], []
    for _ in range(600):
        q = 0.1 + 0.8 * rng.random(200)
        y = rng.random(200) < q
        before, *after = (cal.Predictions(y, q + 0.1 * rng.choice([-1, 1], 200)) for _ in range(6))
        several = cal.compare(before, {str(k): each for k, each in enumerate(after)}, method=None)
        found.append([0 not in several[str(k)].difference.interval for k in range(5)])
        sure = [several[str(k)].verdict != "no detectable change" for k in range(5)]
        assert all(by_holm >= outside for by_holm, outside in zip(sure, found[-1], strict=True))
        wrong.append(any(sure))
    limit = 0.05 + STANDARD_ERRORS * (0.05 * 0.95 / len(wrong)) ** 0.5
    assert np.mean(wrong) <= limit
    assert np.mean(found) > 0.005  # and not because nothing is ever found


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_score_of_pairs_is_unbiased_and_its_interval_covers(rng, calibrated):
    score, said = cal.score.KernelScore("gaussian", 0.5), np.log(TRUTH) if calibrated else SAID
    p = probabilities(said)
    truth = float(score.of_pairs(p, TRUTH, p, TRUTH).mean())  # kinds are drawn with replacement
    found = []
    for _ in range(1500):
        which, _ = labelled = sample(rng, 150)
        found.append(score.score(labelled[1].with_logits(said[which])))
    assert_mean([each.value for each in found], truth)
    covered = np.mean([truth in each.interval for each in found])
    assert covered >= 0.925
    widths = np.array([each.interval.high - each.interval.low for each in found]) / 2 / 1.98
    spread = np.std([each.value for each in found], ddof=1)
    assert (widths.mean() > 1.2 * spread) == calibrated  # pairs cancel, and the jackknife does not know


def test_cross_fitted_miscalibration_never_promises_too_much(rng):
    """Its expectation is at most the true calibration error; that on the same rows is more."""
    true = squared_error(probabilities(SAID))
    values = [
        cal.decompose(sample(rng, 300)[1], method="temperature", cross_fitted=True, n_folds=5).miscalibration
        for _ in range(300)
    ]
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert np.mean(values) <= true + STANDARD_ERRORS * error
    assert np.mean(values) > true / 2
    greedy = [cal.decompose(sample(rng, 300)[1]).miscalibration for _ in range(100)]
    assert np.mean(greedy) > true
