"""Statistics on a fine grid of bins, against themselves written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions
from calibrant.resampling import fine_bins
from calibrant.resampling.fine_bins import Grid, isotonic_ratio, neyman, rank_kernel, rank_polynomials, waves
from calibrant.resampling.rows import Atoms, atoms_of
from tolerances import ROUNDING, STANDARD_ERRORS

MAKERS = [neyman, rank_polynomials, waves, rank_kernel, isotonic_ratio]


def value(statistic, atoms):
    return float(statistic.finish(statistic.collect(atoms.errors[None]))[0])


def rows(labels, probs, **mass):
    return atoms_of(Predictions(labels, probs, **mass), "auto")


@pytest.mark.parametrize("p", ["spread", "tied", "certain"])
def test_scores_are_uncorrelated_with_variance_1(rng, p):
    probs = {"spread": rng.beta(2, 5, 500), "tied": rng.integers(1, 8, 500) / 8, "certain": rng.integers(0, 5, 500) / 4}
    grid = Grid(rows(np.zeros(500, int), probs[p]))
    basis = fine_bins.cosines(grid)
    assert basis.shape[1] == {"spread": 40, "tied": 7, "certain": 3}[p]
    covariance = np.einsum("bj,b,bk->jk", basis, grid.variance, basis)
    assert covariance == pytest.approx(np.eye(basis.shape[1]), abs=1e-9)  # sums of up to 120 terms


def test_the_adaptive_chi_square_takes_the_best_number_of_cosines(rng):
    p = np.sort(rng.random(80))
    atoms = rows(rng.random(80) < p, p)
    grid = Grid(atoms)
    z = fine_bins.cosines(grid).T @ np.add.reduceat(atoms.errors, grid.cuts[:-1])
    expected = max(((z[:k] ** 2).sum() - k) / np.sqrt(2 * k) for k in range(1, len(z) + 1))
    assert value(neyman(atoms), atoms) == pytest.approx(expected, rel=1e-9)
    assert abs(z[0]) == pytest.approx(abs(atoms.errors.sum()) / np.sqrt(atoms.variance.sum()), rel=1e-9)  # a constant


def test_polynomials_of_ranks_are_a_chi_square_of_all_degrees(rng):
    p = np.sort(rng.random(60))
    atoms = rows(rng.random(60) < p, p)
    shapes = ((np.arange(60) + 0.5) / 60)[:, None] ** np.arange(7)  # any basis of these polynomials
    scores = shapes.T @ atoms.errors
    expected = scores @ np.linalg.solve(shapes.T @ (atoms.variance[:, None] * shapes), scores)
    assert value(rank_polynomials(atoms), atoms) == pytest.approx(expected, rel=1e-5)  # powers are nearly dependent


def test_the_kernel_of_ranks_written_out():
    p = np.array([0.1, 0.3, 0.6, 0.8])
    atoms = rows([0, 1, 0, 1], p)
    e, rank = p - [0, 1, 0, 1], (np.arange(4) + 0.5) / 4
    pairs = e[:, None] * e * np.exp(-np.abs(rank[:, None] - rank) / 0.03)
    assert value(rank_kernel(atoms), atoms) == pytest.approx(pairs.sum() / (p * (1 - p)).sum(), rel=1e-9)


def test_the_isotonic_likelihood_ratio_written_out():
    p, y = np.array([0.2, 0.4, 0.5, 0.9]), np.array([0, 1, 0, 1])
    atoms = rows(y, p)
    fitted = np.log([1, 0.5, 0.5, 1]).sum()
    claimed = np.log(np.where(y == 1, p, 1 - p)).sum()
    assert value(isotonic_ratio(atoms), atoms) == pytest.approx(2 * (fitted - claimed), rel=1e-9)


@given(said=some.events(weighted=False))
def test_counts_are_rows_repeated_and_only_ratios_of_weights_matter(said):
    once, twice = rows(said.labels, said.probs), rows(said.labels, said.probs, counts=np.full(said.n, 2))
    repeated = rows(np.repeat(said.labels, 2), np.repeat(said.probs, 2))
    for make in MAKERS:
        assert np.isfinite(value(make(once), once))
        assert value(make(twice), twice) == pytest.approx(value(make(repeated), repeated), rel=1e-9, abs=ROUNDING)


def test_nothing_is_left_to_chance_by_0_and_1():
    atoms = rows([0, 0, 1], [0.0, 0.0, 1.0])
    assert value(isotonic_ratio(atoms), atoms) == 0
    assert value(rank_kernel(atoms), atoms) == 0
    assert value(neyman(atoms), atoms) == -1
    assert value(waves(atoms), atoms) == 0
    assert value(rank_polynomials(atoms), atoms) == 0


def test_flipped_errors_have_no_rates(rng):
    p = rng.random(6)
    said = Predictions(rng.integers(0, 2, 6), p, groups=[0, 0, 1, 1, 2, 2])
    with pytest.raises(InputError, match="cluster must be 'same' or False for this statistic"):
        isotonic_ratio(atoms_of(said, "auto", "any"))


def test_a_wave_is_found_at_its_frequency_whatever_its_phase(rng):
    p = (np.arange(100) + 0.5) / 100
    atoms, found = Atoms.single(p, np.zeros(100), "binary", 100), []
    statistic = waves(atoms)
    for phase in (0.0, 1.0, 2.0):
        error = p * (1 - p) * np.sin(14 * np.pi * (p - p[0]) / (p[-1] - p[0]) + phase)
        found.append(statistic.finish(statistic.collect(error[None]))[0])
        # errors in proportion to variance: all of Σe²/v lies in one ordinate
        assert found[-1] == pytest.approx((error**2 / (p * (1 - p))).sum(), rel=1e-6)


@pytest.mark.parametrize("make", [neyman, waves])
def test_errors_in_waves_stand_out(rng, make):
    p = np.sort(rng.random(1000))
    atoms = Atoms.single(p, np.zeros(1000), "binary", 1000)
    statistic = make(atoms)
    null = statistic.finish(statistic.collect(p - (rng.random((400, 1000)) < p)))
    rates = np.clip(p + 0.12 * np.sin(24 * np.pi * p), 0, 1)
    found = statistic.finish(statistic.collect(p - (rng.random((100, 1000)) < rates)))
    share = (found > np.quantile(null, 0.95)).mean()
    assert share > 0.9 - STANDARD_ERRORS * np.sqrt(0.09 / 100)


def test_what_was_impossible_counts_against_calibration():
    p, y = np.repeat([0.3, 1.0], 500), np.tile([1, 0, 0, 0, 1, 0, 0, 1, 0, 0], 100)
    y[500:] = 1
    sure = cal.is_calibrated(y, p).parts["isotonic_ratio"]
    y[600] = 0
    wrong = cal.is_calibrated(y, p).parts["isotonic_ratio"]
    assert wrong.statistic > 1000 > sure.statistic >= 0
    assert wrong.p_value < 0.01 < sure.p_value
