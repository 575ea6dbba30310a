"""What every recalibration map must do, read from the table."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import Predictions
from calibrant.maps import CalibrationMap
from registered import METHODS

GIVEN = {name: partial(METHODS[name], strength=0.01, intercept=0.01) for name in ("matrix", "dirichlet")}
"""Choosing these penalties by cross-validation takes long."""
ONE_KNOT = {"evolved_pieces": partial(METHODS["evolved_pieces"], n_pieces=2)}
"""An evolution of several knots ends where the last digits of the rows lead it."""
each = pytest.mark.parametrize(
    "method",
    [
        *(
            pytest.param(m, id=name, marks=pytest.mark.slow if name in GIVEN else ())
            for name, m in {**METHODS, **ONE_KNOT}.items()
        ),
        *(pytest.param(m, id=f"{name} of given penalties") for name, m in GIVEN.items()),
    ],
)
FITTED = 1e-6
"""Fits agree to the optimiser's tolerance"""


def event_rows(rng, n=200):
    p = rng.beta(1.5, 1, n)
    return some.Rows((rng.random(n) < p**1.5).astype(int), p)


def matrix_rows(rng, n=200):
    z = rng.normal(size=(n, 3)) * 2
    labels = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    return some.Rows(labels, np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))


shapes = pytest.mark.parametrize("make", [event_rows, matrix_rows], ids=["event", "matrix"])


@cache
def fitted_rows(method, make):
    """The same rows and their map for all tests that only look at them."""
    said = make(np.random.default_rng(20261115))
    return said, method().fit(said.labels, said.probs)


@pytest.mark.some(6)
@each
@shapes
def test_the_order_of_the_rows_does_not_matter(method, make, rng):
    said, fitted = fitted_rows(method, make)
    order = rng.permutation(said.n)
    there = fitted.apply(said.probs)
    back = method().fit(said.labels[order], said.probs[order]).apply(said.probs)
    np.testing.assert_allclose(there, back, atol=FITTED)


@pytest.mark.some(6)
@each
@shapes
def test_weight_two_is_the_row_twice(method, make, rng):
    said = make(rng)
    times = rng.integers(0, 4, said.n)
    weighted = method().fit(said.labels, said.probs, counts=times).apply(said.probs)
    repeated = method().fit(np.repeat(said.labels, times), np.repeat(said.probs, times, axis=0)).apply(said.probs)
    np.testing.assert_allclose(weighted, repeated, atol=FITTED)


@pytest.mark.some(6)
@each
@shapes
def test_float32_is_close_to_float64(method, make):
    said, fitted = fitted_rows(method, make)
    narrow = method().fit(said.labels, said.probs.astype(np.float32)).apply(said.probs.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, fitted.apply(said.probs), atol=1e-5)


@pytest.mark.some(6)
@each
@shapes
def test_the_map_survives_as_json_bit_for_bit(method, make):
    said, fitted = fitted_rows(method, make)
    again = CalibrationMap.from_json(fitted.to_json())
    assert again == fitted
    assert np.array_equal(again.apply(said.probs), fitted.apply(said.probs))


@pytest.mark.some(6)
@each
@shapes
def test_what_is_mended_are_probabilities(method, make):
    said, fitted = fitted_rows(method, make)
    mended = fitted.apply(said.probs)
    assert mended.shape == said.probs.shape
    assert ((mended >= 0) & (mended <= 1)).all()
    if mended.ndim == 2:
        assert np.abs(mended.sum(axis=1) - 1).max() < 1e-12


@pytest.mark.some(6)
@each
@shapes
def test_probabilities_and_logits_are_mended_alike(method, make):
    said, by_probs = fitted_rows(method, make)
    logits = np.log(said.probs) if said.probs.ndim == 2 else np.log(said.probs) - np.log1p(-said.probs)
    by_logits = method().fit(said.labels, logits=logits)
    np.testing.assert_allclose(by_probs.apply(said.probs), by_logits.apply(logits=logits), atol=FITTED)


@pytest.mark.some(6)
@each
@shapes
def test_what_it_says_of_itself_is_true(method, make):
    said, fitted = fitted_rows(method, make)
    mended = fitted.apply(said.probs)
    if fitted.injective:
        assert len(np.unique(mended, axis=0)) == len(np.unique(said.probs, axis=0))
    if mended.ndim == 2 and fitted.keeps_accuracy:
        assert np.array_equal(mended.argmax(axis=1), said.probs.argmax(axis=1))
    if mended.ndim == 2 and fitted.keeps_ranking:
        assert np.array_equal(np.argsort(mended, axis=1), np.argsort(said.probs, axis=1))
    assert fitted.n_parameters == sum(np.size(value) for value in fitted.parameters.values())
    assert METHODS[fitted.method] is getattr(method, "func", method)


@pytest.mark.some(6)
@each
@shapes
def test_applying_leaves_its_input_alone(method, make, rng):
    said = make(rng)
    before = said.probs.copy()
    fitted = method().fit(said.labels, said.probs)
    mended = fitted.apply(said.probs)
    assert np.array_equal(said.probs, before)
    assert said.probs.flags.writeable
    assert not np.shares_memory(mended, said.probs)


@pytest.mark.some(6)
@each
@shapes
def test_predictions_are_mended_as_arrays_are(method, make, rng):
    said = make(rng)
    made = Predictions(said.labels, said.probs)
    fitted = method().fit(made)
    assert np.array_equal(fitted.apply(made).probs, fitted.apply(said.probs))
    assert fitted.apply(made).source == (made, fitted)


@pytest.mark.some(4)
@each
@given(data=st.data())
def test_any_data_can_be_fitted_and_mended(method, data):
    said = data.draw(some.predictions())
    fitted = method().fit(said.labels, said.probs, counts=said.weights)
    mended = fitted.apply(said.probs)
    assert np.isfinite(mended).all()
    assert len(repr(fitted)) < 600


@pytest.mark.some(4)
@each
def test_the_repair_does_not_hurt_the_data_it_was_fitted_on(method):
    valid, _ = cal.example()
    fitted = method().fit(valid)
    assert cal.log_score(fitted.apply(valid)).value <= cal.log_score(valid).value + FITTED
