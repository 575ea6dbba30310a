"""Sums over all pairs of rows of a matrix: loops, tiles, and three ways to fill them."""

from __future__ import annotations

from math import exp, fsum

import numpy as np
import pytest

from calibrant.kernels.pairs import row_pairs as pairs
from tolerances import ROUNDING

KERNELS = {False: lambda d: np.exp(-d), True: lambda d: np.exp(-d / 2)}


def loop_sum(rows, a, squared):
    n, total = len(rows), []
    for i in range(n):
        for j in range(n):
            step = [float(x - y) for x, y in zip(rows[i], rows[j], strict=True)]
            d = fsum(s * s for s in step) / 2 if squared else fsum(map(abs, step))
            total.append(exp(-d) * fsum(float(x * y) for x, y in zip(a[i], a[j], strict=True)))
    return fsum(total)


@pytest.fixture(params=[1, 2, 5, 70], ids=lambda n: f"{n} rows")
def data(request, rng):
    return rng.dirichlet(np.ones(3), request.param), rng.normal(size=(request.param, 3))


@pytest.mark.some(3)
@pytest.mark.parametrize("squared", [False, True])
def test_compiled_plain_and_numpy_tiles_give_the_sum_of_loops(data, monkeypatch, squared):
    rows, a = data
    expected = loop_sum(rows, a, squared)
    found = {"numpy": pairs.matrix_pair_sum(rows, a, KERNELS[squared], squared)}
    monkeypatch.setattr(pairs, "COMPILE_FROM_PAIRS", 1)
    found["compiled"] = pairs.matrix_pair_sum(rows, a, KERNELS[squared], squared)
    monkeypatch.setattr(pairs, "fill_tile", pairs.fill_tile.plain)
    found["uncompiled"] = pairs.matrix_pair_sum(rows, a, KERNELS[squared], squared)
    for name, value in found.items():
        assert value == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING), name


@pytest.mark.some(9)
@pytest.mark.parametrize("tile", [1, 3, 7, 64, 200])
@pytest.mark.parametrize("squared", [False, True])
def test_the_size_of_tiles_does_not_matter(monkeypatch, rng, tile, squared):
    for n in (1, 6, 7, 8, 63, 64, 65, 130):
        rows, a = rng.dirichlet(np.ones(4), n), rng.normal(size=(n, 4))
        distance = np.abs(rows[:, None] - rows) ** (2 if squared else 1)
        whole = float((KERNELS[squared](distance.sum(axis=2)) * (a @ a.T)).sum())
        with monkeypatch.context() as patched:
            for height, width in ((tile, 2 * tile + 1), (2 * tile + 1, tile)):
                patched.setattr(pairs, "TILE_ROWS", height)
                patched.setattr(pairs, "TILE_COLUMNS", width)
                assert pairs.matrix_pair_sum(rows, a, KERNELS[squared], squared) == pytest.approx(whole, rel=1e-11), n


def test_the_order_of_the_rows_does_not_matter(rng):
    rows, a = rng.dirichlet(np.ones(3), 150), rng.normal(size=(150, 3))
    order = rng.permutation(150)
    one, two = (pairs.matrix_pair_sum(x, y, KERNELS[False], False) for x, y in ((rows, a), (rows[order], a[order])))
    assert one == pytest.approx(two, rel=1e-11)
