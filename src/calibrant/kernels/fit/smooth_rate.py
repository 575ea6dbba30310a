"""The observed rate around each prediction, by a triweight kernel reflected at 0 and 1.

Sums of the triweight kernel (1−u²)³ over all points within a bandwidth are exact in O(n
log n). The kernel is a polynomial of degree 6, so a sum over a run of points is a
combination of seven moments, and moments of runs are differences of prefix sums. To keep
them from cancelling, moments are taken about the centre of a cell one bandwidth wide,
and prefix sums start anew in every cell; the window of any point then covers three cells.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled, worth_compiling
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices

NARROWEST = 1e-13
"""Below this a bandwidth is lost in the rounding of the predictions."""


def rule_of_thumb(groups: Pooled) -> float:
    """1.06·σ·n^(−1/5)."""
    mean = np.average(groups.values, weights=groups.weight)
    variance = np.average((groups.values - mean) ** 2, weights=groups.weight)
    return 0.0 if len(groups.values) == 1 else float(1.06 * np.sqrt(variance) * groups.total**-0.2)


def smooth_rate(at: Floats, groups: Pooled, bandwidth: float) -> tuple[Floats, Floats]:
    """π̂ and the density of the predictions at the given points."""
    low, high = groups.values <= bandwidth, groups.values >= 1 - bandwidth
    points = np.concatenate([-groups.values[low][::-1], groups.values, 2 - groups.values[high][::-1]])
    weight, hits = (np.concatenate([x[low][::-1], x, x[high][::-1]]) for x in (groups.weight, groups.hits))
    mass, hits = triweight_sums(at, points, weight, hits, bandwidth)
    mass, hits = np.maximum(mass, 0.0), np.clip(hits, 0.0, mass)
    rate = np.divide(hits, mass, out=np.zeros_like(hits), where=mass > 0)
    return rate, mass * (35 / 32) / (bandwidth * groups.total)


COMPILE_FROM_POINTS, COMPILE_FROM_QUERIES = 20_000, 200_000
"""Sizes from which compiled loops take over: the NumPy form makes fourteen temporaries
per point and per query."""

BLOCK_QUERIES = 1 << 16
"""Queries that a core takes at a time."""


def triweight_sums(
    at: Floats, points: Floats, first: Floats, second: Floats, bandwidth: float
) -> tuple[Floats, Floats]:
    """Σ_j c_j (1 − ((x − x_j)/h)²)³ over |x − x_j| ≤ h, at each x, for two columns c.

    `points` are sorted.
    """
    cell = np.floor(points / bandwidth)
    u = points / bandwidth - cell - 0.5
    starts = np.flatnonzero(np.diff(cell, prepend=cell[0] - 1))
    cells = cell[starts]
    queries = (
        at / bandwidth - 0.5,
        np.searchsorted(points, at - bandwidth, "left"),
        np.searchsorted(points, at + bandwidth, "right"),
        np.searchsorted(cells, np.floor(at / bandwidth) - 1, "left"),
    )
    bounds = np.append(starts, len(points))
    moments = np.empty((len(points), 14))
    out = np.empty((len(at), 2))
    fast = worth_compiling(len(points), COMPILE_FROM_POINTS) or len(at) >= COMPILE_FROM_QUERIES
    summed: Callable[..., None] = cell_moments if fast else _plain_moments
    query: Callable[..., None] = window_sums if fast else _plain_window_sums

    def moments_of(some: slice) -> None:
        summed(u, first, second, bounds[some.start : some.stop + 1], moments)

    def part(rows: slice) -> None:
        query(*(each[rows] for each in queries), cells, bounds, moments, out[rows])

    list(over_blocks(len(cells), moments_of, max(len(cells) * BLOCK_QUERIES // len(points), 1)))
    list(over_blocks(len(at), part, BLOCK_QUERIES))
    return out[:, 0], out[:, 1]


@compiled
def polynomial(t: Any) -> Any:
    """Coefficients of u⁰ … u⁵ in (1 − (t − u)²)³ = (a + 2tu − u²)³ with a = 1 − t².

    That of u⁶ is −1.
    """
    a = 1.0 - t * t
    return a * a * a, 6 * a * a * t, 12 * a * t * t - 3 * a * a, 8 * t * t * t - 12 * a * t, 3 * a - 12 * t * t, 6 * t


def _plain_moments(u: Floats, first: Floats, second: Floats, bounds: Indices, out: Floats) -> None:
    """Prefix moments within each cell, by cumulative sums cell by cell."""
    powers = u[:, None] ** np.arange(7)
    terms = np.concatenate([first[:, None] * powers, second[:, None] * powers], axis=1)
    for start, stop in pairwise(bounds):
        np.cumsum(terms[start:stop], axis=0, out=out[start:stop])


def _plain_window_sums(
    place: Any, low: Any, high: Any, cell_from: Any, cells: Any, bounds: Any, moments: Any, out: Any
) -> None:
    """`window_sums` for all queries at once."""
    out[:] = 0.0
    for step in range(3):
        inside = cell_from + step < len(cells)
        c = np.where(inside, cell_from + step, 0)
        start, stop = np.maximum(low, bounds[c]), np.minimum(high, bounds[c + 1])
        inside &= stop > start
        upto = moments[np.where(inside, stop - 1, 0)]
        from_ = np.where((start > bounds[c])[:, None], moments[np.where(inside, start - 1, 0)], 0.0)
        run = np.where(inside[:, None], upto - from_, 0.0)
        weights = np.stack([*polynomial.plain(place - cells[c]), np.full(len(place), -1.0)], axis=1)
        out[:, 0] += np.einsum("ij,ij->i", run[:, :7], weights)
        out[:, 1] += np.einsum("ij,ij->i", run[:, 7:], weights)


@compiled
def cell_moments(u: Any, first: Any, second: Any, bounds: Any, out: Any) -> None:
    """Prefix moments Σ c u^k, k = 0 … 6, of both columns, started anew in every cell."""
    for c in range(len(bounds) - 1):
        for i in range(bounds[c], bounds[c + 1]):
            a, b, inside = first[i], second[i], i > bounds[c]
            for k in range(7):
                out[i, k] = (out[i - 1, k] if inside else 0.0) + a
                out[i, 7 + k] = (out[i - 1, 7 + k] if inside else 0.0) + b
                a *= u[i]
                b *= u[i]


@compiled
def window_sums(
    place: Any, low: Any, high: Any, cell_from: Any, cells: Any, bounds: Any, moments: Any, out: Any
) -> None:
    """Per query: the sums over its own cell and the two beside it, weighted by the polynomial."""
    for i in range(len(place)):
        one, two = 0.0, 0.0
        c = cell_from[i]
        while c < len(cells) and bounds[c] < high[i]:
            start, stop = max(low[i], bounds[c]), min(high[i], bounds[c + 1])
            if stop > start:
                weights = (*polynomial(place[i] - cells[c]), -1.0)
                upto = moments[stop - 1]
                if start > bounds[c]:
                    before = moments[start - 1]
                    for k in range(7):
                        one += weights[k] * (upto[k] - before[k])
                        two += weights[k] * (upto[7 + k] - before[7 + k])
                else:
                    for k in range(7):
                        one += weights[k] * upto[k]
                        two += weights[k] * upto[7 + k]
            c += 1
        out[i, 0], out[i, 1] = one, two
