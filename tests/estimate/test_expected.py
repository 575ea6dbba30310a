"""The ECE to expect at another sample size: against SciPy's folded normal, and its limits."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from naive import binning, data
from naive import expected as naive
from naive.rows import counted, written_out
from tolerances import ROUNDING

CANCELLED = 1e-7
"""The spread of a bin is a difference of moments, right to 1e-16; its root to 1e-8."""


def test_one_bin_by_hand():
    # gap ¼, no spread, rate ¾: N(−¼, (3/16)/4)
    sd = math.sqrt(3 / 64)
    mean = sd * math.sqrt(2 / math.pi) * math.exp(-(0.25**2) / (2 * sd**2)) + 0.25 * math.erf(0.25 / sd / math.sqrt(2))
    found = cal.expected_ece([0, 1, 1, 1], [0.5] * 4, bins=EqualWidth(1))
    assert found.value == pytest.approx(mean, abs=ROUNDING)
    assert found.noise_floor == pytest.approx(math.sqrt(2 / math.pi * 0.25 / 4), abs=ROUNDING)
    squared = cal.expected_ece([0, 1, 1, 1], [0.5] * 4, bins=EqualWidth(1), norm=2, root=False)
    assert squared.value == pytest.approx(1 / 16 + 3 / 64, abs=ROUNDING)
    assert squared.noise_floor == pytest.approx(1 / 16, abs=ROUNDING)


@given(
    data.events(most=25).map(counted),
    st.integers(1, 12),
    st.booleans(),
    st.sampled_from([None, 1, 7, 10_000]),
    st.sampled_from([1, 2]),
)
def test_it_is_that_of_scipys_folded_normal(said, n_bins, mass, n, norm):
    y, p = written_out(said.labels, said.probs, said.weights)
    rule = EqualMass(n_bins) if mass else EqualWidth(n_bins)
    bins = binning.equal_mass(p, n_bins) if mass else binning.equal_width(p, n_bins)
    found = cal.expected_ece(said.labels, said.probs, n=n, bins=rule, norm=norm, root=False, counts=said.weights)
    value, floor = naive.powers(bins, p, y, len(p) if n is None else n, norm)
    close = ROUNDING if norm == 2 else CANCELLED
    assert found.value == pytest.approx(value, abs=close)
    assert found.noise_floor == pytest.approx(floor, abs=close)


@given(data.events())
def test_more_rows_lower_it_towards_the_error_seen_here(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    values = [cal.expected_ece(made, n=n).value for n in (10, 100, 10_000, 10**9)]
    assert all(more <= fewer + ROUNDING for fewer, more in pairwise(values))
    plain = cal.ece(made).value
    assert values[-1] >= plain - ROUNDING
    assert values[-1] == pytest.approx(plain, abs=1e-4)  # the noise of a bin of a billion rows is 1/√(10⁹)


@given(data.events().map(counted))
def test_its_noise_floor_is_that_of_the_binned_error(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    assert cal.expected_ece(made).noise_floor == pytest.approx(cal.ece(made).noise_floor, abs=ROUNDING)


@given(data.matrices(most=12))
def test_views_are_those_of_their_events(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    for view in ("top", "class 1"):
        event = made.event(view)
        alone = cal.expected_ece(event.outcomes, event.probs, counts=said.weights)
        assert cal.expected_ece(made, view=view).value == pytest.approx(alone.value, abs=ROUNDING)


@pytest.mark.parametrize("n", [0, -5, True])
def test_a_sample_has_at_least_one_row(n):
    with pytest.raises(InputError, match="n must be a whole number, at least 1; it is"):
        cal.expected_ece([0, 1], [0.2, 0.7], n=n)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="norm must be one of 1, 2; it is 'max'"):
        cal.expected_ece([0, 1], [0.2, 0.7], norm="max")
    with pytest.raises(InputError, match="bins must be a number of bins, EqualWidth"):
        cal.expected_ece([0, 1], [0.2, 0.7], bins=np.array([0, 1]))
    with pytest.raises(InputError, match="'classwise' is many questions, not one"):
        cal.expected_ece([0, 1], [[0.2, 0.8], [0.3, 0.7]], view="classwise")
