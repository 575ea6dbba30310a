"""Softmax regression with a quadratic penalty.

Vector, matrix, Dirichlet and structured scaling share it.

Mean loss of softmax(W x + b) plus Σ penalty·(parameter − centre)², convex. W is a full
matrix, or its diagonal alone. The search is L-BFGS in coordinates in which the
curvature at the start, class by class, is the identity, and among parameters that give
the same predictions it takes those of the least penalty: a dozen or two passes. A matrix for
many more classes than rows is found in the space of the rows (`few_rows`), few penalised parameters by Newton's
method (`softmax_newton`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.kernels.fit.few_rows import FewRows
from calibrant.kernels.fit.lbfgs import least, one_blas_thread
from calibrant.kernels.fit.softmax_newton import curvature as newton_curvature
from calibrant.kernels.fit.softmax_newton import least as newton_least
from calibrant.kernels.fit.softmax_newton import worth_newton
from calibrant.kernels.logits import probabilities, row_maxima, row_sums
from calibrant.types import Array, Floats

SMALL_SLOPE = 1e-9
"""Of the loss in the scaled coordinates: parameters are then known to about as much."""
SMALL_GAIN, MANY = 1e-15, 1000
"""Of the loss in a step: where a class never occurs, its offset decreases without end,
with smaller and smaller gains. A thousand times as much ends the search for more than
this many parameters.
"""
CREEP = 1e-5
"""Of the loss in twenty steps, ten times as much where classes share one block: the search creeps towards an optimum
at infinity."""
CURVATURE_ROWS = 4096
"""Rows that the initial curvature is computed from; it only guides the search."""

MOST_CURVATURE = 1 << 24
"""Numbers of curvature kept; beyond that one block for all classes must do."""

LITTLE, TINY = 0.01, 1e-300
"""Rows with less than this share of the mean curvature of a class are left out; a class without any."""

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

    def narrowed(self) -> Data:
        """The same in float32, for a rough search."""
        labels = self.labels.astype(np.float32) if self.labels.ndim == 2 else self.labels
        return Data(self.x.astype(np.float32), labels, self.weights.astype(np.float32))

    def rows(self, which: Any) -> Data:
        """Some of the rows, their weights adding up to 1 again."""
        weights = self.weights[which]
        return Data(self.x[which], self.labels[which], weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Parts:
    """Data that come part by part, in every pass again; their weights add up to 1 over all parts."""

    parts: Callable[[], Iterator[Data]]
    sample: Data
    """some rows, from which the curvature is computed"""


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
        weight, bias = (each.astype(x.dtype, copy=False) for each in (self.weight, self.bias))
        return (x * weight if self.diagonal else x @ weight.T) + bias


@dataclass(frozen=True, slots=True)
class Found:
    """Where the search ended."""

    at: Linear
    loss: float
    """mean log loss, without the penalty"""
    objective: float
    converged: bool


def fit(
    data: Data | Parts,
    start: Linear,
    centre: Linear,
    penalty: Linear,
    prior: float = 0.0,
    *,
    scale: Scales | None = None,
    inverse: Floats | None = None,
    gain: float | None = None,
) -> Found:
    """The minimum of the penalised mean loss.

    The search ends where a step gains less than the share `gain` of it. What guides it, the `scale` of its coordinates
    or the `inverse` of the curvature, may be that of a similar fit (`guide_of`).

    A share `prior` of the outcomes is read as predicted by softmax(x), the features as they are: a term linear in
    the parameters.
    """
    if isinstance(data, Data) and few_rows(len(data.x), len(start.bias), start.diagonal):
        return _fit_few(data, start, centre, penalty, prior)
    with one_blas_thread(start.packed().size):
        moments, less = _added(data, lambda rows: _moments_and_prior(rows, start, prior))
        if isinstance(data, Data) and (
            found := _fit_newton(data, start, centre, penalty, moments, less, gain, inverse)
        ):
            return found
        scale = scale or curvature_of(data if isinstance(data, Data) else data.sample, start).scales(penalty)
        origin, one_block = start.packed(), scale.inverse.ndim == 2
        factors, middle = penalty.packed(), centre.packed()
        shared = slice(-1, None) if start.diagonal else slice(None)
        pulls = factors[:, shared].sum(axis=0) + TINY

        def placed(flat: Floats) -> Linear:
            """A vector added to the parameters of every class changes no prediction: the one of least penalty is."""
            packed = origin + scale.parameters(flat.reshape(origin.shape))
            packed[:, shared] -= (factors * (packed - middle))[:, shared].sum(axis=0) / pulls
            return start.like(packed)

        def objective(flat: Floats) -> tuple[float, Floats]:
            here = placed(flat)
            value, slope = _added(data, lambda rows: value_and_slope(rows, here))
            slope = slope - moments
            extra, slope_of_extra = _penalised(here, centre, penalty, less)
            return value + extra, scale.slopes(slope + slope_of_extra).ravel()

        many = origin.size > MANY
        enough = gain or SMALL_GAIN * (1000 if many else 1)
        creep = CREEP * (10 if one_block else 1)
        result = least(objective, np.zeros(origin.size), slope=SMALL_SLOPE, gain=enough, creep=creep)
        at = placed(result.at)
        extra, _ = _penalised(at, centre, penalty, less)
        return Found(at, result.value - extra, result.value, result.converged)


def few_rows(n: int, k: int, diagonal: bool) -> bool:
    """Are there so many more classes than rows that the search is best in the space of the rows?"""
    return not diagonal and k >= max(MANY_CLASSES, CLASSES_PER_ROW * n) and k * (n + 2) ** 2 <= MOST_CURVATURE


def minutes(n: int, k: int, passes: int = 60) -> float:
    """About how long the fit of a matrix takes one core: 10 Newton steps, or passes at 4 billion sums a second."""
    return (10 * k * (n**3 + 50_000) / 1e9 if few_rows(n, k, False) else passes * 4 * n * k * k / 4e9) / 60


def _fit_few(data: Data, start: Linear, centre: Linear, penalty: Linear, prior: float) -> Found:
    some = data.rows(data.weights > 0)
    outcomes = (1 - prior) * some.outcomes() + prior * _predicted(some)
    problem = FewRows(some.x, outcomes, some.weights, centre, penalty)
    with one_blas_thread(problem.f[:, 0].size):
        result = problem.least(start)
    at = Linear(result.weight, result.bias)
    return Found(at, loss(some, at), result.objective, result.converged)


def _fit_newton(
    data: Data,
    start: Linear,
    centre: Linear,
    penalty: Linear,
    moments: Floats,
    less: Floats | float,
    gain: float | None,
    inverse: Floats | None,
) -> Found | None:
    """The minimum by Newton's method where parameters are few and all of them are penalised."""
    ridge = penalty.packed()
    if (
        (inverse is None and not worth_newton(len(data.x), ridge.size))
        or data.x.dtype != np.float64
        or not ridge.min() > 0
    ):
        return None

    def passed(packed: Floats) -> tuple[float, Floats, Floats]:
        here = start.like(packed)
        value, share = _loss_and_shares(data, here)
        share *= data.weights[:, None]
        extra, slope = _penalised(here, centre, penalty, less)
        return value + extra, _features_times(data.x, share, start.diagonal) - moments + slope, share

    found = newton_least(passed, data.x, data.weights, start.diagonal, ridge, start.packed(), gain, inverse)
    if found is None:
        return None
    at = start.like(found.at)
    return Found(at, found.value - _penalised(at, centre, penalty, less)[0], found.value, found.converged)


def guide_of(data: Data, at: Linear, penalty: Linear, n_fits: int) -> dict[str, Any]:
    """What guides so many fits of nearly these rows that begin at `at`, the minimum for these: arguments of `fit`."""
    ridge = penalty.packed()
    if few_rows(len(data.x), len(at.bias), at.diagonal):
        return {}
    if not worth_newton(len(data.x), ridge.size, n_fits) or not ridge.min() > 0:
        return {"scale": curvature_of(data, at).scales(penalty)}
    share = _loss_and_shares(data, at)[1] * data.weights[:, None]
    try:
        return {"inverse": np.linalg.inv(newton_curvature(data.x, share, data.weights, at.diagonal, ridge))}
    except np.linalg.LinAlgError:
        return {}


def _predicted(data: Data) -> Floats:
    """What w·y is in the mean if the features are right, `(n, K)`."""
    return probabilities(data.x) * data.weights[:, None]


def loss(data: Data, at: Linear) -> float:
    """Mean log loss."""
    return _loss_and_shares(data, at)[0]


def value_and_slope(data: Data, at: Linear) -> tuple[float, Floats]:
    """Mean loss, and its slope in the packed parameters but for the moments of the outcomes."""
    value, share = _loss_and_shares(data, at)
    share *= data.weights[:, None]
    return value, _features_times(data.x, share, at.diagonal)


def _added(data: Data | Parts, each: Callable[[Data], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Two sums over all rows."""
    if isinstance(data, Data):
        return each(data)
    parts = data.parts()
    first, second = each(next(parts))
    for rows in parts:
        more = each(rows)
        first, second = first + more[0], second + more[1]
    return first, second


def _moments_and_prior(data: Data, start: Linear, prior: float) -> tuple[Floats, Floats | float]:
    """Σ w·y·(x, 1), and the prior's linear term."""
    moments = moments_of(data, start)
    if not prior:
        return moments, 0.0
    return moments, prior * (moments - _features_times(data.x, _predicted(data), start.diagonal))


def _loss_and_shares(data: Data, at: Linear) -> tuple[float, Floats]:
    scores = at.scores(data.x)
    scores -= row_maxima(scores)
    soft = data.labels.ndim == 2
    chosen = np.einsum("ij,ij->i", scores, data.labels) if soft else scores[np.arange(len(scores)), data.labels]
    share = np.exp(scores, out=scores)
    size = row_sums(share)
    share /= size
    return float(np.dot(data.weights.astype(np.float64, copy=False), np.log(size[:, 0]) - chosen)), share


def moments_of(data: Data, like: Linear) -> Floats:
    """Σ_i w_i y_ik (x_i, 1), packed."""
    return _features_times(data.x, data.outcomes(), like.diagonal)


def _features_times(x: Floats, share: Floats, diagonal: bool) -> Floats:
    """Σ_i share_ik (x_i, 1), packed."""
    weight = np.einsum("ij,ij->j", share, x)[:, None] if diagonal else share.T @ x
    return np.concatenate([weight, share.sum(axis=0)[:, None]], axis=1)


def _penalised(at: Linear, centre: Linear, penalty: Linear, less: Floats | float) -> tuple[float, Floats]:
    """The penalty and the prior's linear term `less`·parameters, with their slopes."""
    packed = at.packed()
    away = packed - centre.packed()
    pull = penalty.packed() * away
    return float((pull * away + less * packed).sum()), 2 * pull + less


@dataclass(frozen=True, slots=True)
class Curvature:
    """That of the loss at the start of a search; it only guides the search, so folds and penalties may share it."""

    blocks: Floats
    """each class's, `(K, d, d)`, or one for all where that is too big"""
    sizes: Floats
    """that of each class relative to the one block, or 1"""

    def scales(self, penalty: Linear) -> Scales:
        """The coordinates in which the curvature, class by class and with the penalty, is the identity."""
        ridge = 2 * penalty.packed() + 1e-12
        ridge = ridge if self.blocks.ndim == 3 else ridge.mean(axis=0) / self.sizes.mean()
        curvature, d = self.blocks.copy(), ridge.shape[-1]
        typical = np.trace(curvature, axis1=-2, axis2=-1) / d
        curvature[..., np.arange(d), np.arange(d)] += ridge + 1e-6 * typical[..., None]
        return Scales(np.linalg.inv(np.linalg.cholesky(curvature)), 1 / np.sqrt(self.sizes)[:, None])


@dataclass(frozen=True, slots=True)
class Scales:
    """For each class C⁻¹, with C Cᵀ its curvature."""

    inverse: Floats
    sizes: Floats

    def parameters(self, rows: Floats) -> Floats:
        """Scaled coordinates to parameters."""
        return self._times(np.swapaxes(self.inverse, -1, -2), rows)

    def slopes(self, rows: Floats) -> Floats:
        """Slopes in parameters to slopes in scaled coordinates."""
        return self._times(self.inverse, rows)

    def _times(self, matrix: Floats, rows: Floats) -> Floats:
        if matrix.ndim == 2:
            return rows @ matrix.T * self.sizes
        return np.matmul(matrix, rows[:, :, None])[:, :, 0]


def curvature_of(data: Data, start: Linear) -> Curvature:
    """Class by class, or one block for all classes, from some of the rows."""
    some = data.rows(slice(None, None, -(-len(data.x) // CURVATURE_ROWS)))
    share = _loss_and_shares(some, start)[1]
    spread = share * (1 - share) * some.weights[:, None]
    k, d = len(start.bias), 2 if start.diagonal else len(start.bias) + 1
    extended = np.concatenate([some.x, np.ones((len(some.x), 1))], axis=1)
    if k * d * d > MOST_CURVATURE and not start.diagonal:
        sizes = spread.sum(axis=0) + TINY
        return Curvature((extended.T * spread.sum(axis=1)) @ extended / sizes.sum(), sizes)
    blocks, room = np.empty((k, d, d)), np.empty((len(extended), d))  # for every class the same: fresh memory is slow
    for j in range(k):
        # the others, most of many classes, hardly add to it
        rows = np.flatnonzero(spread[:, j] > LITTLE * spread[:, j].mean())
        chosen = extended[:, [j, -1]] if start.diagonal else extended
        features = chosen.take(rows, axis=0, out=room[: len(rows)], mode="clip")
        features *= np.sqrt(spread[rows, j])[:, None]
        blocks[j] = features.T @ features  # of a matrix with itself BLAS computes half
    return Curvature(blocks, np.ones(k))
