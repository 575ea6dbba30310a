"""Leave-one-out sums of Dirichlet kernels: tiles of rows against all rows, O(n²K) time and O(n) memory.

k(f_i; f_j) is the Dirichlet density with concentration f_j/h + 1 at f_i: ln k = Σ_c (f_jc/h) ln f_ic − ln B(f_j/h + 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.blocks import over_blocks

Floats = NDArray[np.float64]

TILE_ENTRIES = 1 << 22
"""Pairs in a tile: 32 MB of float64."""


def loo_rates(rows: Floats, labels: Floats, weight: Floats, bandwidth: float) -> tuple[Floats, Floats]:
    """Ê[y | f_i] without row i, `(n, K)`, and ln of the kernel density at f_i without row i."""
    return _tiles(rows, labels, weight, bandwidth, np.arange(len(rows)))


def loo_log_density(rows: Floats, weight: Floats, bandwidth: float, at: NDArray[np.intp]) -> Floats:
    """ln of the leave-one-out density at some rows."""
    return _tiles(rows, None, weight, bandwidth, at)[1]


def _tiles(
    rows: Floats, labels: Floats | None, weight: Floats, bandwidth: float, at: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    from scipy.special import gammaln

    scaled = rows / bandwidth
    log_norm = gammaln(scaled + 1).sum(axis=1) - gammaln(scaled.sum(axis=1) + rows.shape[1])
    with np.errstate(divide="ignore"):
        offset = np.log(weight) - log_norm
    logs = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
    others = weight.sum() - 1

    def part(tile: slice) -> tuple[Any, Floats]:
        i = at[tile]
        log_kernel = logs[i] @ scaled.T + offset
        with np.errstate(divide="ignore"):  # a row of weight w leaves w − 1 copies of itself
            itself = np.log(np.maximum(weight[i] - 1, 0)) - np.log(weight[i])
        log_kernel[np.arange(len(i)), i] += itself
        top = log_kernel.max(axis=1, keepdims=True)
        np.exp(np.subtract(log_kernel, top, out=log_kernel), out=log_kernel)
        mass = log_kernel.sum(axis=1)
        rate = None if labels is None else log_kernel @ labels / mass[:, None]
        return rate, np.log(mass) + top[:, 0] - np.log(others)

    found = list(over_blocks(len(at), part, max(1, TILE_ENTRIES // len(rows))))
    density = np.concatenate([density for _, density in found])
    return (np.concatenate([rate for rate, _ in found]) if labels is not None else np.empty(0)), density
