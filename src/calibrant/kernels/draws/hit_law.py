"""The number of independent events that occur, each with its own probability (Poisson
binomial): exact tails."""

from __future__ import annotations

import numpy as np

from calibrant.types import Floats

DIRECT = 1 << 10
"""Lengths up to which distributions are added term by term, with full relative
precision; longer ones by Fourier transform, to 1e-15."""


ROUNDING = 1e-9
"""Tails closer than this, relatively, are equal: they are sums of many terms."""


def hit_law(probs: Floats) -> Floats:
    """P(k events occur), k = 0 … n: one binomial law per distinct probability,
    convolved pair by pair."""
    values, counts = np.unique(probs, return_counts=True)
    return added_laws([_binomial(float(p), int(n)) for p, n in zip(values, counts, strict=True)])


def added_laws(laws: list[Floats]) -> Floats:
    """The law of a sum of independent counts; total masses below 1 multiply."""
    while len(laws) > 1:
        pairs = [_added(a, b) for a, b in zip(laws[::2], laws[1::2], strict=False)]
        laws = pairs + laws[len(laws) // 2 * 2 :]
    return laws[0]


def two_sided(law: Floats) -> tuple[Floats, Floats]:
    """For each count: the probability of a smaller tail that is as small, and of one
    that is the same.

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
