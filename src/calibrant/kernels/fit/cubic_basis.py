"""Cubic splines over evenly spaced knots on [0, 1], by how they run out at the ends.

A spline is given by its heights y at the knots and its second derivatives M there, and
M is a linear function of y: within, it follows from continuity of the first derivative,
M_(j−1) + 4M_j + M_(j+1) = 6(y_(j−1) − 2y_j + y_(j+1))/d²; at the ends, `natural` has
M_0 = 0, `parabolic` M_0 = M_1, `cubic` M_0 = 2M_1 − M_2, and likewise at 1.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from calibrant.types import Floats, Indices

RUN_OUT = {"natural": (1.0,), "parabolic": (1.0, -1.0), "cubic": (1.0, -2.0, 1.0)}
"""Coefficients of M_0, M_1, … that must sum to 0; one knot more than these is the
fewest that a spline can have."""

SMOOTHER = 1e-12
"""Weight of ΣM² in the fit: decides where there are no data, and moves other fits by
less than 1e-9."""


@cache
def bends(n_knots: int, ends: str) -> Floats:
    """The matrix S with M = S y; read-only, as it is kept."""
    left, right = np.zeros((n_knots, n_knots)), np.zeros((n_knots, n_knots))
    for j in range(1, n_knots - 1):
        left[j, j - 1 : j + 2] = 1, 4, 1
        right[j, j - 1 : j + 2] = np.array([6, -12, 6]) * (n_knots - 1) ** 2
    rule = RUN_OUT[ends]
    left[0, : len(rule)] = rule
    left[-1, n_knots - len(rule) :] = rule[::-1]
    found = np.linalg.solve(left, right).astype(np.float64, copy=False)
    found.setflags(write=False)
    return found


def heights_at(t: Floats, y: Floats, m: Floats) -> Floats:
    """The spline at t, or with columns in `y` and `m` several splines."""
    j, u, d = _place(t, len(y))
    u = u if y.ndim == 1 else u[..., None]
    straight = (1 - u) * y[j] + u * y[j + 1]
    return straight + d * d / 6 * (((1 - u) ** 3 - (1 - u)) * m[j] + (u**3 - u) * m[j + 1])


def slopes_at(t: Floats, y: Floats, m: Floats) -> Floats:
    """Its first derivative, or with rows in `t`, `y` and `m` those of several splines, each at its own t."""
    j, u, d = _place(t, y.shape[-1])
    (left, right), (bend, next_bend) = ([np.take_along_axis(v, j + k, axis=-1) for k in (0, 1)] for v in (y, m))
    return (right - left) / d + d / 6 * ((3 * u**2 - 1) * next_bend - (3 * (1 - u) ** 2 - 1) * bend)


def _place(t: Floats, n_knots: int) -> tuple[Indices, Floats, float]:
    """Knot to the left, how far from it to the next, and the distance of knots."""
    pieces = n_knots - 1
    j = np.clip((t * pieces).astype(np.intp), 0, pieces - 1)
    return j, t * pieces - j, 1 / pieces


def fit_spline(t: Floats, curve: Floats, weight: Floats, n_knots: int, ends: str) -> tuple[Floats, Floats]:
    """(y, M) of the spline closest to the curve, or with rows in all of them of several.

    It runs from 0 at t = 0 to the last height at t = 1.
    """
    bent = bends(n_knots, ends)
    basis = heights_at(t, np.eye(n_knots), bent)
    y = np.zeros((*t.shape[:-1], n_knots))
    y[..., -1] = last = curve[..., -1]
    within, smooth = basis[..., 1:-1], bent[:, 1:-1].T
    turned = np.swapaxes(within, -1, -2)
    gram = (turned * weight[..., None, :]) @ within + SMOOTHER * smooth @ smooth.T
    missing = weight * (curve - basis[..., -1] * last[..., None])
    sought = (turned @ missing[..., None])[..., 0] - SMOOTHER * (smooth @ bent[:, -1]) * last[..., None]
    y[..., 1:-1] = np.linalg.solve(gram, sought[..., None])[..., 0]
    return y, (bent @ y[..., None])[..., 0]
