"""Draws of many rows a part at a time, and when their loops are compiled."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import Edges, Predictions
from calibrant.detect.omnibus import components
from calibrant.resampling import draw
from calibrant.resampling import statistics as of
from calibrant.resampling.null import nulls_of
from calibrant.resampling.rows import atoms_of

CASES = [("plain", False), ("tied", False), ("fixed", False), ("fixed ties", False), ("plain", "same"), ("tied", "any")]


@pytest.mark.parametrize(("how", "cluster"), CASES)
def test_parts_of_the_rows_give_the_values_of_all_rows(rng, monkeypatch, how, cluster):
    p = rng.random(300).round(2 if "tie" in how else 9)
    weights = rng.random(300) + 0.1 if "fixed" in how else None
    given = Predictions(rng.random(300) < p, p, weights=weights, groups=rng.integers(0, 90, 300))
    atoms = atoms_of(given, "auto", cluster)
    statistics = [*components(atoms), of.averaged_two_bin(atoms), of.binned(atoms, Edges([0, 0.35, 0.8, 1]))]
    for null in nulls_of(atoms):
        full = draw.drawn(null, statistics, 21, 3)
        with monkeypatch.context() as small:
            for name, value in {"BLOCK_ERRORS": 10, "PART_ROWS": 17, "PART_DRAWS": 4}.items():
                small.setattr(draw, name, value)
            parts = draw.drawn(null, statistics, 21, 3)
        np.testing.assert_allclose(parts.values, full.values, rtol=1e-9, atol=1e-12)


def test_few_draws_do_not_load_the_compiler_and_use_it_where_it_is_loaded(monkeypatch):
    for loaded, least in ((True, draw.COMPILE_FROM_ERRORS), (False, draw.LOAD_FROM_ERRORS)):
        monkeypatch.setattr(draw, "compiler_loaded", lambda loaded=loaded: loaded)
        assert [draw.loops_pay(least - 1), draw.loops_pay(least)] == [False, True]
