"""Bets: log-ratios that are fair, and a loop that is the same compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.draws.betting import CAP, log_ratios, place_bets, start_tail
from tolerances import ROUNDING

SHIFTS, SLOPES = np.array([0.3, -1.2, 0.0, 0.6]), np.array([1.0, 1.0, 0.4, 1.4])


@given(st.floats(1e-12, 1 - 1e-12))
def test_ratios_are_one_on_average(p):
    both = np.exp(log_ratios(np.array([p, p]), np.array([0, 1], np.uint8), SHIFTS, SLOPES))
    np.testing.assert_allclose((1 - p) * both[0] + p * both[1], 1.0, rtol=0, atol=1e-9)  # 1 − p is rounded near 1


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0, 1))
def test_the_ratio_of_a_share_lies_between_those_of_no_and_yes(p, share):
    no, yes = np.exp(log_ratios(np.array([p, p]), np.array([0, 1], np.uint8), SHIFTS, SLOPES))
    found = np.exp(log_ratios(np.array([p]), np.array([share]), SHIFTS, SLOPES))[0]
    if share != p:
        np.testing.assert_allclose(found, share * yes + (1 - share) * no, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certain_predictions(dtype):
    probs = np.array([0.0, 1.0, 0.0, 1.0], dtype)
    found = log_ratios(probs, np.array([0, 1, 1, 0], np.uint8), SHIFTS, SLOPES)
    assert (found[:2] == 0).all()
    unit = float(np.finfo(dtype).eps)
    z = np.log(unit) - np.log1p(-unit)
    np.testing.assert_allclose(found[2, 2], -np.logaddexp(0, -0.4 * z) + np.logaddexp(0, -z), rtol=1e-12)
    assert np.isfinite(found).all()


def test_the_smallest_probability_has_a_finite_ratio():
    found = log_ratios(np.array([5e-324, 1 - 2**-53]), np.array([1, 0], np.uint8), SHIFTS, SLOPES)
    assert np.isfinite(np.exp(found)).all()


def test_the_prior_of_beginnings_is_one_and_falls():
    tail = start_tail(np.arange(2000))
    starts = tail[:-1] - tail[1:]
    assert (tail[0], start_tail(1)) == (1.0, 0.5)
    assert (starts > 0).all()
    assert (np.diff(starts) < 0).all()
    assert starts.sum() + tail[-1] == pytest.approx(1, abs=ROUNDING)


def test_wealth_is_held_at_the_cap():
    ratios = np.full((900, 7), 10.0)
    wealth = np.zeros((2, 7))
    single, product = np.ones((2, 2)), np.ones(3)
    path = np.empty((900, 3))
    place_bets.plain(ratios, np.full(900, 0.1), np.full(7, 1 / 7), np.zeros(900, np.intp), wealth, single, product, path)  # fmt: skip
    assert (wealth == CAP).all()
    assert np.isfinite(path).all()
    assert path[-1, 2] == pytest.approx(CAP / 2)  # a region that has all there is, half of which does not bet
