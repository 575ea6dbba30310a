"""Sums over all pairs of rows of a matrix, Σ_ij κ(d(p_i, p_j))·⟨a_i, a_j⟩: tiled, O(n)
memory, tiles shared by the cores.

Distances and inner products come from one compiled loop, the exponential from NumPy's
vectorised one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.types import Floats

TILE_ROWS, TILE_COLUMNS = 64, 256
"""Shape of a tile: its distances and inner products, 256 kB, stay in a core's cache."""

COMPILE_FROM_PAIRS = 4_000_000
"""Pairs from which a tile is filled by a compiled loop."""


def matrix_pair_sum(rows: Floats, a: Floats, kernel: Callable[[Floats], Floats], squared: bool) -> float:
    """Σ_ij κ(d_ij)·⟨a_i, a_j⟩ over all pairs, i = j included; d is the sum of |x|, or
    of x² if `squared`."""
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
