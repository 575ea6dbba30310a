"""What maps that read the probability itself share."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.kernels.logits import sigmoid
from calibrant.maps.binary import narrowed

RECIPES = [
    cal.maps.BayesianBinning(),
    cal.Histogram(),
    cal.Isotonic(),
    cal.maps.KernelDensity(),
    cal.maps.ScalingBinning(),
    cal.maps.Spline(),
    cal.maps.UnitSlopeBins(),
    cal.VennAbers(),
]
each = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)


@pytest.fixture
def data(rng):
    probs = rng.random(300)
    return rng.random(300) < probs, probs


@each
def test_log_odds_are_read_as_their_probabilities(recipe, data):
    fitted = recipe.fit(*data)
    z = np.array([-np.inf, -3.21, 0.123, 4.56, np.inf])
    np.testing.assert_allclose(fitted.of_log_odds(z), fitted.apply(sigmoid(z)), atol=1e-12)


@each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logits_fall_where_the_fit_put_them(recipe, rng, dtype):
    logits = rng.normal(size=400).astype(dtype)
    said = cal.Predictions.from_logits(rng.random(400) < 0.5, logits)
    fitted = recipe.fit(said)
    assert np.array_equal(fitted.apply(logits=logits), fitted.apply(said).probs)
    if not isinstance(recipe, cal.maps.ScalingBinning):  # which reads logits as they are
        assert np.array_equal(fitted.apply(logits=logits), fitted.apply(said.probs))


@each
def test_the_curve_is_the_map(recipe, data):
    fitted = recipe.fit(*data)
    line = fitted.curve(51)
    assert np.array_equal(line.x, np.linspace(0, 1, 51))
    assert np.array_equal(line.y, fitted.apply(line.x))


@each
def test_it_claims_neither_ranking_nor_accuracy(recipe, data):
    fitted = recipe.fit(*data)
    assert (fitted.injective, fitted.keeps_ranking, fitted.keeps_accuracy) == (False, False, False)


def test_nothing_becomes_impossible_by_rounding():
    values = np.array([0.0, 1e-60, 0.5, 1 - 1e-12, 1.0])
    narrow = narrowed(values, np.float32)
    assert narrow.dtype == np.float32
    assert ((narrow > 0) == (values > 0)).all()
    assert ((narrow < 1) == (values < 1)).all()
    assert narrowed(values, np.float64) is values
