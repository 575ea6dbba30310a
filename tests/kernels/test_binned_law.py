"""The law of a binned error, against drawing it and against adding up every outcome."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, gamma

from calibrant.kernels.draws.laws import MOST_COUNTS, Law, binned_law
from tolerances import ROUNDING, STANDARD_ERRORS


@pytest.mark.parametrize("norm", [1, 2])
def test_every_outcome_of_few_rows(norm):
    n, prob, rate = np.array([3.0, 5.0, 1.0]), np.array([0.2, 0.55, 0.9]), np.array([0.3, 0.5, 1.0])
    sizes, chances = [], []
    for k in product(range(4), range(6), range(2)):
        sizes.append((n / 9 * np.abs(np.array(k) / n - prob) ** norm).sum())
        chances.append(binom.pmf(k, n, rate).prod())
    sizes, chances = np.array(sizes), np.array(chances)
    mean = chances @ sizes
    found = binned_law(n, prob, rate, norm)
    assert found.mean == pytest.approx(mean, abs=ROUNDING)
    assert found.variance == pytest.approx(chances @ (sizes - mean) ** 2, abs=ROUNDING)
    assert found.third == pytest.approx(chances @ (sizes - mean) ** 3, abs=ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2])
def test_many_rows_are_summed_over_a_part_of_the_counts(rng, norm):
    n, prob = np.repeat([20_000.0, 9000.0, 900.0], 4), np.linspace(0.05, 0.999, 12)
    rate = prob - np.linspace(-0.004, 0.003, 12)
    assert (n > 10 * MOST_COUNTS).all()
    k = rng.binomial(n.astype(int), rate, (200_000, 12))
    drawn = ((n / n.sum()) * np.abs(k / n - prob) ** norm).sum(axis=1)
    found, error = binned_law(n, prob, rate, norm), drawn.std() / np.sqrt(len(drawn))
    assert abs(found.mean - drawn.mean()) < STANDARD_ERRORS * error
    assert found.variance == pytest.approx(drawn.var(), rel=0.02)  # five standard errors of a variance of 200 000 draws
    quantiles = np.quantile(drawn, [0.025, 0.5, 0.975])
    assert [found.at_most(q) for q in quantiles] == pytest.approx([0.025, 0.5, 0.975], abs=0.01)  # a gamma distribution


def test_a_law_is_a_gamma_distribution_shifted_or_turned_round():
    exact = gamma(5, scale=0.1)
    law = Law(exact.mean(), exact.var(), 2 * 5 * 0.1**3)
    turned = Law(-exact.mean(), exact.var(), -2 * 5 * 0.1**3)
    for x in (0.2, 0.5, 1.1):
        assert law.at_most(x) == pytest.approx(exact.cdf(x), abs=ROUNDING)
        assert turned.at_most(-x) == pytest.approx(exact.sf(x), abs=ROUNDING)
    assert law.at_most(-1) == 0
    assert Law(0.0, 1.0, 1e-9).at_most(1.959963984540054) == pytest.approx(0.975, abs=ROUNDING)
    assert (Law(0.3, 0.0, 0.0).at_most(0.2), Law(0.3, 0.0, 0.0).at_most(0.3)) == (0, 1)
    assert Law(1.0, 2.0, 3.0).plus(0.5, 0.25) == Law(1.0, 2.5, 3.25)
