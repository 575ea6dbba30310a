"""Integrals and suprema of functions with kinks and jumps, on panels that are halved where it matters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]


def lobatto(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the rule of n points that has both ends among them."""
    legendre = np.polynomial.Legendre.basis(n - 1)
    nodes = np.concatenate([[-1.0], legendre.deriv().roots().real, [1.0]])
    return nodes, 2 / (n * (n - 1) * legendre(nodes) ** 2)


RULE = np.polynomial.legendre.leggauss(16)
OTHER = lobatto(16)
"""Two rules: Gauss's has no node near an end and would not see a jump there, and may by accident agree with its halves."""

SETTLED = 1e-14
"""A panel is done when its halves differ by less from it and from the other rule. Only the few around kinks differ at all."""

MOST_HALVINGS = 60
"""Enough to close in on a jump until the panel is a rounding error wide."""

MOST_PANELS = 50_000
"""Panels open at once after which a function is taken to be noise at this scale, and its halves as they are."""


def integral(function: Function, points: Floats) -> float:
    """∫ function between the first and the last of the rising `points`, which cut the first panels."""
    low, high = points[:-1], points[1:]
    whole = _panels(function, low, high)
    total = 0.0
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        left, right = _panels(function, low, middle), _panels(function, middle, high)
        again = _panels(function, low, middle, OTHER) + _panels(function, middle, high, OTHER)
        apart = np.maximum(np.abs(left + right - whole), np.abs(left + right - again))
        done = (apart <= SETTLED) | (middle <= low) | (middle >= high)
        total += float((left + right)[done].sum())
        if done.all() or np.sum(~done) > MOST_PANELS:
            return total + float((left + right)[~done].sum())
        open_ = ~done
        low, high = np.append(low[open_], middle[open_]), np.append(middle[open_], high[open_])
        whole = np.append(left[open_], right[open_])
    return total + float(whole.sum())


def _panels(function: Function, low: Floats, high: Floats, rule: tuple[Floats, Floats] = RULE) -> Floats:
    """Gauss's rule on each panel."""
    half, (nodes, weights) = (high - low) / 2, rule
    x = (low + half)[:, None] + half[:, None] * nodes
    return half * (function(x.ravel()).reshape(x.shape) @ weights)


def panel_nodes(points: Floats) -> tuple[Floats, Floats]:
    """Gauss's nodes and weights on every panel, for smooth functions."""
    low, half, (nodes, weights) = points[:-1], np.diff(points) / 2, RULE
    return ((low + half)[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


LOOKS = 129
"""Points looked at in each interval, each time."""

CANDIDATES = 6
"""Intervals looked into again."""


def supremum(function: Function, points: Floats) -> float:
    """The largest value of the function over a fine grid between the points, closing in on the best of it."""
    low, high = points[:-1], points[1:]
    best = -np.inf
    for _ in range(12):
        x = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, LOOKS)
        y = function(x.ravel()).reshape(x.shape)
        best = max(best, float(y.max()))
        top = y.max(axis=1)
        chosen = np.argsort(-top, kind="stable")[:CANDIDATES]
        at = y[chosen].argmax(axis=1)
        x = x[chosen]
        rows = np.arange(len(chosen))
        low, high = x[rows, np.maximum(at - 1, 0)], x[rows, np.minimum(at + 1, LOOKS - 1)]
    return best
