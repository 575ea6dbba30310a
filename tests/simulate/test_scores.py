"""Distributions of scores: moments in closed form, a second quadrature by hand, draws, and what does not fit in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import beta as beta_function
from scipy.special import betaln

from calibrant import InputError
from calibrant.simulate import BetaScores, EmpiricalScores, UniformScores
from calibrant.simulate.scores import Scores
from tolerances import ROUNDING, STANDARD_ERRORS

EXTREME = [
    (2.7752, 0.0478),
    (0.3, 0.2),
    (1e-3, 1e-3),
    (200.0, 0.01),
    (0.01, 200.0),
    (5.0, 1e-4),
    (1e4, 2e4),
    (1.0, 1.0),
]


@pytest.mark.parametrize(("alpha", "beta"), EXTREME)
def test_moments_of_beta_scores_are_those_of_the_book(alpha, beta):
    scores = BetaScores(alpha, beta)
    assert scores.mean(lambda p, q: np.ones_like(p)) == pytest.approx(1, abs=ROUNDING)
    assert scores.mean(lambda p, q: p) == pytest.approx(alpha / (alpha + beta), abs=ROUNDING)
    for power in (0.3, 1.5):
        exact = np.exp(betaln(alpha, beta + power) - betaln(alpha, beta))
        assert scores.mean(lambda p, q, power=power: q**power) == pytest.approx(exact, abs=1e-10)


@given(alpha=st.floats(0.02, 50), beta=st.floats(0.02, 50), cut=st.floats(0.05, 0.95))
def test_a_jump_gives_the_distribution_function(alpha, beta, cut):
    from scipy.special import betainc

    found = BetaScores(alpha, beta).mean(lambda p, q: (p < cut).astype(float))
    assert found == pytest.approx(betainc(alpha, beta, cut), abs=1e-10)


def double_exponential(function, alpha, beta, step=2**-7, reach=6.5):
    """∫ f p^(α−1) q^(β−1) dp / B by the rule of Takahasi and Mori, p and q each without cancellation."""
    t = np.arange(-reach, reach + step / 2, step)
    e = np.pi * np.sinh(t)
    log_p, log_q = -np.logaddexp(0, -e), -np.logaddexp(0, e)
    inner = np.exp(alpha * log_p + beta * log_q) * np.pi * np.cosh(t)
    return step * np.sum(function(np.exp(log_p), np.exp(log_q)) * inner) / beta_function(alpha, beta)


@pytest.mark.parametrize(("alpha", "beta"), [(2.7752, 0.0478), (1.1928, 0.2206), (0.3, 0.2), (2.0, 5.0)])
def test_a_second_rule_by_hand_agrees_on_smooth_functions(alpha, beta):
    def squared(p, q):
        return (q - 0.8 * q**0.3) ** 2

    assert BetaScores(alpha, beta).mean(squared) == pytest.approx(double_exponential(squared, alpha, beta), abs=1e-10)


@pytest.mark.parametrize(("alpha", "beta"), EXTREME)
def test_draws_have_the_right_means(alpha, beta, rng):
    p, q = BetaScores(alpha, beta).draw(100_000, rng)
    for values, function in ((p, lambda p, q: p), (q**0.5, lambda p, q: q**0.5)):
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - BetaScores(alpha, beta).mean(function)) <= STANDARD_ERRORS * error


@pytest.mark.parametrize(("alpha", "beta"), EXTREME)
def test_a_score_and_its_complement_sum_to_one(alpha, beta, rng):
    p, q = BetaScores(alpha, beta).draw((20, 500), rng)
    assert p.shape == q.shape == (20, 500)
    assert ((p >= 0) & (p <= 1) & (q >= 0) & (q <= 1)).all()
    np.testing.assert_allclose(p + q, 1, atol=ROUNDING)


def test_what_rounds_to_one_is_still_told_apart(rng):
    p, q = BetaScores(2.7752, 0.0478).draw(100_000, rng)
    full = p == 1
    assert 0.1 < full.mean() < 0.3
    assert len(np.unique(q[full])) == full.sum()


def test_scores_below_the_smallest_float_go_to_one_end_or_the_other(rng):
    alpha, beta = 1e-5, 3e-5
    p, _ = BetaScores(alpha, beta).draw(20_000, rng)
    assert np.isin(p, (0.0, 1.0)).mean() > 0.9
    assert abs(p.mean() - 0.25) < STANDARD_ERRORS * p.std() / np.sqrt(len(p))


def test_the_largest_value_is_found_inside_and_at_the_ends():
    scores = BetaScores(2.8, 0.05)
    assert scores.largest(lambda p, q: p * q) == pytest.approx(0.25, abs=ROUNDING)
    assert scores.largest(lambda p, q: p) == pytest.approx(1, abs=ROUNDING)
    assert UniformScores(0.2, 0.7).largest(lambda p, q: q) == pytest.approx(0.8, abs=ROUNDING)


def test_uniform_scores_lie_between_their_ends(rng):
    p, _ = UniformScores(0.2, 0.7).draw(10_000, rng)
    assert 0.2 <= p.min() < 0.201
    assert 0.699 < p.max() <= 0.7
    assert UniformScores(0.2, 0.7).mean(lambda p, q: p**2) == pytest.approx((0.7**3 - 0.2**3) / 1.5, abs=ROUNDING)


def test_atoms_are_pooled_and_drawn_as_often_as_they_weigh(rng):
    scores = EmpiricalScores([0.7, 0.1, 0.7, 1.0], [1.0, 2.0, 2.0, 0.0])
    assert scores.values.tolist() == [0.1, 0.7]
    assert scores.weights.tolist() == [2.0, 3.0]
    p, _ = scores.draw(50_000, rng)
    share = (p == 0.1).mean()
    assert abs(share - 0.4) < STANDARD_ERRORS * np.sqrt(0.24 / 50_000)
    assert scores.mean(lambda p, q: p) == pytest.approx(0.46, abs=ROUNDING)
    assert scores.largest(lambda p, q: q) == 0.9


@pytest.mark.parametrize("weights", [[1.0, 2.0, 5.0], [0.125, 0.25, 0.625]])
def test_whole_and_other_weights_draw_the_same_distribution(weights, rng):
    scores = EmpiricalScores([0.1, 0.5, 1.0], weights)
    said, rates = scores.draw_through((200, 250), rng, lambda p, q: (p, q**2))
    np.testing.assert_allclose(rates, (1 - said) ** 2, atol=ROUNDING)
    for value, share in ((0.1, 1 / 8), (0.5, 2 / 8), (1.0, 5 / 8)):
        assert abs((said == value).mean() - share) < STANDARD_ERRORS * np.sqrt(share * (1 - share) / said.size)


@pytest.mark.parametrize(
    "scores", [BetaScores(2.8, 0.05), UniformScores(0.5, 1.0), EmpiricalScores([0.2, 0.9], [1.0, 3.0])]
)
def test_scores_survive_json(scores):
    assert Scores.from_json(scores.to_json()) == scores
    assert repr(scores) == scores.describe()


def test_bad_parameters_are_refused():
    with pytest.raises(InputError, match="alpha must be positive"):
        BetaScores(0.0, 1.0)
    with pytest.raises(InputError, match="low and high must be a rising pair"):
        UniformScores(0.7, 0.7)
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        EmpiricalScores([0.2, 1.2])
