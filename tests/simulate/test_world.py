"""Event worlds: known errors, draws, seeds and JSON."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import InputError, MapError
from calibrant.simulate import (
    NAMED_WORLDS,
    BetaWorld,
    EmpiricalWorld,
    LinearCurve,
    PowerCurve,
    ScaledCurve,
    ShapeWorld,
    UniformWorld,
    World,
    WorldFit,
    bent_world,
)
from tolerances import ROUNDING, STANDARD_ERRORS

WORLDS = {
    **NAMED_WORLDS,
    "uniform": UniformWorld(0.3, 0.9, PowerCurve(2.0)),
    "empirical": EmpiricalWorld([0.1, 0.5, 0.5, 1.0], ScaledCurve(0.9)),
    "shape": ShapeWorld("beta2", 0.05),
    "crossing": BetaWorld(2.0, 3.0, LinearCurve("logit", "logit", 0.2, 0.5)),
    "map": BetaWorld(2.0, 0.5, cal.Isotonic().fit([0, 1, 0, 1, 1], [0.1, 0.4, 0.6, 0.7, 0.9])),
}


@given(alpha=st.floats(0.05, 20), beta=st.floats(0.05, 20), power=st.floats(0.2, 5))
def test_the_error_of_a_power_is_a_difference_of_moments(alpha, beta, power):
    from scipy.special import betaln

    moment = np.exp(betaln(alpha + power, beta) - betaln(alpha, beta))
    world = BetaWorld(alpha, beta, PowerCurve(power))
    assert world.true_error() == pytest.approx(abs(alpha / (alpha + beta) - moment), abs=1e-10)


def test_worked_by_hand():
    world = BetaWorld(1.0, 1.0, PowerCurve(2.0))
    assert world.true_error(1) == pytest.approx(1 / 6, abs=1e-10)
    assert world.true_error(2) == pytest.approx(np.sqrt(1 / 30), abs=1e-10)
    assert world.true_error("max") == pytest.approx(1 / 4, abs=1e-10)
    assert world.rate == pytest.approx(1 / 3, abs=1e-10)
    crossing = UniformWorld(0.0, 1.0, LinearCurve("logit", "logit", 0.0, 0.0))  # always ½
    assert crossing.true_error() == pytest.approx(1 / 4, abs=1e-10)
    assert crossing.true_error("max") == pytest.approx(1 / 2, abs=1e-10)
    atoms = EmpiricalWorld([0.2, 0.6, 0.6], ScaledCurve(0.5))
    assert atoms.true_error() == pytest.approx((0.1 + 0.3 + 0.3) / 3, abs=ROUNDING)
    assert atoms.true_error(2) == pytest.approx(np.sqrt((0.01 + 0.09 + 0.09) / 3), abs=ROUNDING)
    assert atoms.true_error("max") == 0.3


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_draws_agree_with_the_integrals(name):
    world = WORLDS[name]
    probs, outcomes, rates = world.draw(1000, 300, seed=np.random.default_rng([5, 1]))
    distance = np.abs(probs - rates).ravel()
    for values, truth in (
        (distance, world.true_error()),
        (distance**2, world.true_error(2) ** 2),
        (outcomes.ravel().astype(float), world.rate),
        ((outcomes - rates).ravel(), 0.0),
    ):
        error = values.std() / np.sqrt(values.size)
        assert abs(values.mean() - truth) <= STANDARD_ERRORS * error + ROUNDING
    assert distance.max() <= world.true_error("max") + ROUNDING
    assert world.true_error(1) <= world.true_error(2) + ROUNDING <= world.true_error("max") + 2 * ROUNDING


@pytest.mark.parametrize("name", WORLDS)
def test_the_curve_gives_the_rates_of_the_draws(name):
    world = WORLDS[name]
    probs, _, rates = world.draw(200, 3, seed=3)
    inner = (probs > 1e-3) & (probs < 1 - 1e-3)
    np.testing.assert_allclose(
        world.curve(probs)[inner], rates[inner], atol=1e-9
    )  # the inverse of a shape is flat somewhere


@pytest.mark.parametrize("name", WORLDS)
def test_the_same_seed_gives_the_same_data(name):
    world = WORLDS[name]
    one, two, other = world.sample(50, 1), world.sample(50, np.random.default_rng(1)), world.sample(50, 2)
    np.testing.assert_array_equal(one.probs, two.probs)
    np.testing.assert_array_equal(one.labels, two.labels)
    assert (one.labels != other.labels).any() or (one.probs != other.probs).any()
    probs, outcomes, rates = world.draw(50, 1, 1)
    np.testing.assert_array_equal(one.probs, probs[0])
    np.testing.assert_array_equal(one.labels, outcomes[0])
    assert (probs.dtype, outcomes.dtype, rates.dtype) == (np.float64, np.uint8, np.float64)


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_survive_json_and_copying(name):
    world = WORLDS[name]
    again = World.from_json(world.to_json())
    assert again == world
    assert copy.deepcopy(world) == world
    assert again.true_error() == world.true_error()
    np.testing.assert_array_equal(again.draw(10, 2, 0)[0], world.draw(10, 2, 0)[0])


def test_a_saved_world_that_lacks_a_field_is_refused():
    text = BetaWorld(1.0, 2.0).to_json().replace('"beta"', '"betta"')
    with pytest.raises(MapError, match="beta is missing"):
        World.from_json(text)


def test_a_plain_curve_takes_a_number_or_an_array():
    world = BetaWorld(1.0, 1.0, PowerCurve(2.0))
    assert float(world.curve(0.5)) == 0.25
    assert world.curve([0.5, 1.0]).tolist() == [0.25, 1.0]
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        world.curve(1.5)


def test_a_true_error_says_how_it_was_found():
    truth = BetaWorld(1.0, 1.0, PowerCurve(2.0)).truth(2)
    assert truth.settings == {"view": "binary", "norm": 2, "method": "quadrature"}
    assert truth.parts["standard_error"] == 0


def test_a_world_describes_itself():
    assert repr(BetaWorld(1.0, 2.0)) == "BetaWorld: Beta(1, 2) scores, perfectly calibrated"
    assert repr(EmpiricalWorld([0.5])) == "EmpiricalWorld: 1 distinct score of a data set, perfectly calibrated"
    assert "uniform on [0.3000, 0.9000]" in repr(WORLDS["uniform"])
    assert "caution: few" in repr(WorldFit(10, "binary", (0.0, 0.0), None, ("few",)))


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("norm", lambda w: w.true_error(0.5)),
        ("view", lambda w: w.true_error(1, "top")),
        ("n", lambda w: w.sample(0, 1)),
        ("n_data_sets", lambda w: w.draw(5, 0, 1)),
    ],
)
def test_bad_arguments_are_refused(argument, call):
    with pytest.raises(InputError, match=f"^{argument} must be"):
        call(BetaWorld(1.0, 1.0))


def test_other_curves_over_the_same_scores():
    world = NAMED_WORLDS["resnet110_c10"].with_curve(ScaledCurve(0.9), "scaled")
    assert (world.alpha, world.name, world.fit) == (2.7752, "scaled", None)
    bent = bent_world(0.02, world)
    assert bent.scores == world.scores
