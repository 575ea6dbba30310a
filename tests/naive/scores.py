"""Proper scores and the loss of a temperature, row by row."""

from __future__ import annotations

from math import exp, fsum, inf, log
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


def temperature_loss(labels: Any, logits: Any, temperature: float, weights: Any = None) -> float:
    """Mean of ln Σ_j exp(z_j/T) − z_y/T; one column is the logit of class 1, against 0."""
    losses = []
    for label, z in zip(labels, logits, strict=True):
        row = [0.0, float(z)] if getattr(logits, "ndim", 1) == 1 else [float(v) for v in z]
        scaled = [v / temperature for v in row]
        top = max(scaled)
        losses.append(top + log(fsum(exp(v - top) for v in scaled)) - scaled[label])
    return mean(losses, weights)
