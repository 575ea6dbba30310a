"""Draws of cells: laws written out, tables that keep both tails, and the same in every form."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.kernels.compiled import many_calls
from calibrant.kernels.draws import cell_draws, null_draws
from calibrant.kernels.draws.cell_draws import GUIDES, cell_tables, draw_cells, hit_laws
from calibrant.kernels.draws.null_draws import HALF, binomial_tables, draw_pooled, replicate_seeds
from tolerances import ROUNDING, STANDARD_ERRORS

MIXED = {
    "p": np.array([0.0, 1e-12, 0.01, 0.3, 0.3, 0.5, 0.9, 0.999, 1.0, 1.0]),
    "count": np.array([3, 1, 7, 1, 40, 100_000, 2, 1, 1, 5]),
    "starts": np.array([0, 3, 5, 6, 9, 10]),
}


def naive_law(p, count):
    """One row after the other: the next is hit or not."""
    return reduce(np.convolve, (np.array([1 - each, each]) for each in np.repeat(p, count)), np.ones(1))


def laws(p, count, starts):
    law = np.zeros((len(starts) - 1, int(np.add.reduceat(count, starts[:-1]).max()) + 1))
    hit_laws(p, count, starts[:-1], starts[1:], law)
    return law


def drawn_hits(p, count, starts, seeds):
    tables, errors = cell_tables(p, count, starts), np.empty((len(seeds), len(starts) - 1))
    draw_cells(-tables.lowest, tables.step, tables.guide, tables.thresholds, seeds, errors)
    return -errors


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=12),
    st.sets(st.integers(1, 11)),
    st.booleans(),
)
def test_the_law_of_a_cell_is_that_of_its_rows_added_up(rows, cuts, compiled):
    p, count = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    starts = np.array([0, *sorted(cut for cut in cuts if cut < len(p)), len(p)])
    with many_calls(compiled):
        found = laws(p, count, starts)
    for law, first, last in zip(found, starts[:-1], starts[1:], strict=True):
        truth = naive_law(p[first:last], count[first:last])
        assert law[: len(truth)] == pytest.approx(truth, abs=ROUNDING)
        assert not law[len(truth) :].any()


def test_all_forms_find_the_same_laws_to_the_last_bit(rng):
    p, count = np.sort(rng.random(40) ** 9), rng.integers(1, 5, 40)
    p[-1], p[0] = 1.0, 0.0
    starts = np.array([0, 4, 5, 20, 40])
    with many_calls():
        compiled = laws(p, count, starts)
    plain = np.zeros_like(compiled)
    hit_laws.plain(p, count, starts[:-1], starts[1:], plain)
    assert (compiled == plain).all()
    assert (compiled == laws(p, count, starts)).all()


def test_both_tails_keep_their_precision():
    p, starts = np.array([1e-12, 2e-12, 1 - 2.0**-50, 1.0]), np.array([0, 2, 4])
    tables = cell_tables(p, np.ones(4, np.int64), starts)
    none, all_hit = (int(tables.thresholds[i]) for i in (0, -1))
    assert (HALF - none) / HALF == pytest.approx(3e-12, rel=1e-6)
    assert all_hit / HALF == pytest.approx(2.0**-50, rel=1e-6)
    assert tables.lowest.tolist() == [0.0, 1.0]


def test_certain_rows_never_surprise():
    hits = drawn_hits(
        np.array([0.0, 0.0, 1.0, 1.0]), np.array([2, 3, 4, 5]), np.array([0, 2, 4]), replicate_seeds(3, 99)
    )
    assert (hits == [0.0, 9.0]).all()


def test_hits_of_a_cell_follow_its_law(rng):
    p, starts, draws = np.sort(rng.random(30)), np.array([0, 12, 30]), 20_000
    hits = drawn_hits(p, np.ones(30, np.int64), starts, replicate_seeds(5, draws))
    assert (hits == hits.round()).all()
    for c, (first, last) in enumerate([(0, 12), (12, 30)]):
        truth = naive_law(p[first:last], np.ones(last - first, np.int64))
        share = np.bincount(hits[:, c].astype(int), minlength=len(truth)) / draws
        assert (np.abs(share - truth) <= STANDARD_ERRORS * np.sqrt(truth * (1 - truth) / draws) + 1 / draws).all()


def test_an_atom_that_is_a_cell_is_drawn_as_an_atom(rng):
    p, count, seeds = np.sort(rng.random(6)), np.array([1, 2, 900, 1, 40, 3]), replicate_seeds(1, 500)
    tables, errors = binomial_tables(p, count), np.empty((500, 6))
    draw_pooled(np.zeros(6), np.ones(6), tables.starts, tables.lowest, tables.thresholds, seeds, errors)
    assert (drawn_hits(p, count, np.arange(7), seeds) == -errors).all()


def test_hits_of_very_many_rows_are_drawn_in_steps(monkeypatch):
    monkeypatch.setattr(null_draws, "QUICK", 3000)
    p, count = np.array([0.1, 0.2, 0.5]), np.array([1, 1, 10**9])
    hits = drawn_hits(p, count, np.array([0, 2, 3]), replicate_seeds(0, 20_000))[:, 1]
    assert hits.std() == pytest.approx(np.sqrt(0.25e9), rel=0.03)
    assert abs(hits.mean() - 0.5e9) < STANDARD_ERRORS * np.sqrt(0.25e9 / 20_000)
    monkeypatch.setattr(null_draws, "MOST_THRESHOLDS", 100)
    with pytest.raises(InputError, match="counts stand for too many rows to draw labels for"):
        cell_tables(p, count, np.array([0, 2, 3]))


def test_the_guide_leads_to_where_a_number_belongs():
    tables = cell_tables(**MIXED)
    starts = tables.guide[::GUIDES]
    for c in range(len(starts) - 1):
        own = tables.thresholds[starts[c] : starts[c + 1]]
        assert (np.diff(own.astype(object)) >= 0).all()
        for b in range(GUIDES):
            first, last = tables.guide[GUIDES * c + b : GUIDES * c + b + 2] - starts[c]
            lowest, largest = b << 57, ((b + 1) << 57) - 1
            assert first <= np.searchsorted(own, np.uint64(lowest), side="right")
            assert np.searchsorted(own, np.uint64(largest), side="right") <= last


def test_all_forms_draw_the_same():
    tables, seeds = cell_tables(**MIXED), replicate_seeds(1, 50)
    arguments = np.arange(5) + 0.25, tables.step, tables.guide, tables.thresholds, seeds
    found = np.empty((3, 50, 5))
    with many_calls():
        draw_cells(*arguments, found[0])
    with np.errstate(over="ignore"):
        draw_cells.plain(*arguments, found[1])
    draw_cells(*arguments, found[2])
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_tables_made_in_parts_are_those_made_at_once(rng, monkeypatch):
    p, count = np.sort(rng.random(90)), rng.integers(1, 4, 90)
    starts = np.unique(np.append(rng.integers(0, 91, 30), [0, 90]))
    whole = cell_tables(p, count, starts)
    monkeypatch.setattr(cell_draws, "CELLS_AT_ONCE", 4)
    parts = cell_tables(p, count, starts)
    for name in ("guide", "lowest", "step", "thresholds"):
        assert (getattr(whole, name) == getattr(parts, name)).all()
