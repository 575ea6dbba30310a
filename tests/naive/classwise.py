"""SCE, ACE, TACE and CWCE from lists of rows, class by class."""

from __future__ import annotations

from math import fsum
from typing import Any

from naive.binned import debiased_power, means, one_class, power
from naive.binning import SPLITS, equal_mass, equal_width


def static(labels: Any, probs: Any, n_bins: int, weights: Any = None) -> float:
    """Equal width, α = 1, divided by the number of classes."""
    return total_power(labels, probs, "width", n_bins, 1, weights) / len(probs[0])


def total_power(
    labels: Any, probs: Any, rule: str, n_bins: int, norm: Any, weights: Any = None, debiased: bool = False
) -> float:
    """Σ_k Σ_b n_b/n · |p̄ − ȳ|^p, before any root."""
    found = []
    for k in range(len(probs[0])):
        p, y = one_class(labels, probs, k)
        bins = equal_width(p, n_bins) if rule == "width" else equal_mass(p, n_bins, weights)
        found.append((debiased_power if debiased else power)(bins, p, y, weights, norm))
    return fsum(found)


def adaptive(
    labels: Any,
    probs: Any,
    n_bins: int,
    weights: Any = None,
    threshold: float = -1.0,
    ties: str = "keep",
    by_all: bool = False,
) -> float:
    """Mean of |p̄ − ȳ| over the ranges of a class, then over classes; only probabilities above the threshold.

    Over the filled ranges, or `by_all` R.
    """
    each = []
    for k in range(len(probs[0])):
        p, y = one_class(labels, probs, k)
        kept = [j for j in range(len(p)) if p[j] > threshold and (weights is None or weights[j] > 0)]
        w = None if weights is None else [weights[j] for j in kept]
        p, y = [p[j] for j in kept], [y[j] for j in kept]
        bins = equal_mass(p, n_bins, w) if ties == "keep" else SPLITS[ties](p, n_bins)
        gaps = [abs(said - rate) for _, said, rate in means(bins, p, y, w)] if kept else [0.0]
        each.append(fsum(gaps) / (n_bins if by_all else len(gaps)))
    return fsum(each) / len(each)
