"""Mixtures: means of logarithms, and what they promise."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.maps import EnsembleMap, Fit, IdentityMap, LogOddsMap, MixtureMap, TemperatureMap, VennAbersMap

EVENT, THREE = ((0, 1), True, Fit(0)), ((0, 1, 2), False, Fit(0))


def mixture(parts, weights, lift=0.0, kind=EVENT):
    return MixtureMap(*kind, tuple(parts), np.asarray(weights, dtype=float), lift)


def test_two_temperatures_make_one():
    parts = TemperatureMap(*THREE, 1.0), TemperatureMap(*THREE, 3.0)
    p = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]])
    mean = 1 / (0.25 / 1.0 + 0.75 / 3.0)
    expected = TemperatureMap(*THREE, mean).apply(p)
    np.testing.assert_allclose(mixture(parts, [0.25, 0.75], kind=THREE).apply(p), expected, rtol=1e-12)


def test_by_hand():
    fitted = mixture([IdentityMap(*EVENT), LogOddsMap(*EVENT, 1.0, 2.0)], [0.5, 0.5])
    z = np.array([-1.0, 0.5])
    np.testing.assert_allclose(fitted.apply(logits=z), 1 / (1 + np.exp(-(0.5 * z + 0.5 * (1 + 2 * z)))), rtol=1e-12)


def test_a_lift_bounds_the_loss():
    fitted = mixture([IdentityMap(*THREE)], [1.0], 0.03, THREE)
    np.testing.assert_allclose(fitted.apply([[0.0, 0.0, 1.0]]), [[0.01, 0.01, 0.98]], rtol=1e-12)


@given(st.integers(0, 10**6))
def test_the_loss_is_at_most_the_mean_of_the_parts(seed):
    rng = np.random.default_rng(seed)
    parts = [TemperatureMap(*THREE, t) for t in rng.uniform(0.2, 5, 3)]
    w = rng.dirichlet(np.ones(3))
    p = rng.dirichlet(np.ones(3) * 0.3, 20)
    p = np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum(axis=1, keepdims=True)
    losses = sum(weight * -np.log(part.apply(p)) for weight, part in zip(w, parts, strict=True))
    assert (-np.log(mixture(parts, w, kind=THREE).apply(p)) <= losses + 1e-9).all()


STEPS = VennAbersMap(*EVENT, (0.5,), (0.2, 0.6), (0.5,), (0.65, 0.8))
PROMISES = {
    "rising": ([IdentityMap(*EVENT), LogOddsMap(*EVENT, 0.3, 0.5)], True),
    "rising and steps": ([IdentityMap(*EVENT), STEPS], True),
    "steps": ([STEPS, STEPS], False),
    "falling": ([IdentityMap(*EVENT), LogOddsMap(*EVENT, 0.3, -0.5)], False),
}


@pytest.mark.parametrize("name", PROMISES)
def test_a_single_event_is_told_apart_where_no_part_falls_and_one_rises(name):
    parts, promised = PROMISES[name]
    fitted = mixture(parts, [0.5, 0.5], 0.01)
    assert fitted.injective is fitted.keeps_ranking is promised
    if promised:
        assert (np.diff(fitted.apply(np.linspace(0.001, 0.999, 400))) > 0).all()


def test_classes_are_told_apart_by_parts_that_raise_what_rose_most(rng):
    ensemble = EnsembleMap(*THREE, TemperatureMap(*THREE, 2.0), (0.5, 0.3, 0.2))
    fitted = mixture([IdentityMap(*THREE), ensemble], [0.4, 0.6], 0.01, THREE)
    assert fitted.injective
    assert fitted.keeps_ranking
    p, q = rng.dirichlet(np.ones(3) * 0.3, (2, 2000))
    p, q = (np.maximum(each, 1e-9) / np.maximum(each, 1e-9).sum(axis=1, keepdims=True) for each in (p, q))
    grown = np.log(p / q)
    new = np.log(fitted.apply(p) / fitted.apply(q))
    rows = np.arange(2000)
    assert (new[rows, grown.argmax(axis=1)] > new[rows, grown.argmin(axis=1)]).all()
    matrix = cal.maps.StructuredMatrix().fit(rng.integers(0, 3, 50), p[:50])
    assert not mixture([IdentityMap(*THREE), matrix], [0.5, 0.5], 0.01, ((0, 1, 2), False, Fit(0))).injective


def test_logits_and_probabilities_agree(rng):
    z = rng.normal(size=(30, 3)) * 3
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    said = cal.Predictions.from_logits(rng.integers(0, 3, 30), z)
    fitted = cal.Auto(candidates=("identity", "temperature", "bent")).fit(said)
    np.testing.assert_allclose(fitted.apply(p), fitted.apply(logits=z), rtol=1e-9)
    np.testing.assert_allclose(fitted.apply(said).probs, fitted.apply(logits=z), rtol=1e-9)
    assert pickle.loads(pickle.dumps(fitted)) == fitted


def test_parts_of_other_classes_are_refused():
    with pytest.raises(cal.MapError, match="parts must be maps of the same classes"):
        mixture([IdentityMap(*THREE)], [1.0])
