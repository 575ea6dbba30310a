"""Bias over sizes and bins, maps against the true curve, and ranks."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant.simulate import (
    BiasGrid,
    MapQuality,
    ShapeWorld,
    UniformWorld,
    bias,
    bias_grid,
    calibrated_world,
    map_quality,
    map_quality_table,
    power_world,
    rank_correlation,
)
from calibrant.simulate.bias import true_value
from calibrant.simulate.measuring import named


def test_a_cell_of_the_grid_is_a_bias():
    world = power_world(0.1, norm=2)
    found = bias_grid(world, [50, 200], [4, 9], 40, bins=cal.EqualWidth, debiased=True)
    one = bias(partial(cal.binned_error, bins=cal.EqualWidth(9), norm=2, debiased=True), world, 200, 40)
    assert found.bias[1, 1] == pytest.approx(one.bias, abs=1e-12)
    assert found.error[1, 1] == pytest.approx(one.mean_error, abs=1e-12)
    assert found.truth == pytest.approx(0.1, abs=1e-8)
    assert BiasGrid.from_json(found.to_json()) == found
    assert [n for n, _ in found.best()] == [50, 200]
    assert "equal width" in repr(found)


def test_more_bins_are_biased_up_on_a_calibrated_world():
    found = bias_grid(calibrated_world((1, 1)), [200], [2, 20, 100], 100, norm=1)
    assert (np.diff(found.bias[0]) > 5 * found.error[0, 1:]).all()


def test_the_identity_is_as_far_from_the_truth_as_the_predictions():
    world = ShapeWorld("square", 0.06)
    (found,) = map_quality({"none": "identity"}, world, 500, 30)
    assert found.map_error == pytest.approx(0.06, abs=5 * found.map_error_error)
    assert found.error_off == pytest.approx(0.06, abs=5 * found.error_off_error)
    assert MapQuality.from_json(found.to_json()) == found
    assert "none" in map_quality_table([found]).to_text()


def test_more_rows_bring_a_map_closer():
    few, many = (map_quality([cal.Platt()], ShapeWorld("square", 0.06), n, 30)[0] for n in (200, 5000))
    assert many.map_error + 3 * many.map_error_error < few.map_error


def test_ranks_of_the_truth_itself_are_perfect():
    worlds = [ShapeWorld("sqrt", level) for level in (0.0, 0.03, 0.06, 0.09)]
    true = {id(w): w.true_error() for w in worlds}
    assert len(true) == 4
    found = rank_correlation({"ece": cal.ece, "minus": lambda p: -cal.ece(p).value}, worlds, 5000, 4)
    assert found["ece"] == (1.0, 0.0)
    assert found["minus"] == (-1.0, 0.0)


def test_maps_fitted_elsewhere_are_measured_like_ours():
    """A fitted map, a function, a function that fits, and objects with either order of arguments."""
    world = ShapeWorld("sqrt", 0.06)

    class LabelsFirst:
        def fit(self, labels, probs):
            self.map = cal.Isotonic(bounded=False).fit(labels, probs)

        def predict(self, probs):
            return self.map.apply(probs)

    class PredictionsFirst(LabelsFirst):
        def fit(self, x, target):
            super().fit(target, x)
            return self

    ours = cal.Isotonic(bounded=False)
    given = {
        "recipe": ours,
        "labels first": LabelsFirst(),
        "predictions first": PredictionsFirst(),
        "fits": lambda labels, probs: ours.fit(labels, probs).apply,
        "truth": world.curve,
        "fixed": ours.fit([0, 1], [0.0, 1.0]),
    }
    found = {each.map: each for each in map_quality(given, world, 300, 5)}
    same = [found[name].map_error for name in ("recipe", "labels first", "predictions first", "fits")]
    assert same == pytest.approx([same[0]] * 4, abs=1e-12)
    assert found["truth"].map_error == pytest.approx(0, abs=1e-12)
    assert found["fixed"].map_error == pytest.approx(0.06, abs=5 * found["fixed"].map_error_error)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "must be maps"),
        (cal.Platt, "must be maps"),
        (lambda p: p[:1], "must give a finite number for each prediction"),
        (lambda p: p * np.nan, "must give a finite number for each prediction; 'bad' gives nan"),
    ],
)
def test_what_is_no_map_is_refused(given, message):
    with pytest.raises(cal.InputError, match=message):
        map_quality({"bad": given}, ShapeWorld("sqrt", 0.06), 300, 5)


@pytest.mark.slow
def test_calibrators_of_one_model_are_ranked_by_what_they_leave():
    world = UniformWorld(calibration=np.square)
    share = {f"{a}": lambda p, a=a: (1 - a) * p**2 + a * p for a in (0.0, 0.4, 0.7, 1.0)}
    both = {"ece": cal.ece, "minus": lambda made: -cal.ece(made).value}
    found = rank_correlation(both, world, 5000, 3, maps=share)
    assert found["ece"] == (1.0, 0.0)
    assert found["minus"] == (-1.0, 0.0)
    with pytest.raises(cal.InputError, match="maps must be at least three"):
        rank_correlation(both, world, 100, maps=[np.sqrt])
    with pytest.raises(cal.InputError, match="worlds must be one world"):
        rank_correlation(both, [world], 100, maps=share)
    with pytest.raises(cal.InputError, match="worlds must be at least three"):
        rank_correlation(both, world, 100)


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(cal.InputError, match="worlds"):
        rank_correlation([cal.ece], [power_world(0.1)] * 2, 100)
    with pytest.raises(cal.InputError, match="maps"):
        map_quality([], power_world(0.1), 100)


def test_other_estimators_and_spreads_stand_beside_the_bins():
    world = power_world(0.1, norm=2)
    found = bias_grid(
        world, [50, 200], [4], 30, beside={"sweep": cal.sweep_error, "labels": partial(cal.label_binned_error, norm=1)}
    )
    assert found.columns == ("4", "sweep", "labels")
    assert found.bias.shape == found.sd.shape == found.sd_error.shape == (2, 3)
    tried = {"sweep": partial(cal.sweep_error, norm=2), "labels": partial(cal.label_binned_error, norm=1)}
    for column, (_, estimator) in enumerate(
        tried.items(), 1
    ):  # sweep takes the norm of the grid, the other keeps its own
        one = bias(estimator, world, 200, 30)
        assert found.bias[1, column] == pytest.approx(one.bias, abs=1e-12)
        assert found.sd[1, column] == pytest.approx(one.sd, abs=1e-12)
        assert found.sd_error[1, column] == pytest.approx(one.sd_error, abs=1e-12)
    np.testing.assert_allclose(found.variance, found.sd**2)
    assert [n for n, _ in found.best()] == [50, 200]
    assert {bins for _, bins in found.best()} == {4}
    frame = found.rows_of_frame()
    assert [row["n_bins"] for row in frame[:3]] == [4, None, None]
    assert BiasGrid.from_json(found.to_json()) == found
    assert "Standard deviation" in repr(found)
    with pytest.raises(cal.InputError, match="beside must have names of their own; '4' is another column"):
        bias_grid(world, [50], [4], 4, beside={"4": cal.ece})


def test_kde_by_the_published_code_is_compared_with_the_rooted_error():
    world = power_world(0.1, norm=2)
    zhang = named(partial(cal.density_error, compat="zhang", norm=2))
    assert true_value(zhang, world) == pytest.approx(0.1, abs=1e-8)
    assert zhang(world.sample(2000, 0)).value < 0.02  # near 0.01 where the error is 0.1: the paper's pattern
