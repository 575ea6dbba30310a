"""Mean of the plain binned error at another sample size: a folded normal a bin."""

from __future__ import annotations

from math import fsum, sqrt
from typing import Any

from scipy.stats import foldnorm


def folded(mu: float, variance: float) -> float:
    """E|X| for X ~ N(μ, σ²); beyond 40 standard deviations from 0 it is |μ|, and SciPy divides by zero."""
    far = abs(mu) > 40 * sqrt(variance)
    return abs(mu) if far or variance == 0 else float(foldnorm.mean(abs(mu) / sqrt(variance), scale=sqrt(variance)))


def powers(bins: list[list[int]], probs: Any, outcomes: Any, n: float, norm: int) -> tuple[float, float]:
    """(as these data are, if calibrated): Σ n_k/n · E|conf − acc|^α with variance (V_conf + acc(1−acc))/n_k at size n."""
    p, y = [float(v) for v in probs], [float(v) for v in outcomes]
    value, floor = [], []
    for rows in filter(None, bins):
        share = len(rows) / len(p)
        conf, acc = fsum(p[j] for j in rows) / len(rows), fsum(y[j] for j in rows) / len(rows)
        spread = fsum((p[j] - conf) ** 2 for j in rows) / len(rows)
        variance = (spread + acc * (1 - acc)) / (share * n)
        null = fsum(p[j] * (1 - p[j]) for j in rows) / len(rows) / (share * n)
        value.append(share * ((conf - acc) ** 2 + variance if norm == 2 else folded(conf - acc, variance)))
        floor.append(share * (null if norm == 2 else folded(0.0, null)))
    return fsum(value), fsum(floor)
