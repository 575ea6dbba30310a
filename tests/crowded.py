"""Predictions that buckets and digits may find easy, crowded or tied."""

from __future__ import annotations

import numpy as np

SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(1.1, 0.1, n),
    "saturated": lambda rng, n: np.minimum(rng.beta(2.8, 0.05, n), 1),
    "tied": lambda rng, n: rng.integers(0, 11, n) / 10,
    "equal": lambda rng, n: np.full(n, 0.3),
    "almost tied": lambda rng, n: 0.3 + 2.0**-54 * rng.integers(0, 9, n),
    "almost tied, and one apart": lambda rng, n: np.append(0.3 + 2.0**-54 * rng.integers(0, 9, n - 1), 0.3005),
    "tiny": lambda rng, n: rng.random(n) * 1e-300,
    "ends": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "negative zeros": lambda rng, n: rng.choice([-0.0, 0.0, 0.5], n),
}


def scored(kind, rng, n, dtype=np.float64):
    """Predictions and plain outcomes."""
    probs = SCORES[kind](rng, n).astype(dtype)
    return probs, (rng.random(n) < probs**1.3).astype(np.uint8)
