"""Softmax regression of few rows on many classes, by Newton's method in the space of the rows.

With fewer rows than classes the penalty decides most of W. Where one penalty s holds off
the diagonal, the optimum of class k is W_k − C_k = D_k⁻¹ Σ_i α_ik x_i, with C the centre and
D_k the penalties. So its scores are those of the centre plus F_k u_k with
F_k = (Z/√s, x_k·√(1/d − 1/s), 1/√μ), Z = XV the rows in a basis V of their own, d and μ the
penalties of the diagonal entry and the offset, and |u_k|² is the penalty: n + 2 numbers
per class instead of K + 1. The curvature is a block per class less one vector per row,
so that a Newton step takes a system per class and one of n equations (Rasmussen &
Williams 2006, algorithm 3.3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calibrant.types import Floats

MOST_STEPS, SMALL_GAIN = 100, 1e-13
"""Newton steps at most; one that gains less than this, relatively, is the last."""
LEVEL = 1e-7
"""A step that would gain no more than this share of the objective: converged."""
SAME_ROW = 1e-12
"""Directions in which rows differ this little, relative to the first, are left out."""


class Few(NamedTuple):
    """Where the search ended: W and b, the penalised mean loss, and whether it converged."""

    weight: Floats
    bias: Floats
    objective: float
    converged: bool


class FewRows:
    """Rows of positive weight, their features in each class, and the way from u to W and b and back."""

    def __init__(self, x: Floats, outcomes: Floats, weights: Floats, centre: Any, penalty: Any) -> None:
        self.outcomes, self.weights, self.centre = outcomes.T.copy(), weights, centre
        self.base = centre.scores(x).T.copy()
        rest, own, bias = float(penalty.weight[0, 1]), np.diagonal(penalty.weight), penalty.bias
        _, size, basis = np.linalg.svd(x, full_matrices=False)
        self.v = np.ascontiguousarray(basis[size > SAME_ROW * size[0]].T)
        self.rest, self.ratio, self.extra, self.offset = (
            np.sqrt(rest),
            own / rest,
            np.sqrt(1 / own - 1 / rest),
            np.sqrt(bias),
        )
        shape = (len(self.base), *x.shape[:1], self.v.shape[1] + 2)
        self.f = np.empty(shape)
        self.f[:, :, :-2] = x @ self.v / self.rest
        self.f[:, :, -2] = x.T * self.extra[:, None]
        self.f[:, :, -1] = 1 / self.offset[:, None]

    def coordinates(self, at: Any) -> Floats:
        """u near given parameters, where a search may start."""
        away = at.weight - self.centre.weight
        own = np.diagonal(away).copy()
        away[np.diag_indices_from(away)] *= self.ratio  # as it is at an optimum
        u = away @ self.v * self.rest
        left = own - np.einsum("kr,kr->k", u, self.v) / self.rest
        second = np.divide(left, self.extra, out=np.zeros_like(left), where=self.extra > 0)
        return np.column_stack([u, second, (at.bias - self.centre.bias) * self.offset])

    def parameters(self, u: Floats) -> tuple[Floats, Floats]:
        """W and b."""
        weight = u[:, :-2] @ self.v.T / self.rest
        weight[np.diag_indices_from(weight)] += u[:, -2] * self.extra
        return self.centre.weight + weight, self.centre.bias + u[:, -1] / self.offset

    def value(self, u: Floats) -> tuple[float, Floats]:
        """The objective, and the predicted share of every class in every row, `(K, n)`."""
        scores = self.base + np.matmul(self.f, u[:, :, None])[:, :, 0]
        scores -= scores.max(axis=0)
        share = np.exp(scores)
        size = share.sum(axis=0)
        loss = float(np.dot(self.weights, np.log(size))) - float((self.outcomes * scores).sum())
        return loss + float((u * u).sum()), share / size

    def step(self, u: Floats, share: Floats) -> tuple[Floats, float]:
        """Newton's step and half its slope, the gain to expect."""
        f, w = self.f, self.weights
        curvature = w * share
        slope = np.matmul(f.transpose(0, 2, 1), (curvature - self.outcomes)[:, :, None])[:, :, 0] + 2 * u
        block = f.transpose(0, 2, 1) @ (curvature[:, :, None] * f)
        along = np.arange(u.shape[1])
        block[:, along, along] += 2.0
        scale = 1 / np.sqrt(block[:, along, along])
        right = np.concatenate([f.transpose(0, 2, 1), slope[:, :, None]], axis=2) * scale[:, :, None]
        solved = np.linalg.solve(block * scale[:, :, None] * scale[:, None, :], right) * scale[:, :, None]
        by_class, alone = solved[:, :, :-1], solved[:, :, -1]
        seen = f @ by_class * curvature[:, None, :] * curvature[:, :, None]  # D F A⁻¹ Fᵀ D
        left = np.diag(w) - seen.sum(axis=0)
        left[np.diag_indices_from(left)] += 1e-13 * w
        errors = (curvature * np.matmul(f, alone[:, :, None])[:, :, 0]).sum(axis=0)
        shared = np.linalg.solve(left, errors)
        step = -alone - np.matmul(by_class, (curvature * shared)[:, :, None])[:, :, 0]
        return step, -float((slope * step).sum()) / 2

    def least(self, start: Any) -> Few:
        """The minimum, from a start; steps are halved until the objective falls."""
        u = self.coordinates(start)
        value, share = self.value(u)
        gain = np.inf
        for _ in range(MOST_STEPS):
            step, gain = self.step(u, share)
            size, (new, shares) = 1.0, self.value(u + step)
            while not new <= value and size > 1e-9:
                size /= 2
                new, shares = self.value(u + size * step)
            if not new < value:
                break
            u, gained, value, share = u + size * step, value - new, new, shares
            if gained <= SMALL_GAIN * abs(value):
                break
        return Few(*self.parameters(u), value, bool(abs(gain) <= LEVEL * abs(value)))
