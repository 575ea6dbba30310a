"""The law of a binned error, Σ_b n_b/n · |k_b/n_b − p̄_b|^α with k_b binomial: three
cumulants, and a gamma distribution by them.

Cumulants of independent bins add up. Those of one bin are sums over the counts within
nine standard deviations: all of them, or every second, third … where there are many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.types import Floats

MOST_COUNTS = 64
"""Number of counts that the sum of one bin takes, at most about."""

FAR, MORE = 9.0, 12.0
"""Counts farther from the mean than nine standard deviations plus twelve do not occur:
their probability is below 1e-15."""

LEAST_VARIANCE = 1e-200
"""Below this the law is a point; powers of the variance would underflow."""

NEARLY_NORMAL = 1e-3
"""Skewness below which the normal distribution is as good."""


@dataclass(frozen=True, slots=True)
class Law:
    """A distribution by its mean, variance and third cumulant."""

    mean: float
    variance: float
    third: float

    def at_most(self, value: float) -> float:
        """P(X ≤ value), X taken as a shifted gamma distribution with these cumulants."""
        from scipy.special import gammainc, gammaincc, ndtr

        if self.variance < LEAST_VARIANCE:
            return float(self.mean <= value)
        sd = math.sqrt(self.variance)
        skewness, z = self.third / sd**3, (value - self.mean) / sd
        if abs(skewness) < NEARLY_NORMAL:
            return float(ndtr(z))
        shape = 4 / skewness**2
        x = max(shape + math.copysign(math.sqrt(shape), skewness) * z, 0.0)
        return float(gammainc(shape, x) if skewness > 0 else gammaincc(shape, x))

    def plus(self, variance: float, third: float) -> Law:
        """The law of the sum with an independent variable of mean 0."""
        return Law(self.mean, self.variance + variance, self.third + third)


def binned_law(n: Floats, mean_prob: Floats, rate: Floats, norm: int) -> Law:
    """The law of the error over bins with n rows, mean predictions and true rates."""
    from scipy.special import gammaln, xlog1py, xlogy

    share = n / n.sum()
    trials, rate = np.maximum(np.round(n), 1), np.clip(rate, 0, 1)
    centre, width = trials * rate, FAR * np.sqrt(trials * rate * (1 - rate)) + MORE
    first, last = np.maximum(np.floor(centre - width), 0), np.minimum(np.ceil(centre + width), trials)
    step = np.ceil((last - first + 1) / MOST_COUNTS)
    most = int(((last - first) // step).max()) + 1
    k = first[:, None] + step[:, None] * np.arange(most)
    possible = k <= trials[:, None]
    k = np.minimum(k, trials[:, None])
    left = trials[:, None] - k
    likely = xlogy(k, rate[:, None]) + xlog1py(left, -rate[:, None]) - gammaln(k + 1) - gammaln(left + 1)
    likely = np.where(possible, likely, -np.inf)
    chance = np.exp(likely - likely.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    size = share[:, None] * np.abs(k / trials[:, None] - mean_prob[:, None]) ** norm
    mean = (chance * size).sum(axis=1, keepdims=True)
    away = size - mean
    square = chance * away**2
    return Law(float(mean.sum()), float(square.sum()), float((square * away).sum()))
