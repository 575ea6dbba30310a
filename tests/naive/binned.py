"""Binned errors from lists of rows; `None` weights count one each."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, inf, pi, sqrt
from typing import Any

from scipy.stats import norm as normal


def means(bins: list[list[int]], probs: Any, outcomes: Any, weights: Any = None) -> list[tuple[float, float, float]]:
    """(weight, mean prediction, observed rate) of the bins that hold any weight."""
    w = [1.0] * len(probs) if weights is None else [float(v) for v in weights]
    found = []
    for rows in bins:
        n_k = fsum(w[j] for j in rows)
        if n_k > 0:
            said = fsum(w[j] * float(probs[j]) for j in rows) / n_k
            happened = fsum(w[j] * float(outcomes[j]) for j in rows) / n_k
            found.append((n_k, said, happened))
    return found


def power(bins: list[list[int]], probs: Any, outcomes: Any, weights: Any = None, norm: Any = 1) -> float:
    """Σ n_k/n · |p̄_k − ȳ_k|^α, without the root; n counts rows that fall into no bin."""
    table = means(bins, probs, outcomes, weights)
    n = fsum([1.0] * len(probs) if weights is None else map(float, weights))
    if norm == "max":
        return max((abs(p - y) for _, p, y in table), default=0.0)
    return fsum(n_k / n * abs(p - y) ** norm for n_k, p, y in table)


def label_power(bins: list[list[int]], probs: Any, outcomes: Any, weights: Any = None, norm: Any = 1) -> float:
    """1/n Σ_k Σ_(i∈k) |p_i − ȳ_k|^α."""
    w = [1.0] * len(probs) if weights is None else [float(v) for v in weights]
    total, largest = [], 0.0
    for rows in bins:
        n_k = fsum(w[j] for j in rows)
        if n_k == 0:
            continue
        rate = fsum(w[j] * float(outcomes[j]) for j in rows) / n_k
        for j in rows:
            distance = abs(float(probs[j]) - rate)
            if w[j] > 0:
                largest = max(largest, distance)
            if norm != "max":
                total.append(w[j] * distance**norm)
    return largest if norm == "max" else fsum(total) / fsum(w)


def debiased_power(bins: list[list[int]], probs: Any, outcomes: Any, weights: Any = None, norm: int = 2) -> float:
    """α = 2: each square less ȳ(1−ȳ)/(n_k−1). α = 1: twice the ECE less its mean under normal noise of the rates."""
    table = means(bins, probs, outcomes, weights)
    n = fsum(n_k for n_k, _, _ in table)
    if norm == 2:
        return fsum(n_k / n * ((p - y) ** 2 - (y * (1 - y) / (n_k - 1) if n_k >= 2 else 0.0)) for n_k, p, y in table)
    plain = fsum(n_k / n * abs(p - y) for n_k, p, y in table)
    noisy = fsum(n_k / n * folded_mean(p - y, sqrt(max(y * (1 - y), 0.0) / n_k)) for n_k, p, y in table)
    return plain - (noisy - plain)


def folded_mean(mu: float, sigma: float) -> float:
    """E|X| for X ~ N(μ, σ²): σ√(2/π)·exp(−μ²/2σ²) + μ(1 − 2Φ(−μ/σ))."""
    ratio = abs(mu) / sigma if sigma > 0 else inf
    if ratio > 40:  # exp and Φ are 0 there
        return abs(mu)
    return sigma * sqrt(2 / pi) * exp(-(ratio**2) / 2) + abs(mu) * (1 - 2 * float(normal.cdf(-ratio)))


def noise_power(bins: list[list[int]], probs: Any, weights: Any = None, norm: int = 1) -> float:
    """E Σ n_k/n |p̄_k − ȳ_k|^α when y_i ~ Bernoulli(p_i), the mean of a bin taken as normal."""
    w = [1.0] * len(probs) if weights is None else [float(v) for v in weights]
    n, total = fsum(w), []
    for rows in bins:
        n_k = fsum(w[j] for j in rows)
        if n_k > 0:
            variance = fsum(w[j] * float(probs[j]) * (1 - float(probs[j])) for j in rows) / n_k / n_k
            total.append(n_k / n * (variance if norm == 2 else sqrt(2 / pi * variance)))
    return fsum(total)


def top(labels: Sequence[int], probs: Any) -> tuple[list[float], list[int]]:
    """(confidence, right?) of each row; the lowest class wins a tie."""
    said, right = [], []
    for label, row in zip(labels, probs, strict=True):
        best = max(range(len(row)), key=lambda k: (float(row[k]), -k))
        said.append(float(row[best]))
        right.append(int(label == best))
    return said, right


def one_class(labels: Sequence[int], probs: Any, k: int) -> tuple[list[float], list[int]]:
    return [float(row[k]) for row in probs], [int(label == k) for label in labels]
