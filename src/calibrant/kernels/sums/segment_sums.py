"""Sums and running sums of errors in many overlapping segments, and their common scale.

Rows lie in order of the prediction. A segment is a run of `members`, the places of its
rows, in that order: those from `starts[s]` to before `starts[s + 1]`. Draws come in
tiles of rows, `(T, D)`: D draws side by side, so that one step serves them all.

The scale needs three moments of a segment's hits under calibration: mean, σ and
skewness γ. The gamma distribution that has them, transformed by the cube root that
makes it nearly normal (Wilson and Hilferty 1931), turns a deviation of x standard
deviations into

    z(x) = (6/γ)·((1 + γx/2)^⅓ − 1) + γ/6.

A rare event in a small segment then scores no higher than an equally rare one
elsewhere. The scale depends on the predictions only, so a test that uses it for data
and draws alike is as exact as without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.types import Floats

STRAIGHT = 1e-6
"""Skewness below which the scale is a straight line."""


@compiled
def add_members(columns: Any, members: Any, starts: Any, sums: Any) -> None:
    """sums[s] = Σ of the columns' rows over the members of s."""
    for s in range(len(starts) - 1):
        for j in range(starts[s], starts[s + 1]):
            row = members[j]
            for c in range(columns.shape[1]):
                sums[s, c] += columns[row, c]


@add_members.in_numpy
def _add_members(columns: Floats, members: Any, starts: Any, sums: Floats) -> None:
    for s in range(len(starts) - 1):
        sums[s] += columns[members[starts[s] : starts[s + 1]]].sum(axis=0)


@compiled
def cluster_powers(errors: Any, clusters: Any, members: Any, starts: Any, scratch: Any, found: Any) -> None:
    """found[s] = (ΣE², ΣE⁴), E the sum of a cluster's errors in s.

    `scratch` holds one zero per cluster.
    """
    for s in range(len(starts) - 1):
        second, fourth = 0.0, 0.0
        for j in range(starts[s], starts[s + 1]):
            scratch[clusters[members[j]]] += errors[members[j]]
        for j in range(starts[s], starts[s + 1]):
            square = scratch[clusters[members[j]]] ** 2
            second, fourth = second + square, fourth + square * square
            scratch[clusters[members[j]]] = 0.0
        found[s, 0], found[s, 1] = second, fourth


@cluster_powers.in_numpy
def _cluster_powers(errors: Floats, clusters: Any, members: Any, starts: Any, scratch: Floats, found: Floats) -> None:
    for s in range(len(starts) - 1):
        rows = members[starts[s] : starts[s + 1]]
        squares = np.bincount(clusters[rows], errors[rows], len(scratch)) ** 2
        found[s] = squares.sum(), (squares**2).sum()


@compiled
def add_tile(errors: Any, base: int, members: Any, starts: Any, at: Any, total: Any) -> None:
    """Add a tile of errors, its first row at `base`, to the totals `(S, D)`.

    `at` is how far each segment has been added.
    """
    stop = base + len(errors)
    for s in range(len(at)):
        j, end = at[s], starts[s + 1]
        while j < end and members[j] < stop:
            row = members[j] - base
            for d in range(errors.shape[1]):
                total[s, d] += errors[row, d]
            j += 1
        at[s] = j


def _in_tile(stop: int, members: Any, starts: Any, at: Any) -> Iterator[tuple[int, Any]]:
    """The segments with members before the tile's end, and the places of these among the members; `at` moves on."""
    for s in range(len(at)):
        j, end = at[s], starts[s + 1]
        at[s] = j + np.searchsorted(members[j:end], stop)
        if at[s] > j:
            yield s, np.arange(j, at[s])


@add_tile.in_numpy
def _add_tile(errors: Floats, base: int, members: Any, starts: Any, at: Any, total: Floats) -> None:
    for s, places in _in_tile(base + len(errors), members, starts, at):
        total[s] += errors[members[places] - base].sum(axis=0)


@compiled
def walk_tile(
    errors: Any, p: Any, base: int, members: Any, starts: Any, at: Any, total: Any, high: Any, low: Any
) -> None:
    """The same, and the highest and lowest total on the way.

    These are read only where the prediction rises or the segment ends.
    """
    stop = base + len(errors)
    for s in range(len(at)):
        j, end = at[s], starts[s + 1]
        while j < end and members[j] < stop:
            row = members[j] - base
            if j + 1 == end or p[members[j + 1]] > p[members[j]]:
                for d in range(errors.shape[1]):
                    value = total[s, d] + errors[row, d]
                    total[s, d] = value
                    high[s, d] = value if value > high[s, d] else high[s, d]
                    low[s, d] = value if value < low[s, d] else low[s, d]
            else:
                for d in range(errors.shape[1]):
                    total[s, d] += errors[row, d]
            j += 1
        at[s] = j


@walk_tile.in_numpy
def _walk_tile(
    errors: Floats, p: Floats, base: int, members: Any, starts: Any, at: Any, total: Floats, high: Floats, low: Floats
) -> None:
    for s, places in _in_tile(base + len(errors), members, starts, at):
        sums = total[s] + np.cumsum(errors[members[places] - base], axis=0)
        later = np.minimum(places + 1, starts[s + 1] - 1)
        read = sums[(places + 1 == starts[s + 1]) | (p[members[later]] > p[members[places]])]
        total[s] = sums[-1]
        if len(read):
            np.maximum(high[s], read.max(axis=0), out=high[s])
            np.minimum(low[s], read.min(axis=0), out=low[s])


def normal_scores(x: Floats, skew: Floats) -> Floats:
    """z(x), for every x of the last axis with the skewness of its segment."""
    bent = np.where(np.abs(skew) < STRAIGHT, 1.0, skew)
    scores = 6 / bent * (np.cbrt(np.maximum(1 + bent * x / 2, 0.0)) - 1) + bent / 6
    return np.where(np.abs(skew) < STRAIGHT, x, scores)


def deviations(z: Any, skew: Floats) -> Floats:
    """x(z), the inverse."""
    bent = np.where(np.abs(skew) < STRAIGHT, 1.0, skew)
    x = 2 / bent * (np.maximum(1 + bent / 6 * (z - bent / 6), 0.0) ** 3 - 1)
    return np.where(np.abs(skew) < STRAIGHT, z, x)


def gap_scores(sums: Floats, sigma: Floats, skew: Floats, step: Floats) -> Floats:
    """Two-sided significance of Σ(p − y) as the |z| of a normal variable.

    Half a `step` is the continuity correction for whole hits.
    """
    x = np.maximum(np.abs(sums) - step / 2, 0.0) / sigma
    z: Floats = np.maximum(normal_scores(x, np.where(sums < 0, skew, -skew)), 0.0)
    return z


def range_scores(ranges: Floats, sigma: Floats, skew: Floats) -> Floats:
    """The same for the range of the running sum, by the first term of its Brownian law.

    P(range ≥ r) ≈ 4·(P(sum ≥ r) + P(sum ≤ −r)).
    """
    from scipy.special import log_ndtr, ndtri_exp

    x = ranges / sigma
    tails = np.logaddexp(log_ndtr(-normal_scores(x, skew)), log_ndtr(-normal_scores(x, -skew)))
    z: Floats = np.maximum(-ndtri_exp(np.minimum(tails + math.log(4 / 2), math.log(0.5))), 0.0)
    return z
