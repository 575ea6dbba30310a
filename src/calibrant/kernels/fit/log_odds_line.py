"""The line in log-odds, logit P(y) = a + b·logit(p): fitted, or profiled with one of the two held fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.kernels.fit.newton import RIDGE, NewtonFit, newton
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Floats

ROWS_AT_ONCE = 1 << 14
"""Rows of a pass that stay in the cache."""
SMALL_STEP = 1e-10
"""A Newton step of this relative size is the last, and leaves an error of its square."""
MOST_DOUBLINGS = 60
"""Steps, each twice as long as the last, after which an end of an interval is infinite."""


@dataclass(frozen=True, slots=True, eq=False)
class LogOddsRows:
    """Rows whose predictions have log-odds: those of 0 and 1 are left out."""

    odds: Floats
    weight: Floats
    hits: Floats

    @classmethod
    def of(cls, p: Floats, weight: Floats, hits: Floats) -> LogOddsRows:
        """The rows with 0 < p < 1."""
        kept = (p > 0) & (p < 1)
        return cls(log_odds(p[kept]), weight[kept], hits[kept])

    def loss(self, intercept: float, slope: float) -> float:
        """Minus the log-likelihood of a line."""
        return self._sums(intercept, slope)[0]

    def line(self) -> NewtonFit:
        """Intercept and slope."""
        return self._fit(0.0, 0.0, [0, 1])

    def level(self, slope: float) -> NewtonFit:
        """The intercept for a slope."""
        return self._fit(0.0, slope, [0])

    def tilt(self, intercept: float) -> NewtonFit:
        """The slope for an intercept."""
        return self._fit(intercept, 0.0, [1])

    def _sums(self, intercept: float, slope: float) -> tuple[float, Floats, Floats]:
        """Minus the log-likelihood of a line, its slopes and its curvatures, in one pass."""
        loss, slopes, curved = 0.0, np.zeros(2), np.zeros((2, 2))
        for start in range(0, len(self.odds), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            x, w, hits = self.odds[rows], self.weight[rows], self.hits[rows]
            eta = intercept + slope * x
            small = np.exp(-np.abs(eta))
            share = 1 / (1 + small)
            loss += inner(w, np.maximum(eta, 0.0) + np.log1p(small)) - inner(hits, eta)
            rest = w * np.where(eta < 0, small * share, share) - hits
            slopes += rest.sum(), inner(rest, x)
            variance = w * small * share * share
            across = variance * x
            curved += [[variance.sum(), across.sum()], [across.sum(), inner(across, x)]]
        return loss, slopes, curved

    def _fit(self, intercept: float, slope: float, free: list[int]) -> NewtonFit:
        """The best line among those that differ from a given one in the free coefficients, by Newton's method.

        A ridge of no weight keeps the equations solvable where no finite line is best.
        """
        largest = float(np.abs(self.odds).max())
        sizes = np.array([1.0, largest if largest > 1e-100 else 1.0])[free]
        given, total = np.array([intercept, slope]), float(self.weight.sum())
        ridge = RIDGE * total

        last: list[Floats] = []

        def loss(beta: Floats) -> float:
            line = given.copy()
            line[free] += beta / sizes
            value, slopes, curved = self._sums(*line.tolist())
            curved = curved[np.ix_(free, free)] / np.outer(sizes, sizes) + ridge * np.eye(len(free))
            last[:] = [-np.linalg.solve(curved, slopes[free] / sizes + ridge * beta)]
            return (value + ridge / 2 * float(beta @ beta)) / total

        found = newton(loss, lambda _: last[0], np.zeros(len(free)), SMALL_STEP)
        return NewtonFit(found.coefficients / sizes, found.loss, found.converged)

    def separation(self) -> int:
        """1 or -1 if events lie above (below) all others, ties at the border allowed: no finite line fits best."""
        events, others = self.odds[self.hits > 0], self.odds[self.hits < self.weight]
        return int(events.min() >= others.max()) - int(events.max() <= others.min())

    def least_loss(self) -> float:
        """The loss if each prediction had its own rate; where events are separated, lines come as near as one likes."""
        from scipy.special import xlogy

        misses = self.weight - self.hits
        return float((xlogy(self.weight, self.weight) - xlogy(self.hits, self.hits) - xlogy(misses, misses)).sum())

    def covariance(self, intercept: float, slope: float, spread: Floats, features: Floats) -> tuple[Floats, Floats]:
        """Of the coefficients of these features at a line: by the likelihood, and with `spread` in the place of weights.

        Parameters
        ----------
        intercept, slope
            The line.
        spread
            What multiplies the variance of each group: the sum of squared weights.
        features
            `(groups, coefficients)`.
        """
        mu = sigmoid(intercept + slope * self.odds)
        variance = mu * (1 - mu)
        bread = np.linalg.inv((features.T * (self.weight * variance)) @ features)
        return bread, bread @ ((features.T * (spread * variance)) @ features) @ bread


def profile_ends(deviance: Callable[[float], float], best: float, step: float, limit: float) -> tuple[float, float]:
    """Where a deviance that is 0 at `best` and rises on both sides reaches `limit`.

    Parameters
    ----------
    deviance
        A function with one minimum; at an infinite `best` it falls to 0 on the way there.
    best
        Where it is 0; may be infinite, and that end then is.
    step
        A first guess of the distance, above 0.
    limit
        What the deviance has at the ends.
    """

    def mirrored(x: float) -> float:
        return deviance(-x)

    low = best if best == -np.inf else _lower_end(deviance, best, step, limit)
    return low, best if best == np.inf else -_lower_end(mirrored, -best, step, limit)


def _lower_end(deviance: Callable[[float], float], best: float, step: float, limit: float) -> float:
    from scipy.optimize import brentq

    def above(x: float) -> float:  # roots of deviances are nearly straight, so that few steps do
        return float(np.sqrt(max(deviance(x), 0.0)) - np.sqrt(limit))

    inside = best if np.isfinite(best) else 0.0
    for k in range(MOST_DOUBLINGS):
        if np.isfinite(best) or above(inside) <= 0:
            break
        inside = step * 2.0**k
    for k in range(MOST_DOUBLINGS):
        outside = inside - step * 2.0**k
        if above(outside) >= 0:
            return float(brentq(above, outside, inside, xtol=1e-12 * max(1.0, abs(inside)), rtol=1e-12))
    return -np.inf
