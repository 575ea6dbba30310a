"""A map, then one bend for the probabilities of all classes."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.maps import Bent, StructuredMatrix


def bent_rows(rng, n=1500, k=4):
    """Calibrated rows whose probabilities were then bent: p ∝ g(p) with g = p^(½) below 0.2."""
    truth = rng.dirichlet(np.ones(k) * 0.4, n)
    labels = (rng.random(n)[:, None] > np.cumsum(truth, axis=1)).sum(axis=1).clip(0, k - 1)
    said = np.where(truth < 0.2, 0.2 * (np.maximum(truth, 1e-9) / 0.2) ** 3, truth)
    return cal.Predictions(labels, said / said.sum(axis=1, keepdims=True)), truth


def test_by_hand(rng):
    said, _ = bent_rows(rng, 300)
    fitted = Bent().fit(said)
    q = fitted.base.apply(said).probs
    g = np.stack([fitted.bend.apply(column) for column in q.T], axis=1)
    np.testing.assert_allclose(fitted.apply(said).probs, g / g.sum(axis=1, keepdims=True), rtol=1e-9)
    assert fitted.base == StructuredMatrix().fit(said)


def test_the_bend_is_that_of_every_class_against_the_rest(rng):
    said, _ = bent_rows(rng, 200)
    fitted = Bent("temperature").fit(said)
    q = fitted.base.apply(said).probs
    outcomes = (said.labels[:, None] == np.arange(4)).astype(int)
    alone = cal.maps.GaussianProcessMap().fit(outcomes.ravel(), q.ravel())
    np.testing.assert_allclose(fitted.bend.heights, alone.heights, rtol=1e-9)


def test_a_bend_is_found_that_no_matrix_has(rng):
    said, truth = bent_rows(rng)
    losses = [
        -(truth * np.log(recipe.fit(said).apply(said).probs)).sum(axis=1).mean()
        for recipe in (StructuredMatrix(), Bent())
    ]
    assert losses[1] < losses[0] - 0.01


def test_counts_are_rows_repeated(rng):
    said, _ = bent_rows(rng, 100)
    times = rng.integers(0, 4, 100)
    one = Bent().fit(cal.Predictions(said.labels, said.probs, counts=times, classes=range(4)))
    other = Bent().fit(
        cal.Predictions(np.repeat(said.labels, times), np.repeat(said.probs, times, axis=0), classes=range(4))
    )
    np.testing.assert_allclose(one.apply(said.probs), other.apply(said.probs), rtol=1e-6)


def test_soft_labels_of_certainty_are_labels(rng):
    said, _ = bent_rows(rng, 100)
    soft = cal.Predictions(np.eye(4)[said.labels], said.probs, soft=True)
    np.testing.assert_allclose(Bent().fit(soft).apply(said.probs), Bent().fit(said).apply(said.probs), rtol=1e-6)


def test_a_single_event_has_two_columns(rng):
    p = rng.random(200)
    fitted = Bent("platt").fit(rng.random(200) < p**2, p)
    q = fitted.base.apply(p)
    g = [fitted.bend.apply(each) for each in (1 - q, q)]
    np.testing.assert_allclose(fitted.apply(p), g[1] / (g[0] + g[1]), rtol=1e-9)


def test_promises_are_those_of_the_first_map(rng):
    said, _ = bent_rows(rng, 400)
    fitted = Bent("temperature").fit(said)
    rises = bool((np.diff(fitted.bend.heights) > 0).all())
    assert fitted.injective is fitted.keeps_ranking is fitted.keeps_accuracy is rises
    assert not Bent("structured_matrix").fit(said).keeps_ranking


@pytest.mark.parametrize("method", ["magic", None, Bent()])
def test_bad_methods_are_refused(method):
    with pytest.raises(cal.InputError, match="method"):
        Bent(method)
