"""A world fitted to data of a known world is that world; poor data give cautions and no crash."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.maps import recipe_of
from calibrant.simulate import (
    BetaWorld,
    EmpiricalWorld,
    LinearCurve,
    LogisticNormalWorld,
    MapCurve,
    ScaledCurve,
    World,
    fit_world,
    named_world,
)
from calibrant.simulate.fitting import storage_limits
from tolerances import OPTIMISER, ROUNDING, STANDARD_ERRORS

TIMES = 12


def exact_rows(world, n, seed):
    """Labels, scores and log-odds that nothing has rounded."""
    rng = np.random.default_rng(seed)
    p, q = world.scores.draw(n, rng)
    return (rng.random(n) < world.calibration.rates(p, q)).astype(int), p, np.log(p) - np.log(q)


def agree(found, truth):
    """Is the mean of repeated estimates within its Monte-Carlo error of the truth?"""
    found = np.asarray(found)
    return abs(found.mean() - truth) < STANDARD_ERRORS * found.std(ddof=1) / np.sqrt(len(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet110_c10", "densenet40_c100", "densenet161_imgnet"])
def test_the_world_is_found_again(name):
    world = named_world(name)
    found = []
    for seed in range(TIMES):
        labels, _, logits = exact_rows(world, 4000, seed)
        found.append(fit_world(Predictions.from_logits(labels, logits)))
    for fact in ("alpha", "beta"):
        assert agree([getattr(each, fact) for each in found], getattr(world, fact))
    assert agree([each.true_error() for each in found], world.true_error())
    assert agree([each.true_error(2) for each in found], world.true_error(2))
    assert found[0].fit.n == 4000
    assert found[0].fit.cautions == ()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_does_not_move_the_fit(dtype):
    world = named_world("resnet110_c10")
    found = []
    for seed in range(TIMES):
        labels, p, _ = exact_rows(world, 4000, seed)
        found.append(fit_world(labels, p.astype(dtype)))
    assert agree([each.beta for each in found], world.beta)
    assert agree([each.alpha for each in found], world.alpha)
    assert agree([each.true_error() for each in found], world.true_error())
    saturated = [any("stored as exactly 0 or 1" in c for c in each.fit.cautions) for each in found]
    assert all(saturated) if dtype == np.float32 else not any(saturated)


def test_the_view_of_several_classes(rng):
    data = LogisticNormalWorld(5, temperature=0.5, scale=10.0).sample(2000, rng)
    top, first = fit_world(data), fit_world(data, view="class 0")
    assert (top.fit.view, first.fit.view) == ("top", "class 0")
    assert top.sample(10, 0).is_binary
    event = data.event("top")
    same = fit_world(event.outcomes, event.probs)
    assert same.calibration == top.calibration


def test_logits_and_their_probabilities_agree_where_nothing_rounds(rng):
    logits = rng.normal(size=(800, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    predicted = Predictions.from_logits(labels, 1.5 * logits)
    plain = Predictions(labels, predicted.probs)
    for view in ("top", "class 2"):
        one, two = fit_world(predicted, view=view), fit_world(plain, view=view)
        assert (one.alpha, one.beta) == pytest.approx((two.alpha, two.beta), rel=1e-6)
        assert one.calibration.slope == pytest.approx(two.calibration.slope, rel=1e-6)


def test_empirical_scores_are_those_of_the_data(rng):
    p = rng.choice([0.1, 0.5, 0.9], 500)
    labels = rng.random(500) < p
    world = fit_world(labels, p, scores="empirical")
    assert isinstance(world, EmpiricalWorld)
    assert world.values.tolist() == [0.1, 0.5, 0.9]
    assert world.weights.tolist() == [(p == v).sum() for v in (0.1, 0.5, 0.9)]


@pytest.mark.some(3)
@pytest.mark.parametrize("curve", ["isotonic", "piecewise", "spline", "gaussian_process", "platt", cal.Beta()])
def test_a_map_can_be_the_curve(curve, rng):
    world = BetaWorld(2.0, 1.0, ScaledCurve(0.8))
    data = world.sample(4000, rng)
    found = fit_world(data, curve=curve)
    recipe = {"piecewise": cal.maps.PiecewiseLinear(identity=False)}.get(curve) if isinstance(curve, str) else curve
    expected = (recipe or recipe_of(curve)).fit(data)
    assert found.calibration == MapCurve(expected)
    p, _, rates = found.draw(1000, 200, 3)
    np.testing.assert_allclose(rates[0], expected.apply(p[0]), atol=ROUNDING)
    distance = np.abs(p - rates).ravel()
    assert abs(distance.mean() - found.true_error()) < STANDARD_ERRORS * distance.std() / np.sqrt(distance.size)
    assert World.from_json(found.to_json()) == found


def test_weights_count_as_repetition(rng):
    data = BetaWorld(2.0, 1.0, ScaledCurve(0.8)).sample(300, rng)
    twice = fit_world(np.repeat(data.labels, 2), np.repeat(data.probs, 2))
    weighted = fit_world(data.labels, data.probs, counts=np.full(300, 2.0))
    assert weighted.alpha == pytest.approx(twice.alpha, rel=1e-6)
    assert weighted.calibration.slope == pytest.approx(twice.calibration.slope, rel=1e-6)


def test_soft_labels_are_shares(rng):
    p = rng.random(500)
    world = fit_world(Predictions(0.8 * p, p, soft=True))
    assert (world.calibration.link, world.calibration.transform) == ("log", "log")
    assert world.curve(0.5) == pytest.approx(0.4, abs=OPTIMISER)
    assert isinstance(fit_world(Predictions(0.8 * p, p, soft=True), curve="isotonic").calibration, MapCurve)


@pytest.mark.parametrize("curve", ["glm", "isotonic"])
@pytest.mark.parametrize("scores", ["beta", "empirical"])
@pytest.mark.parametrize(
    ("labels", "probs", "caution"),
    [
        ([1, 1, 1], [0.7, 0.8, 0.9], "always occurred"),
        ([0, 0, 0], [0.7, 0.8, 0.9], "never occurred"),
        ([1, 0, 1], [0.7, 0.7, 0.7], "all scores are equal"),
        ([1], [0.7], "always occurred"),
        ([1, 1, 0], [1.0, 1.0, 1.0], "all scores are equal"),
    ],
)
def test_poor_data_give_a_caution_and_a_world(labels, probs, caution, scores, curve):
    world = fit_world(labels, probs, scores=scores, curve=curve)
    assert any(caution in c for c in world.fit.cautions)
    assert 0 <= world.true_error() <= 1
    assert 0 < world.rate < 1
    assert world.sample(20, 0).n == 20
    assert World.from_json(world.to_json()) == world


def test_scores_of_only_0_and_1_are_drawn_as_they_are():
    world = fit_world([0, 1, 1, 0, 1], [0.0, 1.0, 1.0, 1.0, 0.0])
    assert isinstance(world, EmpiricalWorld)
    assert any("exactly 0 or 1" in c for c in world.fit.cautions)
    assert 0 < world.true_error() < 1


@pytest.mark.slow
def test_scores_that_hardly_differ_are_told(rng):
    p = 0.5 + 1e-5 * rng.normal(size=200)
    world = fit_world(rng.random(200) < 0.5, p)
    assert any("so close together" in c for c in world.fit.cautions)
    assert world.true_error() < 0.5


def test_scores_that_are_not_beta_are_told(rng):
    p = rng.choice([0.2, 0.21, 0.9, 0.91], 1000)
    world = fit_world(rng.random(1000) < p, p)
    assert any("scores='empirical'" in c for c in world.fit.cautions)


def test_a_curve_that_falls_is_told(rng):
    p = rng.random(1000)
    assert any("falls" in c for c in fit_world(rng.random(1000) < 1 - p, p).fit.cautions)


def test_separable_rows_still_give_a_world():
    p = np.linspace(0.01, 0.99, 60)
    world = fit_world(p > 0.5, p)
    assert 0 <= world.true_error() <= 1


@pytest.mark.parametrize(
    ("probs", "limits"),
    [
        (np.array([0.123456789, 1.0], np.float32), (2.0**-150, 2.0**-25)),
        (np.array([0.1234567890123456, 1.0]), (5e-324, 2.0**-54)),
        (np.array([0.123456789, 1.0], np.float32).astype(np.float64), (2.0**-150, 2.0**-25)),
        (np.array([0.25, 0.5, 0.9]), (0.005, 0.005)),
        (np.array([0.137, 1.0], np.float32), (0.0005, 0.0005)),
    ],
)
def test_the_resolution_is_read_off_the_numbers(probs, limits):
    assert storage_limits(probs) == pytest.approx(limits, rel=ROUNDING)


def test_a_given_resolution_is_used(rng):
    data = named_world("resnet110_c10").sample(3000, rng)
    rounded = np.round(data.probs, 3)
    assert fit_world(data.labels, rounded, resolution=0.001).fit.limits == (0.0005, 0.0005)
    assert fit_world(data.labels, rounded) == fit_world(data.labels, rounded, resolution=0.001)
    with pytest.raises(InputError, match=r"resolution must be below 0.5"):
        fit_world(data, resolution=0.6)


def test_bad_choices_are_refused():
    with pytest.raises(InputError, match="scores must be one of 'beta', 'empirical'"):
        fit_world([0, 1], [0.2, 0.7], scores="normal")
    with pytest.raises(InputError, match="method must be one of"):
        fit_world([0, 1], [0.2, 0.7], curve="circle")


def test_a_fitted_world_survives_json(rng):
    found = fit_world(named_world("resnet110_c100").sample(500, rng))
    again = World.from_json(found.to_json())
    assert again == found
    assert again.fit.table.columns == found.fit.table.columns
    assert isinstance(again.calibration, LinearCurve)
