"""The number of bins by cross-validation, for a given assignment of rows to folds."""

from __future__ import annotations

from math import fsum
from typing import Any

from naive.sweep import mass_bins, width_bins


def losses(probs: Any, outcomes: Any, fold: Any, rule: str, most: int) -> list[float]:
    """Mean squared held-out loss of p + ȳ_k − p̄_k for 1, …, most bins; a bin without training rows leaves p as it is."""
    p, y = [float(v) for v in probs], [float(v) for v in outcomes]
    found = []
    for b in range(1, most + 1):
        squares = []
        for f in sorted(set(fold)):
            inside = [int(g != f) for g in fold]  # held-out rows have a place in the order but no weight
            bins = width_bins(p, b) if rule == "width" else mass_bins(p, b, inside)
            for rows in bins:
                train = [j for j in rows if inside[j]]
                shift = fsum(y[j] - p[j] for j in train) / len(train) if train else 0.0
                squares += [(p[j] + shift - y[j]) ** 2 for j in rows if not inside[j]]
        found.append(fsum(squares) / len(p))
    return found


def n_bins(found: list[float]) -> int:
    """The fewest bins within 0.1 % of the smallest loss."""
    return next(b for b, loss in enumerate(found, 1) if loss <= min(found) * 1.001)
