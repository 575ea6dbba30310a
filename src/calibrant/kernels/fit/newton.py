"""Two convex fits by Newton's method.

Logistic regression on a few features, also of several parts of the data at once, and the weights of a mixture of a
few forecasters by the log score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.kernels.rows.blocks import added_over_blocks
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Bools, Floats

MOST_STEPS = 200
"""Newton steps at most."""
RIDGE = 1e-10
"""Times the weight: keeps the equations solvable on separable data, and moves other
fits by less than their rounding."""


BLOCK, SAMPLE = 1 << 14, 2048
"""Rows that a core takes at a time, and means of neighbouring rows in the first, rough search."""


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


def fit_logistic(
    features: Floats, weight: Floats, hits: Floats, offset: Floats | float = 0.0, near: Floats | None = None
) -> NewtonFit:
    """Minimise Σ_g w_g ln(1 + e^η) − h_g η over η = offset + Xβ.

    With many rows a search on the means of neighbours finds where to begin, which is near
    the optimum if rows are sorted: it stays the same, and fewer steps need all rows. So do
    coefficients `near` it, where they are known.
    """
    columns = np.ascontiguousarray(features.T)  # far faster to go through than short rows
    sizes = _sizes(np.maximum(columns.max(axis=1), -columns.min(axis=1)))
    offset = np.broadcast_to(np.asarray(offset, dtype=np.float64), weight.shape)
    start, every = np.zeros(len(sizes)) if near is None else near * sizes, len(weight) // SAMPLE
    if near is None and every >= 4:
        rough = _search(_means_of_neighbours(columns, weight, hits, offset, every, sizes), start, 1e-3)
        start = rough.coefficients if rough.converged else start
    found = _search(_Likelihood(columns, weight, hits, offset, sizes), start, 1e-10 if near is None else 1e-6)
    return NewtonFit(found.coefficients / sizes, found.loss, found.converged)


def _sizes(largest: Floats) -> Floats:
    """In which units features are measured while coefficients are searched, so that none is far from another."""
    return np.where(largest > 1e-100, largest, 1.0)  # a smaller feature carries no information


def _means_of_neighbours(
    columns: Floats, weight: Floats, hits: Floats, offset: Floats, every: int, sizes: Floats
) -> _Likelihood:
    starts = np.arange(0, len(weight), every)
    mass = np.add.reduceat(weight, starts)
    *means, shift = (np.add.reduceat(weight * each, starts) / mass for each in (*columns, offset))
    return _Likelihood(np.stack(means), mass, np.add.reduceat(hits, starts), shift, sizes)


def _search(rows: _Likelihood, start: Floats, small: float) -> NewtonFit:
    return newton(lambda beta: rows.at(beta)[0], lambda beta: -np.linalg.solve(*rows.at(beta)[1:]), start, small)


class _Likelihood:
    """The loss of a logistic regression with its curvature and slope, from one pass over the rows.

    Coefficients are those of the columns in units of their sizes; the columns are left as they are.
    """

    def __init__(self, columns: Floats, weight: Floats, hits: Floats, offset: Floats, sizes: Floats) -> None:
        self.columns, self.rows, self.total, self.sizes = columns, (weight, hits, offset), float(weight.sum()), sizes
        self.last: tuple[Floats, tuple[float, Floats, Floats]] | None = None

    def at(self, beta: Floats) -> tuple[float, Floats, Floats]:
        """Mean loss, matrix of second derivatives and slope of its sum; kept, as a step begins where a trial was."""
        if self.last is None or not (self.last[0] == beta).all():
            self.last = beta, self._pass(beta)
        return self.last[1]

    def _pass(self, beta: Floats) -> tuple[float, Floats, Floats]:
        def part(rows: slice) -> Floats:
            return self._sums(beta / self.sizes, rows)

        sums, k, ridge = added_over_blocks(len(self.rows[0]), part, BLOCK), len(beta), RIDGE * self.total
        curvature = sums[1 + k :].reshape(k, k) / self.sizes / self.sizes[:, None] + ridge * np.eye(k)
        loss = (float(sums[0]) + ridge / 2 * inner(beta, beta)) / self.total
        return loss, curvature, sums[1 : 1 + k] / self.sizes + ridge * beta

    def _sums(self, beta: Floats, rows: slice) -> Floats:
        """Loss, slopes and second derivatives of a block that stays in a core's cache."""
        x, (weight, hits, offset) = self.columns[:, rows], (each[rows] for each in self.rows)
        few = len(self.rows[0]) <= BLOCK
        eta = offset + beta @ x if few else sum((each * column for each, column in zip(beta, x, strict=True)), offset)
        small = np.exp(-np.abs(eta))
        mu = np.where(eta >= 0, 1, small) / (1 + small)
        loss = inner(weight, np.maximum(eta, 0) + np.log1p(small)) - inner(hits, eta)
        bent, error = x * (weight * mu * (1 - mu)), weight * mu - hits
        if few:  # BLAS, which blocks that share the cores must not call
            return np.concatenate([[loss], x @ error, (bent @ x.T).ravel()])
        slopes = [inner(column, error) for column in x]
        return np.array([loss, *slopes, *(inner(one, other) for one in bent for other in x)])


CLOSE = 1e-3
"""Relative size of the last step where rows are only judged: the error left, about its square, is far below their noise."""


def fit_logistic_each(features: Floats, weight: Floats, hits: Floats, near: Floats) -> tuple[Floats, Bools]:
    """Logistic regressions on the same features `(n, k)` with weights and hits of their own, `(fits, n)`.

    All searches begin at the coefficients `near`; those of each fit `(fits, k)` are returned,
    and whether its search ended.
    """
    columns = features.T.copy()
    sizes = _sizes(np.abs(columns).max(axis=1))
    columns /= sizes[:, None]
    k, ridge = len(columns), RIDGE * weight.sum(axis=1)[:, None]
    products = (columns[:, None] * columns).reshape(k * k, -1)

    def passed(at: Floats) -> tuple[Floats, Floats, Floats]:
        eta = at @ columns
        small = np.exp(-np.abs(eta))
        mu = np.where(eta >= 0, 1, small) / (1 + small)
        loss = np.einsum("fn,fn->f", weight, np.maximum(eta, 0) + np.log1p(small)) - np.einsum("fn,fn->f", hits, eta)
        curvature = ((weight * mu * (1 - mu)) @ products.T).reshape(-1, k, k) + ridge[:, :, None] * np.eye(k)
        return loss + (ridge / 2 * at**2).sum(axis=1), (weight * mu - hits) @ columns.T + ridge * at, curvature

    at = np.tile(near * sizes, (len(weight), 1))
    value, slope, curvature = passed(at)
    for _ in range(MOST_STEPS):
        step = -np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        while (worse := ~((found := passed(at + step))[0] <= value + 1e-14 * np.abs(value))).any():
            step[worse] /= 2
            if np.abs(step[worse]).max() < 1e-12:
                break
        at, (value, slope, curvature) = at + step, found
        ended: Bools = np.abs(step).max(axis=1) < CLOSE * (1 + np.abs(at).max(axis=1))
        if ended.all():
            break
    return at / sizes, ended


CACHED_ROWS = 1 << 12
"""Rows of a few chances each that stay in a core's cache."""

LARGEST_RATIO = 1e100
"""Of two chances of a row, so that squares stay finite."""


def fit_mixture(chances: Floats, weight: Floats, near: Floats | None = None) -> NewtonFit:
    """Minimise −Σ w ln(chances @ u) over u ≥ 0, Σu = 1.

    Newton steps on the face that the last step left.

    The loss is convex; a weight that would become negative is held at 0 until its slope
    is negative again. `near` is where a search begins whose last step may be as long as `CLOSE`.
    With many rows the optimum of some of them is where the search begins.
    """
    w, m = weight / weight.sum(), chances.shape[1]

    def loss(u: Floats) -> float:
        with np.errstate(divide="ignore"):  # a chance of 0 is infinitely bad
            return -float(np.dot(w, np.log(chances @ u)))

    def step(u: Floats) -> Floats:
        slope, curvature = np.zeros(m), np.zeros((m, m))
        for start in range(0, len(w), CACHED_ROWS):
            some, mass = chances[start : start + CACHED_ROWS], w[start : start + CACHED_ROWS]
            ratio = some / (some @ u)[:, None]
            np.minimum(ratio, LARGEST_RATIO, out=ratio)
            slope -= mass @ ratio  # at the optimum −1 where u > 0 and no less where u = 0
            curvature += (ratio.T * mass) @ ratio
        return _simplex_step(u, slope, curvature)

    start, every = np.full(m, 1 / m), len(w) // BLOCK
    if near is None and every >= 4:
        rough = fit_mixture(chances[::every], weight[::every])
        start = rough.coefficients if rough.converged else start
    found = newton(loss, step, start, 1e-12) if near is None else newton(loss, step, near, CLOSE)
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
