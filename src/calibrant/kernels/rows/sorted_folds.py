"""Rows of one event, sorted and dealt into folds, and the choice among settings that held-out rows judge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.rows.sorting import in_order
from calibrant.kernels.sums.stable_sums import inner

Floats = NDArray[np.float64]

MOST_ROWS = 10_000_000
"""Rows up to which whole weights are written out."""

FEWER_WITHIN = 1e-3
"""Fewer bins, knots or pieces are preferred when their loss is within this relative distance of the best."""


def fewest_within(losses: Floats) -> int:
    """The first of the losses that is within 0.1 % of the least."""
    return int(np.argmax(losses <= losses.min() * (1 + FEWER_WITHIN) + 1e-15))


def unit_rows(
    probs: NDArray[Any], outcomes: NDArray[Any], weights: NDArray[Any] | None
) -> tuple[Floats, Floats, Floats, float]:
    """Rows sorted by prediction (then outcome), whole weights written out as rows: p, p − y, weight, and Σw(p − y)²."""
    p, y, w = in_order(probs, outcomes, weights)
    p = p.astype(np.float64)
    if w is None:
        w = np.ones(len(p))
    elif (w == np.floor(w)).all() and w.sum() <= MOST_ROWS:
        times = w.astype(np.intp)
        p, y, w = np.repeat(p, times), np.repeat(y, times), np.ones(int(times.sum()))
    r = p - y
    return p, r, w, inner(w, r**2)


def dealt(p: Floats, starts: NDArray[np.intp], folds: int, seed: int) -> NDArray[np.intp]:
    """The fold of each sorted row: dealt out in turn, after a seeded shuffle within equal predictions."""
    turn = np.arange(len(p)) % folds
    if len(starts) == len(p):
        return turn
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(p))))
    fold = np.empty_like(turn)
    fold[np.argsort(group + np.random.default_rng(seed).random(len(p)))] = turn
    return fold
