"""Calibration error by fitting: any map as an evaluator."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualMass, EqualWidth, Predictions, fitted_error
from calibrant.maps import GaussianProcessMap, PiecewiseLinear, UnitSlopeBins
from calibrant.maps.folds import in_folds
from calibrant.results import Curve
from registered import METHODS


def bent(rng, n=400, power=1.6, dtype=float):
    p = rng.beta(1.2, 0.7, n).astype(dtype)
    return (rng.random(n) < p**power).astype(int), p


@pytest.mark.some(5)
@pytest.mark.parametrize("method", METHODS)
def test_it_is_the_mean_distance_that_the_map_moves_the_rows(rng, method):
    labels, p = bent(rng, 150)
    w = rng.integers(1, 4, 150)
    fitted = METHODS[method]().fit(labels, p, counts=w)
    for norm in (1, 2):
        found = fitted_error(labels, p, method=method, norm=norm, root=False, counts=w)
        expected = np.average(np.abs(fitted.apply(p) - p) ** norm, weights=w)
        if method in ("unit_slope_bins", "spline"):  # measured before they are kept within [0, 1]
            expected = np.average(np.abs(fitted.shift(p)) ** norm, weights=w)
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert found.parts["map"] == fitted
    assert found.cautions[-1].startswith(fitted.method)


@pytest.mark.parametrize("bins", [EqualMass(15), EqualMass(4), EqualWidth(15)], ids=repr)
@pytest.mark.parametrize("norm", [1, 2])
def test_unit_slope_bins_give_the_binned_error(rng, bins, norm):
    labels, p = bent(rng)
    w = rng.integers(0, 4, 400)
    by_fitting = fitted_error(labels, p, method=UnitSlopeBins(bins), norm=norm, root=False, counts=w).value
    assert by_fitting == pytest.approx(
        cal.binned_error(labels, p, bins=bins, norm=norm, root=False, counts=w).value, abs=1e-12
    )


def test_the_unit_slope_map_passes_through_every_bins_mean(rng):
    labels, p = bent(rng)
    fitted = UnitSlopeBins(EqualMass(10)).fit(labels, p)
    bins = cal.binned_error(labels, p, bins=EqualMass(10)).parts["bins"]
    moved = bins.mean_prob + fitted.shift(bins.mean_prob)
    np.testing.assert_allclose(moved, bins.label_rate, atol=1e-12)


@pytest.mark.slow
def test_the_names_of_the_paper(rng):
    labels, p = bent(rng)
    assert fitted_error(labels, p).parts["map"].method == "gaussian_process"
    assert fitted_error(labels, p, method=PiecewiseLinear(identity=False)).parts["map"].shares[0] == 0
    assert fitted_error(labels, p, method=PiecewiseLinear(space="probability")).parts["map"].space == "probability"
    from calibrant.methods import find

    assert all(find("estimator", name).function is fitted_error for name in ("ECE_PL", "ece_pl3", "ECE_GP", "fitted"))


def test_cross_fitted_rows_are_judged_by_maps_that_have_not_seen_them(rng):
    labels, p = bent(rng, 200)
    rows = Predictions(labels, p)
    signs, gains = np.empty(200), np.empty(200)
    for held in in_folds(rows, 5)[1]:
        away = cal.Platt().fit(rows.rows(~held)).apply(p[held]) - p[held]
        signs[held] = np.sign(away) * (labels[held] - p[held])
        gains[held] = (labels[held] - p[held]) ** 2 - (labels[held] - p[held] - away) ** 2
    options = {"method": "platt", "cross_fitted": True, "n_folds": 5}
    assert fitted_error(labels, p, **options).value == pytest.approx(signs.mean(), abs=1e-12)
    assert fitted_error(labels, p, norm=2, root=False, **options).value == pytest.approx(gains.mean(), abs=1e-12)
    root = fitted_error(labels, p, norm=2, **options).value
    assert root == pytest.approx(np.sign(gains.mean()) * abs(gains.mean()) ** 0.5, abs=1e-12)
    assert not fitted_error(labels, p, **options).cautions


@pytest.mark.parametrize("recipe", [None, "platt", "isotonic", GaussianProcessMap()], ids=str)
def test_the_curve_lies_where_the_data_are(rng, recipe):
    labels, p = bent(rng)
    curve = fitted_error(labels, p, method=recipe).parts["curve"]
    assert isinstance(curve, Curve)
    assert curve.support.sum() == pytest.approx(1)
    assert (np.diff(curve.x) > 0).all()
    assert curve.x[0] >= p.min() - 1e-12
    assert curve.x[-1] <= p.max() + 1e-12
    assert ((curve.y >= 0) & (curve.y <= 1)).all()
    if isinstance(recipe, GaussianProcessMap):
        assert (curve.low < curve.y).all()
        assert (curve.y < curve.high).all()


def test_views_of_several_classes():
    _, test = cal.example()
    top = test.event("top")
    assert fitted_error(test).value == fitted_error(top.outcomes, top.probs).value
    third = fitted_error(test, view="class 3").value
    assert third == fitted_error(test.labels == 3, test.probs[:, 3]).value


@pytest.mark.parametrize(
    "options", [{"norm": 0.5}, {"n_folds": 1}, {"method": "magic"}, {"method": cal.TopLabel(cal.Platt())}]
)
def test_bad_options_are_refused(rng, options):
    with pytest.raises(cal.InputError):
        fitted_error(*bent(rng, 50), **options)


def test_one_row_cannot_be_cross_fitted():
    with pytest.raises(cal.InputError, match="two rows"):
        fitted_error([1], [0.4], cross_fitted=True)


def test_it_survives_as_json(rng):
    found = fitted_error(*bent(rng, 100))
    assert cal.results.Estimate.from_json(found.to_json()) == found
