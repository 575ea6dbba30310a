"""Forecasts of a real number, in plain loops and sums over fine grids."""

from __future__ import annotations

import math
from math import fsum, pi
from math import log as ln
from typing import Any

import numpy as np


def normal_cdf(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


def crps_by_integral(cdf, y, low, high, points=200_001):
    """∫(F − [y ≤ x])² by the midpoint rule."""
    x = np.linspace(low, high, points)
    middle = (x[1:] + x[:-1]) / 2
    return float((((cdf(middle) - (middle >= y)) ** 2) * np.diff(x)).sum())


def ensemble_crps(y, samples, fair):
    m = len(samples)
    near = sum(abs(x - y) for x in samples) / m
    apart = sum(abs(a - b) for a in samples for b in samples)
    return near - apart / (2 * (m * (m - 1) if fair else m * m))


def pinball(y, quantiles, levels):
    return sum((y - q) * (t - (y < q)) for q, t in zip(quantiles, levels, strict=True)) / len(levels)


def skce_pair(first, second, width, label_width, points=4001):
    """h of two rows (mean, variance, label), its expectations summed over a grid."""
    (m1, v1, y1), (m2, v2, y2) = first, second
    reach = 12 * math.sqrt(max(v1, v2)) + abs(m1) + abs(m2)
    z = np.linspace(-reach, reach, points)
    step = z[1] - z[0]
    p1, p2 = (np.exp(-((z - m) ** 2) / (2 * v)) / math.sqrt(2 * math.pi * v) * step for m, v in ((m1, v1), (m2, v2)))

    def k(a, b):
        return np.exp(-((a - b) ** 2) / (2 * label_width**2))

    apart = math.hypot(m1 - m2, math.sqrt(v1) - math.sqrt(v2))
    inside = k(y1, y2) - (k(z, y2) * p1).sum() - (k(y1, z) * p2).sum() + p1 @ k(z[:, None], z) @ p2
    return math.exp(-apart / width) * float(inside)


def skce(labels, mean, variance, width, label_width, biased=False):
    rows = list(zip(mean, variance, labels, strict=True))
    n = len(rows)
    values = [
        skce_pair(rows[i], rows[j], width, label_width, 1201) for i in range(n) for j in range(n) if biased or i != j
    ]
    return sum(values) / len(values)


def area(u):
    """Mean of |share of u up to t − t| over a fine grid of t."""
    t = (np.arange(20_000) + 0.5) / 20_000
    return float(np.abs((u <= t[:, None]).mean(axis=1) - t).mean())


def ence(labels, mean, variance, n_bins):
    """Rows in the order of their variances, cut into parts of equal size; for distinct variances."""
    order = np.argsort(variance)
    gaps = []
    for part in np.array_split(order, n_bins):
        spread = math.sqrt(sum(variance[i] for i in part) / len(part))
        error = math.sqrt(sum((labels[i] - mean[i]) ** 2 for i in part) / len(part))
        gaps.append(abs(spread - error) / spread)
    return sum(gaps) / len(gaps)


def rising(x: Any, y: Any) -> list[float]:
    """The rising fit by the max–min formula: the largest over starts of the smallest mean over ends."""
    values = sorted({float(v) for v in x})
    groups = [[float(b) for a, b in zip(x, y, strict=True) if a == v] for v in values]

    def mean(first: int, last: int) -> float:
        inside = [v for group in groups[first : last + 1] for v in group]
        return fsum(inside) / len(inside)

    n = len(values)
    at = {v: max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k, v in enumerate(values)}
    return [at[float(v)] for v in x]


def lemma(labels: Any, mean: Any, variance: Any, log: bool = False) -> tuple[float, float, float, float]:
    """Score, calibration, sharpness and entropy of Dawid–Sebastiani (or the Gaussian log) score, as lemma 4.1 writes them.

    The label given the forecast has the rising means and variances; divergences and entropy are those of moments.
    """
    y = [float(v) for v in labels]
    m = rising(mean, y)
    v = rising(variance, [(a - b) ** 2 for a, b in zip(y, m, strict=True)])
    centre = fsum(y) / len(y)
    spread = fsum((a - centre) ** 2 for a in y) / len(y)

    def score(mu: float, s: float, a: float) -> float:
        found = (a - mu) ** 2 / s + ln(s)
        return (found + ln(2 * pi)) / 2 if log else found

    def over_rows(mus: Any, spreads: Any) -> float:
        return fsum(score(float(mu), float(s), a) for mu, s, a in zip(mus, spreads, y, strict=True)) / len(y)

    total, left = over_rows(mean, variance), over_rows(m, v)
    entropy = over_rows([centre] * len(y), [spread] * len(y))
    return total, total - left, entropy - left, entropy


def crps_entropy(labels: Any) -> float:
    """½ E|Y − Y'| over all pairs, each label with itself included."""
    y = [float(v) for v in labels]
    return fsum(abs(a - b) for a in y for b in y) / len(y) ** 2 / 2
