"""Laws for many rows against published values, their means and exact draws."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.interval.formulas import (
    brownian_max_p_value,
    brownian_range_p_value,
    chi_square_p_value,
    kolmogorov_p_value,
    normal_p_value,
)
from tolerances import ROUNDING


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("law", "mean"), [(brownian_max_p_value, np.sqrt(np.pi / 2)), (brownian_range_p_value, 2 * np.sqrt(2 / np.pi))]
)
def test_the_mean_of_a_brownian_law_is_known(law, mean):
    x = np.linspace(0, 14, 2_801)
    assert np.trapezoid([law(value) for value in x], x) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(("law", "at"), [(brownian_max_p_value, 1.0), (brownian_range_p_value, 2.0)])
def test_the_two_series_of_a_law_meet(law, at):
    assert law(np.nextafter(at, 0)) == pytest.approx(law(at), abs=10 * ROUNDING)


@pytest.mark.slow
def test_brownian_laws_by_simulation(rng):
    walks = np.cumsum(rng.normal(size=(4000, 4000), scale=4000**-0.5), axis=1)
    largest = np.abs(walks).max(axis=1)
    extent = np.maximum(walks.max(axis=1), 0) - np.minimum(walks.min(axis=1), 0)
    # a walk of 4000 steps misses about 0.58/√4000 of a motion's extreme, at either end
    for x in (1.0, 1.5, 2.2):
        assert np.mean(largest + 0.0092 >= x) == pytest.approx(brownian_max_p_value(x), abs=5 * 0.5 / 4000**0.5)
        assert np.mean(extent + 0.0184 >= x) == pytest.approx(brownian_range_p_value(x), abs=5 * 0.5 / 4000**0.5)


@pytest.mark.parametrize("law", [brownian_max_p_value, brownian_range_p_value])
def test_laws_fall_from_one_to_zero_and_keep_small_tails(law):
    values = [law(x) for x in (-1.0, 0.0, 0.1, 0.5, 1, 2, 4, 8, 20, 60)]
    assert values[:2] == [1, 1]
    assert (np.diff(values) <= 0).all()
    assert 0 < values[-2] < 1e-80


def test_the_authors_own_numbers_of_the_two_part_test():
    # sample output of the R package cumulcalib: Z 0.4893, B* 0.9049, p 0.6246 and 0.3860, combined 0.5841
    p_mean, p_bridge = normal_p_value(0.4893), kolmogorov_p_value(0.9049)
    assert p_mean == pytest.approx(0.6246, abs=5e-5)
    assert p_bridge == pytest.approx(0.3860, abs=5e-5)
    assert chi_square_p_value(-2 * np.log(p_mean * p_bridge), 4) == pytest.approx(0.5841, abs=5e-5)


def test_no_degrees_of_freedom_prove_nothing():
    assert chi_square_p_value(0.0, 0) == 1
