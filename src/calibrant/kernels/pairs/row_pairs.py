"""Sums over all pairs of rows of a matrix, Σ_ij κ(d(p_i, p_j))·⟨a_i, a_j⟩.

Sums are tiled: O(n) memory, tiles shared by the cores.

Distances and inner products come from one compiled loop, the exponential from NumPy's
vectorised one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import added_over_blocks, over_blocks
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Floats, Indices

TILE_ROWS, TILE_COLUMNS = 64, 256
"""Shape of a tile: its distances and inner products, 256 kB, stay in a core's cache."""

COMPILE_FROM_PAIRS = 4_000_000
"""Pairs from which a tile is filled by a compiled loop."""


def matrix_pair_sum(rows: Floats, a: Floats, kernel: Callable[[Floats], Floats], squared: bool) -> float:
    """Σ_ij κ(d_ij)·⟨a_i, a_j⟩ over all pairs, i = j included.

    d is the sum of |x|, or of x² if `squared`.
    """
    n = len(rows)
    columns, others = rows.T, a.T
    fill: Callable[..., Any] = fill_tile if n * n >= COMPILE_FROM_PAIRS else _fill_plain

    def part(block: slice) -> float:
        total = 0.0
        for start in range(block.start, n, TILE_COLUMNS):
            at = slice(start, min(start + TILE_COLUMNS, n))
            distance, product = np.empty((2, block.stop - block.start, at.stop - start))
            tile = np.ascontiguousarray(columns[:, at]), a[block], np.ascontiguousarray(others[:, at])
            fill(rows[block], *tile, squared, distance, product)
            weighted = kernel(distance) * product
            own = max(block.stop - start, 0)  # columns of the block's own rows stand for both halves already
            total += 2 * float(weighted.sum()) - float(weighted[:, :own].sum())
        return total

    return float(added_over_blocks(n, part, TILE_ROWS))


def _fill_plain(
    rows: Floats, columns: Floats, a: Floats, others: Floats, squared: bool, distance: Floats, inner: Floats
) -> None:
    distance[:] = 0.0
    for k in range(rows.shape[1]):
        step = rows[:, k, None] - columns[k]
        distance += step * step if squared else np.abs(step)
    np.matmul(a, others, out=inner)


@compiled
def fill_tile(rows: Any, columns: Any, a: Any, others: Any, squared: bool, distance: Any, inner: Any) -> None:
    """d_ij = Σ_k |x_ik − x_jk| or the sum of squares, and ⟨a_i, a_j⟩.

    The other rows come transposed, so that j runs fastest; four classes are added at a
    time, which saves three of four writes.
    """
    n_classes, width = rows.shape[1], columns.shape[1]
    fours = n_classes - n_classes % 4
    for i in range(rows.shape[0]):
        line, product = distance[i], inner[i]
        for j in range(width):
            line[j] = 0.0
            product[j] = 0.0
        for k in range(0, fours, 4):
            x0, x1, x2, x3 = rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3]
            z0, z1, z2, z3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            c0, c1, c2, c3 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            o0, o1, o2, o3 = others[k], others[k + 1], others[k + 2], others[k + 3]
            if squared:
                for j in range(width):
                    s0, s1, s2, s3 = x0 - c0[j], x1 - c1[j], x2 - c2[j], x3 - c3[j]
                    line[j] += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3)
            else:
                for j in range(width):
                    line[j] += (abs(x0 - c0[j]) + abs(x1 - c1[j])) + (abs(x2 - c2[j]) + abs(x3 - c3[j]))
            for j in range(width):
                product[j] += (z0 * o0[j] + z1 * o1[j]) + (z2 * o2[j] + z3 * o3[j])
        for k in range(fours, n_classes):
            x, z = rows[i, k], a[i, k]
            other, weight = columns[k], others[k]
            for j in range(width):
                step = x - other[j]
                line[j] += step * step if squared else abs(step)
                product[j] += z * weight[j]


def squared_gaps(level: Indices, cluster: Indices, value: Floats, mass: Floats, n_levels: int) -> tuple[Floats, Floats]:
    """Σ over pairs of different clusters of products of values, over that of products of masses.

    Also the mass of each level.

    NaN where a level has one cluster only. Clusters of one row give the U-statistic of
    the squared mean.
    """
    width = int(cluster.max()) + 1
    cells, at = np.unique(level * width + cluster, return_inverse=True)
    levels = cells // width
    parts = [np.bincount(at.ravel(), column, len(cells)) for column in (value, mass)]
    ends = np.searchsorted(levels, np.arange(n_levels + 1))

    def between(column: Any) -> Floats:
        # by running sums, as (Σx)² − Σx² is all rounding where one mass is far larger than the others
        own = [column[start:end] for start, end in pairwise(ends)]
        return np.array([2 * inner(each[1:], np.cumsum(each)[:-1]) for each in own])

    products, masses = between(parts[0]), between(parts[1])
    single = np.bincount(levels, minlength=n_levels) < 2
    gaps = np.divide(products, masses, out=np.full(n_levels, np.nan), where=~single & (masses > 0))
    return gaps, np.bincount(levels, parts[1], n_levels).astype(np.float64)


ROUNDING = 1e-12
"""What is left of a row's weight without one copy, relative to it, where there was but one."""

LEAST = -700.0
"""Of exponents: e^LEAST beside 1 is nothing, and is read as 0, as numbers that underflow take NumPy four times as long."""

TILE_ENTRIES, BLOCK = 1 << 20, 1 << 18
"""Pairs in a tile, 8 MB of float64, and in a block that one core takes."""


def loo_rates(
    rows: Floats,
    labels: Floats,
    weight: Floats,
    bandwidth: float,
    unit: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Ê[y | f_i] without row i, `(n, K)`, and ln of the kernel density at f_i without row i.

    `weight` is that of all copies of a row, `unit` that of one, by default 1.
    """
    return _tiles(rows, labels, weight, unit, bandwidth, np.arange(len(rows)))


def loo_log_density(
    rows: Floats,
    weight: Floats,
    bandwidth: float,
    at: Indices,
    unit: Floats | None = None,
) -> Floats:
    """ln of the leave-one-out density at some rows."""
    return _tiles(rows, None, weight, unit, bandwidth, at)[1]


def _tiles(
    rows: Floats,
    labels: Floats | None,
    weight: Floats,
    unit: Floats | None,
    bandwidth: float,
    at: Indices,
) -> tuple[Floats, Floats]:
    from scipy.special import gammaln

    unit = np.ones(len(rows)) if unit is None else unit

    scaled = rows / bandwidth
    log_norm = gammaln(scaled + 1).sum(axis=1) - gammaln(scaled.sum(axis=1) + rows.shape[1])
    with np.errstate(divide="ignore"):
        offset = np.log(weight) - log_norm
    logs = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
    others = weight.sum() - unit
    with np.errstate(divide="ignore"):  # a row leaves its other copies
        left = weight - unit
        own = np.log(np.where(left > ROUNDING * weight, left, 0.0)) - np.log(weight)
    rates, densities = [], []
    step = min(max(1, TILE_ENTRIES // len(rows)), len(at))
    tile = np.empty((step, len(rows)))  # one for all: fresh memory is slow
    for start in range(0, len(at), step):
        i = at[start : start + step]
        log_kernel = np.matmul(logs[i], scaled.T, out=tile[: len(i)])
        log_kernel += offset
        itself = own[i]
        log_kernel[np.arange(len(i)), i] += itself
        top = log_kernel.max(axis=1, keepdims=True)
        list(over_blocks(len(i), partial(_exp_rows, log_kernel, top), max(1, BLOCK // len(rows))))
        mass = log_kernel.sum(axis=1)
        densities.append(np.log(mass) + top[:, 0] - np.log(others[i]))
        if labels is not None:
            rates.append(log_kernel @ labels / mass[:, None])
    return np.concatenate(rates) if rates else np.empty(0), np.concatenate(densities)


def _exp_rows(log_kernel: Floats, top: Floats, rows: slice) -> None:
    """exp(· − top) in place."""
    block = log_kernel[rows]
    np.subtract(block, top[rows], out=block)
    np.putmask(block, block < LEAST, -np.inf)
    np.exp(block, out=block)
