"""The number of bins of an event by the data: the most with rising rates, or the best on held-out rows."""

from __future__ import annotations

from functools import reduce
from itertools import chain
from operator import add
from typing import Any

import numpy as np

from calibrant.bins.equal_mass import Ties, row_cuts
from calibrant.kernels.compiled import COMPILE_FROM, compiled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.rows.pooling import group_starts, in_order, mass_cuts, width_cuts
from calibrant.kernels.rows.sorted_folds import FEWER_WITHIN, fewest_within, rows_in_folds
from calibrant.kernels.sums.rising_bins import always_rising, falling_blocks, long_sweep, rates_rise
from calibrant.kernels.sums.stable_sums import inner, running
from calibrant.predictions import Event
from calibrant.problems import InputError
from calibrant.types import Floats, Indices

MOST_BINS = 1 << 24
"""Bins at which a search ends in any case; nearly separable data of more rows than that may get there."""

SHORT_SWEEP = 256
"""Bins up to which each number is tried on NumPy; few data sets get further."""

MOST_CROSSVALIDATED = 40
"""As in the code of Kängsepp et al. (2023)."""


def rising_bins(event: Event, bins: str) -> int:
    """The last number of bins, counting up, whose rates rise."""
    pooled = event.pooled
    most = min(max(int(pooled.total), len(pooled.values)), MOST_BINS)
    if always_rising(pooled.weight, pooled.hits):
        return most
    exact = pooled.integral and (event.hard or bool((pooled.hits == np.floor(pooled.hits)).all()))
    slack = 0.0 if exact else 1e-13 * pooled.total
    below, hits = running(pooled.weight, pooled.hits)
    for b in range(2, min(most, SHORT_SWEEP) + 1):
        cuts = mass_cuts(below[1:], b, pooled.allowance) if bins == "mass" else width_cuts(pooled.values, b)
        if not rates_rise(below, hits, cuts, slack):
            return b - 1
    if most <= SHORT_SWEEP:
        return most
    places, total, allowance = (below[1:], below[-1], pooled.allowance) if bins == "mass" else (pooled.values, 1.0, 0.0)
    blocks = falling_blocks(pooled.weight, pooled.hits)
    return int(long_sweep(places, total, allowance, below, hits, blocks, SHORT_SWEEP + 1, most, slack))


def rising_ranks(event: Event, ties: Ties) -> int:
    """The last number of bins, counting up, whose rates rise, where sorted rows are cut by their ranks."""
    if event.weights is not None:
        raise InputError("ties", "must be kept with counts or weights", f"it is {ties!r}", "Use ties='keep'")
    hits = event.outcomes[np.argsort(event.probs, kind="stable")].astype(np.float64)
    most = min(event.n - (ties == "caltrain"), MOST_BINS)
    if not (np.diff(hits) < 0).any():
        return max(most, 1)
    below = np.concatenate([[0.0], np.cumsum(hits)])
    for b in range(2, most + 1):
        cuts = row_cuts(event.n, b, ties)
        rows, sums = np.diff(cuts), np.diff(below[cuts])
        filled = rows > 0
        if (np.diff(sums[filled] / rows[filled]) < 0).any():
            return b - 1
    return max(most, 1)


FOLDS_PER_CORE = 5
"""Folds that a core takes at a time, in memory of its own."""


def best_bins(event: Event, bins: str, *, n_folds: int, most: int, seed: int, tolerance: float = FEWER_WITHIN) -> int:
    """The fewest bins whose held-out loss is, relatively, within the tolerance of the best."""
    return fewest_within(held_out_losses(event, bins, n_folds, most, seed), tolerance) + 1


def held_out_losses(event: Event, bins: str, n_folds: int, most: int, seed: int) -> Floats:
    """Mean squared held-out loss of the unit-slope map for 1, 2, …, most bins.

    On the held-out rows of a bin, with offset δ = ȳ − p̄ of its training rows and r = p − y, the loss is
    Σr² + 2δΣr + δ²n: two prefix sums per fold give every bin of every binning.
    """
    columns, w = (event.probs, event.outcomes), event.weights
    if event.mass is not None and event.squares is not None:  # copies of a row may lie in different folds
        at, mass = event.mass.single()
        columns, w = (event.probs[at], event.outcomes[at]), mass.weights
    p, y, w, fold = rows_in_folds(*in_order(*columns, w), n_folds, seed)
    starts, r = group_starts(p), p - y
    wr = w * r
    values, (all_n, all_r) = p[starts], _prefixes(starts, w, wr)
    tried = range(1, most + 1)
    widths = [] if bins == "mass" else [width_cuts(values, b) for b in tried]

    def of_folds(some: slice) -> list[Floats]:
        test_n, test_r, train_n = (np.zeros(len(all_n)) for _ in range(3))  # long: one fold uses the memory of another
        found = []
        for f in range(some.start, some.stop):
            add_up_fold(starts, w, wr, fold, f, test_n, test_r)
            np.subtract(all_n, test_n, out=train_n)
            least = 1e-12 * train_n[-1]
            cuts = np.concatenate(widths or [mass_cuts(train_n[1:], b, least) for b in tried])
            test = test_n[cuts], test_r[cuts]
            found.append(_fold_losses(train_n[cuts], all_r[cuts] - test[1], *test, most, least))
        return found

    n_used = int(fold.max()) + 1
    losses = chain.from_iterable(over_blocks(n_used, of_folds, FOLDS_PER_CORE if len(w) >= COMPILE_FROM else n_used))
    return reduce(add, losses, np.full(most, inner(wr, r))) / all_n[-1]


def _prefixes(starts: Indices, *columns: Floats) -> list[Floats]:
    """Sums over the first 0, 1, …, G groups of each column."""
    single = len(starts) == len(columns[0])
    return running(*columns) if single else running(*(np.add.reduceat(terms, starts) for terms in columns))


@compiled
def add_up_fold(starts: Any, w: Any, wr: Any, fold: Any, f: int, n: Any, r: Any) -> None:
    """Σw and Σwr of the rows of fold f in the first 0, 1, …, G groups."""
    rows, gap, i = 0.0, 0.0, np.uintp(0)
    for g in range(len(starts)):
        stop = np.uintp(starts[g + 1] if g + 1 < len(starts) else len(w))
        while i < stop:
            if fold[i] == f:
                rows += w[i]
                gap += wr[i]
            i += np.uintp(1)
        n[g + 1], r[g + 1] = rows, gap


@add_up_fold.in_numpy
def _add_up_fold(starts: Indices, w: Floats, wr: Floats, fold: Indices, f: int, n: Floats, r: Floats) -> None:
    held = fold == f
    n[:], r[:] = _prefixes(starts, w * held, wr * held)


def _fold_losses(n: Floats, r: Floats, test_n: Floats, test_r: Floats, most: int, least: float) -> Floats:
    """Σ 2δΣr + δ²n over the bins of each binning, whose cuts follow each other, from the sums up to every cut.

    A bin without training rows, or hardly any, keeps the identity, δ = 0.
    """
    n, r, test_n, test_r = map(np.diff, (n, r, test_n, test_r))  # also from one binning to the next: δ = 0
    offset = np.divide(-r, n, out=np.zeros_like(r), where=n > least)
    terms = 2 * offset * test_r + offset**2 * test_n
    sizes = np.arange(2, most + 2)
    return np.add.reduceat(terms, np.cumsum(sizes) - sizes)
