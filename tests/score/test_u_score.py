"""Scores of pairs of rows."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
