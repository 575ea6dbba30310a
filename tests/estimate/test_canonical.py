"""Canonical error with Dirichlet kernels: against SciPy's density and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import dirichlet

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions
from calibrant.estimate import canonical
from naive import canonical as naive
from naive import data
from naive.rows import counted, one_hot, two_classes, written_out
from tolerances import ROUNDING

EXPONENTS = 1e-10
"""The kernels are exponentials of numbers up to 1e3/h, rounded in the fifteenth digit."""

WIDTHS = st.sampled_from([0.01, 0.1, 0.5, 1.0])


def test_two_rows_are_judged_by_each_other():
    # the only other row has all the weight: Ê is its label
    probs = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    found = cal.canonical_error([0, 2], probs, bandwidth=0.1)
    assert found.value == pytest.approx(((0.7 + 0.2 + 0.9) + (0.9 + 0.3 + 0.6)) / 2, abs=ROUNDING)
    squared = cal.canonical_error([0, 2], probs, bandwidth=0.1, norm=2, root=False)
    assert squared.value == pytest.approx(((0.49 + 0.04 + 0.81) + (0.81 + 0.09 + 0.36)) / 2, abs=ROUNDING)


@pytest.mark.parametrize("h", [0.02, 0.1, 1.0])
def test_the_kernel_is_the_dirichlet_density_of_scipy(rng, h):
    rows = rng.dirichlet([1, 2, 3], 6)
    for row in rows:
        for centre in rows:
            expected = dirichlet.logpdf(row / row.sum(), centre / h + 1)
            assert naive.log_kernel(row.tolist(), centre.tolist(), h) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("h", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("norm", [1, 2])
def test_it_is_the_mean_distance_with_scipys_density(rng, h, norm):
    rows, labels = rng.dirichlet([1, 2, 3], 30), rng.integers(0, 3, 30)
    kernel = np.array([[dirichlet.pdf(f / f.sum(), g / h + 1) for g in rows] for f in rows])
    np.fill_diagonal(kernel, 0)
    rates = kernel @ np.eye(3)[labels] / kernel.sum(axis=1, keepdims=True)
    expected = (np.abs(rates - rows) ** norm).sum(axis=1).mean()
    found = cal.canonical_error(labels, rows, bandwidth=h, norm=norm, root=False)
    assert found.value == pytest.approx(expected, abs=EXPONENTS)


@given(data.matrices(most=10).map(counted), WIDTHS, st.sampled_from([1, 2]))
def test_it_is_that_of_plain_loops(said, h, norm):
    labels, probs = written_out(said.labels, said.probs.astype(float).tolist(), said.weights)
    assume(len(labels) > 1)
    found = cal.canonical_error(said.labels, said.probs, bandwidth=h, norm=norm, root=False, counts=said.weights)
    expected = naive.power(probs, one_hot(labels, said.probs.shape[1]), h, norm)
    assert found.value == pytest.approx(expected, abs=EXPONENTS)


@given(data.events(most=10).map(counted), WIDTHS)
def test_an_event_counts_as_two_classes(said, h):
    labels, probs = written_out(said.labels, said.probs, said.weights)
    assume(len(labels) > 1)
    truth, rows = two_classes(labels, probs)
    found = cal.canonical_error(said.labels, said.probs, bandwidth=h, counts=said.weights)
    assert found.value == pytest.approx(naive.power(rows, truth, h, 1), abs=EXPONENTS)


@given(some.soft_matrices(), WIDTHS)
def test_shares_as_labels_are_those_of_plain_loops(said, h):
    assume(said.n > 1)
    found = cal.canonical_error(Predictions(said.labels, said.probs, soft=True), bandwidth=h)
    expected = naive.power(said.probs.tolist(), said.labels.tolist(), h, 1)
    assert found.value == pytest.approx(expected, abs=EXPONENTS)


@pytest.mark.parametrize("concentration", [0.5, 3.0, 50.0])
def test_the_bandwidth_is_the_likeliest_of_the_grid(rng, concentration):
    rows = rng.dirichlet(np.full(3, concentration), 25)
    labels = rng.integers(0, 3, 25)
    found = cal.canonical_error(labels, rows)
    assert found.settings["bandwidth"] == naive.bandwidth(rows.tolist(), canonical.GRID.tolist())


@pytest.mark.parametrize("tile", [1, 7, 100])
def test_the_size_of_tiles_does_not_matter(monkeypatch, rng, tile):
    rows, labels = rng.dirichlet([1, 1, 1], 40), rng.integers(0, 3, 40)
    whole = cal.canonical_error(labels, rows, bandwidth=0.1).value
    monkeypatch.setattr("calibrant.kernels.pairs.row_pairs.TILE_ENTRIES", tile * 40)
    assert cal.canonical_error(labels, rows, bandwidth=0.1).value == pytest.approx(whole, abs=ROUNDING)


def test_a_few_judges_spread_over_the_rows_choose_like_all(monkeypatch, rng):
    rows, weight = rng.dirichlet([2, 2, 2], 200), np.ones(200)
    every = canonical.best_bandwidth(rows, weight)
    monkeypatch.setattr(canonical, "JUDGES", 50)
    at, share = canonical.judges(rows, weight)
    assert len(set(at)) == share.sum() == 50
    assert np.log10(canonical.best_bandwidth(rows, weight) / every) == pytest.approx(
        0, abs=0.41
    )  # two steps of the grid


@given(data.matrices(most=25).map(counted))
def test_judges_are_the_same_for_weights_and_rows_written_out(said):
    weight = np.ones(said.n) if said.weights is None else said.weights
    kept = weight > 0
    rows = said.probs.astype(float)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(canonical, "JUDGES", 7)
        at, share = canonical.judges(rows[kept], weight[kept])
        repeated = np.repeat(rows, weight.astype(int), axis=0)
        again, ones = canonical.judges(repeated, np.ones(len(repeated)))
    first = np.repeat(rows[kept][at], share.astype(int), axis=0)
    assert np.array_equal(first, np.repeat(repeated[again], ones.astype(int), axis=0))


def test_zeros_are_reported():
    found = cal.canonical_error([0, 1, 0], [[1.0, 0.0], [0.4, 0.6], [0.5, 0.5]])
    assert found.cautions == ("1 row holds a probability of 0, read as the smallest positive number",)


def test_one_row_is_refused():
    with pytest.raises(
        InputError, match="labels must hold at least two rows: each is judged by the others; it holds 1"
    ):
        cal.canonical_error([1], [[0.5, 0.5]])


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="norm must be a number from 1 to 100, or 'max'; it is 0"):
        cal.canonical_error([0, 1], [0.2, 0.7], norm=0)
    for bandwidth in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="bandwidth must be positive and finite; it is"):
            cal.canonical_error([0, 1], [0.2, 0.7], bandwidth=bandwidth)
