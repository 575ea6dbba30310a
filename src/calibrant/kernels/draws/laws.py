"""The law of a binned error, Σ_b n_b/n · |k_b/n_b − p̄_b|^α with k_b binomial.

Three cumulants, and a gamma distribution by them.

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


def binned_law(n: Floats, mean_prob: Floats, rate: Floats, norm: int, share: Floats | None = None) -> Law:
    """The law of the error over bins with n rows, mean predictions and true rates; `share` is n / Σn if None."""
    from scipy.special import gammaln, xlog1py, xlogy

    share = n / n.sum() if share is None else share
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


DIRECT = 1 << 10
"""Lengths up to which distributions are added term by term, with full relative
precision; longer ones by Fourier transform, to 1e-15."""


ROUNDING = 1e-9
"""Tails closer than this, relatively, are equal: they are sums of many terms."""


def hit_law(probs: Floats) -> Floats:
    """P(k events occur), k = 0 … n.

    One binomial law per distinct probability, convolved pair by pair.
    """
    values, counts = np.unique(probs, return_counts=True)
    return added_laws([_binomial(float(p), int(n)) for p, n in zip(values, counts, strict=True)])


def added_laws(laws: list[Floats]) -> Floats:
    """The law of a sum of independent counts; total masses below 1 multiply."""
    while len(laws) > 1:
        pairs = [_added(a, b) for a, b in zip(laws[::2], laws[1::2], strict=False)]
        laws = pairs + laws[len(laws) // 2 * 2 :]
    return laws[0]


def two_sided(law: Floats) -> tuple[Floats, Floats]:
    """For each count: the probability of a tail as small, and of one that is the same.

    The first is Blaker's p-value, exact and never above twice the tail.
    """
    tails = np.minimum(np.cumsum(law), np.cumsum(law[::-1])[::-1])
    order = np.argsort(tails, kind="stable")
    as_small = np.searchsorted(tails[order], tails * (1 + ROUNDING), side="right")
    smaller = np.searchsorted(tails[order], tails * (1 - ROUNDING), side="left")
    sums = np.concatenate([[0.0], np.cumsum(law[order])])
    return np.minimum(sums[as_small], 1.0), sums[as_small] - sums[smaller]


def _binomial(p: float, n: int) -> Floats:
    if n == 1:
        return np.array([1 - p, p])
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(n + 1)
    law: Floats = np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p))
    return law


def _added(a: Floats, b: Floats) -> Floats:
    if min(len(a), len(b)) <= DIRECT:
        return np.convolve(a, b)
    size = len(a) + len(b) - 1
    return np.maximum(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size), 0)
