"""Proper scores and the loss of a temperature, row by row."""

from __future__ import annotations

from math import exp, fsum, inf, log, sqrt
from typing import Any


def mean(values: Any, weights: Any = None) -> float:
    """A row of weight 0 is not there, whatever its value."""
    w = [1.0] * len(values) if weights is None else [float(v) for v in weights]
    return fsum(v * u for v, u in zip(values, w, strict=True) if u > 0) / fsum(w)


def pairs(probs: Any) -> Any:
    """A binary event as two classes."""
    return probs if getattr(probs, "ndim", 1) == 2 else [(1 - float(p), float(p)) for p in probs]


def brier(labels: Any, probs: Any, weights: Any = None) -> float:
    """Σ_k (p_k − [y = k])², averaged over rows."""
    return mean(
        [
            fsum((float(p) - (k == label)) ** 2 for k, p in enumerate(row))
            for label, row in zip(labels, pairs(probs), strict=True)
        ],
        weights,
    )


def surprise(p: float) -> float:
    return -log(p) if p > 0 else inf


def logarithmic(labels: Any, probs: Any, weights: Any = None) -> float:
    """−ln p_y, averaged over rows."""
    said = [float(row[label]) for label, row in zip(labels, pairs(probs), strict=True)]
    return mean([surprise(p) for p in said], weights)


def spherical(labels: Any, probs: Any, weights: Any = None) -> float:
    """1 − p_y / ‖p‖₂, averaged over rows."""
    said = [[float(p) for p in row] for row in pairs(probs)]
    return mean([1 - p[y] / sqrt(fsum(v * v for v in p)) for y, p in zip(labels, said, strict=True)], weights)


def ranked(labels: Any, probs: Any, weights: Any = None) -> float:
    """Σ_k (p_0 + … + p_k − [y ≤ k])² over all k but the last, averaged over rows."""
    said = [[float(p) for p in row] for row in pairs(probs)]
    return mean(
        [
            fsum((fsum(p[: k + 1]) - (y <= k)) ** 2 for k in range(len(p) - 1))
            for y, p in zip(labels, said, strict=True)
        ],
        weights,
    )


def pairs_mean(labels: Any, rows: Any, kernel: Any, weights: Any = None) -> float:
    """κ(p, p')·⟨e_y − p, e_y' − p'⟩ averaged over pairs of different rows; a row of weight w is written out w times."""
    times = [1] * len(rows) if weights is None else [int(w) for w in weights]
    written = [
        ([float(v) for v in p], [(k == y) - float(v) for k, v in enumerate(p)])
        for y, p, w in zip(labels, rows, times, strict=True)
        for _ in range(w)
    ]
    n = len(written)
    terms = [
        kernel(written[i][0], written[j][0]) * fsum(a * b for a, b in zip(written[i][1], written[j][1], strict=True))
        for i in range(n)
        for j in range(n)
        if i != j
    ]
    return fsum(terms) / (n * (n - 1))


def temperature_loss(labels: Any, logits: Any, temperature: float, weights: Any = None) -> float:
    """Mean of ln Σ_j exp(z_j/T) − z_y/T; one column is the logit of class 1, against 0."""
    losses = []
    for label, z in zip(labels, logits, strict=True):
        row = [0.0, float(z)] if getattr(logits, "ndim", 1) == 1 else [float(v) for v in z]
        scaled = [v / temperature for v in row]
        top = max(scaled)
        losses.append(top + log(fsum(exp(v - top) for v in scaled)) - scaled[label])
    return mean(losses, weights)
