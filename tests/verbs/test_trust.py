"""Which estimator to believe: the fitted world, the figures and the words."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.simulate import EmpiricalWorld, bias, calibrated_world, named_world, power_world
from calibrant.simulate.measuring import named_all
from calibrant.simulate.possible import PossibleWorlds
from calibrant.verbs.trust import CANDIDATES, DOUBTFUL, bias_ranges, end_worlds, fitted_to

FEW = {"ECE, equal width": cal.ece, "sweep": cal.sweep_error, "posterior": cal.posterior_error}


@pytest.mark.slow
def test_rows_are_the_biases_on_the_worlds_smallest_error_first():
    data = named_world("resnet110_c100").sample(300, seed=1)
    found = cal.trust(data, estimators=FEW, n_data_sets=10)
    assert [r.rmse for r in found.rows] == sorted(r.rmse for r in found.rows)
    truths = [each.true_error() for each in found.world.worlds]
    assert found.truth == pytest.approx(np.mean(truths), abs=1e-12)
    assert found.values["ECE, equal width"] == cal.ece(data).value
    assert found.check.p_value > DOUBTFUL
    assert found.best.estimator in found.sentence()
    assert "with other curves that the data leave possible" in found.sentence()
    assert cal.results.Trust.from_json(found.to_json()) == found


def test_a_world_that_is_given_is_used_alone():
    world = power_world(0.1)
    found = cal.trust(world.sample(300, seed=1), estimators={"ECE": cal.ece}, n_data_sets=10, world=world)
    again = bias(cal.ece, world, 300, 10)
    assert (found.best.mean, found.truth) == (again.mean, again.truth)
    assert found.ranges["ECE"][0] == found.ranges["ECE"][1] == pytest.approx(again.bias)
    assert "other curves" not in found.sentence()


def test_a_world_that_does_not_describe_the_data_is_doubted():
    data = power_world(0.15).sample(2000, seed=1)
    found = cal.trust(data, estimators={"ECE": cal.ece}, n_data_sets=4, world=calibrated_world((1, 1)))
    assert found.doubtful
    assert found.sentence().startswith(
        "No curve that was tried describes these data, so how far estimators are off is not"
    )
    assert "the real biases may be quite different" in found.cautions[0]


@pytest.mark.slow
def test_waves_too_fast_to_follow_are_doubted(rng):
    """Forty periods per unit: a hundred cells cannot follow them closely enough for so many rows."""
    p = 0.25 + 0.5 * rng.random(80_000)
    labels = rng.random(80_000) < p + 0.25 * np.sin(2 * np.pi * 40 * p)
    _, check = fitted_to(cal.Predictions(labels, p))
    assert check.p_value <= DOUBTFUL


def test_the_curves_that_describe_the_data_are_taken():
    """A confident network: its rate still rises next to 1, where the first curves are flat."""
    data = named_world("resnet110_c100").sample(1000, seed=500)
    found, check = fitted_to(data)
    first = PossibleWorlds.of(data)
    assert check.p_value > DOUBTFUL >= cal.simulate.world_test(first.mean, data, n_draws=999).p_value
    assert found != first


@pytest.mark.slow
def test_it_says_how_much_too_high_ece_is_on_calibrated_data():
    data = calibrated_world((1, 1)).sample(500, seed=0)
    found = cal.trust(data, estimators=FEW, n_data_sets=100, world=calibrated_world((1, 1)))
    ece = next(r for r in found.rows if r.estimator == "ECE, equal width")
    assert found.truth == 0
    assert ece.bias > 5 * ece.mean_error > 0
    assert ece.bias == pytest.approx(cal.ece(data).noise_floor, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2])
def test_all_candidates_run(norm):
    data = power_world(0.08).sample(150, seed=3)
    found = cal.trust(data, norm=norm, n_data_sets=3)
    assert {r.estimator for r in found.rows} == set(CANDIDATES[norm])
    assert all(np.isfinite(r.rmse) for r in found.rows)
    assert len(found.tables()[0].rows) == 8
    assert "RMSE" in repr(found)
    assert "<table" in found._repr_html_()


def test_ranges_reach_the_errors_at_the_ends_of_the_interval():
    """On so few rows nothing is excluded: neither that the model is calibrated, nor a large error."""
    data = power_world(0.1).sample(100, seed=2)
    fitted, _ = fitted_to(data, n_curves=5)
    interval = cal.infer.calibration_error_interval(data)
    low, high = end_worlds(fitted, data, 1)
    assert low.true_error() == pytest.approx(interval.low, abs=1e-6)
    assert high.true_error() == pytest.approx(interval.high, abs=1e-4)
    chosen = named_all({"ECE": cal.ece})[0]
    for far in (-0.5, 0.5):
        assert bias_ranges(chosen, (), np.array([[far, far]]), 100, 3, 0).ravel().tolist() == [far, far]
        least, most = bias_ranges(chosen, (low, high), np.array([[far, far]]), 100, 10, 0).ravel()
        assert -0.5 <= least < most <= 0.5


def test_tied_scores_are_drawn_again_as_they_are(rng):
    p = np.round(rng.random(400), 1)
    found = cal.trust((rng.random(400) < p).astype(int), p, estimators=[cal.ece], n_data_sets=5)
    assert isinstance(found.world.worlds[0], EmpiricalWorld)
    assert set(found.world.values) <= set(p)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [[1] * 20, [0, 1] * 10])
@pytest.mark.parametrize("probs", [[0.9] * 20, list(np.linspace(0.05, 0.95, 20))])
def test_degenerate_data_give_an_answer(labels, probs):
    found = cal.trust(labels, probs, estimators=FEW, n_data_sets=3)
    assert all(np.isfinite(r.rmse) for r in found.rows)


@pytest.mark.slow
def test_several_classes_are_asked_by_view():
    _, test = cal.example()
    top, one = (cal.trust(test, estimators=[cal.ece], n_data_sets=3, view=view) for view in ("top", "class 3"))
    assert top.values["ece"] != one.values["ece"]


def test_what_is_refused():
    with pytest.raises(cal.InputError, match="estimators"):
        cal.trust([0, 1], [0.2, 0.7], estimators=[])
    with pytest.raises(cal.InputError, match="norm"):
        cal.trust([0, 1], [0.2, 0.7], norm=3)
