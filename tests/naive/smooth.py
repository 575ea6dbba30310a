"""Smooth ECE by adding up reflected Gaussians, on our grid and on the line."""

from __future__ import annotations

from math import ceil, floor, fsum, pi, sqrt
from typing import Any

import numpy as np

REACH = 9.0
"""Standard deviations beyond which a Gaussian is below 1e-17 of its peak."""


def kernel(t: Any, p: float, sigma: float) -> Any:
    """The Gaussian around p and all its mirror images at 0 and 1 that reach [0, 1]."""
    far = ceil((1 + REACH * sigma) / 2) + 1
    centres = [2 * m + side * p for m in range(-far, far + 1) for side in (1, -1)]
    total = sum(np.exp(-(((t - c) / sigma) ** 2) / 2) for c in centres if -REACH * sigma <= c <= 1 + REACH * sigma)
    return total / (sigma * sqrt(2 * pi))


def errors(probs: Any, outcomes: Any) -> list[tuple[float, float]]:
    return [(float(p), (float(p) - float(y)) / len(probs)) for p, y in zip(probs, outcomes, strict=True)]


def on_grid(probs: Any, outcomes: Any, sigma: float, cells: int) -> float:
    """Errors shared between the two nearest centres of cells, in proportion; the ends keep what would leave."""
    t = (np.arange(cells) + 0.5) / cells
    mass: dict[int, float] = {}
    for p, r in errors(probs, outcomes):
        left = floor(p * cells - 0.5)
        share = p * cells - 0.5 - left
        for node, part in ((max(left, 0), 1 - share), (min(left + 1, cells - 1), share)):
            mass[node] = mass.get(node, 0.0) + r * part
    smoothed = sum(m * kernel(t, t[node], sigma) for node, m in mass.items())
    return fsum(np.abs(smoothed)) / cells


def on_the_line(probs: Any, outcomes: Any, sigma: float, nodes: int = 20_000) -> float:
    """∫ |1/n Σ K_σ(t, p_i)(p_i − y_i)| dt by the midpoint rule."""
    t = (np.arange(nodes) + 0.5) / nodes
    smoothed = sum(r * kernel(t, p, sigma) for p, r in errors(probs, outcomes))
    return fsum(np.abs(smoothed)) / nodes


def fixed_point(probs: Any, outcomes: Any, steps: int = 30) -> float:
    """σ with smECE_σ = σ, by halving."""
    low, high = 0.0, 1.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if on_the_line(probs, outcomes, middle) > middle else (low, middle)
    return (low + high) / 2
