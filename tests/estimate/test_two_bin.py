"""Averaged two-bin error: by integral over cuts, its exact floor, and truth-telling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

from calibrant.estimate.two_bin import averaged_two_bin_error
from naive import data
from tolerances import ROUNDING


def by_cuts(probs, outcomes, weights):
    """The integral over q, which is constant between predictions."""
    p, y = np.asarray(probs, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    w = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    total = 0.0
    for low, high in itertools.pairwise(sorted({0.0, 1.0, *p})):
        below = p < (low + high) / 2 if high > low else p <= low
        parts = [(w * (p - y))[side].sum() / w.sum() for side in (below, ~below)]
        total += (high - low) * (parts[0] ** 2 + parts[1] ** 2)
    return total


@given(data.events(most=20))
def test_it_is_the_integral_over_cuts(said):
    expected = by_cuts(said.probs, said.labels, said.weights)
    found = averaged_two_bin_error(said.labels, said.probs, counts=said.weights)
    assert found.value == pytest.approx(expected, abs=ROUNDING)
    rooted = averaged_two_bin_error(said.labels, said.probs, counts=said.weights, root=True)
    assert rooted.value**2 == pytest.approx(expected, abs=ROUNDING)


def mean_over_outcomes(reported, truth, **options):
    total = 0.0
    for y in itertools.product([0, 1], repeat=len(truth)):
        chance = np.prod(np.where(y, truth, 1 - np.array(truth)))
        total += chance * averaged_two_bin_error(y, reported, **options).value
    return total


TRUTH = [0.1, 0.35, 0.35, 0.8, 0.95]


def test_the_floor_is_its_mean_if_calibrated():
    floor = averaged_two_bin_error([0] * 5, TRUTH).noise_floor
    assert mean_over_outcomes(TRUTH, TRUTH) == pytest.approx(floor, abs=ROUNDING)
    assert mean_over_outcomes(TRUTH, TRUTH, debiased=True) == pytest.approx(0, abs=ROUNDING)


def test_debiased_is_what_infinitely_many_such_rows_show_but_for_pairs_of_a_row_with_itself():
    """E of the debiased value is the sum over pairs of different rows of δ_i δ_j, weighted by the cuts that keep them together."""
    said = [0.2, 0.3, 0.6, 0.6, 0.9]
    wrong = np.array(said) - TRUTH
    expected = by_cuts(said, np.array(said) - wrong, None) - (wrong**2).sum() / 25
    assert mean_over_outcomes(said, TRUTH, debiased=True) == pytest.approx(expected, abs=ROUNDING)


def test_telling_the_truth_is_best(rng):
    """No report does better on average than the truth; a constant, which fools ECE, only if it is the mean of these very truths."""
    honest = mean_over_outcomes(TRUTH, TRUTH)
    for reported in ([0.5] * 5, [0.52] * 5, *rng.random((20, 5)).tolist()):
        assert mean_over_outcomes(reported, TRUTH) > honest
    assert mean_over_outcomes([0.51] * 5, TRUTH) == pytest.approx(honest, abs=ROUNDING)


def test_certain_and_right_is_zero():
    assert averaged_two_bin_error([0, 1, 1], [0.0, 1.0, 1.0]).value == 0
