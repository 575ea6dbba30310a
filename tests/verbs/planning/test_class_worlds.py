"""Plans for several classes: worlds whose error is known, and the tests that `diagnose` runs."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.verbs.planning.check import p_value_of_all
from calibrant.verbs.planning.class_worlds import ClassWorld, p_values_of_classes
from calibrant.verbs.planning.plan import plan


def rows(n=400, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.8), n)
    return Predictions((p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p)


def test_a_world_has_the_error_that_is_asked_for():
    world = ClassWorld.like(rows())
    assert world.true_error(1) == pytest.approx(0, abs=1e-15)
    for norm in (1, 2):
        found = world.with_error(0.06, norm)
        assert found.true_error(norm) == pytest.approx(0.06, abs=1e-9)
        assert 0 < found.calibration.power < 1
    with pytest.raises(InputError, match=r"must be at most .*, which over-confident predictions like these can have"):
        world.with_error(0.9, 1)


def test_two_rows_by_hand():
    """Power ½: (0.64, 0.36) becomes (0.8, 0.6) / 1.4, and (0.5, 0.5) stays."""
    world = ClassWorld(np.array([[0.64, 0.36], [0.5, 0.5]]), np.array([0.75, 0.25])).with_power(0.5)
    assert world.truth[0] == pytest.approx([0.8 / 1.4, 0.6 / 1.4])
    away = 0.64 - 0.8 / 1.4
    assert world.true_error(1) == pytest.approx(0.75 * away)
    assert world.true_error(2) == pytest.approx(0.75**0.5 * away)


def test_classes_are_drawn_from_the_true_distributions():
    world = ClassWorld(np.array([[0.7, 0.3, 0.0]]), np.ones(1)).with_power(0.5)
    drawn = world.sample(20_000, np.random.default_rng(0)).labels
    share = world.truth[0, 0]
    assert np.mean(drawn == 0) == pytest.approx(share, abs=4 * (share * (1 - share) / 20_000) ** 0.5)
    assert not (drawn == 2).any()


def test_weights_are_shares_of_the_rows():
    given = rows(50)
    counted = Predictions(given.labels, given.probs, counts=np.arange(50))
    assert ClassWorld.like(counted).weights == pytest.approx(np.arange(1, 50) / np.arange(50).sum())


@pytest.mark.slow
def test_a_plan_for_several_classes_is_one_for_all_three_tests():
    found = plan(n=200, predictions=rows(), n_data_sets=20)
    assert found.n_classes == 3
    assert "of the three tests that `diagnose` runs on 3 classes" in found.sentence()
    assert "of the top class" in found.sentence()
    assert found.cautions == ()
    assert any("normalised over the classes" in each for each in found.assumptions)
    top = plan(n=200, predictions=rows(), n_data_sets=20, view="top")
    assert top.n_classes == 2
    assert "alone: errors in other classes" in top.cautions[0]
    state = plan(n=200, predictions=cal.collect(rows()), n_data_sets=20)
    assert state.n_classes == 2
    assert "alone: errors in other classes" in state.cautions[0]


@pytest.mark.slow
def test_shared_null_draws_give_the_p_values_of_the_tests_themselves():
    """Power and false alarms of both, on other data sets of one world."""
    calibrated = ClassWorld.like(rows())
    for world, n in ((calibrated, 100), (calibrated.with_error(0.1, 2), 120)):
        rng = np.random.default_rng(1)
        shared = np.concatenate([p_values_of_classes(world, n, 100, 499, rng) for _ in range(3)]) <= 0.05
        each = np.array([p_value_of_all(world.sample(n, rng), 499) for _ in range(120)]) <= 0.05
        error = (shared.mean() * (1 - shared.mean()) * (1 / 300 + 1 / 120)) ** 0.5
        assert abs(shared.mean() - each.mean()) < 3.5 * max(error, 0.01)
        assert world is not calibrated or shared.mean() <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5
