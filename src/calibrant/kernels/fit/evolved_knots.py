"""Continuous piecewise polynomials of degree 1 or 2 by least squares, their knots by differential evolution.

With running sums of powers of x the normal equations of a piece between any two knots cost
one search each, so that a whole population of knots is scored at once, whatever the number
of rows. In a piece the function is h₀(1 − u) + h₁u + c·u(1 − u), u from 0 to 1; c is
eliminated first, which leaves a tridiagonal system of the heights h.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calibrant.types import Floats

RIDGE = 1e-9
"""Relative to the rows: decides heights and bends that no row decides."""

SHORTEST = 1e-9
"""Length of a piece, so that two knots may meet."""

SETTINGS: dict[str, Any] = {
    "popsize": 15,
    "tol": 1e-3,
    "atol": 1e-4,
    "maxiter": 1000,
    "mutation": (0.5, 1.0),
    "recombination": 0.7,
}
"""Those of the package that Kängsepp et al. (2023) used, but for its population of 50 per knot."""


class Sums(NamedTuple):
    """Running sums over sorted rows: of weight·xᵏ, k up to 4, and of weight·y·xᵏ, k up to 2; and of weight·y²."""

    x: Floats
    powers: Floats
    hits: Floats
    squares: float

    def less(self, other: Sums) -> Sums:
        """Without some of the rows."""
        return Sums(self.x, self.powers - other.powers, self.hits - other.hits, self.squares - other.squares)


class Pieces(NamedTuple):
    """Heights at the knots, and the bend of each piece."""

    t: Floats
    h: Floats
    bends: Floats

    def at(self, x: Floats) -> Floats:
        """The function; the first and the last piece go on beyond the ends."""
        j = np.searchsorted(self.t[1:-1], x, side="right")
        u = (x - self.t[j]) / (self.t[j + 1] - self.t[j])
        return self.h[j] * (1 - u) + self.h[j + 1] * u + self.bends[j] * u * (1 - u)


def sums_of(x: Floats, y: Floats, w: Floats) -> Sums:
    """Of rows sorted by x."""
    powers = np.stack([w * x**k for k in range(5)], axis=1)
    hits = np.stack([w * y * x**k for k in range(3)], axis=1)
    return Sums(x, _running(powers), _running(hits), float(np.sum(w * y * y)))


def _running(terms: Floats) -> Floats:
    return np.concatenate([np.zeros((1, terms.shape[1])), np.cumsum(terms, axis=0)])


def normal_equations(sums: Sums, t: Floats) -> tuple[Floats, Floats]:
    """Of every piece between knots `(S, b + 1)`: the matrix `(S, b, 3, 3)` and the right side `(S, b, 3)`."""
    cut = np.searchsorted(sums.x, t[:, 1:-1], side="left")
    cut = np.concatenate([np.zeros((len(t), 1), int), cut, np.full((len(t), 1), len(sums.x))], axis=1)
    s, r = np.diff(sums.powers[cut], axis=1), np.diff(sums.hits[cut], axis=1)
    a, length = t[:, :-1], np.maximum(np.diff(t, axis=1), SHORTEST)
    m = [s[..., 0]]
    m.append((s[..., 1] - a * s[..., 0]) / length)
    m.append((s[..., 2] - 2 * a * s[..., 1] + a**2 * s[..., 0]) / length**2)
    m.append((s[..., 3] - 3 * a * s[..., 2] + 3 * a**2 * s[..., 1] - a**3 * s[..., 0]) / length**3)
    fourth = s[..., 4] - 4 * a * s[..., 3] + 6 * a**2 * s[..., 2] - 4 * a**3 * s[..., 1] + a**4 * s[..., 0]
    m.append(fourth / length**4)
    y1 = (r[..., 1] - a * r[..., 0]) / length
    y2 = (r[..., 2] - 2 * a * r[..., 1] + a**2 * r[..., 0]) / length**2
    across, left, right = m[1] - m[2], m[1] - 2 * m[2] + m[3], m[2] - m[3]
    rows = (m[0] - 2 * m[1] + m[2], across, left), (across, m[2], right), (left, right, m[2] - 2 * m[3] + m[4])
    matrix = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    return matrix, np.stack([r[..., 0] - y1, y1, y1 - y2], axis=-1)


def solved(sums: Sums, t: Floats, degree: int) -> tuple[Floats, Floats, Floats]:
    """Heights `(S, b + 1)`, bends `(S, b)` and the sum of squares left `(S,)` for knots `(S, b + 1)`."""
    g, r = normal_equations(sums, t)
    ridge = RIDGE * sums.powers[-1, 0]
    own = g[..., 2, 2] + ridge
    beside = g[..., :2, 2] / own[..., None] if degree == 2 else np.zeros_like(r[..., :2])
    g2 = g[..., :2, :2] - beside[..., :, None] * g[..., None, :2, 2]
    r2 = r[..., :2] - beside * r[..., 2:]
    diagonal, right = np.full(t.shape, ridge), np.zeros(t.shape)
    diagonal[:, :-1] += g2[..., 0, 0]
    diagonal[:, 1:] += g2[..., 1, 1]
    right[:, :-1] += r2[..., 0]
    right[:, 1:] += r2[..., 1]
    off, work, u = g2[..., 0, 1], diagonal.copy(), right.copy()
    for j in range(1, t.shape[1]):
        ratio = off[:, j - 1] / work[:, j - 1]
        work[:, j] = np.maximum(work[:, j] - ratio * off[:, j - 1], ridge)
        u[:, j] -= ratio * u[:, j - 1]
    h = u / work
    for j in range(t.shape[1] - 2, -1, -1):
        h[:, j] = (u[:, j] - off[:, j] * h[:, j + 1]) / work[:, j]
    pairs = np.stack([h[:, :-1], h[:, 1:]], axis=-1)
    bends = (r[..., 2] - (g[..., :2, 2] * pairs).sum(axis=-1)) / own if degree == 2 else np.zeros_like(off)
    return h, bends, squares_left(sums, g, r, h, bends)


def squares_left(sums: Sums, g: Floats, r: Floats, h: Floats, bends: Floats) -> Floats:
    """Σ w(y − f)² for functions given by heights and bends, from the normal equations of these rows."""
    each = np.stack([h[:, :-1], h[:, 1:], bends], axis=-1)
    squared = np.einsum("sbi,sbij,sbj->s", each, g, each)
    return np.asarray(sums.squares - 2 * (each * r).sum(axis=(1, 2)) + squared)


def evolved(sums: Sums, ends: tuple[float, float], n_pieces: int, degree: int, seed: int) -> Pieces:
    """The pieces whose knots SciPy's differential evolution finds."""
    from scipy.optimize import Bounds, differential_evolution

    def knots(population: Floats) -> Floats:
        inner = np.sort(np.atleast_2d(population.T), axis=1)
        low, high = (np.full((len(inner), 1), end) for end in ends)
        return np.concatenate([low, inner, high], axis=1)

    def squares(population: Any, /) -> Any:
        return solved(sums, knots(population), degree)[2]

    t = knots(np.empty((0, 1)))
    if n_pieces > 1:
        bounds = Bounds(*(np.full(n_pieces - 1, end) for end in ends))
        settings = {**SETTINGS, "vectorized": True, "updating": "deferred", "polish": False}
        with np.errstate(over="ignore"):  # of knots that coincide; they do not survive
            found = differential_evolution(squares, bounds, seed=np.random.default_rng(seed), **settings)
        t = knots(found.x[:, None])
    t = np.maximum.accumulate(t + SHORTEST * np.arange(t.shape[1]), axis=1)
    h, bends, _ = solved(sums, t, degree)
    return Pieces(t[0], h[0], bends[0])


def held_out(sums: Sums, pieces: Pieces) -> float:
    """Σ w(y − f)² on other rows."""
    g, r = normal_equations(sums, pieces.t[None])
    return float(squares_left(sums, g, r, pieces.h[None], pieces.bends[None])[0])
