"""Sums over all pairs of rows of a matrix, Σ_ij κ(d(p_i, p_j))·⟨a_i, a_j⟩: tiled, O(n) memory, tiles shared by the cores.

Distances and inner products come from one compiled loop, the exponential from NumPy's vectorised one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.blocks import added_over_blocks
from calibrant.kernels.compiled import compiled

Floats = NDArray[np.float64]

TILE = 64
"""Rows and columns of a tile: small enough for its 32 kB temporaries to come from the heap, not from fresh pages."""

COMPILE_FROM_PAIRS = 4_000_000
"""Pairs from which a tile is filled by a compiled loop."""


def matrix_pair_sum(rows: Floats, a: Floats, kernel: Callable[[Floats], Floats], squared: bool) -> float:
    """Σ_ij κ(d_ij)·⟨a_i, a_j⟩ over all pairs, i = j included; d is the sum of |x|, or of x² if `squared`."""
    n = len(rows)
    columns, others = np.ascontiguousarray(rows.T), np.ascontiguousarray(a.T)
    fill: Callable[..., Any] = fill_tile if n * n >= COMPILE_FROM_PAIRS else _fill_plain

    def part(block: slice) -> float:
        distance, product = np.empty((2, block.stop - block.start, TILE))
        total = 0.0
        for start in range(block.start, n, TILE):
            size = min(TILE, n - start)
            at = slice(start, start + size)
            d, inner = distance[:, :size], product[:, :size]
            fill(rows[block], columns[:, at], a[block], others[:, at], squared, d, inner)
            value = float(np.einsum("ij,ij->", kernel(d), inner))
            total += value if start == block.start else 2 * value
        return total

    return float(added_over_blocks(n, part, TILE))


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
    """d_ij = Σ_k |x_ik − x_jk| or the sum of squares, and ⟨a_i, a_j⟩; the other rows come transposed, so that j runs fastest."""
    for i in range(rows.shape[0]):
        line, product = distance[i], inner[i]
        for j in range(columns.shape[1]):
            line[j] = 0.0
            product[j] = 0.0
        for k in range(rows.shape[1]):
            x, z = rows[i, k], a[i, k]
            other, weight = columns[k], others[k]
            if squared:
                for j in range(columns.shape[1]):
                    step = x - other[j]
                    line[j] += step * step
                    product[j] += z * weight[j]
            else:
                for j in range(columns.shape[1]):
                    line[j] += abs(x - other[j])
                    product[j] += z * weight[j]
