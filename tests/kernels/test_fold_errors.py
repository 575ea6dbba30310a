"""Sums of errors of rows in folds and cells."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.bins.number import add_up_fold
from calibrant.kernels.sums import fold_errors
from tolerances import ROUNDING


def naive(p, y, w, fold, n_folds, ends):
    found, start = np.zeros((6, n_folds, len(ends))), 0
    found[4], found[5] = 2.0, 0.0
    for c, end in enumerate(ends):
        for f in range(n_folds):
            here = [i for i in range(start, end) if fold[i] == f]
            apart = y[here] - p[here]
            found[:4, f, c] = [w[here].sum(), (w * y)[here].sum(), w[here] @ apart, w[here] @ apart**2]
            if here:
                found[4:, f, c] = p[here].min(), p[here].max()
        start = end
    return found


@pytest.mark.parametrize("many", [1, 1 << 19])
def test_sums_are_those_of_a_loop(run, rng, many, monkeypatch):
    monkeypatch.setattr(fold_errors, "MANY", many)
    monkeypatch.setattr(fold_errors, "FEW_CELLS", 2)
    monkeypatch.setattr(fold_errors, "add_errors", run(fold_errors.add_errors))
    p, y, w = np.sort(rng.random(200).round(2)), rng.integers(0, 2, 200).astype(float), rng.random(200)
    fold, ends = rng.integers(0, 3, 200), np.array([40, 41, 120, 120, 200])  # one cell of a row, one of none
    found = fold_errors.fold_errors(p, y, w, fold, 3, ends)
    np.testing.assert_allclose(found, naive(p, y, w, fold, 3, ends), rtol=0, atol=ROUNDING)


def test_running_sums_of_a_fold_are_those_of_its_rows(run, rng):
    w, wr, fold, starts = rng.random(50), rng.normal(size=50), rng.integers(0, 3, 50), np.array([0, 1, 7, 30])
    n, r = np.zeros(5), np.zeros(5)
    run(add_up_fold)(starts, w, wr, fold, 1, n, r)
    for sums, terms in ((n, w), (r, wr)):
        expected = [(terms * (fold == 1))[:stop].sum() for stop in (0, 1, 7, 30, 50)]
        np.testing.assert_allclose(sums, expected, rtol=0, atol=ROUNDING)
