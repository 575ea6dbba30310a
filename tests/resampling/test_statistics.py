"""The statistics of one event against their estimators and against themselves written out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import Edges, EqualMass, EqualWidth, Predictions
from calibrant.resampling import statistics as of
from calibrant.resampling.rows import atoms_of
from tolerances import ROUNDING

BINNED = [
    {"bins": EqualMass(5)},
    {"bins": EqualWidth(7), "norm": 2},
    {"bins": EqualWidth(7), "norm": 2, "root": False, "debiased": True, "clip": False},
    {"bins": EqualMass(4), "norm": 1, "debiased": True},
    {"bins": EqualMass(4), "norm": "max"},
    {"bins": Edges([0, 0.1, 0.4, 1])},
    {"bins": Edges([0, 0.3, 1], closed="left", ends=False)},
]


def value(statistic, atoms):
    return float(statistic.finish(statistic.collect(atoms.errors[None]))[0])


def atoms(said, kind="counts"):
    return atoms_of(Predictions(said.labels, said.probs, **{kind: said.weights}), "auto")


@pytest.mark.parametrize("kind", ["counts", "weights"])
@given(said=some.events())
def test_binned_errors_are_those_of_the_estimator(kind, said):
    found = atoms(said, kind)
    for options in BINNED:
        expected = cal.binned_error(said.labels, said.probs, **{kind: said.weights}, **options).value
        assert value(of.binned(found, **options), found) == pytest.approx(expected, abs=1e-9)  # roots near 0


@pytest.mark.parametrize("kind", ["counts", "weights"])
@given(said=some.events())
def test_sums_along_the_predictions_are_those_of_the_estimators(kind, said):
    found = atoms(said, kind)
    data = {"labels": said.labels, "probs": said.probs, kind: said.weights}
    for kind in ("max", "range"):
        assert value(of.cumulative(found, kind), found) == pytest.approx(
            cal.ks_error(**data, statistic=kind).value, abs=ROUNDING
        )
    assert value(of.mean_gap(found), found) == pytest.approx(abs(cal.mean_gap(**data).value), abs=ROUNDING)


@given(said=some.events(weighted=False))
def test_the_averaged_two_bin_error_is_its_integral(said):
    p, y = said.probs.astype(float), said.labels
    ends = np.unique(np.concatenate([[0.0], p, [1.0]]))
    expected = 0.0
    for low, high in pairwise(ends):
        below = p <= low
        expected += (high - low) * ((p - y)[below].sum() ** 2 + (p - y)[~below].sum() ** 2) / len(p) ** 2
    found = atoms(said)
    assert value(of.averaged_two_bin(found), found) == pytest.approx(expected, abs=ROUNDING * 10)


@pytest.mark.slow
def test_the_averaged_two_bin_error_prefers_the_truth(rng):
    # truthful and constant reports, 50 rows: published means 0.0033 and 0.0051, as measured for the design
    honest, constant = [], []
    for _ in range(3000):
        p = rng.random(50)
        y = (rng.random(50) < p).astype(int)
        for said, values in ((p, honest), (np.full(50, 0.5), constant)):
            found = atoms(some.Rows(y, said))
            values.append(value(of.averaged_two_bin(found), found))
    assert np.mean(honest) == pytest.approx(0.0033, abs=5 * np.std(honest) / 3000**0.5 + 5e-5)
    assert np.mean(constant) == pytest.approx(0.0051, abs=5 * np.std(constant) / 3000**0.5 + 5e-5)


@given(said=some.events(), bins=st.sampled_from([EqualMass(4), EqualWidth(5), Edges([0, 0.2, 0.5, 1])]))
def test_hosmer_lemeshow_and_the_scan_written_out(said, bins):
    found = atoms(said, "weights")
    index = bins.index(found.event)
    inside = [b for b in range(bins.collect(found.event).sums.shape[1]) if ((index == b) & (found.variance > 0)).any()]
    sums = [(found.errors[index == b].sum(), found.variance[index == b].sum()) for b in inside]
    with np.errstate(over="ignore"):  # an error where almost none was possible
        expected = sum(e * e / v for e, v in sums)
        runs = [
            sum(e for e, _ in sums[a:b]) ** 2 / sum(v for _, v in sums[a:b])
            for a in range(len(sums))
            for b in range(a + 1, len(sums) + 1)
        ]
    assert value(of.hosmer_lemeshow(found, bins), found) == pytest.approx(expected, rel=1e-9)
    if not found.impossible:
        assert value(of.scan(found, bins), found) == pytest.approx(max(runs, default=0.0), rel=1e-9)


def test_scores_are_standardised(rng):
    p = np.sort(rng.beta(2, 1, 200))
    draws = p - (rng.random((20_000, 200)) < p)
    states = of.scores(atoms(some.Rows((p > 0.5).astype(int), p)))(draws)
    assert states.mean(axis=0) == pytest.approx(0, abs=5 / 20_000**0.5)
    assert states.std(axis=0) == pytest.approx(1, abs=5 / 20_000**0.5)
    assert np.corrcoef(states.T)[0, 1] == pytest.approx(0, abs=5 / 20_000**0.5)


def test_one_prediction_has_no_slope():
    found = atoms(some.Rows(np.array([1, 1, 0, 1]), np.full(4, 0.4)))
    assert value(of.cox(found), found) == pytest.approx((3 - 1.6) ** 2 / 0.96)


@pytest.mark.parametrize(
    ("labels", "probs", "make", "words"),
    [
        ([0, 0, 0, 1], [0.6, 0.7, 0.8, 0.9], of.mean_gap, "predictions are too high on average"),
        ([1, 1, 1, 1], [0.4, 0.5, 0.5, 0.6], of.cox, "predictions are too low on average"),
        ([1, 1, 0, 0], [0.1, 0.2, 0.8, 0.9], of.cox, "predictions are too extreme (over-confident)"),
        ([0, 0, 1, 1], [0.4, 0.4, 0.6, 0.6], of.spiegelhalter, "predictions are not extreme enough (under-confident)"),
        (
            [0, 1, 1, 1],
            [0.1, 0.3, 0.5, 0.9],
            lambda a: of.cumulative(a, "range"),
            "predictions between 0.3000 and 0.9000 are too low by 0.4333",
        ),
        (
            [0, 0, 1, 1],
            [0.5, 0.7, 0.9, 0.9],
            lambda a: of.scan(a, EqualMass(4)),
            "predictions between 0.5000 and 0.7000 are too high by 0.6000",
        ),
        (
            [0, 1, 1, 0],
            [0.1, 0.2, 0.9, 0.95],
            lambda a: of.hosmer_lemeshow(a, EqualMass(4)),
            "predictions at 0.9500 are too high by 0.9500",
        ),
    ],
)
def test_statistics_say_what_is_wrong(labels, probs, make, words):
    found = atoms(some.Rows(np.array(labels), np.array(probs)))
    statistic = make(found)
    assert statistic.words(statistic.collect(found.errors[None])[0]) == words
