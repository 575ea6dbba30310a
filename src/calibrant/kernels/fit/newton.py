"""Two convex fits by Newton's method.

Logistic regression on a few features, and the weights of a mixture of a few forecasters
by the log score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Floats

MOST_STEPS = 200
"""Newton steps at most."""
RIDGE = 1e-10
"""Times the weight: keeps the equations solvable on separable data, and moves other
fits by less than their rounding."""


@dataclass(frozen=True, slots=True)
class NewtonFit:
    """Coefficients, mean loss in nats, and how the search ended."""

    coefficients: Floats
    loss: float
    converged: bool


def newton(
    loss: Callable[[Floats], float], step_from: Callable[[Floats], Floats], start: Floats, small: float
) -> NewtonFit:
    """Steps halved until the loss falls.

    One below `small`, relatively, is the last, and leaves an error of its square.

    Parameters
    ----------
    loss
        What is minimised.
    step_from
        Newton's step from where the loss was computed last.
    start
        Where to begin.
    small
        Size of the last step.
    """
    at, value = start, loss(start)
    for _ in range(MOST_STEPS):
        step, size = step_from(at), 1.0
        while not (trial := loss(at + size * step)) <= value + 1e-14 * abs(value) and size > 1e-12:
            size /= 2
        at, value = at + size * step, trial
        if np.abs(size * step).max() < small * (1 + np.abs(at).max()):
            return NewtonFit(at, value, True)
    return NewtonFit(at, value, False)


def fit_logistic(features: Floats, weight: Floats, hits: Floats, offset: Floats | float = 0.0) -> NewtonFit:
    """Minimise Σ_g w_g ln(1 + e^η) − h_g η over η = offset + Xβ."""
    sizes = np.abs(features).max(axis=0)
    sizes = np.where(sizes > 1e-100, sizes, 1.0)  # a smaller feature carries no information
    x, total = features / sizes, float(weight.sum())
    ridge = RIDGE * total

    def loss(beta: Floats) -> float:
        eta = offset + x @ beta
        return (inner(weight, np.logaddexp(0.0, eta)) - inner(hits, eta) + ridge / 2 * inner(beta, beta)) / total

    def step(beta: Floats) -> Floats:
        mu = sigmoid(offset + x @ beta)
        slope = x.T @ (weight * mu - hits) + ridge * beta
        curvature = (x.T * (weight * mu * (1 - mu))) @ x + ridge * np.eye(len(beta))
        return np.asarray(-np.linalg.solve(curvature, slope))

    found = newton(loss, step, np.zeros(x.shape[1]), 1e-10)
    return NewtonFit(found.coefficients / sizes, found.loss, found.converged)


LARGEST_RATIO = 1e100
"""Of two chances of a row, so that squares stay finite."""


def fit_mixture(chances: Floats, weight: Floats) -> NewtonFit:
    """Minimise −Σ w ln(chances @ u) over u ≥ 0, Σu = 1.

    Newton steps on the face that the last step left.

    The loss is convex; a weight that would become negative is held at 0 until its slope
    is negative again.
    """
    w, m = weight / weight.sum(), chances.shape[1]

    def loss(u: Floats) -> float:
        return -float(np.dot(w, np.log(chances @ u)))

    def step(u: Floats) -> Floats:
        ratio = np.minimum(chances / (chances @ u)[:, None], LARGEST_RATIO)
        slope = -(w @ ratio)  # at the optimum −1 where u > 0 and no less where u = 0
        return _simplex_step(u, slope, (ratio.T * w) @ ratio)

    found = newton(loss, step, np.full(m, 1 / m), 1e-12)
    return NewtonFit(found.coefficients / found.coefficients.sum(), found.loss, found.converged)


def _simplex_step(u: Floats, slope: Floats, curvature: Floats) -> Floats:
    """Newton's step among weights that add up to 1, cut where one becomes 0."""
    free = (u > 0) | (slope < -1 - 1e-12)
    stuck = free
    while stuck.any():
        at = np.flatnonzero(free)
        f = len(at)
        system = np.zeros((f + 1, f + 1))
        system[:f, :f] = curvature[np.ix_(at, at)] + 1e-13 * np.eye(f) * np.trace(curvature)
        system[f, :f] = system[:f, f] = 1
        step = np.zeros_like(u)
        step[at] = np.linalg.lstsq(system, np.append(-slope[at], 0.0))[0][:f]
        stuck = free & (u == 0) & (step < 0)
        free = free & ~stuck
    shrinking = step < 0
    longest = np.min(u[shrinking] / -step[shrinking], initial=np.inf)
    if longest < 1:
        step *= longest
        emptied = shrinking & (u + step < 1e-15)
        step[emptied] = -u[emptied]
    return step
