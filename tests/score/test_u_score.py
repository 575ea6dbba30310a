"""Scores of pairs of rows."""

from __future__ import annotations

from itertools import combinations, product
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions
from calibrant.results import Estimate
from calibrant.score import KernelScore
from naive import scores as naive
from tolerances import ROUNDING

NAIVE = {
    "tv": lambda a, b: exp(-sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2 / 0.3),
    "laplace": lambda a, b: exp(-sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True))) / 0.3),
    "gaussian": lambda a, b: exp(-sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / 2 / 0.09),
}
each = pytest.mark.parametrize("kernel", NAIVE)


@pytest.fixture
def said(rng):
    probs = rng.dirichlet(np.ones(3), 700)  # more than two tiles
    return Predictions(rng.integers(0, 3, 700), probs)


def test_two_rows_by_hand():
    # κ = e^(−1/(2·1)·2) for the Gaussian kernel, residuals (−1, 1) and (1, −1): −2/e
    found = KernelScore("gaussian").score([1, 0], [[1.0, 0.0], [0.0, 1.0]])
    assert found.value == pytest.approx(-2 / np.e, abs=ROUNDING)
    assert found.interval is None
    assert found.cautions == ("two rows have no interval",)


@each
@given(data=st.data())
def test_the_mean_is_that_of_plain_loops(kernel, data):
    drawn = data.draw(some.matrices(dtype=np.float64, weighted=False, most=12).filter(lambda d: d.n > 1))
    found = KernelScore(kernel, 0.3).score(drawn.labels, drawn.probs).value
    assert found == pytest.approx(naive.pairs_mean(drawn.labels, drawn.probs, NAIVE[kernel]), abs=ROUNDING)


@each
def test_it_is_the_unbiased_skce(kernel, said):
    expected = cal.skce(said, kernel=kernel, bandwidth=0.3).value
    assert KernelScore(kernel, 0.3).score(said).value == pytest.approx(expected, abs=ROUNDING)
    top = cal.skce(said, kernel=kernel, bandwidth=0.3, view="top").value
    assert KernelScore(kernel, 0.3).score(said, view="top").value == pytest.approx(top, abs=ROUNDING)


@each
def test_weights_are_repeated_rows(kernel, rng):
    p, y, times = rng.random(40), rng.integers(0, 2, 40), rng.integers(0, 4, 40)
    weighted = KernelScore(kernel, 0.2).score(y, p, counts=times)
    repeated = KernelScore(kernel, 0.2).score(np.repeat(y, times), np.repeat(p, times))
    assert weighted.value == pytest.approx(repeated.value, abs=ROUNDING)
    assert weighted.interval.low == pytest.approx(repeated.interval.low, abs=ROUNDING)
    assert weighted.value == pytest.approx(
        cal.skce(y, p, kernel=kernel, bandwidth=0.2, counts=times).value, abs=ROUNDING
    )


def test_the_order_of_rows_and_classes_does_not_matter(said, rng):
    rows, classes = rng.permutation(said.n), np.array([2, 0, 1])
    moved = KernelScore().score(np.argsort(classes)[said.labels[rows]], said.probs[rows][:, classes])
    there = KernelScore().score(said)
    assert moved.value == pytest.approx(there.value, abs=ROUNDING)
    assert moved.interval.high == pytest.approx(there.interval.high, abs=ROUNDING)


def test_the_interval_is_the_jackknifes(rng):
    p, y = rng.random(25), rng.integers(0, 2, 25)
    score = KernelScore("laplace", 0.4)
    found = score.score(y, p)
    without = np.array([score.score(np.delete(y, i), np.delete(p, i)).value for i in range(25)])
    error = sqrt(24 / 25 * ((without - without.mean()) ** 2).sum())
    from scipy.stats import t

    assert found.interval.high - found.value == pytest.approx(t.ppf(0.975, 24) * error, abs=ROUNDING)
    assert found.interval.method == "jackknife, Student t"


def test_soft_labels_of_ones_and_zeros_are_labels(said):
    soft = Predictions(np.eye(3)[said.labels], said.probs, soft=True)
    assert KernelScore().score(soft).value == pytest.approx(KernelScore().score(said).value, abs=ROUNDING)


def test_the_truth_scores_its_entropy_which_is_zero(said):
    score, q = KernelScore(), said.probs[:5]
    np.testing.assert_allclose(score.entropy(q, q), 0, atol=ROUNDING)
    p = said.probs[5:10]
    shown = score.divergence(p, q, p, q)
    near = score.of_pairs(p, np.zeros_like(p), p, np.zeros_like(p)) / (p @ p.T)
    np.testing.assert_allclose(shown, near * ((p - q) @ (p - q).T), atol=ROUNDING)
    assert shown.mean() >= 0  # a positive definite kernel


def test_a_kernel_and_a_score_of_ones_own(said):
    def product(rows, others):
        return (1 + rows @ others.T) ** 2

    class Mine(cal.score.UScore):
        def of_pairs(self, probs, truth, others, other_truth):
            return product(probs, others) * ((truth - probs) @ (other_truth - others).T)

    found = KernelScore(product).score(said)
    assert found.value == pytest.approx(Mine().score(said).value, abs=ROUNDING)
    assert found.settings["kernel"] == "product"
    assert (Mine().name, Mine().score(said).title) == ("Mine", "Mine")


def test_it_survives_as_json(said):
    found = KernelScore().score(said)
    assert Estimate.from_json(found.to_json()) == found


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="kernel must be one of 'tv', 'laplace', 'gaussian'; it is 'cosine'"):
        KernelScore("cosine")
    with pytest.raises(InputError, match="bandwidth must be positive"):
        KernelScore(bandwidth=0)
    with pytest.raises(InputError, match="at least two rows for a score of pairs; it holds 1"):
        KernelScore().score([1], [0.5])
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        KernelScore().score([1, 0], [0.5, 0.4], level=2)


class Product(cal.score.UScore):
    """The mean over sets of rows of the inner product of all their residuals, weighted by how near the rows are."""

    title = "product of residuals"

    def __init__(self, order):
        self.order = order

    def of_tuples(self, probs, truth):
        near = np.exp(-np.abs(probs - probs.mean(axis=1, keepdims=True)).sum(axis=(1, 2)))
        return near * np.prod(probs - truth, axis=1).sum(axis=1)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_scores_of_any_number_of_rows_are_those_of_plain_loops(order, rng):
    p, y = rng.dirichlet(np.ones(3), 9), rng.integers(0, 3, 9)
    score = Product(order)
    found = score.score(y, p)
    every = [list(rows) for rows in combinations(range(9), order)]
    values = {tuple(rows): score.of_tuples(p[None, rows], np.eye(3)[y[rows]][None])[0] for rows in every}
    assert found.value == pytest.approx(np.mean([*values.values()]), abs=ROUNDING)
    without = [np.mean([v for rows, v in values.items() if i not in rows]) for i in range(9)]
    error = np.sqrt(8 / 9 * np.sum((np.array(without) - np.mean(without)) ** 2))
    half = (found.interval.high - found.interval.low) / 2
    assert half == pytest.approx(float(t.ppf(0.975, 8)) * error, rel=1e-9)
    assert found.interval.method == "jackknife, Student t"


def test_order_one_is_a_proper_score_with_its_standard_error(rng):
    class Brier(cal.score.UScore):
        title, order = "Brier", 1

        def of_tuples(self, probs, truth):  # linear in the truth: |p|² − 2⟨p, q⟩ + Σ q
            return (probs**2).sum(axis=(1, 2)) - 2 * (probs * truth).sum(axis=(1, 2)) + truth.sum(axis=(1, 2))

    p, y = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    found = Brier().score(y, p)
    rows = ((p - np.eye(3)[y]) ** 2).sum(axis=1)
    assert found.value == pytest.approx(cal.brier_score(y, p).value, abs=ROUNDING)
    half = float(t.ppf(0.975, 39)) * rows.std(ddof=1) / np.sqrt(40)
    assert found.interval.high - found.value == pytest.approx(half, rel=1e-9)


def test_counts_are_repeated_rows_and_weights_have_no_scale(rng):
    p, y, times = rng.dirichlet(np.ones(3), 8), rng.integers(0, 3, 8), rng.integers(0, 3, 8)
    score = Product(3)
    found, expected = score.score(y, p, counts=times), score.score(np.repeat(y, times), np.repeat(p, times, axis=0))
    assert found.value == pytest.approx(expected.value, abs=ROUNDING)
    assert found.interval.high == pytest.approx(expected.interval.high, abs=ROUNDING)
    w = rng.random(8)
    assert score.score(y, p, weights=w).value == pytest.approx(score.score(y, p, weights=9 * w).value, abs=ROUNDING)


def test_entropy_sharpness_and_calibration_of_three_rows_add_up(rng):
    """Equation 56, exactly, where the truth given a prediction is known."""
    forecasts, truths = rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(2), 3)
    share = np.array([0.5, 0.3, 0.2])
    score, sets = Product(3), [list(rows) for rows in product(range(3), repeat=3)]
    weight = np.array([share[rows].prod() for rows in sets])
    p, q = forecasts[sets], truths[sets]
    overall = np.broadcast_to(share @ truths, p.shape)
    mean = weight @ score.of_tuples(p, q)
    calibration = weight @ score.divergence(p, q)
    sharpness = weight @ score.divergence(overall, q)
    entropy = score.entropy(overall[:1])[0]
    assert mean == pytest.approx(entropy + calibration - sharpness, abs=ROUNDING)


def test_of_very_many_sets_some_are_drawn(rng, monkeypatch):
    from calibrant.score import u_score

    p, y = rng.dirichlet(np.ones(3), 30), rng.integers(0, 3, 30)
    exact = Product(3).score(y, p)
    monkeypatch.setattr(u_score, "MOST_TUPLES", 2000)
    found = Product(3).score(y, p)
    assert found.cautions == ("2,000 of the sets of 3 rows were drawn",)
    assert exact.cautions == ()
    assert abs(found.value - exact.value) < exact.interval.high - exact.value


def test_what_a_score_of_several_rows_needs():
    with pytest.raises(InputError, match="labels must hold at least 3 rows for a score of 3 rows; it holds 2"):
        Product(3).score([0, 1], [0.2, 0.7])
    alone = Product(3).score([0, 1, 1], [0.2, 0.7, 0.6])
    assert alone.interval is None
    assert alone.cautions == ("three rows have no interval",)
    with pytest.raises(NotImplementedError, match="define of_pairs"):
        cal.score.UScore().of_pairs(*[np.ones((1, 2))] * 4)
    with pytest.raises(NotImplementedError, match="define of_tuples for scores of 2 rows"):
        cal.score.UScore().score([0, 1, 1], [0.2, 0.7, 0.6])
