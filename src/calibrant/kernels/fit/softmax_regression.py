"""Softmax regression with a quadratic penalty.

Vector, matrix, Dirichlet and structured scaling share it.

Mean loss of softmax(W x + b) plus Σ penalty·(parameter − centre)², convex. W is a full
matrix, or its diagonal alone. The search is L-BFGS in coordinates in which the
curvature at the start, class by class, is the identity: a few dozen passes. A matrix for
many more classes than rows is found in the space of the rows (`few_rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.kernels.fit.few_rows import FewRows
from calibrant.kernels.fit.lbfgs import least, one_blas_thread
from calibrant.types import Array, Floats

SMALL_SLOPE = 1e-9
"""Of the loss in the scaled coordinates: parameters are then known to about as much."""
SMALL_GAIN, MANY = 1e-15, 1000
"""Of the loss in a step: where a class never occurs, its offset decreases without end,
with smaller and smaller gains. A thousand times as much ends the search for more than
this many parameters.
"""
CURVATURE_ROWS = 4096
"""Rows that the initial curvature is computed from; it only guides the search."""

MOST_CURVATURE = 1 << 24
"""Numbers of curvature kept; beyond that its diagonal must do."""

MANY_CLASSES, CLASSES_PER_ROW = 64, 4
"""From so many classes, and so many per row, a matrix is found in the space of the rows."""


@dataclass(frozen=True, slots=True)
class Data:
    """Features `(n, K)`, labels, and weights, which add up to 1."""

    x: Floats
    labels: Array
    """class of each row `(n,)`, or shares `(n, K)`"""
    weights: Floats

    def outcomes(self) -> Floats:
        """w·y, `(n, K)`."""
        if self.labels.ndim == 2:
            return self.labels * self.weights[:, None]
        out = np.zeros_like(self.x)
        out[np.arange(len(out)), self.labels] = self.weights
        return out

    def rows(self, which: Any) -> Data:
        """Some of the rows, their weights adding up to 1 again."""
        weights = self.weights[which]
        return Data(self.x[which], self.labels[which], weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Linear:
    """W `(K, K)` or its diagonal `(K,)`, and b `(K,)`.

    Parameters, their centre, or their penalties.
    """

    weight: Floats
    bias: Floats

    @property
    def diagonal(self) -> bool:
        return self.weight.ndim == 1

    def packed(self) -> Floats:
        """One row per class: its weights, then its bias."""
        weight = self.weight[:, None] if self.diagonal else self.weight
        return np.concatenate([weight, self.bias[:, None]], axis=1)

    def like(self, packed: Floats) -> Linear:
        """The inverse of `packed`."""
        weight = packed[:, 0] if self.diagonal else packed[:, :-1]
        return Linear(np.ascontiguousarray(weight), np.ascontiguousarray(packed[:, -1]))

    def scores(self, x: Floats) -> Floats:
        """W x + b for every row."""
        return (x * self.weight if self.diagonal else x @ self.weight.T) + self.bias


@dataclass(frozen=True, slots=True)
class Found:
    """Where the search ended."""

    at: Linear
    loss: float
    """mean log loss, without the penalty"""
    objective: float
    converged: bool


def fit(data: Data, start: Linear, centre: Linear, penalty: Linear) -> Found:
    """The minimum of the penalised mean loss."""
    import scipy.optimize  # noqa: F401  (its threads are limited too)

    if few_rows(len(data.x), len(start.bias), start.diagonal):
        return _fit_few(data, start, centre, penalty)
    with one_blas_thread(start.packed().size):
        moments = moments_of(data, start)
        scale = _scales(data, start, penalty)
        origin = start.packed()

        def objective(flat: Floats) -> tuple[float, Floats]:
            here = start.like(origin + _scaled(scale, flat.reshape(origin.shape)))
            value, slope = value_and_slope(data, here, moments)
            extra, slope_of_extra = _penalised(here, centre, penalty)
            return value + extra, _scaled(scale, slope + slope_of_extra, transposed=True).ravel()

        gain = SMALL_GAIN * (1000 if origin.size > MANY else 1)
        result = least(objective, np.zeros(origin.size), slope=SMALL_SLOPE, gain=gain)
        at = start.like(origin + _scaled(scale, result.at.reshape(origin.shape)))
        extra, _ = _penalised(at, centre, penalty)
        return Found(at, result.value - extra, result.value, result.converged)


def few_rows(n: int, k: int, diagonal: bool) -> bool:
    """Are there so many more classes than rows that the search is best in the space of the rows?"""
    return not diagonal and k >= max(MANY_CLASSES, CLASSES_PER_ROW * n) and k * (n + 2) ** 2 <= MOST_CURVATURE


def minutes(n: int, k: int) -> float:
    """About how long the fit of a matrix takes one core: 10 Newton steps, or 200 passes at 4 billion sums a second."""
    return (10 * k * (n**3 + 50_000) / 1e9 if few_rows(n, k, False) else 200 * 4 * n * k * k / 4e9) / 60


def _fit_few(data: Data, start: Linear, centre: Linear, penalty: Linear) -> Found:
    some = data.rows(data.weights > 0)
    problem = FewRows(some.x, some.outcomes(), some.weights, centre, penalty)
    with one_blas_thread(problem.f[:, 0].size):
        result = problem.least(start)
    at = Linear(result.weight, result.bias)
    return Found(at, result.objective - _penalised(at, centre, penalty)[0], result.objective, result.converged)


def loss(data: Data, at: Linear) -> float:
    """Mean log loss."""
    return _loss_and_shares(data, at)[0]


def value_and_slope(data: Data, at: Linear, moments: Floats) -> tuple[float, Floats]:
    """Mean loss, and its slope in the packed parameters."""
    value, share = _loss_and_shares(data, at)
    share *= data.weights[:, None]
    return value, _features_times(data.x, share, at.diagonal) - moments


def _loss_and_shares(data: Data, at: Linear) -> tuple[float, Floats]:
    scores = at.scores(data.x)
    scores -= scores.max(axis=1, keepdims=True)
    soft = data.labels.ndim == 2
    chosen = np.einsum("ij,ij->i", scores, data.labels) if soft else scores[np.arange(len(scores)), data.labels]
    share = np.exp(scores, out=scores)
    size = share.sum(axis=1)
    share /= size[:, None]
    return float(np.dot(data.weights, np.log(size) - chosen)), share


def moments_of(data: Data, like: Linear) -> Floats:
    """Σ_i w_i y_ik (x_i, 1), packed."""
    return _features_times(data.x, data.outcomes(), like.diagonal)


def _features_times(x: Floats, share: Floats, diagonal: bool) -> Floats:
    """Σ_i share_ik (x_i, 1), packed."""
    weight = np.einsum("ij,ij->j", share, x)[:, None] if diagonal else share.T @ x
    return np.concatenate([weight, share.sum(axis=0)[:, None]], axis=1)


def _penalised(at: Linear, centre: Linear, penalty: Linear) -> tuple[float, Floats]:
    away = at.packed() - centre.packed()
    pull = penalty.packed() * away
    return float((pull * away).sum()), 2 * pull


def _scales(data: Data, start: Linear, penalty: Linear) -> Floats:
    """For each class C⁻¹, with C Cᵀ its curvature at the start, `(K, d, d)`.

    Only 1/√diagonal, `(K, d)`, where that is too big.
    """
    some = data.rows(slice(None, None, -(-len(data.x) // CURVATURE_ROWS)))
    share = _loss_and_shares(some, start)[1]
    spread = share * (1 - share) * some.weights[:, None]
    ridge = 2 * penalty.packed() + 1e-12
    k, d = ridge.shape
    if k * d * d > MOST_CURVATURE:
        squares = _features_times(some.x**2, spread, start.diagonal)
        return 1 / np.sqrt(squares + 1e-6 * squares.mean(axis=1, keepdims=True) + ridge)
    curvature = np.empty((k, d, d))
    for j in range(k):
        x = some.x[:, j : j + 1] if start.diagonal else some.x
        features = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        curvature[j] = (features.T * spread[:, j]) @ features
    typical = np.trace(curvature, axis1=1, axis2=2)[:, None] / d
    curvature[:, np.arange(d), np.arange(d)] += ridge + 1e-6 * typical
    inverse: Floats = np.linalg.inv(np.linalg.cholesky(curvature))
    return inverse


def _scaled(scale: Floats, rows: Floats, transposed: bool = False) -> Floats:
    """Scaled coordinates to parameters.

    `transposed`: slopes in parameters to slopes in scaled coordinates.
    """
    if scale.ndim == 2:
        return scale * rows
    return np.matmul(scale if transposed else scale.transpose(0, 2, 1), rows[:, :, None])[:, :, 0]
