"""Worlds with a chosen error have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.simulate import EmpiricalWorld, bent_world, calibrated_world, named_world, power_world
from tolerances import ROUNDING


@pytest.mark.slow
@given(
    error=st.floats(0.001, 0.15),
    family=st.sampled_from(["power", "scaled", "tempered"]),
    norm=st.sampled_from([1, 2, "max"]),
    scores=st.sampled_from([(1.0, 1.0), (0.5, 0.5), (0.9, 0.2)]),
)
def test_the_error_is_as_wanted(error, family, norm, scores):
    assert bent_world(error, scores, family=family, norm=norm).true_error(norm) == pytest.approx(error, abs=1e-9)


def test_the_exponent_of_a_sixth_is_two():
    assert power_world(1 / 6).calibration.exponent == pytest.approx(2, abs=1e-9)
    assert power_world(0.0).true_error() == 0


@pytest.mark.parametrize("family", ["power", "scaled"])
def test_the_world_is_over_confident(family):
    p = np.linspace(0.01, 0.99, 50)
    assert (bent_world(0.05, family=family).curve(p) < p).all()


def test_scores_come_from_a_pair_an_array_or_a_world():
    assert calibrated_world((2.0, 3.0)).scores.alpha == 2
    assert isinstance(calibrated_world([0.1, 0.2, 0.7]), EmpiricalWorld)
    taken = calibrated_world(named_world("densenet40_c10"))
    assert taken.scores == named_world("densenet40_c10").scores
    assert taken.name == ""
    for world in (calibrated_world([0.1, 0.9, 0.9]), taken):
        for norm in (1, 2, "max"):
            assert world.true_error(norm) == pytest.approx(0, abs=ROUNDING)


def test_an_error_below_rounding_is_none():
    assert power_world(1e-300).true_error() == 0


def test_an_error_out_of_reach_is_refused():
    with pytest.raises(InputError, match=r"error must lie in \[0, 0.5\)"):
        power_world(0.6)
    with pytest.raises(InputError, match="error must lie in"):
        power_world(-0.1)
    with pytest.raises(InputError, match="family must be one of"):
        bent_world(0.1, family="square")
