"""Integrals and suprema of functions with kinks and jumps, on panels that are halved where necessary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.types import Floats

Function = Callable[[Floats], Floats]


def normal_density(x: Floats) -> Floats:
    """Of the standard normal distribution."""
    return np.asarray(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))


def lobatto(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the n-point Gauss–Lobatto rule, which includes both ends."""
    legendre = np.polynomial.Legendre.basis(n - 1)
    nodes = np.concatenate([[-1.0], legendre.deriv().roots().real, [1.0]])
    return nodes, 2 / (n * (n - 1) * legendre(nodes) ** 2)


RULE = np.polynomial.legendre.leggauss(16)
OTHER = lobatto(16)
"""Two rules: Gauss's has no node near an end, would miss a jump there, and may by accident agree with its halves."""

SETTLED = 1e-14
"""A panel has converged when its halves differ by less from it and from the other rule.
Only panels around kinks differ at all.
"""

MOST_HALVINGS = 60
"""Enough to locate a jump up to rounding."""

MOST_PANELS = 50_000
"""Unconverged panels beyond which a function is taken to be noise at this scale and is not refined further."""


def integral(function: Function, points: Floats) -> float:
    """∫ function between the first and the last of the increasing `points`, which bound the first panels."""
    low, high = points[:-1], points[1:]
    coarse = _panels(function, low, high)
    total = 0.0
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        left, right = _panels(function, low, middle), _panels(function, middle, high)
        again = _panels(function, low, middle, OTHER) + _panels(function, middle, high, OTHER)
        apart = np.maximum(np.abs(left + right - coarse), np.abs(left + right - again))
        done = (apart <= SETTLED) | (middle <= low) | (middle >= high)
        total += float((left + right)[done].sum())
        if done.all() or np.sum(~done) > MOST_PANELS:
            return total + float((left + right)[~done].sum())
        open_ = ~done
        low, high = np.append(low[open_], middle[open_]), np.append(middle[open_], high[open_])
        coarse = np.append(left[open_], right[open_])
    return total + float(coarse.sum())


def _panels(function: Function, low: Floats, high: Floats, rule: tuple[Floats, Floats] = RULE) -> Floats:
    """The rule on each panel."""
    half, (nodes, weights) = (high - low) / 2, rule
    x = (low + half)[:, None] + half[:, None] * nodes
    return half * (function(x.ravel()).reshape(x.shape) @ weights)


def panel_nodes(points: Floats) -> tuple[Floats, Floats]:
    """Gauss's nodes and weights on every panel, for smooth functions."""
    low, half, (nodes, weights) = points[:-1], np.diff(points) / 2, RULE
    return ((low + half)[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


GRID = 129
"""Points per interval in each round of the search."""

CANDIDATES = 6
"""Intervals that are searched again in the next round."""


def supremum(function: Function, points: Floats) -> float:
    """The largest value of the function on a grid between the points, refined around its best places."""
    low, high = points[:-1], points[1:]
    best = -np.inf
    for _ in range(12):
        x = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, GRID)
        y = function(x.ravel()).reshape(x.shape)
        best = max(best, float(y.max()))
        chosen = np.argsort(-y.max(axis=1), kind="stable")[:CANDIDATES]
        x, at, rows = x[chosen], y[chosen].argmax(axis=1), np.arange(len(chosen))
        low, high = x[rows, np.maximum(at - 1, 0)], x[rows, np.minimum(at + 1, GRID - 1)]
    return best
