"""Beta by maximum likelihood: scipy where nothing is censored, the truth where something is, and a naive likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betainc

from calibrant.simulate import BetaScores
from calibrant.simulate.fitting import fit_beta, log_tail
from tolerances import OPTIMISER, STANDARD_ERRORS

OPEN = (5e-324, 5e-324)


@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 3.0), (0.5, 0.5), (30.0, 4.0), (0.3, 2.0)])
def test_without_censoring_it_is_the_usual_fit(alpha, beta, rng):
    p, q = BetaScores(alpha, beta).draw(500, rng)
    found = fit_beta(p, q, np.ones(500), OPEN)
    a, b, _, _ = stats.beta.fit(p, floc=0, fscale=1)
    assert (found.alpha, found.beta) == pytest.approx((a, b), rel=1e-5)  # scipy's own stopping rule
    assert found.likelihood >= stats.beta.logpdf(p, a, b).mean() - OPTIMISER


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_rounded_to_one_do_not_decide_the_fit(dtype, rng):
    """Of Beta(2.8, 0.05) 41 % round to 1 in float32 and 16 % in float64."""
    alpha, beta, n = 2.8, 0.05, 40_000
    exact, _ = BetaScores(alpha, beta).draw(n, rng)
    stored = exact.astype(dtype).astype(np.float64)
    limits = (5e-324, float(np.finfo(dtype).epsneg) / 2)
    assert (stored == 1).mean() > 0.1
    found = fit_beta(stored, 1 - stored, np.ones(n), limits)
    assert abs(found.beta / beta - 1) < STANDARD_ERRORS / np.sqrt(
        (stored < 1).sum()
    )  # ln q is exponential: rel. error 1/√seen
    clipped = np.minimum(stored, 1 - 1e-7)
    assert fit_beta(clipped, 1 - clipped, np.ones(n), OPEN).beta > 1.4 * beta


def test_the_likelihood_is_the_naive_one(rng):
    p = np.round(rng.beta(0.5, 0.4, 300), 2)
    limits = (0.005, 0.005)
    found = fit_beta(p, 1 - p, np.ones(300), limits)

    def naive(a, b):
        terms = [
            np.log(betainc(a, b, 0.005))
            if v == 0
            else np.log(betainc(b, a, 0.005))
            if v == 1
            else stats.beta.logpdf(v, a, b)
            for v in p
        ]
        return np.mean(terms)

    assert found.censored == ((p == 0).sum(), (p == 1).sum())
    assert found.likelihood == pytest.approx(naive(found.alpha, found.beta), abs=1e-9)  # sums in another order
    for da, db in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)):
        assert naive(found.alpha * da, found.beta * db) < found.likelihood


def test_a_weight_of_two_is_the_row_twice(rng):
    p, q = BetaScores(2.0, 0.5).draw(100, rng)
    twice = fit_beta(np.repeat(p, 2), np.repeat(q, 2), np.ones(200), OPEN)
    found = fit_beta(p, q, np.full(100, 2.0), OPEN)
    assert (found.alpha, found.beta) == pytest.approx((twice.alpha, twice.beta), rel=OPTIMISER)


@given(a=st.floats(0.02, 20), b=st.floats(0.02, 20), x=st.floats(1e-8, 0.1))
def test_the_tail_is_the_incomplete_beta_function(a, b, x):
    exact = betainc(a, b, x)
    if exact > 1e-300:
        assert log_tail(x, a, b) == pytest.approx(np.log(exact), abs=1e-9)  # ln of a number near 1e-300


def test_the_tail_is_finite_where_the_probability_is_not():
    assert log_tail(1e-45, 50.0, 1.0) == pytest.approx(50 * np.log(1e-45))
