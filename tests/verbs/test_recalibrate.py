"""How do I repair it?"""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, Predictions, Temperature, recalibrate
from registered import METHODS

VALID, TEST = cal.example()


@pytest.mark.some(3)
@pytest.mark.parametrize("method", METHODS)
def test_methods_go_by_name(rng, method):
    few = cal.Predictions(rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60))
    by_name = recalibrate(few, method)
    assert by_name.method == method
    assert recalibrate(few, METHODS[method]()) == by_name


@pytest.mark.slow
def test_the_default_is_auto(rng):
    p = rng.random(120)
    few = Predictions(rng.random(120) < p**2, p)
    assert recalibrate(few) == cal.Auto().fit(few)
    assert recalibrate(few).fit.choice is not None
    assert recalibrate(cal.collect(few)).method == recalibrate(few).method


def test_recipes_carry_their_options():
    assert recalibrate(VALID, Temperature(bounds=(0.5, 1.5))).temperature == pytest.approx(1.5)


def test_the_repair_keeps_the_top_class():
    repaired = recalibrate(VALID, "temperature").apply(TEST)
    assert np.array_equal(repaired.probs.argmax(axis=1), TEST.probs.argmax(axis=1))


WRONG_METHODS = {
    "unknown": "magic",
    "None": None,
    "a list": ["temperature"],
    "a class": Temperature,
    "a map": recalibrate(VALID, "temperature"),
    "a number": 2,
}


@pytest.mark.parametrize("method", WRONG_METHODS.values(), ids=WRONG_METHODS)
def test_an_unknown_method_is_refused(method):
    with pytest.raises(
        InputError, match=r"method must be one of 'auto', 'bayesian_binning', 'bent'.*, or a recipe with fit; it is"
    ):
        recalibrate(VALID, method=method)


@pytest.mark.parametrize("data", [([0, 1], [0.2, 0.7]), np.eye(2), None])
def test_predictions_are_asked_for(data):
    with pytest.raises(
        InputError, match=r"probs is required; only labels were given\. Pass \(labels, probs\) or a Predictions"
    ):
        recalibrate(data)


def test_the_sum_of_the_weights_does_not_matter(rng):
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    light = cal.recalibrate(cal.Predictions(y, p, weights=np.full(200, 1 / 200)), "platt")
    assert light == cal.recalibrate(cal.Predictions(y, p), "platt")
    assert light.fit.cautions == ()


def test_labels_and_probs_are_taken_as_predictions_are():
    y, p, w = np.tile([0, 1, 1], 20), np.linspace(0.1, 0.9, 60), np.arange(60) % 3 + 1
    said = Predictions(y, p, weights=w)
    for method in ("platt", cal.Isotonic()):
        expected = recalibrate(said, method).apply(p)
        for found in (recalibrate(y, p, method, weights=w), recalibrate(y, p, method=method, weights=w)):
            assert (found.apply(p) == expected).all()
    with pytest.raises(InputError, match="labels is a Predictions and carries its own probs, counts and weights"):
        recalibrate(said, p, "platt")
