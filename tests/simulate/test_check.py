"""The check distinguishes a world that fits from one that does not."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.results import Record
from calibrant.simulate import BetaWorld, DirichletWorld, ScaledCurve, check_world, fit_world, world_test


@pytest.fixture
def world():
    return BetaWorld(2.0, 1.0, ScaledCurve(0.8))


def test_data_of_the_world_agree_and_others_do_not(world, rng):
    data = world.sample(2000, rng)
    same = check_world(world, data, n_data_sets=400)
    assert same.p_value > 0.01
    assert same.agrees == (same.low <= same.real <= same.high)
    other = check_world(world.with_curve(ScaledCurve(0.6)), data, n_data_sets=100)
    assert not other.agrees
    assert other.real < other.low
    assert other.p_value < 0.05
    assert "unlike" in repr(other)


def test_the_figures_are_those_of_a_loop(world, rng):
    data = world.sample(300, rng)
    found = check_world(world, data, estimator=cal.sweep_error, n_data_sets=20, seed=4)
    generator = np.random.default_rng(4)
    again = np.array([cal.sweep_error(world.sample(300, generator)).value for _ in range(20)])
    assert found.simulated == again.mean()
    assert found.spread == again.std(ddof=1)
    assert found.real == cal.sweep_error(data).value
    assert Record.from_json(found.to_json()) == found


@pytest.mark.slow
def test_p_values_are_uniform_when_the_world_is_right(world):
    found = [check_world(world, world.sample(100, s), n_data_sets=39, seed=1000 + s).p_value for s in range(60)]
    assert np.mean(np.array(found) <= 0.1) < 0.1 + 3 * np.sqrt(0.09 / 60)
    assert 0.3 < np.mean(np.array(found) <= 0.5) < 0.7


def test_several_classes_are_asked_by_view(rng):
    data = DirichletWorld([1.0, 1.0, 1.0]).sample(1000, rng)
    assert check_world(fit_world(data), data, n_data_sets=50).agrees
    assert check_world(fit_world(data, view="class 1"), data, view="class 1", n_data_sets=50).agrees


def test_one_replication_is_too_few(world, rng):
    with pytest.raises(InputError, match="n_data_sets must be a whole number, at least 2"):
        check_world(world, world.sample(10, rng), n_data_sets=1)


SHAPES = {
    "wave": lambda p: p + 0.12 * np.sin(12 * np.pi * p),
    "bump": lambda p: p - 0.35 * ((p > 0.6) & (p < 0.66)),
    "tail": lambda p: p - 0.15 * (p > 0.88),
    "shift": lambda p: p - 0.25 * p * (1 - p),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_curve_that_leaves_out_a_shape_is_rejected(shape, rng):
    p = rng.random(3000)
    labels = rng.random(3000) < np.clip(shape(p), 0, 1)
    assert world_test(BetaWorld(1.0, 1.0), labels, p, n_draws=199).p_value <= 0.01


def test_a_curve_that_falls_is_tested_along_the_predictions(rng):
    """Rates that fall and rise again: bins are those of the predictions, not of the rates."""
    p = rng.random(2000)
    folded = cal.simulate.curves.CellCurve(np.array([0.0, 0.5, 1.0]), np.array([0.9, 0.0, -0.1]))
    world = cal.simulate.EmpiricalWorld(p, folded)
    right = rng.random(2000) < world.curve(p)
    assert world_test(world, right, p, n_draws=199).p_value > 0.01
    wave = np.clip(world.curve(p) + 0.2 * np.sin(8 * np.pi * p), 0, 1)
    assert world_test(world, rng.random(2000) < wave, p, n_draws=199).p_value <= 0.01


def test_what_a_world_cannot_give_refutes_it(world):
    assert world_test(world.with_curve(ScaledCurve(0.0)), [0, 1], [0.2, 0.5], n_draws=19).p_value == 0


@pytest.mark.slow
def test_p_values_of_the_curve_are_uniform_when_it_is_right(world):
    found = [world_test(world, world.sample(300, s), n_draws=99, seed=s).p_value for s in range(400)]
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(found) <= level) - level) < 3 * np.sqrt(level * (1 - level) / 400)
