"""Awkward data for the options that tests/common does not turn on: every estimator in every form it has."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import Edges, EqualMass, EqualWidth, InputError, Predictions
from calibrant.results import Estimate
from naive.rows import counted
from tolerances import ROUNDING

EVENT_FORMS = {
    "one bin": partial(cal.binned_error, bins=EqualWidth(1)),
    "one equal-mass bin": partial(cal.binned_error, bins=EqualMass(1)),
    "one given bin": partial(cal.binned_error, bins=Edges([0, 1])),
    "many bins": partial(cal.binned_error, bins=EqualMass(500), norm=2),
    "debiased": partial(cal.binned_error, debiased=True),
    "debiased square": partial(cal.binned_error, norm=2, debiased=True, root=False, clip=False),
    "largest gap": partial(cal.binned_error, norm="max"),
    "label-binned square": partial(cal.label_binned_error, norm=2),
    "sweep of widths": partial(cal.sweep_error, bins=cal.EqualWidth, norm=2),
    "debiased sweep": partial(cal.sweep_error, debiased=True),
    "cross-validated widths": partial(cal.crossvalidated_error, bins=cal.EqualWidth, n_folds=3, max_bins=6),
    "cross-validated square": partial(cal.crossvalidated_error, norm=2, max_bins=6),
    "range": partial(cal.ks_error, statistic="range"),
    "gaussian MMCE": partial(cal.mmce, kernel="gaussian"),
    "squared MMCE": partial(cal.mmce, root=False, bandwidth=0.01),
    "biased SKCE": partial(cal.skce, estimator="biased"),
    "laplace SKCE": partial(cal.skce, kernel="laplace", bandwidth=0.3),
    "gaussian SKCE": partial(cal.skce, kernel="gaussian", bandwidth=0.3),
    "pointwise KDE": partial(cal.density_error, norm=2),
    "integrated KDE": partial(cal.density_error, method="integrated", bandwidth=0.1),
    "canonical square": partial(cal.canonical_error, norm=2, bandwidth=0.1),
    "smooth at a width": partial(cal.smooth_error, sigma=0.05),
    "expected square": partial(cal.expected_ece, norm=2, n=100),
    "expected with equal mass": partial(cal.expected_ece, bins=EqualMass(5)),
}
MATRIX_FORMS = {
    "SCE of one bin": partial(cal.static_error, bins=1),
    "ACE of one range": partial(cal.adaptive_error, bins=1),
    "ACE of many": partial(cal.adaptive_error, bins=200),
    "TACE of high probabilities": partial(cal.thresholded_error, threshold=0.9),
    "CWCE mean": partial(cal.classwise_error, average="mean", norm=1),
    "CWCE of equal mass": partial(cal.classwise_error, bins=EqualMass(5), debiased=True),
    "sweep by class": partial(cal.sweep_error, view="classwise", norm=2, average="sum"),
    "cross-validated by class": partial(cal.crossvalidated_error, view="classwise", max_bins=4),
    "label-binned by class": partial(cal.label_binned_error, view="classwise", norm="max"),
}
FORMS = EVENT_FORMS | MATRIX_FORMS


def number(form, *data, **options):
    """The estimate, checked to be a finite number that travels; None where two rows are asked for."""
    try:
        found = form(*data, **options)
    except InputError as refused:
        if "at least two rows" not in str(refused):
            raise
        return None
    assert math.isfinite(found.value)
    assert found.noise_floor is None or math.isfinite(found.noise_floor)
    assert Estimate.from_json(found.to_json()) == found
    return found


def same(a, b, tolerance=ROUNDING):
    """Equal values, or equal squares: the root of a square amplifies rounding near 0."""
    assert a.value == pytest.approx(b.value, abs=tolerance) or a.value**2 == pytest.approx(b.value**2, abs=tolerance)


def rows_for(name, rng, n=80):
    """An event, or for what needs columns, a matrix."""
    if name in EVENT_FORMS:
        p = rng.beta(2, 1, n).round(2)
        return (rng.random(n) < p**2).astype(int), p
    probs = rng.dirichlet([1, 1, 2], n)
    return rng.integers(0, 3, n), probs


EVERY = pytest.mark.parametrize("name", FORMS)


@pytest.mark.some(3)
@pytest.mark.parametrize("name", EVENT_FORMS)
@settings(max_examples=10)
@given(said=some.events())
def test_any_event_gives_a_number(name, said):
    number(EVENT_FORMS[name], said.labels, said.probs, counts=said.weights)


@pytest.mark.some(3)
@pytest.mark.parametrize("name", EVENT_FORMS)
@settings(max_examples=10)
@given(said=some.events(), data=st.data())
def test_any_weights_give_a_number(name, said, data):
    number(EVENT_FORMS[name], said.labels, said.probs, weights=data.draw(some.importances(said.n)))


@pytest.mark.some(3)
@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=10)
@given(said=some.matrices(most=15))
def test_any_matrix_gives_a_number(name, said):
    number(FORMS[name], said.labels, said.probs, counts=said.weights)


CORNERS = {
    "all said 0": ([0, 1, 0, 1], [0.0] * 4),
    "all said 1": ([0, 1, 0, 1], [1.0] * 4),
    "certain and wrong": ([1, 0, 1, 0], [0.0, 1.0, 0.0, 1.0]),
    "one value": ([0, 0, 0, 1], [0.3] * 4),
    "one class": ([0] * 4, [0.1, 0.2, 0.3, 0.9]),
    "one row": ([1], [0.4]),
    "two rows": ([1, 0], [0.4, 0.4]),
    "next to 0": ([0, 1, 0, 0], [5e-324, 1e-300, 1e-17, 0.0]),
    "next to 1": ([1, 1, 0, 1], [1.0, 1 - 2**-53, 1 - 2**-53, 1.0]),
}


@pytest.mark.some(5)
@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("name", FORMS)
def test_corners_give_a_number(name, corner):
    labels, p = CORNERS[corner]
    if name in EVENT_FORMS:
        number(FORMS[name], labels, p)
    number(FORMS[name], labels, np.stack([1 - np.array(p), p], axis=1))
    number(FORMS[name], labels, np.stack([1 - np.array(p), p, np.zeros(len(p))], axis=1))


def test_certain_and_wrong_by_hand():
    labels, p = CORNERS["certain and wrong"]
    assert cal.ece(labels, p).value == pytest.approx(1)
    assert cal.label_binned_error(labels, p).value == pytest.approx(1)
    assert cal.ks_error(labels, p).value == pytest.approx(0.5)  # errors of opposite sign, one after the other
    assert cal.sweep_error(labels, p).value == pytest.approx(
        0
    )  # the rates fall at once, and one bin sees only the mean
    assert cal.canonical_error(labels, p).value == pytest.approx(2)
    assert cal.root_brier(labels, p).value == pytest.approx(math.sqrt(2))


@EVERY
def test_the_order_of_weighted_and_tied_rows_does_not_matter(rng, name):
    labels, probs = rows_for(name, rng)
    order = rng.permutation(len(labels))
    for kind, mass in [("counts", rng.integers(0, 4, len(labels))), ("weights", rng.uniform(0, 3, len(labels)))]:
        a, b = (
            FORMS[name](labels, probs, **{kind: mass}),
            FORMS[name](labels[order], probs[order], **{kind: mass[order]}),
        )
        same(a, b)


@EVERY
def test_a_count_of_two_is_the_row_twice(rng, name):
    labels, probs = rows_for(name, rng)
    times = rng.integers(0, 4, len(labels))
    repeated = FORMS[name](np.repeat(labels, times), np.repeat(probs, times, axis=0))
    same(FORMS[name](labels, probs, counts=times), repeated)


@pytest.mark.some(3)
@settings(max_examples=8)
@given(said=some.events(most=12).map(counted))
@pytest.mark.parametrize("name", EVENT_FORMS)
def test_a_count_of_two_is_the_row_twice_for_awkward_rows(name, said):
    if said.weights is None:
        return
    times = said.weights.astype(int)
    weighted = number(EVENT_FORMS[name], said.labels, said.probs, counts=times)
    repeated = number(EVENT_FORMS[name], np.repeat(said.labels, times), np.repeat(said.probs, times))
    if weighted is None or repeated is None:
        assert weighted is repeated
    else:
        same(weighted, repeated)


@EVERY
def test_soft_labels_of_zero_and_one_are_hard_labels(rng, name):
    labels, probs = rows_for(name, rng)
    shares = labels.astype(float) if probs.ndim == 1 else np.eye(3)[labels]
    same(FORMS[name](Predictions(shares, probs, soft=True)), FORMS[name](labels, probs))


@EVERY
def test_soft_labels_with_weights_are_accepted(rng, name):
    labels, probs = rows_for(name, rng)
    shares = rng.random(len(labels)) if probs.ndim == 1 else rng.dirichlet(np.ones(3), len(labels))
    number(FORMS[name], Predictions(shares, probs, weights=rng.uniform(0, 3, len(labels)), soft=True))


@pytest.mark.parametrize("name", FORMS)
def test_relabelling_the_classes_changes_nothing(rng, name):
    labels, probs = rng.integers(0, 3, 60), rng.dirichlet([1, 1, 2], 60)
    order = np.array([2, 0, 1])
    same(FORMS[name](labels, probs), FORMS[name](np.argsort(order)[labels], probs[:, order]))


@pytest.mark.parametrize("name", FORMS)
def test_float32_is_close_to_float64(rng, name):
    # away from the edges of every number of bins up to 15, where rounding could move a row to another bin
    steps = np.array([0.03, 0.13, 0.23, 0.61])
    probs = np.stack([steps, 0.9 - steps, np.full(4, 0.1)], axis=1)[rng.integers(0, 4, 80)]
    labels = rng.integers(0, 3, 80)
    wide, narrow = (FORMS[name](labels, probs.astype(dtype)).value for dtype in (np.float64, np.float32))
    assert narrow == pytest.approx(wide, abs=1e-5)  # float32 rounding, times the slope of the kernels


@pytest.mark.slow
@given(st.integers(1, 4), st.integers(1, 6))
def test_more_classes_than_rows_is_no_error(n, extra):
    probs = np.full((n, n + extra), 1 / (n + extra))
    for name, form in FORMS.items():
        found = number(form, np.arange(n), probs)
        assert found is None or found.n == n, name
