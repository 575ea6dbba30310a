"""Scaling-binning."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from tolerances import ROUNDING


@pytest.fixture
def data(rng):
    probs = rng.beta(1.5, 1, 600)
    return (rng.random(600) < probs**2).astype(int), probs


@pytest.mark.parametrize("recipe", [cal.Platt(), cal.Beta(), cal.maps.Quadratic(), cal.Isotonic()], ids=str)
@pytest.mark.parametrize("bins", [cal.EqualMass(10), cal.EqualWidth(10)], ids=str)
def test_a_bin_says_the_mean_of_the_fit(data, recipe, bins):
    labels, probs = data
    weights = np.arange(600) % 3
    scaled = recipe.fit(labels, probs, counts=weights).apply(probs)
    table = cal.binned_error(labels, scaled, bins=bins, counts=weights).parts["bins"]
    where = np.searchsorted(table.high[:-1], scaled)
    fitted = cal.maps.ScalingBinning(bins, recipe).fit(labels, probs, counts=weights)
    np.testing.assert_allclose(fitted.apply(probs), table.mean_prob[where], atol=ROUNDING)
    means = np.bincount(where, weights * scaled) / np.bincount(where, weights)
    np.testing.assert_allclose(fitted.heights, means, atol=ROUNDING)


@pytest.mark.slow
def test_its_heights_vary_less_than_those_of_a_histogram(rng):
    scaled, plain = [], []
    for _ in range(200):
        probs = (np.arange(200) + 0.5) / 200
        labels = rng.random(200) < probs
        scaled.append(cal.maps.ScalingBinning(cal.EqualMass(10)).fit(labels, probs).heights)
        plain.append(cal.Histogram(cal.EqualMass(10)).fit(labels, probs).heights)
    assert (np.std(scaled, axis=0) < np.std(plain, axis=0)).all()


def test_single_precision_logits_fall_where_the_fit_put_them(rng):
    logits = rng.normal(size=500).astype(np.float32)
    labels = rng.random(500) < 0.5
    fitted = cal.maps.ScalingBinning(cal.EqualMass(50)).fit(labels, logits=logits)
    assert np.bincount(np.unique(fitted.apply(logits=logits), return_inverse=True)[1]).tolist() == [10] * 50


def test_what_is_known_of_the_fit_is_handed_on():
    fitted = cal.maps.ScalingBinning().fit([1, 1], [0.0, 0.7])
    assert fitted.fit.cautions == cal.Platt().fit([1, 1], [0.0, 0.7]).fit.cautions
    assert len(fitted.fit.cautions) == 2


def test_the_parameters_are_those_of_both_parts(data):
    fitted = cal.maps.ScalingBinning(cal.EqualMass(4), cal.Histogram(cal.EqualMass(9))).fit(*data)
    assert fitted.n_parameters == len(fitted.scaling.cuts) + len(fitted.scaling.heights) + 3 + 4


def test_a_recipe_of_another_kind_is_refused():
    with pytest.raises(InputError, match="method must be that of a map of one event"):
        cal.maps.ScalingBinning(method=cal.Temperature())
