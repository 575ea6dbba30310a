"""Softmax regression by Newton's method, for few parameters: a handful of passes instead of a dozen or two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.types import Floats

MOST_WORK = 1_500_000
"""Rows times squared parameters up to which a step, some milliseconds, is cheaper than the passes that it saves."""

MOST_STEPS, MOST_HALVINGS = 50, 30
ENOUGH, LEVEL = 1e-14, 1e-6
"""The search ends where a step promises less than this share of the value; slopes this small count as level."""

SUFFICIENT = 1e-4
"""The least share of the promised gain that a step must keep."""

Passed = Callable[[Floats], tuple[float, Floats, Floats]]
"""Parameters `(K, d)` to the value, its slopes, and the weighted shares `(n, K)` of the classes."""


@dataclass(frozen=True, slots=True)
class Least:
    """Where the search ended."""

    at: Floats
    value: float
    converged: bool


def worth_newton(n: int, n_parameters: int, n_fits: int = 1) -> bool:
    """Are the parameters few enough, for so many fits that share a curvature?"""
    return n * n_parameters**2 <= MOST_WORK * n_fits


def least(
    passed: Passed,
    x: Floats,
    weights: Floats,
    diagonal: bool,
    ridge: Floats,
    start: Floats,
    gain: float | None = None,
    inverse: Floats | None = None,
) -> Least | None:
    """The least value of a convex function, its curvature that of the loss and twice the ridge; None if it is not found.

    A step that promised less than the share `gain` of the value, where given, is the last. The `inverse` of nearly the
    same curvature saves that of every step.
    """

    def solved(share: Floats, slope: Floats) -> Floats:
        return np.asarray(np.linalg.solve(curvature(x, share, weights, diagonal, ridge), slope.ravel()))

    at, (value, slope, share) = start, passed(start)
    for _ in range(MOST_STEPS):
        try:
            step = -(slope.ravel() @ inverse.T if inverse is not None else solved(share, slope)).reshape(at.shape)
        except np.linalg.LinAlgError:
            return None
        promised = -float((slope * step).sum())
        if not promised > ENOUGH * abs(value):
            level = bool(np.abs(slope).max() < LEVEL)
            if level or inverse is None:
                return Least(at, value, level)
            inverse = None  # it misleads
            continue
        for halving in range(MOST_HALVINGS):
            new = at + step / 2**halving
            found = passed(new)
            if found[0] <= value - SUFFICIENT * promised / 2**halving:
                break
        else:  # rounding, or no descent
            if inverse is not None:
                inverse = None
                continue
            return Least(at, value, True) if np.abs(slope).max() < LEVEL else None
        at, (value, slope, share) = new, found
        if gain is not None and promised <= gain * abs(value):
            return Least(at, value, True)
    return None


def curvature(x: Floats, share: Floats, weights: Floats, diagonal: bool, ridge: Floats) -> Floats:
    """Σ w (diag(s) − s sᵀ) ⊗ f fᵀ and the ridge, `(Kd, Kd)`; `share` is w·s."""
    k, d = ridge.shape
    ones = np.ones((len(x), 1))
    features = np.stack([x, np.ones_like(x)], axis=2) if diagonal else np.concatenate([x, ones], axis=1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(weights > 0, 1 / np.sqrt(weights), 0.0)
    spread = ((share * root[:, None])[:, :, None] * features).reshape(len(share), k * d)
    found: Floats = -(spread.T @ spread)
    own = (share[:, :, None] * features).transpose(1, 2, 0) @ np.broadcast_to(
        features.transpose(1, 0, 2), (k, len(share), d)
    )
    blocks = found.reshape(k, d, k, d)
    for j in range(k):
        blocks[j, :, j] += own[j]
    found[np.arange(k * d), np.arange(k * d)] += 2 * ridge.ravel()
    return found
