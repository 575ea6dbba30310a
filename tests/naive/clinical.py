"""The numbers of a clinical validation, row by row and pair by pair."""

from __future__ import annotations

from math import exp, fsum, log, log1p
from typing import Any


def observed_over_expected(labels: Any, probs: Any) -> float:
    return fsum(labels) / fsum(probs)


def net_benefit(labels: Any, probs: Any, threshold: float) -> float:
    """Events found less false alarms times the odds of the threshold, per event."""
    found = sum(1 for y, p in zip(labels, probs, strict=True) if y and p >= threshold)
    alarms = sum(1 for y, p in zip(labels, probs, strict=True) if not y and p >= threshold)
    return (found - alarms * threshold / (1 - threshold)) / sum(labels)


def placements(labels: Any, probs: Any) -> tuple[list[float], list[float]]:
    """For each event the share of non-events below it, for each non-event the share of events above it; ties by half."""
    events = [p for y, p in zip(labels, probs, strict=True) if y]
    others = [p for y, p in zip(labels, probs, strict=True) if not y]

    def wins(p: float, q: float) -> float:
        return 1.0 if p > q else 0.5 if p == q else 0.0

    first = [fsum(wins(p, q) for q in others) / len(others) for p in events]
    return first, [fsum(wins(p, q) for p in events) / len(events) for q in others]


def c_statistic(labels: Any, probs: Any) -> tuple[float, float]:
    """The share of pairs in the right order, and DeLong's variance."""
    parts = placements(labels, probs)
    c = fsum(parts[0]) / len(parts[0])
    return c, fsum(fsum((v - c) ** 2 for v in part) / (len(part) - 1) / len(part) for part in parts)


def likelihood(labels: Any, probs: Any, intercept: float, slope: float) -> float:
    """The log-likelihood of a line in log-odds."""
    etas = [intercept + slope * (log(p) - log1p(-p)) for p in probs]
    return fsum(y * eta - (max(eta, 0.0) + log1p(exp(-abs(eta)))) for y, eta in zip(labels, etas, strict=True))


def best(function: Any, low: float, high: float) -> float:
    """The largest value of a concave function, by thirds."""
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if function(left) < function(right) else (low, right)
    return float(function((low + high) / 2))


def profile(labels: Any, probs: Any, slope: float) -> float:
    """The log-likelihood of a slope with its best intercept."""
    return best(lambda a: likelihood(labels, probs, a, slope), -30.0, 30.0)


def error_quantile(errors: Any, weights: Any, share: float) -> float:
    """The smallest error that so large a share of the weight does not exceed."""
    total, below = fsum(weights), 0.0
    for error, weight in sorted(zip(errors, weights, strict=True)):
        below += weight
        if below >= (share - 1e-12) * total:
            return float(error)
    raise AssertionError
