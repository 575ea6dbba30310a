"""Kernel estimate of the rate: every row and its two mirror images, one by one."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, sqrt
from typing import Any


def triweight(u: float) -> float:
    return 35 / 32 * (1 - u * u) ** 3 if abs(u) <= 1 else 0.0


def bandwidth(probs: Any) -> float:
    """1.06·σ·n^(−1/5)."""
    p = [float(v) for v in probs]
    mean = fsum(p) / len(p)
    return 1.06 * sqrt(fsum((v - mean) ** 2 for v in p) / len(p)) * len(p) ** -0.2


def kernel(x: float, p: float, h: float) -> float:
    """Reflected at 0 and at 1."""
    return (triweight((x - p) / h) + triweight((x + p) / h) + triweight((x - (2 - p)) / h)) / h


def at(x: float, probs: Any, outcomes: Any, h: float) -> tuple[float, float]:
    """(density, density of hits) at x."""
    k = [kernel(x, float(p), h) for p in probs]
    return fsum(k) / len(k), fsum(v * float(y) for v, y in zip(k, outcomes, strict=True)) / len(k)


def pointwise(probs: Any, outcomes: Any, h: float, norm: int) -> float:
    """1/n Σ |p_i − π̂(p_i)|^α."""
    found = []
    for p in map(float, probs):
        mass, hits = at(p, probs, outcomes, h)
        found.append(abs(p - hits / mass) ** norm)
    return fsum(found) / len(found)


def integrated(probs: Any, outcomes: Any, h: float, norm: int, nodes: list[float]) -> float:
    """∫ |p − π̂(p)|^α f̂(p) dp by the trapezoid rule, with f̂ scaled to integrate to 1 on the nodes."""
    found = []
    for x in nodes:
        mass, hits = at(x, probs, outcomes, h)
        found.append((x, mass, mass * abs(x - hits / mass) ** norm if mass > 0 else 0.0))
    total, scale = [], []
    for (x, m, v), (next_x, next_m, next_v) in pairwise(found):
        total.append((next_x - x) * (v + next_v) / 2)
        scale.append((next_x - x) * (m + next_m) / 2)
    return fsum(total) / fsum(scale)
