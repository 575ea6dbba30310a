"""Logistic regression on a few features: Newton's method on pooled rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Floats

MOST_STEPS, SMALL_STEP = 100, 1e-10
"""Newton steps at most; a relative step below `SMALL_STEP` is the last, and leaves an
error of its square."""
RIDGE = 1e-10
"""Times the weight: keeps the equations solvable on separable data, and moves other
fits by less than their rounding."""


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Coefficients, mean loss in nats, and how the search ended."""

    coefficients: Floats
    loss: float
    converged: bool


def fit_logistic(features: Floats, weight: Floats, hits: Floats) -> LogisticFit:
    """Minimise Σ_g w_g ln(1 + e^η) − h_g η over η = Xβ, with steps halved until the
    loss falls."""
    sizes = np.abs(features).max(axis=0)
    sizes = np.where(sizes > 1e-100, sizes, 1.0)  # a smaller feature carries no information
    found = _fit_scaled(features / sizes, weight, hits)
    return LogisticFit(found.coefficients / sizes, found.loss, found.converged)


def _fit_scaled(features: Floats, weight: Floats, hits: Floats) -> LogisticFit:
    total = float(weight.sum())
    ridge = RIDGE * total
    beta = np.zeros(features.shape[1])
    loss = _loss(features, weight, hits, beta, ridge)
    for _ in range(MOST_STEPS):
        mu = sigmoid(features @ beta)
        slope = features.T @ (weight * mu - hits) + ridge * beta
        curvature = (features.T * (weight * mu * (1 - mu))) @ features + ridge * np.eye(len(beta))
        step = -np.linalg.solve(curvature, slope)
        size = 1.0
        while size > 1e-8:  # halve until the loss falls
            trial = _loss(features, weight, hits, beta + size * step, ridge)
            if trial <= loss + 1e-14 * abs(loss):
                break
            size /= 2
        beta, loss = beta + size * step, trial
        if np.abs(size * step).max() < SMALL_STEP * (1 + np.abs(beta).max()):
            return LogisticFit(beta, loss / total, True)
    return LogisticFit(beta, loss / total, False)


def _loss(features: Floats, weight: Floats, hits: Floats, beta: Floats, ridge: float) -> float:
    eta = features @ beta
    return inner(weight, np.logaddexp(0.0, eta)) - inner(hits, eta) + ridge / 2 * inner(beta, beta)
