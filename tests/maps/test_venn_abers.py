"""Venn–Abers prediction."""

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import strategies as some
from calibrant import InputError
from naive import venn_abers as naive
from tolerances import ROUNDING


@given(said=some.events())
def test_it_is_a_refit_for_every_score_and_outcome(said):
    probs = said.probs.astype(np.float64)
    weights = np.ones(said.n) if said.weights is None else said.weights
    fitted = cal.VennAbers().fit(said.labels, probs, counts=said.weights)
    at = np.concatenate([probs, (probs[1:] + probs[:-1]) / 2, [0, 0.5, 1]])
    low, high = fitted.interval(at)
    expected = np.array([naive.pair(said.labels, probs, weights, score) for score in at])
    np.testing.assert_allclose(np.stack([low, high], axis=1), expected, atol=1e-9)  # weights a billion apart
    np.testing.assert_allclose(fitted.apply(at), high / (1 - low + high), atol=ROUNDING)


def test_soft_labels_are_refitted_too(rng):
    probs, shares, weights = rng.random(40).round(1), rng.random(40), rng.random(40)
    fitted = cal.VennAbers().fit(cal.Predictions(shares, probs, weights=weights, soft=True))
    rows = weights * weights.sum() / (weights**2).sum()  # beside which one more row counts once
    at = np.linspace(0, 1, 41)
    expected = np.array([naive.pair(shares, probs, rows, score) for score in at])
    np.testing.assert_allclose(np.stack(fitted.interval(at), axis=1), expected, atol=ROUNDING)


def test_the_pair_rises_and_is_apart_and_the_map_lies_between(rng):
    probs = rng.random(500)
    fitted = cal.VennAbers().fit(rng.random(500) < probs**2, probs)
    at = np.sort(np.concatenate([probs, np.linspace(0, 1, 1001)]))
    low, high = fitted.interval(at)
    said = fitted.apply(at)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert (np.diff(said) >= 0).all()
    assert (low < said).all()
    assert (said < high).all()


def test_steps_of_one_height_are_one_step(rng):
    probs = rng.random(20_000)  # the compiled kernel
    fitted = cal.VennAbers().fit(rng.random(20_000) < probs, probs)
    assert len(fitted.low) < 5000
    assert (np.diff(fitted.low) > 0).all()
    assert (np.diff(fitted.high) > 0).all()


def test_the_interval_takes_logits_and_narrows_with_data(rng):
    logits = rng.normal(size=1000)
    labels = rng.random(1000) < 1 / (1 + np.exp(-logits))
    fitted = cal.VennAbers().fit(labels, logits=logits)
    low, high = fitted.interval(logits=logits)
    few_low, few_high = cal.VennAbers().fit(labels[:50], logits=logits[:50]).interval(logits=logits)
    assert (high - low).mean() < (few_high - few_low).mean() / 2
    assert np.array_equal(np.stack(fitted.interval(1 / (1 + np.exp(-logits)))).shape, (2, 1000))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "probs or logits must be given, one of the two"),
        ({"probs": [0.5], "logits": [0.0]}, "probs or logits must be given, one of the two"),
        ({"probs": [1.5]}, r"probs must lie in \[0, 1\]"),
        ({"logits": [np.inf]}, "logits must be finite"),
        ({"probs": [[0.5, 0.5]]}, "probs must have 1 column, as this map was fitted; it has 2"),
    ],
    ids=str,
)
def test_wrong_questions_are_refused(arguments, text):
    with pytest.raises(InputError, match=text):
        cal.VennAbers().fit([0, 1], [0.2, 0.7]).interval(**arguments)
