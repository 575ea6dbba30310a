"""Which bin each row falls into, as lists of row numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def by_edges(probs: Sequence[Any], edges: Sequence[float], closed: str = "right", ends: bool = True) -> list[list[int]]:
    """Bins between edges; the end that `closed` leaves open belongs to its bin unless `ends` is False."""
    bins: list[list[int]] = [[] for _ in edges[1:]]
    for row, p in enumerate(map(float, probs)):
        for k, (low, high) in enumerate(itertools.pairwise(edges)):
            inside = low < p <= high if closed == "right" else low <= p < high
            if ends and closed == "right" and k == 0:
                inside = inside or p <= low
            if ends and closed == "left" and k == len(bins) - 1:
                inside = inside or p >= high
            if inside:
                bins[k].append(row)
                break
    return bins


def equal_width(probs: Sequence[Any], n_bins: int, closed: str = "right") -> list[list[int]]:
    return by_edges(probs, [i / n_bins for i in range(n_bins + 1)], closed)


def equal_mass(probs: Sequence[Any], n_bins: int, weights: Sequence[Any] | None = None) -> list[list[int]]:
    """The i-th cut comes after the largest prediction whose cumulative share of the weight is at most i/m."""
    p = [float(v) for v in probs]
    w = [Fraction(1)] * len(p) if weights is None else [Fraction(float(v)) for v in weights]
    total = sum(w)
    cuts = []
    for i in range(1, n_bins):
        low_enough = [v for v in p if sum(w[j] for j in range(len(p)) if p[j] <= v) / total <= Fraction(i, n_bins)]
        cuts.append(max(low_enough) if low_enough else -1.0)
    return [
        [j for j in range(len(p)) if low < p[j] <= high] for low, high in zip([-1.0, *cuts], [*cuts, 2.0], strict=True)
    ]


def equal_mass_split(probs: Sequence[Any], n_bins: int) -> list[list[int]]:
    """Rows stably sorted, cut at floor(i·n/m)."""
    order = sorted(range(len(probs)), key=lambda j: float(probs[j]))
    n = len(order)
    return [order[k * n // n_bins : (k + 1) * n // n_bins] for k in range(n_bins)]


def equal_mass_caltrain(probs: Sequence[Any], n_bins: int) -> list[list[int]]:
    """The row of rank r, stably sorted, is in bin ⌊(r/n)·m⌋ in floating point, the last bin at most."""
    bins: list[list[int]] = [[] for _ in range(n_bins)]
    for rank, row in enumerate(sorted(range(len(probs)), key=lambda j: float(probs[j]))):
        bins[min(int(rank / len(probs) * n_bins), n_bins - 1)].append(row)
    return bins


def equal_mass_array_split(probs: Sequence[Any], n_bins: int) -> list[list[int]]:
    """Rows stably sorted; the first n mod m bins hold one row more than the others."""
    left = sorted(range(len(probs)), key=lambda j: float(probs[j]))
    bins = []
    for k in range(n_bins):
        size = len(probs) // n_bins + (k < len(probs) % n_bins)
        bins.append(left[:size])
        left = left[size:]
    return bins


SPLITS = {"split": equal_mass_split, "caltrain": equal_mass_caltrain, "array_split": equal_mass_array_split}
