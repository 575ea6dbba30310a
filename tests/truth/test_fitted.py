"""Calibration error by fitting, on worlds with a known truth."""

import numpy as np
import pytest

import calibrant as cal

pytestmark = pytest.mark.slow
RUNS, FEWER = 100, 20
"""Fewer for the Gaussian process, which is fitted anew for every fold."""


def runs(rng, n, power, count=RUNS, **options):
    values = np.empty(count)
    for i in range(count):
        p = rng.beta(1.2, 0.7, n)
        values[i] = cal.fitted_error((rng.random(n) < p**power).astype(int), p, **options).value
    return values.mean(), values.std(ddof=1) / count**0.5


def truth(power, norm):
    from scipy.stats import beta

    x = np.linspace(0, 1, 200_001)[1:-1]
    density = beta(1.2, 0.7).pdf(x)
    return float(np.trapezoid(np.abs(x**power - x) ** norm * density, x) / np.trapezoid(density, x))


@pytest.mark.parametrize("power", [1.0, 1.6])
@pytest.mark.parametrize("recipe", ["platt", "isotonic", None], ids=str)
@pytest.mark.parametrize("norm", [1, 2])
def test_cross_fitted_errors_do_not_exceed_the_truth_on_average(rng, power, recipe, norm):
    count = FEWER if recipe is None else RUNS
    mean, error = runs(rng, 500, power, count, method=recipe, cross_fitted=True, norm=norm, root=False)
    assert mean <= truth(power, norm) + 4 * error


@pytest.mark.parametrize("power", [1.2, 1.6])
def test_the_default_comes_close_to_the_truth(rng, power):
    mean, error = runs(rng, 2000, power)
    binned = np.mean([cal.ece(*_rows(rng, 2000, power)).value for _ in range(RUNS)])
    assert abs(mean - truth(power, 1)) < abs(binned - truth(power, 1)) + 4 * error


def _rows(rng, n, power):
    p = rng.beta(1.2, 0.7, n)
    return (rng.random(n) < p**power).astype(int), p
