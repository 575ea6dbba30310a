"""The e-process as its definition has it: every bet, every beginning, every row."""

from __future__ import annotations

import math
from typing import Any

from calibrant.monitor.alternatives import EDGES, LOCAL, OVERALL, WEIGHTS

UNIT = {"float32": 2.0**-23, "float64": 2.0**-52}


def ratio(p: float, y: float, shift: float, slope: float, unit: float) -> float:
    """y·q/p + (1 − y)(1 − q)/(1 − p)."""
    if p == y:
        return 1.0
    p = min(max(p, unit), 1 - unit) if p in (0.0, 1.0) else p
    told = shift + slope * (math.log(p) - math.log1p(-p))
    yes, no = 1 / (1 + math.exp(-told)) if told > -700 else 0.0, 1 / (1 + math.exp(told)) if told < 700 else 0.0
    return (y * yes / p if y else 0.0) + ((1 - y) * no / (1 - p) if y < 1 else 0.0)


def tail(n: int) -> float:
    return 1 / (1 + math.log2(1 + n))


def region(p: float) -> int:
    return sum(p > edge for edge in EDGES)


def row_ratios(p: float, y: float, unit: float) -> list[float]:
    """One a bet: those on all rows, then those of each region in turn."""
    found = [ratio(p, y, shift, slope, unit) for shift, slope in OVERALL]
    for r in range(len(EDGES) + 1):
        found += [ratio(p, y, shift, 1.0, unit) if region(p) == r else 1.0 for shift in LOCAL]
    return found


def path(probs: Any, outcomes: Any) -> tuple[list[float], list[float]]:
    """The e-value and the e-detector after each row."""
    unit = UNIT[str(probs.dtype)]
    rows = [row_ratios(float(p), float(y), unit) for p, y in zip(probs, outcomes, strict=True)]
    values, detector = [], []
    for t in range(1, len(rows) + 1):
        gains = [
            [math.prod(row[j] for row in rows[s:t]) for s in range(t)] for j in range(len(WEIGHTS))
        ]  # gains[j][s]: bet j, begun with row s
        mixed = sum(
            w * sum((tail(s) - tail(s + 1)) * g for s, g in enumerate(gain))
            for w, gain in zip(WEIGHTS, gains, strict=True)
        )
        product = math.prod(
            0.5 + 0.5 * sum(gains[len(OVERALL) + r * len(LOCAL) + k][0] for k in range(len(LOCAL))) / len(LOCAL)
            for r in range(len(EDGES) + 1)
        )
        values.append(0.75 * (tail(t) + mixed) + 0.25 * product)
        detector.append(sum(w * sum(gain) for w, gain in zip(WEIGHTS, gains, strict=True)))
    return values, detector
