"""Which estimator to believe: the fitted world, the figures and the words."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.simulate import EmpiricalWorld, bias, calibrated_world, named_world, power_world
from calibrant.verbs.trust import CANDIDATES

FEW = {"ECE, equal width": cal.ece, "sweep": cal.sweep_error, "posterior": cal.posterior_error}


@pytest.mark.slow
def test_rows_are_the_biases_on_the_world_smallest_error_first():
    data = named_world("resnet110_c100").sample(300, seed=1)
    found = cal.trust(data, estimators=FEW, n_data_sets=10)
    assert [r.rmse for r in found.rows] == sorted(r.rmse for r in found.rows)
    for row in found.rows:
        again = bias(FEW[row.estimator], found.world, 300, 10)
        assert row.mean == pytest.approx(again.mean, abs=1e-12)
        assert row.truth == found.world.true_error()
    assert found.values["ECE, equal width"] == cal.ece(data).value
    assert found.check.agrees
    assert found.best.estimator in found.sentence()
    assert cal.results.Trust.from_json(found.to_json()) == found


@pytest.mark.slow
def test_it_says_how_much_too_high_ece_is_on_calibrated_data():
    data = calibrated_world((1, 1)).sample(500, seed=0)
    found = cal.trust(data, estimators=FEW, n_data_sets=100, world=calibrated_world((1, 1)))
    ece = next(r for r in found.rows if r.estimator == "ECE, equal width")
    assert found.truth == 0
    assert ece.bias > 5 * ece.mean_error > 0
    assert ece.bias == pytest.approx(cal.ece(data).noise_floor, rel=0.15)


@pytest.mark.parametrize("norm", [1, 2])
def test_all_candidates_run(norm):
    data = power_world(0.08).sample(150, seed=3)
    found = cal.trust(data, norm=norm, n_data_sets=3)
    assert {r.estimator for r in found.rows} == set(CANDIDATES[norm])
    assert all(np.isfinite(r.rmse) for r in found.rows)
    assert len(found.tables()[0].rows) == 8
    assert "RMSE" in repr(found)
    assert "<table" in found._repr_html_()


def test_tied_scores_are_drawn_again_as_they_are(rng):
    p = np.round(rng.random(400), 1)
    found = cal.trust((rng.random(400) < p).astype(int), p, estimators=[cal.ece], n_data_sets=5)
    assert isinstance(found.world, EmpiricalWorld)


@pytest.mark.some(3)
@pytest.mark.parametrize("labels", [[1] * 20, [0, 1] * 10])
@pytest.mark.parametrize("probs", [[0.9] * 20, list(np.linspace(0.05, 0.95, 20))])
def test_degenerate_data_give_an_answer(labels, probs):
    found = cal.trust(labels, probs, estimators=FEW, n_data_sets=3)
    assert all(np.isfinite(r.rmse) for r in found.rows)


def test_several_classes_are_asked_by_view():
    _, test = cal.example()
    top, one = (cal.trust(test, estimators=[cal.ece], n_data_sets=3, view=view) for view in ("top", "class 3"))
    assert top.values["ece"] != one.values["ece"]


def test_what_is_refused():
    with pytest.raises(cal.InputError, match="estimators"):
        cal.trust([0, 1], [0.2, 0.7], estimators=[])
    with pytest.raises(cal.InputError, match="norm"):
        cal.trust([0, 1], [0.2, 0.7], norm=3)
