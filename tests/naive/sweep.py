"""The sweep: bins are added until the rates first fall."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from naive.binning import SPLITS


def mass_bins(probs: list[float], n_bins: int, times: list[int] | None = None) -> list[list[int]]:
    """The i-th cut comes after the largest prediction whose cumulative share of the rows is at most i/m."""
    count = [1] * len(probs) if times is None else times
    below = {v: sum(t for p, t in zip(probs, count, strict=True) if p <= v) for v in set(probs)}
    inner = [max((v for v in below if below[v] * n_bins <= i * sum(count)), default=-1.0) for i in range(1, n_bins)]
    cuts = [-1.0, *inner, 2.0]
    return [[j for j, p in enumerate(probs) if cuts[k] < p <= cuts[k + 1]] for k in range(n_bins)]


def width_bins(probs: list[float], n_bins: int) -> list[list[int]]:
    """((k−1)/m, k/m], with 0 in the first."""
    return [
        [j for j, p in enumerate(map(float, probs)) if (k / n_bins < p or k == 0) and p <= (k + 1) / n_bins]
        for k in range(n_bins)
    ]


RULES = {"mass": mass_bins, "width": width_bins, **SPLITS}


def rates(bins: list[list[int]], outcomes: Any) -> list[Fraction]:
    """Observed rates of the bins that are not empty, exactly."""
    return [sum(Fraction(float(outcomes[j])) for j in rows) / len(rows) for rows in bins if rows]


def n_bins(probs: Any, outcomes: Any, rule: str) -> int:
    """The last number before ȳ_1 ≤ … ≤ ȳ_b first fails, at most the number of rows; caltrain stops one before that."""
    said = [float(p) for p in probs]
    most = max(len(said) - (rule == "caltrain"), 1)
    for b in range(2, most + 1):
        found = rates(RULES[rule](said, b), outcomes)
        if any(later < earlier for earlier, later in pairwise(found)):
            return b - 1
    return most
