"""Errors on a grid, by NumPy and by a compiled pass."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.rows import blocks
from calibrant.kernels.sums import error_grid
from crowded import SCORES, scored
from naive import data
from tolerances import ROUNDING


def by_plain_loops(probs, outcomes, weights, cells):
    grid, w = np.zeros(cells), np.ones(len(probs)) if weights is None else weights
    for p, y, u in zip(probs.tolist(), outcomes.tolist(), w.tolist(), strict=True):
        place = p * cells - 0.5  # in cells from the first centre
        left = int(np.floor(place))
        for cell, share in ((left, left + 1 - place), (left + 1, place - left)):
            grid[min(max(cell, 0), cells - 1)] += u * (p - y) * share
    return grid / w.sum()


@given(data.events(), st.sampled_from([1, 2, 5, 64]))
def test_each_error_is_shared_between_the_two_nearest_centres(said, cells):
    found = error_grid.error_grid(said.probs, said.labels, said.weights, cells)
    assert found == pytest.approx(by_plain_loops(said.probs, said.labels, said.weights, cells), abs=ROUNDING)


@pytest.mark.some(7)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", SCORES)
def test_the_compiled_pass_gives_the_same_grid(rng, monkeypatch, kind, dtype, weighted, plain):
    probs, outcomes = scored(kind, rng, 200, dtype)
    weights = rng.random(200) if weighted else None
    expected = error_grid.error_grid(probs, outcomes, weights, 32)
    monkeypatch.setattr(error_grid, "COMPILE_FROM", 1)
    monkeypatch.setattr(error_grid, "added_over_blocks", partial(blocks.added_over_blocks, block=70))
    if plain:
        monkeypatch.setattr(error_grid, "share_errors", error_grid.share_errors.plain)
    assert error_grid.error_grid(probs, outcomes, weights, 32) == pytest.approx(expected, abs=ROUNDING)
