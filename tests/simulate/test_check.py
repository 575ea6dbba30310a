"""The check distinguishes a world that fits from one that does not."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.results import Record
from calibrant.simulate import BetaWorld, DirichletWorld, ScaledCurve, check_world, fit_world


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
