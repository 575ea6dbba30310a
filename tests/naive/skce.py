"""Squared kernel calibration error from rows of class probabilities and class shares."""

from __future__ import annotations

from itertools import combinations
from math import exp, fsum, sqrt

import numpy as np

Rows = list[list[float]]


def total_variation(p: list[float], q: list[float]) -> float:
    return fsum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def euclidean(p: list[float], q: list[float]) -> float:
    return sqrt(fsum((a - b) ** 2 for a, b in zip(p, q, strict=True)))


DISTANCES = {"tv": total_variation, "laplace": euclidean, "gaussian": euclidean}


def kernel(name: str, p: list[float], q: list[float], bandwidth: float) -> float:
    ratio = DISTANCES[name](p, q) / bandwidth
    return exp(-(ratio**2) / 2) if name == "gaussian" else exp(-ratio)


def median_distance(name: str, probs: Rows) -> float:
    """Over pairs i < j; 1 where that is 0 or there is no pair."""
    found = [DISTANCES[name](p, q) for p, q in combinations(probs, 2)]
    return float(np.median(found)) if found and np.median(found) > 0 else 1.0


def product(name: str, truth: Rows, probs: Rows, i: int, j: int, bandwidth: float) -> float:
    """κ(p_i, p_j)·⟨e_yi − p_i, e_yj − p_j⟩."""
    errors = zip(truth[i], probs[i], truth[j], probs[j], strict=True)
    return kernel(name, probs[i], probs[j], bandwidth) * fsum((y - p) * (z - q) for y, p, z, q in errors)


def unbiased(name: str, truth: Rows, probs: Rows, bandwidth: float) -> float:
    n = len(probs)
    pairs = combinations(range(n), 2)
    return 2 / (n * (n - 1)) * fsum(product(name, truth, probs, i, j, bandwidth) for i, j in pairs)


def biased(name: str, truth: Rows, probs: Rows, bandwidth: float) -> float:
    n = len(probs)
    return fsum(product(name, truth, probs, i, j, bandwidth) for i in range(n) for j in range(n)) / n**2


def block(name: str, truth: Rows, probs: Rows, bandwidth: float, size: int) -> float:
    """Mean of the unbiased value over disjoint blocks of consecutive rows."""
    starts = range(0, len(probs) - size + 1, size)
    values = [unbiased(name, truth[s : s + size], probs[s : s + size], bandwidth) for s in starts]
    return fsum(values) / len(values)
