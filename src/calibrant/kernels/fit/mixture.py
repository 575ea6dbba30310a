"""Weights of a mixture of a few forecasters, by the log score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.types import Floats


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """Weights, mean loss in nats, and how the search ended."""

    weights: Floats
    loss: float
    converged: bool


MOST_ROUNDS = 200
"""Newton steps at most."""


def fit_mixture(chances: Floats, weight: Floats) -> MixtureFit:
    """Minimise −Σ w ln(chances @ u) over u ≥ 0, Σu = 1: Newton steps on the face that
    the last step left.

    The loss is convex; a weight that would become negative is held at 0 until its slope
    is negative again.
    """
    w = weight / weight.sum()
    m = chances.shape[1]
    u = np.full(m, 1 / m)
    loss = _loss(chances, w, u)
    for _ in range(MOST_ROUNDS):
        ratio = chances / (chances @ u)[:, None]
        slope = -(w @ ratio)  # at the optimum −1 where u > 0 and no less where u = 0
        curvature = (ratio.T * w) @ ratio
        step = _step(u, slope, curvature)
        size = 1.0
        while size > 1e-12:  # halve until the loss falls
            trial = u + size * step
            value = _loss(chances, w, trial)
            if value <= loss + 1e-16:
                break
            size /= 2
        moved = float(np.abs(size * step).max())
        u, loss = trial, value
        if moved < 1e-12:
            return MixtureFit(u / u.sum(), loss, True)
    return MixtureFit(u / u.sum(), loss, False)


def _step(u: Floats, slope: Floats, curvature: Floats) -> Floats:
    """Newton's step among weights that add up to 1, cut where one reaches 0."""
    free = (u > 0) | (slope < -1 - 1e-12)
    while True:
        at = np.flatnonzero(free)
        f = len(at)
        system = np.zeros((f + 1, f + 1))
        system[:f, :f] = curvature[np.ix_(at, at)] + 1e-13 * np.eye(f) * np.trace(curvature)
        system[f, :f] = system[:f, f] = 1
        step = np.zeros_like(u)
        step[at] = np.linalg.lstsq(system, np.append(-slope[at], 0.0))[0][:f]
        stuck = free & (u == 0) & (step < 0)
        if not stuck.any():
            break
        free &= ~stuck
    shrinking = step < 0
    longest = np.min(u[shrinking] / -step[shrinking], initial=np.inf)
    if longest < 1:
        step *= longest
        step[shrinking & (u + step < 1e-15)] = -u[shrinking & (u + step < 1e-15)]
    return step


def _loss(chances: Floats, w: Floats, u: Floats) -> float:
    return -float(np.dot(w, np.log(chances @ u)))
