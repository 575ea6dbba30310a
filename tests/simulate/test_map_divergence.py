"""CMEE, CEAC and what a map merges: Theorem 3 of Kängsepp et al., against closed forms."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.simulate import MapDivergence, PowerCurve, ShapeWorld, UniformWorld, map_divergence

WORLD = UniformWorld(calibration=PowerCurve(2.0))
"""P(Y | p) = p², p uniform."""


@pytest.mark.parametrize("score", ["brier", "log", "spherical"])
@pytest.mark.parametrize("steps", [2, 10])
def test_the_identity_of_theorem_3_holds_for_every_score(score, steps):
    found = map_divergence(lambda p: (np.floor(p * steps) + 0.5) / steps, WORLD, score, n=5000)
    assert found.difference == pytest.approx(0, abs=1e-12)
    assert min(found.ceac, found.merging) > 0


def test_two_steps_have_the_moments_of_the_halves():
    """On (0, ½) and (½, 1) the mean of p² is 1/12 and 7/12, its variance 1/180 and 17/360·…; both classes count."""
    found = map_divergence(lambda p: np.where(p < 0.5, 0.25, 0.75), WORLD, n=100_000)
    half = np.array([1 / 12, 7 / 12])
    ceac = 2 * np.mean((np.array([0.25, 0.75]) - half) ** 2)
    fourth = np.array([1 / 80, 31 / 80])  # E p⁴ on the halves
    assert found.ceac == pytest.approx(ceac, abs=5e-4)
    assert found.merging == pytest.approx(2 * np.mean(fourth - half**2), abs=5 * found.merging_error)
    assert MapDivergence.from_json(found.to_json()) == found
    assert "by merging" in repr(found)


def test_a_map_that_merges_nothing_is_as_far_from_the_truth_as_its_output():
    found = map_divergence(np.sqrt, WORLD, n=2000)
    assert found.merging == 0
    assert found.ceac == pytest.approx(found.cmee)
    right = map_divergence(WORLD.curve, WORLD, "log", n=2000)
    assert right.cmee == pytest.approx(0, abs=1e-12)


def test_a_map_that_falls_and_rises_merges_what_lies_far_apart():
    """|2p − 1| gives p and 1 − p the same value, where the mean rate is (p² + (1 − p)²)/2."""
    found = map_divergence(lambda p: np.abs(2 * p - 1), WORLD)
    u = (np.arange(100_000) + 0.5) / 100_000
    after = (u**2 + (1 - u) ** 2) / 2
    assert found.ceac == pytest.approx(2 * np.mean((np.abs(2 * u - 1) - after) ** 2), abs=1e-3)
    assert found.merging == pytest.approx(2 * np.mean((after - u**2) ** 2), abs=1e-3)
    assert abs(found.difference) < 1e-3


def test_fitted_maps_are_taken_as_they_are(rng):
    labels, probs = rng.integers(0, 2, 50), rng.random(50)
    fitted = cal.Platt().fit(labels, probs)
    assert map_divergence(fitted, ShapeWorld("square", 0.05), n=1000).map == "platt"


def test_what_is_no_probability_is_refused():
    with pytest.raises(cal.InputError, match="map must give probabilities"):
        map_divergence(lambda p: p - 0.5, WORLD, n=1000)
    with pytest.raises(cal.InputError, match="score must be one of"):
        map_divergence(np.sqrt, WORLD, "absolute", n=1000)
    with pytest.raises(cal.InputError, match="must be maps"):
        map_divergence("platt", WORLD, n=1000)
