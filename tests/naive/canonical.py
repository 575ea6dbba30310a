"""Leave-one-out kernel estimate of the class shares, with Dirichlet kernels."""

from __future__ import annotations

from math import exp, fsum, lgamma, log
from typing import Any

Rows = list[list[float]]

SMALLEST = 2.0**-1022
"""A probability of 0 is read as the smallest positive (normal) number."""


def log_kernel(at: list[float], centre: list[float], h: float) -> float:
    """ln of the Dirichlet density with concentration f_j/h + 1 at f_i."""
    alpha = [f / h + 1 for f in centre]
    norm = fsum(lgamma(a) for a in alpha) - lgamma(fsum(alpha))
    return fsum((a - 1) * log(max(x, SMALLEST)) for a, x in zip(alpha, at, strict=True)) - norm


def rates(rows: Rows, truth: Rows, h: float) -> Rows:
    """Σ_(j≠i) k(f_i; f_j) e_yj / Σ_(j≠i) k(f_i; f_j), scaled by the largest kernel so that nothing underflows."""
    found = []
    for i, row in enumerate(rows):
        others = [j for j in range(len(rows)) if j != i]
        logs = [log_kernel(row, rows[j], h) for j in others]
        k = [exp(v - max(logs)) for v in logs]
        found.append([fsum(v * truth[j][c] for v, j in zip(k, others, strict=True)) / fsum(k) for c in range(len(row))])
    return found


def power(rows: Rows, truth: Rows, h: float, norm: int) -> float:
    """mean ‖P̂ − f‖_p^p."""
    found = rates(rows, truth, h)
    gaps = [abs(r - f) ** norm for rate, row in zip(found, rows, strict=True) for r, f in zip(rate, row, strict=True)]
    return fsum(gaps) / len(rows)


def log_likelihood(rows: Rows, h: float) -> float:
    """Mean over rows of ln of the density that the other rows give it."""
    found = []
    for i, row in enumerate(rows):
        logs = [log_kernel(row, other, h) for j, other in enumerate(rows) if j != i]
        top = max(logs)
        found.append(top + log(fsum(exp(v - top) for v in logs) / len(logs)))
    return fsum(found) / len(found)


def bandwidth(rows: Rows, grid: Any) -> float:
    """The first bandwidth of the grid with the largest leave-one-out likelihood."""
    return max(grid, key=lambda h: (log_likelihood(rows, float(h)), -h))
