"""Counting by hand: how many events happen, orders of ties, and samples held out one by one."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import prod
from typing import Any


def hit_law(probs: Any) -> list[Fraction]:
    """P(k events happen), exactly."""
    law = [Fraction(1)]
    for p in (Fraction(float(p)) for p in probs):
        law = [(law[k] * (1 - p) if k < len(law) else 0) + (law[k - 1] * p if k else 0) for k in range(len(law) + 1)]
    return law


def two_sided(probs: Any, hits: int) -> float:
    law = hit_law(probs)
    tails = [min(sum(law[: k + 1]), sum(law[k:])) for k in range(len(law))]
    near = 1 + Fraction(1, 10**9)  # probabilities such as 0.9 are not exact: tails that should be equal are nearly so
    return float(sum(term for term, tail in zip(law, tails, strict=True) if tail <= tails[hits] * near))


def adjusted(counted: list[tuple[float, int, int]]) -> list[float]:
    """For each level (probability, answers, right ones) and last the total: the chance that any claim not smaller than it is as small.

    By going through all numbers of right answers. What was smaller sets a floor.
    """
    laws = [hit_law([p] * n) for p, n, _ in counted] + [hit_law([p for p, n, _ in counted for _ in range(n)])]
    tails = [[float(min(sum(law[: k + 1]), sum(law[k:]))) for k in range(len(law))] for law in laws]
    tails = [
        [float(sum(t for t, v in zip(law, tail, strict=True) if v <= own * (1 + 1e-9))) for own in tail]
        for law, tail in zip(laws, tails, strict=True)
    ]
    hits = [h for _, _, h in counted]
    own = [tail[h] for tail, h in zip(tails, [*hits, sum(hits)], strict=True)]

    def chance_of_any(open_claims: list[int], value: float) -> float:
        found, most = Fraction(0), value * (1 + 1e-9)
        for right in itertools.product(*(range(n + 1) for _, n, _ in counted)):
            claims = [tail[k] for tail, k in zip(tails, [*right, sum(right)], strict=True)]
            if any(claims[j] <= most for j in open_claims):
                found += prod((Fraction(law[k]) for law, k in zip(laws, right, strict=False)), start=Fraction(1))
        return min(1.0, float(found))

    order = sorted(range(len(own)), key=lambda j: own[j])
    found, floor = [0.0] * len(own), 0.0
    for i, k in enumerate(order):
        floor = max(floor, chance_of_any(order[i:], own[k]))
        found[k] = floor
    return found


def area(labels: Any, probs: Any) -> float:
    """Mean over coverages of the share of wrong answers, and over all orders that keep confidences falling."""
    rows = sorted(zip((-float(p) for p in probs), (1 - int(y) for y in labels), strict=True), key=lambda row: row[0])
    ties = [[wrong for _, wrong in group] for _, group in itertools.groupby(rows, key=lambda row: row[0])]
    areas = []
    for orders in itertools.product(*(list(itertools.permutations(tie)) for tie in ties)):
        wrong = list(itertools.chain(*orders))
        areas.append(sum(Fraction(sum(wrong[: i + 1]), i + 1) for i in range(len(wrong))) / len(wrong))
    return float(sum(areas) / len(areas))


def held_out_square(labels: Any, counts: Any, m: int, groups: Any) -> float | None:
    """Σ over levels of their mass times Σ products of different groups' gaps over Σ products of their masses; None without a pair."""
    entries: dict[int, dict[Any, list[Fraction]]] = {}
    for y, k, group in zip(labels, counts, groups, strict=True):
        for sample in range(m):  # samples 0 … k−1 agree
            agrees = int(sample < k)
            cell = entries.setdefault(int(k) - agrees, {}).setdefault(group, [Fraction(0), Fraction(0)])
            cell[0] += Fraction(agrees - int(y), m)
            cell[1] += Fraction(1, m)
    total, whole = Fraction(0), Fraction(0)
    for cells in entries.values():
        pairs = list(itertools.permutations(cells.values(), 2))
        if not pairs:
            continue
        mass = sum(cell[1] for cell in cells.values())
        square = sum(a[0] * b[0] for a, b in pairs) / sum(a[1] * b[1] for a, b in pairs)
        total, whole = total + mass * square, whole + mass
    return float(total / whole) if whole else None
