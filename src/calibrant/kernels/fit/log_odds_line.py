"""The line in log-odds, logit P(y) = a + b·logit(p): fitted, or profiled with one of the two held fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.kernels.fit.newton import NewtonFit, fit_logistic
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.kernels.sums.stable_sums import inner
from calibrant.types import Floats

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
        eta = intercept + slope * self.odds
        return inner(self.weight, np.logaddexp(0.0, eta)) - inner(self.hits, eta)

    def line(self) -> NewtonFit:
        """Intercept and slope."""
        return fit_logistic(np.stack([np.ones(len(self.odds)), self.odds], axis=1), self.weight, self.hits)

    def level(self, slope: float) -> NewtonFit:
        """The intercept for a slope."""
        return fit_logistic(np.ones((len(self.odds), 1)), self.weight, self.hits, slope * self.odds)

    def tilt(self, intercept: float) -> NewtonFit:
        """The slope for an intercept."""
        return fit_logistic(self.odds[:, None], self.weight, self.hits, intercept)

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
