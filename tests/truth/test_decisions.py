"""Claims about answers, selective risk, sampled confidences, stretches and regret, on worlds whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.estimate.regret import decision_regret
from calibrant.estimate.sampled import sampled_error
from calibrant.estimate.selective import selective_risk
from calibrant.estimate.two_bin import averaged_two_bin_error
from calibrant.verbs.answers import assess_answers
from calibrant.verbs.confidence_levels import levels_tested
from calibrant.verbs.where import where
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow

LEVELS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]


def share_error(share, n):
    return STANDARD_ERRORS * np.sqrt(share * (1 - share) / n)


# A language model's answers.


@pytest.mark.parametrize("n", [30, 200, 2000])
def test_a_calibrated_model_is_called_wrong_in_one_of_twenty_at_most(rng, n):
    runs = 300
    wrong = 0
    for i in range(runs):
        said = rng.choice(LEVELS, n) if i % 2 else rng.random(n)
        wrong += assess_answers(rng.random(n) < said, said).calibrated is False
    assert wrong / runs <= 0.05 + share_error(0.05, runs)


@pytest.mark.parametrize("n", [30, 200, 2000])
def test_p_values_drawn_within_their_steps_accuse_in_exactly_one_of_twenty(rng, n):
    runs, wrong = 500, 0
    for i in range(runs):
        said = rng.choice(LEVELS[:-1], n) if i % 2 else rng.beta(2.7752, 0.0478, n)
        levels, overall = levels_tested(Predictions(rng.random(n) < said, said).event(), ties="random")
        wrong += min(levels.adjusted.min(), overall) <= 0.05
    assert wrong / runs == pytest.approx(0.05, abs=share_error(0.05, runs))


def asked_often(rng, questions, times=5):
    """Answers to one question are nearly always right or wrong together."""
    said = np.repeat(rng.choice(LEVELS[:-1], questions), times)
    own = rng.random(questions * times)
    shared = np.where(rng.random(questions * times) < 0.8, np.repeat(rng.random(questions), times), own)
    return shared < said, said, np.repeat(np.arange(questions), times)


@pytest.mark.parametrize("questions", [20, 100])
def test_repeated_questions_do_not_raise_false_alarms(rng, questions):
    runs = 300
    alone, together = 0, 0
    for _ in range(runs):
        right, said, groups = asked_often(rng, questions)
        alone += assess_answers(right, said).calibrated is False
        together += assess_answers(right, said, groups=groups).calibrated is False
    assert together / runs <= 0.055 + share_error(0.055, runs)
    assert alone / runs > 0.15  # what ignoring the questions would do


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("kind", ["continuous", "tied"])
def test_selective_risk_is_covered(rng, kind, n):
    def draw(size):
        said = rng.beta(4, 1.2, size) if kind == "continuous" else rng.choice(LEVELS, size)
        return rng.random(size) < said, said

    truth = selective_risk(*draw(1_000_000)).value
    runs = 1000
    held = np.mean([truth in selective_risk(*draw(n)).interval for _ in range(runs)])
    assert held >= 0.935 - share_error(0.95, runs) / 2.5  # two standard errors


def test_selective_risk_of_repeated_questions_is_covered(rng):
    truth = selective_risk(*asked_often(rng, 200_000)[:2]).value
    runs = 800
    held = []
    for _ in range(runs):
        right, said, groups = asked_often(rng, 100)
        held.append(truth in selective_risk(right, said, groups=groups).interval)
    assert np.mean(held) >= 0.935 - share_error(0.95, runs) / 2.5


# Confidences that are shares of samples.


def truth_given_others(curve, m, shape):
    """Σ P(k)·E[π − curve(π) | k of m − 1]², and the Brier score of π, by quadrature over a beta law."""
    from scipy.stats import beta, binom

    x = (np.arange(20_000) + 0.5) / 20_000
    w = beta.pdf(x, *shape)
    w /= w.sum()
    squares = 0.0
    for k in range(m):
        joint = w * binom.pmf(k, m - 1, x)
        squares += float((joint * (x - curve(x))).sum()) ** 2 / float(joint.sum())
    return squares, float((w * ((x - curve(x)) ** 2 + curve(x) * (1 - curve(x)))).sum())


@pytest.mark.parametrize("m", [2, 5, 10])
@pytest.mark.parametrize("name", ["calibrated", "square", "timid"])
def test_few_samples_do_not_lift_the_sampled_error(rng, name, m):
    curve = {"calibrated": lambda x: x, "square": np.square, "timid": lambda x: 0.2 + 0.6 * x}[name]
    squares, brier = truth_given_others(curve, m, (2, 1))
    found = []
    for _ in range(400):
        share = rng.beta(2, 1, 1000)
        said, right = rng.binomial(m, share) / m, rng.random(1000) < curve(share)
        estimate = sampled_error(right, said, n_samples=m, root=False)
        found.append((estimate.value, estimate.parts["brier"]))
    for values, truth in zip(np.array(found).T, (squares, brier), strict=True):
        assert abs(values.mean() - truth) <= STANDARD_ERRORS * values.std() / np.sqrt(len(values))


# Where.


@pytest.mark.parametrize("n", [30, 300])
def test_the_p_value_of_the_worst_stretch_is_exact(rng, n):
    runs = 1000
    p_values = []
    for i in range(runs):
        p = rng.random(n)
        p_values.append(where(rng.random(n) < p, p, n_draws=99, seed=i).p_value)
    for level in (0.05, 0.2):
        assert abs(np.mean(np.array(p_values) <= level) - level) <= share_error(level, runs)


def test_the_held_out_gap_of_a_calibrated_model_averages_to_zero(rng):
    gaps = []
    for _ in range(400):
        p = rng.random(300)
        gaps.append(where(rng.random(300) < p, p, n_draws=0).held_out.value)
    assert abs(np.mean(gaps)) <= STANDARD_ERRORS * np.std(gaps) / np.sqrt(len(gaps))


# Regret.

RUNS = 80


@pytest.mark.parametrize("recipe", ["isotonic", "beta"])
@pytest.mark.parametrize("power", [1.0, 1.3, 2.0])
def test_regret_is_bounded_from_below(rng, recipe, power):
    t = np.arange(1, 20) / 20
    x = (np.arange(100_000) + 0.5) / 100_000
    c = x**power
    truth = max(np.mean(np.abs(c - s) * ((np.minimum(x, c) < s) & (s <= np.maximum(x, c)))) for s in t)
    found = []
    for _ in range(RUNS):
        p = rng.random(400)
        found.append(decision_regret(rng.random(400) < p**power, p, method=recipe, thresholds=t))
    values = np.array([one.value for one in found])
    assert values.mean() <= truth + STANDARD_ERRORS * values.std() / np.sqrt(RUNS)
    too_high = np.mean([one.interval.low > truth for one in found])
    assert too_high <= 0.025 + share_error(0.025, RUNS)


# Averaged two-bin error.


def test_hiding_behind_a_constant_does_not_pay(rng):
    """Fifty rows, predictions uniform: the truth has the smaller two-bin error, though the larger ECE."""
    honest, hidden = [], []
    for _ in range(2000):
        p = rng.random(50)
        y = rng.random(50) < p
        honest.append(averaged_two_bin_error(y, p).value)
        hidden.append(averaged_two_bin_error(y, np.full(50, 0.5)).value)
    better = np.mean(hidden) - np.mean(honest)
    assert better > STANDARD_ERRORS * np.std(np.array(hidden) - honest) / np.sqrt(2000)
