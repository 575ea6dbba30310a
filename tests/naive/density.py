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


def as_zhang(probs: Any, outcomes: Any, norm: float) -> float:
    """The published code's steps one by one: rows mirrored at the nearer end, shared by grid points, densities, integral."""
    p, hit = [float(v) for v in probs], [bool(y) for y in outcomes]
    right = [v for v, y in zip(p, hit, strict=True) if y]
    mean = fsum(right) / len(right)
    sd = sqrt(fsum((v - mean) ** 2 for v in right) / len(right)) * (2 * len(p)) ** -0.2
    n_places, low, high = 2**14, -0.6, 1.6
    step = (high - low) / (n_places - 1)

    def density(values: list[float]) -> dict[int, float]:
        both = values + [-v if v < 0.5 else 2 - v for v in values]
        grid: dict[int, float] = {}
        for v in both:
            k = int((v - low) / step)
            share = (v - low) / step - k
            grid[k] = grid.get(k, 0.0) + (1 - share) / len(both)
            grid[k + 1] = grid.get(k + 1, 0.0) + share / len(both)
        reach, found = int(3 * sd / step) + 1, {}
        for i in range(n_places):
            x = low + i * step
            if 0 < x < 1:
                near = (grid[j] * triweight((i - j) * step / (3 * sd)) / (3 * sd) for j in grid if abs(i - j) <= reach)
                found[i] = 2 * fsum(near)
        return found

    all_rows, events = density(p), density(right)
    inside = [i for i in range(n_places) if 0 <= low + i * step <= 1]
    values, last = [], 0.0
    for i in inside:
        f, g = all_rows.get(i, 0.0), events.get(i, 0.0)
        if max(f, g) > 1e-6 and f > 0:
            rate = min(len(right) / len(p) * g / f, 1.0)
            last = abs(low + i * step - rate) ** norm * f
        values.append(last)
    mass = [all_rows.get(i, 0.0) for i in inside]
    area = [fsum((a + b) / 2 for a, b in pairwise(each)) for each in (values, mass)]
    return area[0] / area[1]
