"""False alarms and power of the tests, on fewer data sets than studies/false_alarms.py and studies/power.py. Seeds are fixed.

With 1000 data sets a share of 5 % has a standard error of 0.7 %; claims are judged at five of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from studies import power

from calibrant import Predictions
from calibrant.detect.multi_scale import scales
from calibrant.detect.omnibus import components, is_calibrated
from calibrant.detect.skce import skce_test
from calibrant.resampling.exact import Exact, drawn_values
from calibrant.resampling.null import hypothesis_of
from calibrant.resampling.pairs import laplace_pairs, multi_scale
from calibrant.resampling.rank import joint_rank, rank_p_value
from calibrant.resampling.rows import atoms_of
from calibrant.resampling.statistics import two_part
from tolerances import STANDARD_ERRORS

pytestmark = pytest.mark.slow

SETS = 600
WORLDS = {
    "uniform": lambda rng, n: rng.random(n),
    "confident": lambda rng, n: rng.beta(2.7752, 0.0478, n),
    "tied": lambda rng, n: rng.integers(0, 21, n) / 20,
}


def assert_size(rejected, level=0.05):
    rejected = np.asarray(rejected)
    error = np.sqrt(level * (1 - level) / len(rejected))
    assert rejected.mean(axis=0) == pytest.approx(level, abs=STANDARD_ERRORS * error)


def p_values(labels, probs, n_draws):
    """Of is_calibrated, T-Cal and every statistic."""
    atoms = atoms_of(Predictions(labels, probs), "auto")
    asked = components(atoms)
    single = [*asked, two_part(atoms), laplace_pairs(atoms, 0.25, "unbiased")]
    several = multi_scale(atoms, scales(atoms))
    (found,), coin = drawn_values(hypothesis_of(atoms), [*single, *several], Exact(n_draws))
    values = found.values
    return [
        joint_rank(values[:, : len(asked)], "random", coin, [each.weight for each in asked]).p_value,
        joint_rank(values[:, len(single) :], "random", coin).p_value,
        *(rank_p_value(values[:, j], "random", coin) for j in range(len(single))),
    ]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [30, 200])
def test_exact_tests_accuse_a_calibrated_model_in_five_percent(rng, n, world):
    def one():
        p = WORLDS[world](rng, n)
        return p_values(rng.random(n) < p, p, 39)

    assert_size(np.array([one() for _ in range(SETS)]) <= 0.05)


@pytest.mark.parametrize("shape", [1.0, 0.1])
def test_the_whole_vector_is_accused_in_five_percent(rng, shape):
    def one():
        probs = rng.dirichlet(np.full(3, shape), 60)
        said = Predictions((rng.random((60, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1), probs)
        kernel = skce_test(said, bandwidth=0.25, n_draws=39)
        return is_calibrated(said, view="canonical", n_draws=39).p_value, kernel.p_value

    assert_size(np.array([one() for _ in range(SETS)]) <= 0.05)


def test_weights_held_fixed_keep_the_size(rng):
    def one():
        p, w = rng.random(60), rng.lognormal(size=60)
        return is_calibrated(rng.random(60) < p, p, weights=w, n_draws=39).p_value

    assert_size(np.array([one() for _ in range(SETS)]) <= 0.05)


def test_one_fate_a_cluster_keeps_the_size_and_any_dependence_does_not_exceed_it(rng):
    def one():
        p = rng.random(500)
        labels = np.repeat(rng.random(100), 5) < p
        said = Predictions(labels, p, groups=np.repeat(np.arange(100), 5))
        return [is_calibrated(said, cluster=cluster, n_draws=39).p_value for cluster in (False, "same", "any")]

    sets = 500
    independent, same, either = (np.array([one() for _ in range(sets)]) <= 0.05).T
    assert independent.mean() > 0.1
    assert_size(same)
    # signs turned round are exact only for symmetric errors: a percentage point more is allowed
    assert either.mean() <= 0.06 + STANDARD_ERRORS * np.sqrt(0.06 * 0.94 / sets)


def test_one_percent_is_one_percent(rng):
    def one():
        p = rng.random(60)
        return is_calibrated(rng.random(60) < p, p, n_draws=99).p_value

    assert_size(np.array([one() for _ in range(SETS)]) <= 0.01, 0.01)


def behind_the_best(found):
    """How far `is_calibrated` lies behind the best other test, and a standard error of its share."""
    shares = {name: np.mean([row[name] <= 0.05 for row in found]) for name in found[0] if name != power.FORMER}
    ours = shares.pop(power.OURS)
    return max(shares.values()) - ours, np.sqrt(ours * (1 - ours) / len(found))


WRONG = ["shift", "too extreme", "not extreme enough", "tail", "bump", "step"]
WRONG += ["wave, 1 period", "wave, 2 periods", "wave, 6 periods", "wave, 12 periods"]


@pytest.mark.parametrize("name", WRONG)
def test_power_is_near_that_of_the_best_single_test(rng, name):
    found = [row for _ in range(4) for row in power.event(*power.EVENTS[name], rng=rng, sets=50)]
    behind, error = behind_the_best(found)
    assert behind <= 0.15 + 2 * error


@pytest.mark.parametrize("name", ["one class too low", "one class too high", "too extreme", "two classes confused"])
def test_power_for_all_classes_is_near_that_of_the_best_single_test(rng, name):
    found = [row for _ in range(4) for row in power.whole(*power.CLASSES[name], rng=rng, sets=50)]
    behind, error = behind_the_best(found)
    assert behind <= 0.15 + 2 * error
