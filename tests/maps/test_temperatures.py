"""Ensemble and one-vs-rest temperature scaling."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import Temperature
from calibrant.kernels.logits import class_log_odds
from calibrant.maps import EnsembleMap, EnsembleTemperature, OneVsRestTemperature, OneVsRestTemperatureMap


def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def world(rng, n=500, k=4):
    z = rng.normal(size=(n, k)) * 3
    return (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1), z


def test_no_other_weights_are_better(rng):
    labels, z = world(rng)
    fitted = EnsembleTemperature().fit(labels, logits=z)
    tempered, said = softmax(z / fitted.base.temperature), softmax(z)
    at = np.arange(len(labels))

    def loss(w):
        return -np.log((w[0] * tempered + w[1] * said + w[2] / 4)[at, labels]).mean()

    assert fitted.fit.loss == pytest.approx(loss(fitted.weights), abs=1e-12)
    for other in rng.dirichlet(np.ones(3), 500):
        for share in (1e-3, 0.1, 1):
            assert loss((1 - share) * fitted.weights + share * other) >= fitted.fit.loss - 1e-12


@pytest.mark.slow
def test_a_mixture_is_recovered(rng):
    z = rng.normal(size=(400_000, 4)) * 3
    truth = 0.7 * softmax(z) + 0.3 / 4
    labels = (truth.cumsum(axis=1) < rng.random((len(z), 1))).sum(axis=1)
    fitted = EnsembleMap((0, 1, 2, 3), False, base=Temperature().fit(labels, logits=z), weights=[1.0, 0.0, 0.0])
    ets = EnsembleTemperature().fit(labels, logits=z)
    assert np.abs(ets.apply(logits=z[:1000]) - truth[:1000]).max() < 0.02
    assert cal.log_score(labels, ets.apply(logits=z)).value < cal.log_score(labels, fitted.apply(logits=z)).value


def test_the_log_loss_is_finite_where_the_impossible_happened():
    probs = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
    for recipe in (EnsembleTemperature(), OneVsRestTemperature()):
        fitted = recipe.fit([1, 1, 2], probs)
        assert np.isfinite(cal.log_score([1, 1, 2], fitted.apply(probs)).value)


def test_ranking_is_kept_by_the_ensemble(rng):
    labels, z = world(rng)
    fitted = EnsembleTemperature().fit(labels, logits=z)
    assert fitted.keeps_ranking
    assert np.array_equal(np.argsort(fitted.apply(logits=z), axis=1), np.argsort(z, axis=1))


def test_one_vs_rest_is_a_temperature_for_each_class(rng):
    labels, z = world(rng)
    p = softmax(z)
    fitted = OneVsRestTemperature().fit(labels, p)
    odds = np.log(p) - np.log1p(-p)
    each = [Temperature().fit(labels == k, logits=odds[:, k]).temperature for k in range(4)]
    np.testing.assert_allclose(fitted.temperatures, each, rtol=1e-6)
    mended = 1 / (1 + np.exp(-odds / fitted.temperatures))
    np.testing.assert_allclose(fitted.apply(p), mended / mended.sum(axis=1, keepdims=True), atol=1e-12)


def test_for_a_single_event_it_is_temperature_scaling(rng):
    p = rng.beta(1, 1, 300)
    y = rng.random(300) < p**1.5
    one, plain = OneVsRestTemperature().fit(y, p), Temperature().fit(y, p)
    assert one.temperatures[0] == pytest.approx(plain.temperature, rel=1e-9)
    np.testing.assert_allclose(one.apply(p), plain.apply(p), atol=1e-12)
    assert one.injective
    assert one.curve().y[100] == pytest.approx(0.5)


def test_log_odds_of_a_class_lose_nothing_near_certainty():
    z = np.array([[0.0, -50.0, -60.0], [0.0, 0.0, 0.0], [800.0, 0.0, -800.0]])
    odds = class_log_odds(z)
    assert odds[0, 0] == pytest.approx(50 - np.log1p(np.exp(-10)), rel=1e-15)
    assert odds[0, 1] == pytest.approx(-50, rel=1e-15)
    np.testing.assert_allclose(odds[1], -np.log(2))
    assert odds[2].tolist() == [800.0, -800.0, -1600.0]


@pytest.mark.parametrize("weights", [[0.5, 0.5], [1.2, -0.2, 0.0], [0.5, 0.2, 0.2]])
def test_damaged_ensembles_are_refused(weights):
    with pytest.raises(cal.MapError, match="weights"):
        EnsembleMap((0, 1), True, base=cal.maps.TemperatureMap((0, 1), True), weights=weights)


def test_damaged_temperatures_are_refused():
    with pytest.raises(cal.MapError, match="temperatures"):
        OneVsRestTemperatureMap((0, 1, 2), False, temperatures=[1.0, 0.0, 2.0])
    with pytest.raises(cal.MapError, match="base"):
        EnsembleMap((0, 1), True)


def test_soft_labels(rng):
    z = rng.normal(size=(50, 3))
    shares = rng.dirichlet(np.ones(3), 50)
    fitted = OneVsRestTemperature().fit(cal.Predictions.from_logits(shares, z, soft=True))
    assert (fitted.temperatures > 0).all()
    one = OneVsRestTemperature().fit(cal.Predictions([0.2, 0.9, 0.4], [0.3, 0.8, 0.5], soft=True))
    assert one.temperatures.shape == (1,)


def test_huge_logits_end_in_probabilities():
    rows = [[1e308, -1e308], [-1e308, 1e308], [1e308, 1e308]]
    for recipe in (
        OneVsRestTemperature(),
        EnsembleTemperature(),
        Temperature(),
        cal.maps.VectorScaling(),
        cal.Dirichlet(strength=0.1, intercept=0.1),
    ):
        mended = recipe.fit([0, 1] * 5, logits=np.tile([[1.0, 0.2], [0.3, 0.7]], (5, 1))).apply(logits=rows)
        assert np.isfinite(mended).all()
        np.testing.assert_allclose(mended.sum(axis=1), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("temperature", [1e-3, 0.3, 1.0, 7.0, 1e3])
def test_no_class_is_tied_anew(rng, temperature, dtype):
    z = (rng.normal(size=(200, 6)) * 30).astype(dtype)
    z[:, 1] = np.nextafter(z[:, 0], dtype(np.inf))  # one unit of rounding apart
    z[:, 3] = z[:, 2]
    z[::2, 4] -= dtype(1e4)
    p = softmax(rng.normal(size=(200, 6)).astype(dtype) * 20)
    p[:, 1] = np.nextafter(p[:, 0], dtype(1))
    p[::2, 4] = 0
    p /= p.sum(axis=1, keepdims=True)
    base = cal.maps.TemperatureMap(tuple(range(6)), False, temperature=temperature)
    for fitted in (base, EnsembleMap(tuple(range(6)), False, base=base, weights=[0.5, 0.2, 0.3])):
        for said, mended in ((z, fitted.apply(logits=z)), (p, fitted.apply(p))):
            assert mended.dtype == dtype
            above, below = said[:, :, None] > said[:, None], said[:, :, None] == said[:, None]
            assert np.array_equal(mended[:, :, None] > mended[:, None], above)
            assert np.array_equal(mended[:, :, None] == mended[:, None], below)
            np.testing.assert_allclose(mended.sum(axis=1, dtype=float), 1, atol=6 * np.finfo(dtype).eps)


@pytest.mark.parametrize("k", [2, 6])
def test_an_ensemble_that_no_temperature_helps_mixes_the_predictions_with_a_guess(rng, k):
    """Outcomes that have nothing to do with the predictions: a guess is best, and no part ends at a bound."""
    probs = softmax(4 * rng.normal(size=(400, k)))
    labels = np.argsort(probs, axis=1)[:, 0]  # the least likely class, always
    given = cal.Predictions(labels, probs[:, 1] if k == 2 else probs, classes=tuple(range(k)))
    assert "bound" in Temperature().fit(given).fit.cautions[0]
    fitted = EnsembleTemperature().fit(given)
    assert fitted.base.temperature == 1
    np.testing.assert_allclose(fitted.weights, [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(fitted.apply(given).probs, 1 / k, atol=1e-6)
    assert "less than a uniform guess" in fitted.fit.cautions[0]
    assert "bound" not in fitted.fit.cautions[0]
    assert EnsembleMap.from_json(fitted.to_json()) == fitted
