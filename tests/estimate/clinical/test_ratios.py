"""O/E and the standardised net benefit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

import strategies as some
from calibrant import InputError
from calibrant.estimate.clinical.ratios import observed_over_expected, standardised_net_benefit
from naive import clinical as naive
from tolerances import ROUNDING


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.beta(1, 4, n)
    return (rng.random(n) < probs).astype(int), probs


@settings(max_examples=6)
@given(some.events())
def test_o_over_e_row_by_row(said):
    if said.probs.any():
        found = observed_over_expected(said.labels, said.probs, counts=said.weights).value
        times = np.ones(len(said.labels), int) if said.weights is None else np.asarray(said.weights).astype(int)
        labels, probs = (np.repeat(np.asarray(each, float), times) for each in (said.labels, said.probs))
        if probs.any():
            assert found == pytest.approx(naive.observed_over_expected(labels, probs), rel=1e-9)


def test_its_interval_is_fiellers_for_many_rows():
    labels, probs = rows()
    found = observed_over_expected(labels, probs)
    for end in (found.interval.low, found.interval.high):
        away = labels - end * probs
        assert abs(away.mean()) / (away.std(ddof=1) / math.sqrt(len(away))) == pytest.approx(1.9605, abs=1e-3)


def test_no_event_has_an_upper_end():
    found = observed_over_expected(np.zeros(50, int), np.full(50, 0.1))
    assert (found.value, found.interval.low) == (0.0, 0.0)
    exact = (1 - 0.025 ** (1 / 50)) / 0.1  # Clopper and Pearson, over the mean prediction
    assert found.interval.high == pytest.approx(exact, rel=0.02)
    assert observed_over_expected([1], [0.5]).interval is None
    with pytest.raises(InputError, match="probs must not all be 0"):
        observed_over_expected([0, 1], [0.0, 0.0])


@pytest.mark.parametrize("threshold", [0.05, 0.2, 0.5])
def test_net_benefit_row_by_row(threshold):
    labels, probs = rows(300)
    found = standardised_net_benefit(labels, probs, threshold=threshold)
    expected = naive.net_benefit(labels, probs, threshold)
    assert found.value == pytest.approx(expected, abs=ROUNDING)
    assert found.parts["net_benefit"].value == pytest.approx(expected * labels.mean(), abs=ROUNDING)
    assert found.parts["always"] == pytest.approx(naive.net_benefit(labels, np.ones(300), threshold), abs=ROUNDING)
    assert found.interval.low < found.value < found.interval.high


def test_at_the_rate_acting_on_all_is_worth_nothing():
    labels, probs = rows(300)
    found = standardised_net_benefit(labels, probs)
    assert found.settings["threshold"] == pytest.approx(labels.mean(), abs=ROUNDING)
    assert found.parts["always"] == pytest.approx(0, abs=ROUNDING)


def test_the_width_of_a_plan_is_about_that_of_the_data():
    from calibrant.verbs.planning.validation import plan_validation

    labels, probs = rows(20_000)
    found = standardised_net_benefit(labels, probs, threshold=0.2)
    width = found.interval.high - found.interval.low
    plan = plan_validation(scores=probs, prevalence=probs.mean(), c_statistic=0.7, threshold=0.2, benefit_width=width)
    assert plan.criteria[-1].n == pytest.approx(20_000, rel=0.1)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, float("nan")])
def test_a_threshold_lies_between_0_and_1(threshold):
    with pytest.raises(InputError, match="threshold must lie between 0 and 1"):
        standardised_net_benefit([0, 1], [0.2, 0.7], threshold=threshold)
    with pytest.raises(InputError, match="labels must hold events and non-events"):
        standardised_net_benefit([0, 0], [0.2, 0.7])


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 400])
def test_coverage(n):
    rng, hits, draws = np.random.default_rng(13), np.zeros(2), 120
    for _ in range(draws):
        probs = rng.beta(1, 3, n)
        labels = rng.random(n) < 0.8 * probs
        found = observed_over_expected(labels, probs), standardised_net_benefit(labels, probs, threshold=0.25)
        # P(y) = 0.2; E[0.8p; p ≥ ¼] and E[p ≥ ¼] of a Beta(1, 3) with P(p ≥ x) = (1 − x)³
        share, events = 0.75**3, 0.8 * (0.25 * 0.75**3 + 0.75**4 / 4)
        hits += [0.8 in found[0].interval, (events - (share - events) / 3) / 0.2 in found[1].interval]
    assert (hits / draws > 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / draws)).all()
