"""Beta distribution by maximum likelihood, where scores stored as exactly 0 or 1 are
censored.

Five sums suffice: the weight, Σ ln p and Σ ln q of the rows that are not censored, and
the weights at either end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.types import Floats

LARGEST = 1e7
"""Largest α and β: scores closer together than this makes them are practically equal."""


@dataclass(frozen=True, slots=True)
class BetaFit:
    """Parameters, mean log-likelihood, and the weights taken as censored at 0 and at 1."""

    alpha: float
    beta: float
    likelihood: float
    censored: tuple[float, float]


def fit_beta(p: Floats, q: Floats, weight: Floats, limits: tuple[float, float]) -> BetaFit:
    """Maximise Σ w·ln f(p) + w₀·ln P(p < limits[0]) + w₁·ln P(q < limits[1]) over α and
    β; some row must be uncensored.
    """
    from scipy.optimize import minimize

    at_zero, at_one = p < limits[0], q < limits[1]
    seen = ~(at_zero | at_one)
    total = float(weight.sum())
    low, high, inner = (float(weight[rows].sum()) / total for rows in (at_zero, at_one, seen))
    mean_log_p = float(weight[seen] @ np.log(p[seen])) / total
    mean_log_q = float(weight[seen] @ np.log(q[seen])) / total

    def loss(logs: Floats) -> float:
        a, b = np.exp(logs)
        value = inner * log_beta(a, b) - (a - 1) * mean_log_p - (b - 1) * mean_log_q
        value -= low * log_tail(limits[0], a, b) if low else 0.0
        value -= high * log_tail(limits[1], b, a) if high else 0.0
        return float(value)

    mean = float(weight @ p) / total
    variance = max(float(weight @ (p - mean) ** 2) / total, 1e-12)
    size = max(mean * (1 - mean) / variance - 1, 0.05)
    start = np.log(np.clip([mean * size, (1 - mean) * size], 1e-3, LARGEST / 10))
    ends = (np.log(1e-8), np.log(LARGEST))
    found = minimize(
        loss, start, method="Nelder-Mead", bounds=(ends, ends), options={"xatol": 1e-9, "fatol": 1e-15, "maxiter": 2000}
    )
    return BetaFit(float(np.exp(found.x[0])), float(np.exp(found.x[1])), -float(found.fun), (low * total, high * total))


def log_beta(a: float, b: float) -> float:
    """ln B(a, b)."""
    from scipy.special import betaln

    return float(betaln(a, b))


def log_tail(x: float, a: float, b: float) -> float:
    """ln P(X < x) for X ~ Beta(a, b) and small x, far below where the probability itself underflows."""
    from scipy.special import hyp2f1

    return float(a * np.log(x) - np.log(a) - log_beta(a, b) + np.log(hyp2f1(a, 1 - b, a + 1, x)))
