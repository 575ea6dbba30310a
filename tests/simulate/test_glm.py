"""Generalised linear curves: optima that a general optimiser confirms, and the truth found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from calibrant.simulate import BetaWorld, LinearCurve
from calibrant.simulate.curves import PAIRS, fit_curves, fit_log_linear
from tolerances import STANDARD_ERRORS

OPEN = (5e-324, 5e-324)


def drawn(curve, n, rng, alpha=1.2, beta=0.2):
    p, q = BetaWorld(alpha, beta).scores.draw(n, rng)
    hits = (rng.random(n) < curve.rates(p, q)).astype(float)
    return p, q, hits


def naive_likelihood(curve, p, q, hits, weight):
    c = curve.rates(p, q)
    with np.errstate(divide="ignore"):
        terms = np.where(hits > 0, np.log(c), np.log1p(-c))
    return float(weight @ terms)


@pytest.mark.parametrize(("link", "transform"), PAIRS)
def test_no_other_parameters_are_likelier(link, transform, rng):
    p, q, hits = drawn(LinearCurve("logit", "logit", -0.4, 0.7), 800, rng, 2.0, 1.0)
    weight = np.ones(800)
    for found in fit_curves(p, q, hits, weight, OPEN):
        if (found.curve.link, found.curve.transform) != (link, transform) or found.name == "constant":
            continue
        assert found.converged
        assert found.likelihood == pytest.approx(
            naive_likelihood(found.curve, p, q, hits, weight), abs=1e-8
        )  # 800 terms
        lows = (None, 0.0) if link != "logit" else (None, None)
        bounds = [lows, (0.0, None) if link != "logit" else (None, None)]
        if found.n_parameters == 1:
            bounds[0] = (0.0, 0.0)

        def loss(b, link=link, transform=transform):
            value = -naive_likelihood(LinearCurve(link, transform, b[0], b[1]), p, q, hits, weight)
            return value if np.isfinite(value) else 1e10

        start = np.array([found.curve.intercept, found.curve.slope])
        for shift in (0.9, 1.1):
            best = minimize(
                loss, start * shift, method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-9, "fatol": 1e-9}
            )
            assert found.likelihood >= -best.fun - 1e-6  # where Nelder and Mead stop


@pytest.mark.slow
@pytest.mark.parametrize(
    "truth",
    [
        LinearCurve("logflip", "logflip", -0.12, 0.58),
        LinearCurve("log", "log", -0.03, 1.27),
        LinearCurve("logit", "logit", -0.9, 0.5),
        LinearCurve("logit", "logflip", -0.5, -0.8),
    ],
    ids=lambda c: f"{c.link}-{c.transform}",
)
def test_the_truth_is_chosen_and_found_again(truth, rng):
    n = 60_000
    p, q, hits = drawn(truth, n, rng)
    best = fit_curves(p, q, hits, np.ones(n), OPEN)[0]
    assert (best.curve.link, best.curve.transform) == (truth.link, truth.transform)
    assert best.likelihood >= naive_likelihood(truth, p, q, hits, np.ones(n))
    at = np.linspace(0.05, 0.99, 20)
    small, times = 3000, 20
    again = []
    for _ in range(times):
        found = fit_curves(*drawn(truth, small, rng), np.ones(small), OPEN)
        again.append(next(f.curve.rates(at, 1 - at) for f in found if f.name == best.name))
    error = np.std(again, axis=0, ddof=1) * np.sqrt(small / n)
    assert (np.abs(best.curve.rates(at, 1 - at) - truth.rates(at, 1 - at)) < STANDARD_ERRORS * error).all()


def test_criteria_are_sorted_and_count_parameters(rng):
    p, q, hits = drawn(LinearCurve("logit", "logit", 0.0, 0.5), 3000, rng)
    found = fit_curves(p, q, hits, np.ones(3000), OPEN)
    assert [each.aic for each in found] == sorted(each.aic for each in found)
    for each in found:
        assert each.aic == 2 * each.n_parameters - 2 * each.likelihood
        assert each.n_parameters == 1 + ("b0" in each.name)
    assert {each.name for each in found} >= {"constant", "logit, logit: b1", "logflip, logflip: b0, b1"}


@given(seed=st.integers(0, 10_000), rate=st.floats(0.05, 0.95), n=st.integers(3, 60))
def test_any_data_give_probabilities(seed, rate, n):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    hits = (rng.random(n) < rate).astype(float)
    if hits.sum() in (0, n):
        hits[0] = 1 - hits[0]
    for each in fit_curves(p, 1 - p, hits, np.ones(n), OPEN):
        rates = each.curve.rates(np.linspace(0, 1, 11), np.linspace(1, 0, 11))
        assert ((rates >= 0) & (rates <= 1)).all()
        assert np.isfinite(each.aic)


def test_the_corner_of_the_log_link_is_kept():
    """Rates that rise above p want b0 > 0; those that fall want b1 < 0: both end on the edge."""
    t = np.log(np.linspace(0.05, 0.95, 200))
    high = (np.exp(t) > 0.2).astype(float)
    intercept, slope, _ = fit_log_linear(t, high, np.ones(200), True)
    assert intercept <= 0 <= slope
    falling = (np.exp(t) < 0.5).astype(float)
    assert fit_log_linear(t, falling, np.ones(200), True)[1] == 0
