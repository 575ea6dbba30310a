"""Null draws: the errors of a calibrated model, with labels drawn from its predictions.

Rows are held as atoms, in order of their prediction: `count` rows of weight `unit` and
prediction `p`. The error of an atom is unit·(count·p − hits). A draw is number i of the
stream given by the seed of its replicate (SplitMix64: a hashed counter), so it depends
neither on the number of cores nor on how replicates are shared among them.

Uniform numbers have 63 bits. An atom of one row is hit if its number lies below p·2⁶³;
that of several rows is looked up in the table of the atom's binomial distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.bisection import all_above, first_above
from calibrant.problems import InputError
from calibrant.types import Floats, Indices

Seeds = NDArray[np.uint64]

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Constants of SplitMix64 (Steele, Lea, Flood 2014)."""

ONE = np.uint64(1)
HALF = 2.0**63
"""Probabilities are compared with 63 bits, so that 1 is a number too."""
FAR = 12.0, 50.0
"""Standard deviations, and hits, beyond which a binomial table ends: less than 10⁻³⁰
lies outside (Bernstein)."""


MOST_THRESHOLDS, AT_ONCE = 50_000_000, 1_000_000
"""Largest size of all tables (400 MB), and of those made at a time unless a single one
is longer."""

QUICK, FINE = 4_000_000, 400
"""Size of all tables that takes seconds to fill; and thresholds of an atom, over 24 standard deviations, that it may
have in any case."""


MANY = 1_000_000_000
"""Rows of an atom above which its hits are drawn from a normal law."""


@compiled
def mixed(state: Any) -> Any:
    """The output of SplitMix64 at a state, or at each of many."""
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    return state ^ (state >> np.uint64(31))


@compiled
def number(seed: Any, i: int) -> Any:
    """Number i of the stream that the seed names, 64 bits."""
    return mixed(seed + np.uint64(i + 1) * STEP)


def numbers(seeds: Seeds, places: Any) -> NDArray[np.uint64]:
    """(R, A): the numbers at some places of every stream, 63 bits and a last one."""
    found: NDArray[np.uint64] = mixed.plain(seeds[:, None] + (places.astype(np.uint64) + ONE) * STEP)
    return found


def replicate_seeds(seed: int, n: int) -> Seeds:
    """One seed per replicate."""
    start: Seeds = mixed.plain(np.full(n, seed, np.uint64)) + np.arange(1, n + 1, dtype=np.uint64) * STEP
    seeds: Seeds = mixed.plain(start)
    return seeds


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Thresholds of every atom's hits.

    Atom a has `lowest[a]` hits and `step[a]` more for each of its thresholds that is reached.
    """

    starts: Indices
    """(A + 1,)"""
    lowest: Floats
    thresholds: NDArray[np.uint64]
    step: Floats | None = None
    """None where all are 1"""


def binomial_tables(p: Floats, count: NDArray[np.int64]) -> Tables:
    """P(hits ≤ k)·2⁶³ for the possible k.

    For a single row (1 − p)·2⁶³, so that all atoms are read the same way.
    """
    if (count == 1).all():
        return Tables(np.arange(len(p) + 1, dtype=np.intp), np.zeros(len(p)), scaled(1.0 - p))
    mean = count * p
    width = FAR[0] * np.sqrt(mean * (1 - p)) + FAR[1]
    low = np.floor(np.maximum(mean - width, 0)).astype(np.int64)
    high = np.ceil(np.minimum(mean + width, count)).astype(np.int64)
    sizes, step = high - low, np.ones(len(p), np.int64)
    if sizes.sum() > QUICK:
        step = np.maximum(-(-sizes // (_room(count, sizes))), 1)
        sizes = -(-sizes // step)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    thresholds = np.empty(starts[-1], np.uint64)
    first = np.unique(np.append(np.searchsorted(starts, np.arange(0, starts[-1], AT_ONCE)), len(p)))
    for block in map(slice, first[:-1], first[1:]):
        thresholds[starts[block.start] : starts[block.stop]] = _thresholds(
            p[block], count[block], low[block], sizes[block], step[block]
        )
    # hits of a step are read as its middle
    return Tables(starts, low - (step - 1) / 2, thresholds, None if (step == 1).all() else step.astype(np.float64))


def _thresholds(
    p: Floats, count: NDArray[np.int64], low: NDArray[np.int64], sizes: NDArray[np.int64], step: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """P(hits ≤ k)·2⁶³ for `sizes` values of k from `low` on in steps, atom after atom."""
    from scipy.special import bdtr, ndtr

    atom = np.repeat(np.arange(len(p)), sizes)
    k = (np.arange(len(atom)) - (np.cumsum(sizes) - sizes)[atom]) * step[atom] + low[atom]
    found = np.where(
        count[atom] == 1, 1.0 - p[atom], bdtr(k.astype(np.float64), np.minimum(count, MANY)[atom], p[atom])
    )
    many = count[atom] > MANY
    if many.any():
        mean, spread = (count * p)[atom][many], np.sqrt(count * p * (1 - p))[atom][many]
        found[many] = ndtr((k[many] + 0.5 - mean) / np.where(spread > 0, spread, 1.0))
    return scaled(found)


def _room(count: NDArray[np.int64], sizes: NDArray[np.int64]) -> int:
    """Thresholds that each atom may have, where all together would be too many.

    Steps then take the place of single hits: with FINE of them the variance of the hits
    is right to 3 parts in 10 000.
    """
    room = max(QUICK // len(sizes), FINE)
    if np.minimum(sizes, room).sum() > MOST_THRESHOLDS:
        raise InputError(
            "counts",
            f"stand for too many rows to draw labels for: tables of hits may hold {MOST_THRESHOLDS:,} numbers",
            f"{count.sum():.3g} rows of {len(sizes):,} predictions need {int(sizes.sum()):.3g}",
            "Collect a state with max_distinct=, or pass weights= if they say how much each row matters",
        )
    return room


def scaled(share: Floats) -> NDArray[np.uint64]:
    """Shares as numbers of 63 bits."""
    return (np.clip(share, 0.0, 1.0) * HALF).astype(np.uint64)


@compiled
def draw_single(p: Any, missed: Any, seeds: Any, errors: Any) -> None:
    """errors[r, a] = p − hit, for atoms of one row of weight 1.

    A row is hit if its number reaches `missed`.
    """
    for r in range(len(seeds)):
        for a in range(len(p)):
            errors[r, a] = p[a] - (1.0 if number(seeds[r], a) >> ONE >= missed[a] else 0.0)


@draw_single.in_numpy
def _draw_single(p: Floats, missed: Any, seeds: Seeds, errors: Floats) -> None:
    np.subtract(p, numbers(seeds, np.arange(len(p))) >> ONE >= missed, out=errors)


@compiled
def draw_pooled(expected: Any, unit: Any, starts: Any, lowest: Any, thresholds: Any, seeds: Any, errors: Any) -> None:
    """errors[r, a] = unit·(expected − hits), hits found in the atom's table by bisection."""
    for r in range(len(seeds)):
        for a in range(len(expected)):
            z, low, high = number(seeds[r], a) >> ONE, starts[a], starts[a + 1]
            if high - low == 1:  # one row, the most frequent atom: no branch that depends on chance
                low += 1 if z >= thresholds[low] else 0
                high = low
            low = first_above(thresholds, low, high, z)
            errors[r, a] = unit[a] * (expected[a] - lowest[a] - np.float64(low - starts[a]))


@draw_pooled.in_numpy
def _draw_pooled(
    expected: Floats, unit: Floats, starts: Indices, lowest: Floats, thresholds: Any, seeds: Seeds, errors: Floats
) -> None:
    z = numbers(seeds, np.arange(len(expected))) >> ONE
    hits = (z >= thresholds[starts[:-1]]).astype(np.float64)  # of atoms with one threshold
    more = np.flatnonzero(np.diff(starts) > 1)
    hits[:, more] = all_above(thresholds, starts[more], starts[more + 1], z[:, more]) - starts[more]
    np.multiply(unit, expected - lowest - hits, out=errors)


@compiled
def draw_shared(p: Any, unit: Any, missed: Any, cluster: Any, seeds: Any, errors: Any) -> None:
    """Rows of a cluster share one number: a row is hit whenever one with a lower prediction is."""
    for r in range(len(seeds)):
        for a in range(len(p)):
            errors[r, a] = unit[a] * (p[a] - (1.0 if number(seeds[r], cluster[a]) >> ONE >= missed[a] else 0.0))


@draw_shared.in_numpy
def _draw_shared(p: Floats, unit: Floats, missed: Any, cluster: Any, seeds: Seeds, errors: Floats) -> None:
    np.multiply(unit, p - (numbers(seeds, cluster) >> ONE >= missed), out=errors)


@compiled
def flip_signs(observed: Any, cluster: Any, seeds: Any, errors: Any) -> None:
    """The observed errors, with one random sign per cluster."""
    for r in range(len(seeds)):
        for a in range(len(observed)):
            errors[r, a] = observed[a] if number(seeds[r], cluster[a]) & ONE == ONE else -observed[a]


@flip_signs.in_numpy
def _flip_signs(observed: Floats, cluster: Any, seeds: Seeds, errors: Floats) -> None:
    errors[:] = np.where(numbers(seeds, cluster) & ONE == ONE, observed, -observed)


COUNTED = 60
"""Limits up to which those that a number has passed are counted, rather than found by bisection."""


@compiled
def draw_classes(below: Any, seeds: Any, labels: Any) -> None:
    """labels[r, i] from row i.

    `below[i, k]` is 2⁶³ times the probability of the classes up to k, the last left
    out.
    """
    for r in range(len(seeds)):
        for i in range(len(below)):
            labels[r, i] = first_above(below[i], 0, below.shape[1], number(seeds[r], i) >> ONE)


@draw_classes.in_numpy
def _draw_classes(below: Any, seeds: Seeds, labels: Any) -> None:
    n, k = below.shape
    z, starts = numbers(seeds, np.arange(n)) >> ONE, k * np.arange(n)
    if k > COUNTED:
        labels[:] = all_above(below.ravel(), starts, starts + k, z) - starts
        return
    passed = np.zeros(labels.shape, np.int8)
    for column in np.ascontiguousarray(below.T):
        passed += (z >= column).view(np.int8)
    labels[:] = passed
