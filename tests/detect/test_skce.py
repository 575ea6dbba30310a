"""Tests of the kernel error: draws against the null written out, signs, and the bound by hand."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.detect.skce import skce_test
from detect.enumeration import class_labellings, labellings, tail
from tolerances import ROUNDING, STANDARD_ERRORS

EVENT = np.array([1, 0, 1, 1, 0, 1, 0]), np.array([0.15, 0.3, 0.3, 0.6, 0.72, 0.8, 0.93])
CLASSES = (
    np.array([1, 2, 2, 0, 1]),
    np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2], [0.25, 0.5, 0.25]]),
)


@pytest.mark.some(3)
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("kernel", ["tv", "laplace", "gaussian"])
@pytest.mark.parametrize(
    ("data", "every"), [(EVENT, labellings), (CLASSES, class_labellings)], ids=["event", "classes"]
)
def test_draws_are_those_of_the_null_written_out(data, every, kernel, estimator):
    options = {"kernel": kernel, "estimator": estimator, "bandwidth": 0.4}
    labels, chance = every(data[1])
    values = np.array([cal.skce(each, data[1], **options).value for each in labels])
    observed = cal.skce(*data, **options).value
    found = skce_test(*data, n_draws=1999, **options)
    assert found.statistic == pytest.approx(observed, abs=ROUNDING)
    truth = tail(values, chance, observed)
    counted = found.parts["p_counting_ties"]
    assert counted == pytest.approx(truth, abs=STANDARD_ERRORS * np.sqrt(0.25 / 1999) + 1 / 1999)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_sign_flips_written_out(estimator):
    signs, chance = labellings(np.full(5, 0.5))
    labels, probs = CLASSES
    error = np.eye(3)[labels] - probs
    h = np.exp(-0.5 * np.abs(probs[:, None] - probs).sum(axis=2) / 0.4) * (error @ error.T)
    off = h - np.diag(np.diag(h))
    values = np.einsum("ri,ij,rj->r", 2 * signs - 1.0, off, 2 * signs - 1.0)
    found = skce_test(labels, probs, method="asymptotic", estimator=estimator, bandwidth=0.4, n_draws=1999)
    truth = tail(values, chance, off.sum())
    assert found.parts["p_counting_ties"] == pytest.approx(truth, abs=STANDARD_ERRORS * np.sqrt(0.25 / 1999) + 1 / 1999)
    assert found.statistic == pytest.approx(cal.skce(labels, probs, estimator=estimator, bandwidth=0.4).value)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_one_event_and_its_two_classes_agree(rng, estimator):
    p = rng.random(80).round(1)
    y = (rng.random(80) < p).astype(int)
    for method in ("exact", "asymptotic"):
        options = {"method": method, "estimator": estimator, "bandwidth": 0.3, "n_draws": 1999}
        one, two = skce_test(y, p, **options), skce_test(y, np.stack([1 - p, p], axis=1), **options)
        assert one.statistic == pytest.approx(two.statistic, abs=ROUNDING)
        assert one.p_value == pytest.approx(two.p_value, abs=STANDARD_ERRORS * np.sqrt(0.5 / 1999))


def test_sign_flips_are_called_rough_where_little_is_left_to_chance(rng):
    sure, unsure = np.full(60, 0.99), np.full(200, 0.5)
    words = "predictions leave little to chance (Σp(1 − p) = 0.6): sign flips are rough. Use method='exact'"
    for probs in (sure, np.stack([1 - sure, sure], axis=1)):
        found = skce_test(np.ones(60, int), probs, method="asymptotic", bandwidth=0.3, n_draws=19)
        assert found.cautions == (words,)
    assert skce_test(np.arange(200) % 2, unsure, method="asymptotic", bandwidth=0.3, n_draws=19).cautions == ()


def test_the_bound_by_hand():
    found = skce_test([0, 0, 1, 0], [0.9] * 4, method="bound", kernel="gaussian", bandwidth=1.0)
    # errors ±√2·(−0.9, −0.9, 0.1, −0.9); six pairs: 3 of 1.62 and 3 of −0.18
    assert found.statistic == pytest.approx(0.72)
    assert found.p_value == pytest.approx(np.exp(-2 * 0.36**2 / 2))
    biased = skce_test([0] * 10, [0.9] * 10, method="bound", estimator="biased", bandwidth=1.0)
    assert biased.p_value == pytest.approx(np.exp(-((np.sqrt(10 * 1.62 / 2) - 1) ** 2) / 2))
    assert skce_test([1, 0], [0.5, 0.5], method="bound").p_value == 1  # a negative value proves nothing


def test_the_bound_is_never_below_the_exact_p_value(rng):
    for _ in range(20):
        p = rng.random(60)
        y = rng.random(60) < p**2
        bound, exact = skce_test(y, p, method="bound"), skce_test(y, p, n_draws=199)
        assert bound.p_value >= exact.p_value - 0.1


def test_top_view_and_whole_weights(rng):
    probs, labels, times = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    repeated = np.repeat(labels, times), np.repeat(probs, times, axis=0)
    for view in ("top", "canonical"):
        weighted = skce_test(labels, probs, counts=times, view=view, n_draws=99)
        assert weighted.p_value == skce_test(*repeated, view=view, n_draws=99).p_value


def test_what_cannot_be_had_is_refused(rng):
    with pytest.raises(InputError, match="kernel must be 'tv' or 'laplace' for the asymptotic test"):
        skce_test(*EVENT, kernel="gaussian", method="asymptotic")
    with pytest.raises(InputError, match="labels must hold at most 4000 rows"):
        skce_test(np.zeros(4001, int), np.full((4001, 2), 0.5), bandwidth=1.0)
    with pytest.raises(InputError, match="weights must be left out for a bound"):
        skce_test([0, 1, 1], [0.2, 0.3, 0.4], weights=[0.5, 1, 1], method="bound")
    with pytest.raises(InputError, match="weights must be left out for an asymptotic test"):
        skce_test([0, 1, 1], [0.2, 0.3, 0.4], weights=[0.5, 1, 1], method="asymptotic")
    with pytest.raises(InputError, match="estimator must be one of 'unbiased', 'biased'"):
        skce_test(*EVENT, estimator="block")
    with pytest.raises(InputError, match="they are shares"):
        skce_test(Predictions([0.2, 0.9], [0.3, 0.6], soft=True))


@pytest.mark.parametrize("method", ["exact", "asymptotic", "bound"])
def test_labels_of_probability_0_are_warned_of(method):
    probs = np.array([[1.0, 0.0, 0.0]] + [[0.3, 0.3, 0.4]] * 40)
    told = skce_test([1] + [0] * 40, probs, method=method, n_draws=19).cautions
    assert told[0].startswith("some labels had predicted probability 0")
    event = skce_test([1] + [0, 1] * 60, [0.0] + [0.5] * 120, method=method, n_draws=19).cautions
    assert event[0].startswith("some labels had predicted probability 0")
    assert skce_test([0] + [0, 1] * 60, [0.0] + [0.5] * 120, method=method, n_draws=19).cautions == ()
