"""Buckets cut at the edges of equal-width cells: in order, and exact for equal-width bins."""

from __future__ import annotations

import numpy as np
import pytest

import strategies as some
from calibrant.kernels.rows import cells
from calibrant.kernels.rows.buckets import bucket_index
from calibrant.kernels.rows.cells import N_CELLS, N_INDICES, CellTable, cell_index
from crowded import SCORES


@pytest.mark.parametrize("dtype", some.DTYPES)
@pytest.mark.parametrize("kind", SCORES)
def test_no_bucket_holds_an_edge_inside(rng, kind, dtype):
    edges = np.arange(N_CELLS + 1) / N_CELLS
    near = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)])
    probs = np.sort(np.concatenate([SCORES[kind](rng, 500), near]).astype(dtype))
    index, cell = cell_index(probs), np.searchsorted(edges, probs.astype(float), side="left")
    assert (np.diff(index.astype(int)) >= 0).all()
    assert index.max() < N_INDICES
    same = index[1:] == index[:-1]
    assert (cell[1:][same] == cell[:-1][same])[probs[:-1][same] > 0].all()
    assert (bucket_index(probs)[1:][same] == bucket_index(probs)[:-1][same]).all()


def test_all_forms_agree(rng):
    probs = np.concatenate([rng.beta(0.3, 0.3, 2000), np.arange(301) / 300, [0.0, 1.0, 5e-324]])
    plain, numpy = (np.empty(len(probs), np.uint16) for _ in range(2))
    cells.find_cells.plain(probs, plain)
    cells._find_cells(probs, numpy)
    assert np.array_equal(plain, numpy)
    assert np.array_equal(plain, cell_index(probs))


def test_a_table_holds_the_sums_of_its_rows(rng):
    probs = np.concatenate([rng.beta(0.5, 0.8, 4000), np.repeat([0.0, 0.25, 1.0], 50)])
    outcomes = (rng.random(len(probs)) < probs).astype(np.uint8)
    table, index = CellTable(), cell_index(probs)
    table.add(probs[:1000], outcomes[:1000])
    table.add(probs[1000:], outcomes[1000:])
    found = table.pooled()
    for k, which in enumerate(np.unique(index)):
        rows = index == which
        assert (found.weight[k], found.hits[k]) == (rows.sum(), outcomes[rows].sum())
        assert (found.low[k], found.high[k]) == (probs[rows].min(), probs[rows].max())
        assert found.values[k] == pytest.approx(probs[rows].mean(), rel=1e-14)
