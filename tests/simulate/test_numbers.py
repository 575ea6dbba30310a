"""Worlds of a real number: closed forms and direct simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm as normal

from calibrant import InputError
from calibrant.simulate import FriedmanWorld, GaussianWorld, World
from tolerances import ROUNDING, STANDARD_ERRORS

WORLDS = [
    GaussianWorld(0.5),
    GaussianWorld(1.3, 0.5, 1.0),
    GaussianWorld(1.2, 0.0),
    FriedmanWorld(2.0),
    FriedmanWorld(1.0, 2.0),
    FriedmanWorld(1.0, 0.0),
]


@pytest.mark.slow
@given(factor=st.floats(0.05, 20), spread=st.floats(0.05, 2))
def test_a_factor_has_errors_in_closed_form(factor, spread):
    """P(Y < quantile u) = Φ(√f Φ⁻¹(u)), and ∫ |Φ(rz) − Φ(z)| φ(z) dz = |arctan r − π/4| / π."""
    world = GaussianWorld(factor, spread=spread)
    assert world.true_error() == pytest.approx(abs(np.arctan(np.sqrt(factor)) - np.pi / 4) / np.pi, abs=1e-10)
    mean, square = np.exp(spread**2 / 2), np.exp(2 * spread**2)
    assert world.true_error(1, "variance") == pytest.approx(abs(factor - 1) * mean, rel=1e-9)
    assert world.true_error(2, "variance") == pytest.approx(abs(factor - 1) * np.sqrt(square), rel=1e-9)


def test_the_features_of_friedman_decide_the_variance():
    assert FriedmanWorld(0.5).true_error(1, "variance") == pytest.approx(0.5, abs=1e-10)
    assert FriedmanWorld(1.0, 2.0).true_error(1, "variance") == pytest.approx(1 / 12 + 1 / 6, abs=1e-10)  # ∫ |v² − v|
    assert FriedmanWorld(1.0, 2.0).true_error("max", "variance") == pytest.approx(0.75, abs=1e-10)


def test_one_variance_for_all_is_calibrated_on_average():
    world = FriedmanWorld(1.0, 0.0)
    assert world.true_error(1, "variance") == pytest.approx(0, abs=ROUNDING)
    assert world.true_error(1, "quantile") > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.describe())
def test_quantiles_of_a_simulation_agree(world):
    forecasts = world.sample(400_000, 8)
    u = normal.cdf((forecasts.labels - forecasts.mean) / np.sqrt(forecasts.variance))
    levels = np.linspace(0.0005, 0.9995, 1000)
    below = np.searchsorted(np.sort(u), levels, side="right") / len(u)
    found = np.abs(below - levels)
    assert abs(found.mean() - world.true_error()) < STANDARD_ERRORS * 0.5 / np.sqrt(len(u))
    assert abs(np.sqrt((found**2).mean()) - world.true_error(2)) < STANDARD_ERRORS * 0.5 / np.sqrt(len(u))
    assert abs(found.max() - world.true_error("max")) < STANDARD_ERRORS * 0.5 / np.sqrt(len(u))


@pytest.mark.parametrize("world", WORLDS[:2] + WORLDS[3:5], ids=lambda w: w.describe())
def test_variances_of_a_simulation_agree(world):
    _, _, variance = world.data(400_000, 8)
    distance = np.abs(world.predicted(variance) - variance)
    assert abs(distance.mean() - world.true_error(1, "variance")) < STANDARD_ERRORS * distance.std() / 632
    assert (
        abs((distance**2).mean() - world.true_error(2, "variance") ** 2) < STANDARD_ERRORS * (distance**2).std() / 632
    )


def test_labels_have_the_true_mean_and_variance():
    world = FriedmanWorld(3.0)
    x, mean, variance = world.data(50_000, np.random.default_rng(2))
    np.testing.assert_allclose(
        mean, 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    )
    np.testing.assert_allclose(variance, 0.5 + x[:, 5])
    forecasts = world.sample(50_000, 2)
    np.testing.assert_array_equal(forecasts.mean, mean)
    np.testing.assert_allclose(forecasts.variance, 3 * variance)
    z = (forecasts.labels - mean) / np.sqrt(variance)
    assert abs(z.mean()) < STANDARD_ERRORS / np.sqrt(50_000)
    assert abs((z**2).mean() - 1) < STANDARD_ERRORS * np.sqrt(2 / 50_000)


@pytest.mark.parametrize("world", [GaussianWorld(), FriedmanWorld()])
@pytest.mark.parametrize("view", ["auto", "variance"])
@pytest.mark.parametrize("norm", [1, 2, "max"])
def test_calibrated_worlds_have_no_error(world, view, norm):
    assert world.true_error(norm, view) == pytest.approx(0, abs=ROUNDING)


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.describe())
def test_worlds_survive_json_and_seeds(world):
    again = World.from_json(world.to_json())
    assert again == world
    np.testing.assert_array_equal(again.sample(10, 3).labels, world.sample(10, 3).labels)


def test_words_and_refusals():
    assert repr(FriedmanWorld()).endswith("perfectly calibrated")
    assert GaussianWorld(2.0, 0.5).describe().endswith("predicted variance 2.0000·variance^0.5000")
    with pytest.raises(InputError, match="factor must be positive"):
        GaussianWorld(0.0)
    with pytest.raises(InputError, match="exponent must be 0 or positive"):
        FriedmanWorld(1.0, -1.0)
    with pytest.raises(InputError, match="view must be one of 'auto', 'quantile', 'variance'"):
        FriedmanWorld().true_error(1, "top")
