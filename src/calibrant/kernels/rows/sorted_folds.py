"""Cross-validation folds as a function of the pooled rows, and the choice by held-out losses.

A row of integer weight w counts as w equal rows, of which each fold gets some. So the
folds depend neither on the order of the rows nor on whether equal rows are repeated or
counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.types import Array, Floats, Indices

Ints = Indices
Draw = Callable[[Ints | None, int], Ints]

MOST_DRAWS = 1 << 24
"""Rows up to which a fold is drawn for each; of more, only the numbers of equal ones per fold."""

EXACT = 2.0**53
"""Whole numbers up to this are exact as floats."""

FEWER_WITHIN = 1e-3
"""Fewer bins, knots or pieces are preferred if their loss is, relatively, this near the smallest."""


def fewest_within(losses: Floats, tolerance: float = FEWER_WITHIN) -> int:
    """The first of the losses that is, relatively, within the tolerance of the smallest."""
    return int(np.argmax(losses <= losses.min() * (1 + tolerance) + 1e-15))


def whole_counts(weights: Array | None) -> Ints | None:
    """Weights as numbers of rows; None if there are none, or they are no integers or too large."""
    if weights is None or (weights != np.floor(weights)).any() or weights.sum() > EXACT:
        return None
    return weights.astype(np.intp)


def n_counted(n: int, weights: Array | None) -> int:
    """The number of rows; if all weights are integers, a row of weight w counts as w rows."""
    counts = whole_counts(weights)
    return n if counts is None else int(counts.sum())


def assigned(
    keys: tuple[Array, ...], weights: Array | None, n_folds: int, rng: np.random.Generator, draw: Draw
) -> tuple[Any, Array | None, Ints]:
    """Rows that each lie in one fold: index, weight and fold.

    Rows come sorted by their `keys`, which are equal where rows are. A row of integer
    weight is split over the folds; other weights stay with their row. `draw` gives a
    fold to each of n rows, the row i counted `counts[i]` times.
    """
    counts, n = whole_counts(weights), n_counted(len(keys[0]), weights)
    if n > MOST_DRAWS and (weights is None or counts is not None):
        new = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        starts = np.flatnonzero(np.concatenate([[True], new]))
        sizes = np.diff(np.append(starts, n)) if counts is None else np.add.reduceat(counts, starts)
        table = rng.multinomial(sizes, np.full(n_folds, 1 / n_folds))
        distinct, fold = np.nonzero(table)
        return starts[distinct], table[distinct, fold].astype(np.float64), fold
    fold = draw(counts, n)
    if counts is None:
        return slice(None), weights, fold
    part, times = np.unique(np.repeat(np.arange(len(counts)) * n_folds, counts) + fold, return_counts=True)
    return part // n_folds, times.astype(np.float64), part % n_folds


def rows_in_folds(
    x: Array, y: Array, weights: Array | None, n_folds: int, seed: int
) -> tuple[Floats, Floats, Floats, Ints]:
    """Rows of one event, sorted by x, then y: x, y, weight and fold, each row in one fold.

    Folds take turns along x, after a seeded shuffle of the turns among equal x.
    """
    if weights is not None and not weights.all():
        x, y, weights = (each[weights > 0] for each in (x, y, weights))
    rng = np.random.default_rng(seed)

    def in_turn(counts: Ints | None, n: int) -> Ints:
        turn, rises = np.resize(np.arange(n_folds), n), x[1:] != x[:-1]
        if len(x) == n and rises.all():
            return turn
        rank = np.cumsum(np.concatenate([[0], rises]))
        fold = np.empty_like(turn)
        fold[np.argsort((rank if counts is None else np.repeat(rank, counts)) + rng.random(n))] = turn
        return fold

    row, weight, fold = assigned((x, y), weights, n_folds, rng, in_turn)
    x, y = (each[row].astype(np.float64, copy=False) for each in (x, y))
    return x, y, np.ones(len(fold)) if weight is None else weight, fold
