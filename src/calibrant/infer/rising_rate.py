"""The interval of a rate that rises with the prediction, by inversion of a likelihood ratio test.

The best increasing curve is compared with the best one that takes the value θ at the
point: isotonic regression of the rows before it, capped at θ, and of the rows after it,
at least θ. Twice the log-ratio has one limit distribution for every smooth increasing
curve (Banerjee & Wellner 2001), so nothing else has to be known of it. Where predictions
are tied its distribution is closer to χ² with one degree of freedom, that of a rate by
itself, which is wider and always safe.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.interval.mean import normal_quantile
from calibrant.types import Floats, Indices

LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
QUANTILES = (0.33, 0.75, 1.10, 1.78, 2.50, 3.45, 4.15, 6.50)
"""Quantiles of twice the log-ratio, from 40 000 draws each of 100 to 300 rows; the limit at 0.95 is 2.27."""

HALVINGS = 24
"""Bisections of [0, 1] for an end: to 6e-8."""


def isotonic(n: Floats, hits: Floats) -> Floats:
    """Rates by isotonic regression of cells with `n` rows and `hits` each."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(hits / n, weights=n).x)


def ratio_quantile(level: float) -> float:
    """The quantile of twice the log-ratio, linear in log(1 − level) between those listed."""
    return float(np.interp(-np.log1p(-level), -np.log1p(-np.array(LEVELS)), QUANTILES))


def most_lost(level: float, tied: bool) -> float:
    """How far below the maximum the log-likelihood of an accepted value may lie."""
    return 0.5 * (normal_quantile(level) ** 2 if tied else ratio_quantile(level))


def rising_intervals(n: Floats, hits: Floats, points: Indices, level: float, tied: bool) -> tuple[Floats, Floats]:
    """Ends of the rate's interval at some of the cells."""
    fit = isotonic(n, hits)
    least = _likelihood(n, hits, fit) - most_lost(level, tied)
    ends = np.array([_ends(n, hits, float(fit[i]), int(i), least) for i in points])
    return ends[:, 0], ends[:, 1]


def _ends(n: Floats, hits: Floats, fit: float, i: int, least: float) -> tuple[float, float]:
    """The range of values at cell i whose best curves have at least the log-likelihood `least`."""
    left, right = _blocks(n[:i], hits[:i]), _blocks(n[i + 1 :], hits[i + 1 :])
    trials, events = (np.concatenate([a, [c], b]) for a, c, b in zip(left, (n[i], hits[i]), right, strict=True))
    rate, count = events / trials, len(left[0])

    def accepted(value: float) -> bool:
        before, after = np.minimum(rate[:count], value), np.maximum(rate[count + 1 :], value)
        return _likelihood(trials, events, np.concatenate([before, [value], after])) >= least

    return _edge(accepted, fit, 0.0), _edge(accepted, fit, 1.0)


def _edge(accepted: Callable[[float], bool], inside: float, outside: float) -> float:
    """The first value not accepted between an accepted one and the end of the scale, or that end."""
    if accepted(outside):
        return outside
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if accepted(middle) else (inside, middle)
    return outside


def _blocks(n: Floats, hits: Floats) -> tuple[Floats, Floats]:
    """Rows and hits of the steps of isotonic regression: a curve capped at a value is constant on each."""
    from scipy.optimize import isotonic_regression

    if not len(n):
        return n, hits
    starts = isotonic_regression(hits / n, weights=n).blocks[:-1]
    return np.add.reduceat(n, starts), np.add.reduceat(hits, starts)


def _likelihood(n: Floats, hits: Floats, rate: Floats) -> float:
    from scipy.special import xlog1py, xlogy

    return float((xlogy(hits, rate) + xlog1py(n - hits, -rate)).sum())
