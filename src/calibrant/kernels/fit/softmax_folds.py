"""Softmax regressions on parts of the same rows, all at once: near the minimum for all rows, whose curvature they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.kernels.logits import row_maxima, row_sums
from calibrant.types import Array, Bools, Floats

MOST_STEPS, MOST_HALVINGS = 20, 10


@dataclass(frozen=True, slots=True)
class Problems:
    """What each of the fits minimises: mean log loss, and Σ ridge·(parameter − centre)²."""

    x: Floats
    """features `(fits, n, K)`"""
    labels: Array
    """class of each row `(n,)`"""
    weights: Floats
    """`(fits, n)`, adding up to 1 in each"""
    centre: Floats
    """`(K, d)`: weights, then the bias, of each class"""
    ridge: Floats
    """`(fits, K, d)`"""

    @property
    def diagonal(self) -> bool:
        return self.centre.shape[1] == 2

    def scores(self, at: Floats) -> Floats:
        """Of every row by the parameters of each fit, `(fits, n, K)`."""
        weight, bias = at[:, :, :-1], at[:, None, :, -1]
        return (self.x * weight[:, None, :, 0] if self.diagonal else self.x @ weight.transpose(0, 2, 1)) + bias

    def shares(self, at: Floats) -> tuple[Floats, Floats]:
        """Probabilities of every row by each fit, and the log loss of each row."""
        share = self.scores(at)
        flat = share.reshape(-1, share.shape[2])
        flat -= row_maxima(flat)
        chosen = share[:, np.arange(len(self.labels)), self.labels]
        np.exp(flat, out=flat)
        size = row_sums(flat)
        flat /= size
        return share, np.log(size).reshape(self.weights.shape) - chosen

    def passed(self, at: Floats) -> tuple[Floats, Floats]:
        """Values `(fits,)` and slopes `(fits, K, d)`."""
        share, loss = self.shares(at)
        share[:, np.arange(len(self.labels)), self.labels] -= 1
        share *= self.weights[:, :, None]
        own = (
            np.einsum("fnk,fnk->fk", share, self.x)[:, :, None] if self.diagonal else share.transpose(0, 2, 1) @ self.x
        )
        slope = np.concatenate([own, share.sum(axis=1)[:, :, None]], axis=2)
        away = at - self.centre
        value = (self.weights * loss).sum(axis=1) + (self.ridge * away * away).sum(axis=(1, 2))
        return value, slope + 2 * self.ridge * away


def least_each(problems: Problems, near: Floats, inverse: Floats, gain: Floats) -> tuple[Floats, Bools]:
    """The parameters `(fits, K, d)` of each fit, and whether its search ended.

    Parameters
    ----------
    problems
        What is minimised.
    near
        Where all searches begin, `(K, d)`.
    inverse
        Of the curvature there, `(Kd, Kd)`: all steps are taken by it.
    gain
        The last step of each fit promises less than this.
    """
    at = np.tile(near, (len(gain), 1, 1))
    value, slope = problems.passed(at)
    ended = np.zeros(len(gain), dtype=bool)
    for _ in range(MOST_STEPS):
        step = -(slope.reshape(len(gain), -1) @ inverse.T).reshape(at.shape)
        step[ended] = 0.0
        promised = -(slope * step).sum(axis=(1, 2))
        for _ in range(MOST_HALVINGS):
            found = problems.passed(at + step)
            worse = ~(found[0] <= value)
            if not worse.any():
                break
            step[worse] /= 2
        ended |= (promised >= 0) & (promised <= gain)
        step[worse] = 0.0
        if (worse & ~ended).any():
            break
        at, (value, slope) = at + step, found
        if ended.all():
            break
    return at, ended
