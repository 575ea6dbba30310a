"""Leave-one-out sums of Dirichlet kernels: tiles of rows against all rows, O(n²K) time
and O(n) memory.

k(f_i; f_j) is the Dirichlet density with concentration f_j/h + 1 at f_i: ln k = Σ_c
(f_jc/h) ln f_ic − ln B(f_j/h + 1).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.kernels.rows.blocks import over_blocks
from calibrant.types import Floats, Indices

TILE_ENTRIES, BLOCK = 1 << 22, 1 << 18
"""Pairs in a tile, 32 MB of float64, and in a block that one core takes."""


def loo_rates(rows: Floats, labels: Floats, weight: Floats, bandwidth: float) -> tuple[Floats, Floats]:
    """Ê[y | f_i] without row i, `(n, K)`, and ln of the kernel density at f_i without
    row i."""
    return _tiles(rows, labels, weight, bandwidth, np.arange(len(rows)))


def loo_log_density(rows: Floats, weight: Floats, bandwidth: float, at: Indices) -> Floats:
    """ln of the leave-one-out density at some rows."""
    return _tiles(rows, None, weight, bandwidth, at)[1]


def _tiles(rows: Floats, labels: Floats | None, weight: Floats, bandwidth: float, at: Indices) -> tuple[Floats, Floats]:
    from scipy.special import gammaln

    scaled = rows / bandwidth
    log_norm = gammaln(scaled + 1).sum(axis=1) - gammaln(scaled.sum(axis=1) + rows.shape[1])
    with np.errstate(divide="ignore"):
        offset = np.log(weight) - log_norm
    logs = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
    others = weight.sum() - 1

    rates, densities = [], []
    step = max(1, TILE_ENTRIES // len(rows))
    for start in range(0, len(at), step):
        i = at[start : start + step]
        log_kernel = logs[i] @ scaled.T + offset
        with np.errstate(divide="ignore"):  # a row of weight w leaves w − 1 copies of itself
            itself = np.log(np.maximum(weight[i] - 1, 0)) - np.log(weight[i])
        log_kernel[np.arange(len(i)), i] += itself
        top = log_kernel.max(axis=1, keepdims=True)
        list(over_blocks(len(i), partial(_exp_rows, log_kernel, top), max(1, BLOCK // len(rows))))
        mass = log_kernel.sum(axis=1)
        densities.append(np.log(mass) + top[:, 0] - np.log(others))
        if labels is not None:
            rates.append(log_kernel @ labels / mass[:, None])
    return np.concatenate(rates) if rates else np.empty(0), np.concatenate(densities)


def _exp_rows(log_kernel: Floats, top: Floats, rows: slice) -> None:
    """exp(· − top) in place."""
    block = log_kernel[rows]
    np.exp(np.subtract(block, top[rows], out=block), out=block)
