"""Rows drawn in cells: where cells begin, what statistics see of them, and that answers are those of the rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import Predictions
from calibrant.detect.omnibus import components, is_calibrated
from calibrant.kernels.draws.null_draws import replicate_seeds
from calibrant.resampling import cells, draw
from calibrant.resampling import statistics as of
from calibrant.resampling.cells import cell_starts, cells_of
from calibrant.resampling.fine_bins import Grid
from calibrant.resampling.null import nulls_of
from calibrant.resampling.rows import atoms_of

UNCHANGED = ("mean_gap", "scan", "neyman", "rank_polynomials", "waves", "isotonic_ratio")
"""Statistics that are the same number in cells."""


@pytest.fixture
def in_cells(monkeypatch):
    """Cells of some ten rows, from the first row on."""
    monkeypatch.setattr(cells, "IN_CELLS_FROM", 1)
    monkeypatch.setattr(cells, "CELL_ROWS", 10)


def predictions(rng, n=1500, how="uniform"):
    p = {
        "uniform": lambda: rng.random(n),
        "extreme": lambda: np.where(rng.random(n) < 0.5, 10 ** rng.uniform(-12, -1, n), rng.beta(9, 0.1, n)),
        "certain": lambda: np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), rng.random(n)),
        "one value": lambda: np.where(rng.random(n) < 0.9, 0.3, rng.random(n)),
        "twice": lambda: np.repeat(rng.random(n // 2), 2),
    }[how]()
    return Predictions(rng.random(n) < p, p)


HOWS = ["uniform", "extreme", "certain", "one value", "twice"]


def compared(atoms, n_draws=49):
    (null,) = nulls_of(atoms)
    statistics = components(atoms)
    return statistics, draw.drawn(null, statistics, n_draws, 3, in_cells=True), draw.drawn(null, statistics, n_draws, 3)


@given(
    st.lists(st.one_of(st.integers(1, 5), st.integers(1, 300)), min_size=1, max_size=200),
    st.lists(st.integers(0, 200), max_size=9),
)
def test_cells_have_about_as_many_rows_and_divide_nothing(counts, cuts):
    count, cuts = np.array(counts), np.array([cut for cut in cuts if cut <= len(counts)], np.intp)
    starts = cell_starts(count, [cuts])
    assert starts[0] == 0
    assert starts[-1] == len(count)
    assert (np.diff(starts) > 0).all()
    assert set(cuts) <= set(starts)
    for first, last in pairwise(starts):
        assert last - first == 1 or count[first:last].max() < cells.CELL_ROWS
        assert last - first == 1 or count[first:last].sum() < 3 * cells.CELL_ROWS


def test_cells_do_not_depend_on_labels(rng):
    p = rng.random(40_000)
    one, other = (nulls_of(atoms_of(Predictions(y, p), "auto"))[0] for y in (p < 0.5, rng.random(40_000) < p))
    assert (cells_of(one, []).starts == cells_of(other, []).starts).all()


@pytest.mark.parametrize("how", HOWS)
def test_binned_statistics_are_the_same_in_cells(rng, in_cells, how):
    statistics, found, rows = compared(atoms_of(predictions(rng, how=how), "auto"))
    assert found.observed == pytest.approx(rows.values[0], rel=1e-9)
    assert all((a == b).all() for a, b in zip(found.states, rows.states, strict=True))
    for j, statistic in enumerate(statistics):
        same = found.values[0, j] == pytest.approx(found.observed[j], rel=1e-9, abs=1e-12)
        assert same or statistic.name not in UNCHANGED
    assert (found.values[1:] != rows.values[1:]).any()  # cells were drawn


def test_scores_and_running_sums_of_cells_written_out(rng, in_cells):
    atoms = atoms_of(predictions(rng, 600), "auto")
    statistics, found, _ = compared(atoms)
    starts = cells_of(nulls_of(atoms)[0], [each.collect.cuts for each in statistics if each.collect.cuts is not None])
    z, sums = np.zeros(3), [0.0]
    state = of.scores(atoms)(np.eye(len(atoms.p)))  # the factor of every atom
    for first, last in pairwise(starts.starts):
        spread = [p * (1 - p) for p in atoms.p[first:last]]
        error = sum(atoms.errors[first:last])
        sums.append(sums[-1] + error)
        z += [error * sum(spread * state[first:last, j]) / sum(spread) for j in range(3)]
    by_name = {each.name: found.values[0, j] for j, each in enumerate(statistics)}
    assert by_name["kuiper"] == pytest.approx((max(sums) - min(sums)) / len(atoms.p))
    assert by_name["cox"] == pytest.approx(z[0] ** 2 + z[1] ** 2)
    assert by_name["spiegelhalter"] == pytest.approx(abs(z[2]))


def test_scores_lose_next_to_nothing_in_cells(rng):
    atoms = atoms_of(predictions(rng, 30_000, "extreme"), "auto")
    pooled, variance = cells_of(nulls_of(atoms)[0], [of.scores(atoms).cuts]), atoms.variance
    odds = of.bounded_log_odds(atoms.p)
    for factor in (odds - np.average(odds, weights=variance), 2 * atoms.p - 1):
        kept = pooled.added(variance) @ pooled.mean(factor) ** 2 / (variance @ factor**2)
        assert 0.99 < kept <= 1 + 1e-12


@pytest.mark.parametrize("how", HOWS)
def test_blocks_of_cells_are_parts_of_the_same_draws(rng, in_cells, monkeypatch, how):
    atoms = atoms_of(predictions(rng, how=how), "auto")
    null = cells_of(nulls_of(atoms)[0], [Grid(atoms).cuts]).null()
    seeds = replicate_seeds(5, 7)
    parts = [null.draws(seeds, slice(start, start + 6)) for start in range(0, len(null.observed), 6)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), null.draws(seeds))
    _, whole, _ = compared(atoms)
    for name, value in {"BLOCK_ERRORS": 60, "PART_CELLS": 9}.items():
        monkeypatch.setattr(draw, name, value)
    _, found, _ = compared(atoms)
    np.testing.assert_allclose(found.values, whole.values, rtol=1e-9, atol=1e-12)


def test_rows_that_depend_on_each_other_or_weigh_differently_are_drawn_one_by_one(rng, in_cells):
    p = rng.random(900)
    y, groups = rng.random(900) < p, rng.integers(0, 300, 900)
    for cluster in ("same", "any"):
        atoms = atoms_of(Predictions(y, p, groups=groups), "auto", cluster)
        assert all(cells_of(null, []) is None for null in nulls_of(atoms))
    atoms = atoms_of(Predictions(y, p, weights=rng.random(900)), "auto")
    assert cells_of(nulls_of(atoms)[0], []) is None


def test_few_rows_and_statistics_that_need_every_row_are_not_read_from_cells(rng):
    few, many = (atoms_of(predictions(rng, n), "auto") for n in (cells.IN_CELLS_FROM - 1, cells.IN_CELLS_FROM))
    assert cells_of(nulls_of(few)[0], []) is None
    assert cells_of(nulls_of(many)[0], []) is not None
    (null,) = nulls_of(many)
    statistics = [of.averaged_two_bin(many), of.mean_gap(many)]
    plain, asked = (draw.drawn(null, statistics, 19, 3, in_cells=each) for each in (False, True))
    assert (plain.values == asked.values).all()


def test_atoms_of_many_rows_are_left_as_they_are(rng):
    p = np.sort(rng.random(cells.IN_CELLS_FROM))
    given = Predictions(rng.random(len(p)) < p, p, counts=np.full(len(p), cells.CELL_ROWS))
    assert cells_of(nulls_of(atoms_of(given, "auto"))[0], []) is None


@pytest.mark.parametrize("how", HOWS)
def test_the_order_of_rows_does_not_matter(rng, in_cells, how):
    given = predictions(rng, how=how)
    order = rng.permutation(len(given.labels))
    one, other = is_calibrated(given, n_draws=99), is_calibrated(given.labels[order], given.probs[order], n_draws=99)
    assert one.p_value == other.p_value
    assert {name: each.p_value for name, each in one.parts.items() if hasattr(each, "p_value")} == {
        name: each.p_value for name, each in other.parts.items() if hasattr(each, "p_value")
    }


def test_counts_are_rows_repeated(rng, in_cells):
    p, counts = rng.random(800), rng.integers(1, 4, 800)
    y = rng.random(800) < p
    one = is_calibrated(y, p, counts=counts, n_draws=99)
    assert one.p_value == is_calibrated(np.repeat(y, counts), np.repeat(p, counts), n_draws=99).p_value


def test_atoms_of_very_many_rows_stand_beside_cells(rng, in_cells):
    p = np.sort(rng.random(600))
    hits = np.where(np.arange(600) % 200 == 0, np.round(1e9 * p), rng.random(600) < p)
    counts = np.where(np.arange(600) % 200 == 0, 1e9, 1.0)
    y, both = np.repeat([1, 0], 600), np.tile(p, 2)
    each = np.concatenate([hits, counts - hits])
    kept = each > 0
    assert is_calibrated(y[kept], both[kept], counts=each[kept], n_draws=99).p_value > 0.01
    each[0] = 0.6e9 * p[0]
    each[600] = 1e9 - each[0]
    assert is_calibrated(y[kept], both[kept], counts=np.round(each[kept]), n_draws=99).p_value == 0.01


def test_an_impossible_label_refutes_in_cells_too(rng, in_cells):
    p = np.sort(rng.random(900))
    p[:40], p[-40:] = 0.0, 1.0
    y = rng.random(900) < p
    assert is_calibrated(y, p, n_draws=99).p_value > 0
    y[3] = True
    assert is_calibrated(y, p, n_draws=99).p_value == 0.0


def test_reported_statistics_are_those_of_the_single_tests(rng):
    p = rng.random(30_000).astype(np.float32)
    y = (rng.random(30_000) < p).astype(int)
    found = is_calibrated(y, p, n_draws=99)
    single = {
        "kuiper": cal.detect.cumulative_test(y, p, n_draws=19),
        "cox": cal.detect.cox_test(y, p, n_draws=19),
        "spiegelhalter": cal.detect.spiegelhalter_test(y, p, n_draws=19),
    }
    for name, one in single.items():
        assert found.parts[name].statistic == pytest.approx(one.statistic, rel=1e-9)
    assert found.p_value == is_calibrated(y, p, n_draws=99).p_value
