"""Where to put one more knot of a continuous piecewise-linear function, on the cells of
rows of `knot_heights`."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.fit.knot_heights import sigmoid

RIDGE = 1e-3
"""In rows: far below what one row says, enough to decide what no row decides."""

SEARCH_FLOOR = 0.01
"""Probabilities are kept this far from 0 and 1 in the weights of the knot search, which
would explode there."""

TIE = 1e-9
"""Places that explain the same but for rounding: the first is taken."""


@compiled
def parabola(x: float, w: float, s: float, f: float, family: Any) -> Any:
    """The loss of a cell around its fitted value f as ω·g²/2 − response·g, with g =
    value − x: ω and the response."""
    if family.logit:
        mu = sigmoid(f)[0]
        v = mu * (1 - mu)
        omega = w * v * v if family.brier else w * v
        return omega, omega * (f - x) + (v if family.brier else 1.0) * (s - w * mu)
    c = min(max(f, SEARCH_FLOOR), 1 - SEARCH_FLOOR)
    v = 1.0 if family.brier else 1 / (c * (1 - c))
    return w * v, v * (s - w * x)


@compiled
def prefix_sums(x: Any, w: Any, s: Any, fitted: Any, cut: Any, middle: float, family: Any) -> Any:
    """(places, 5): Σω, Σωd, Σωd², Σresponse, Σresponse·d over the cells before each
    place, d = x − middle."""
    sums, total, place = np.zeros((len(cut), 5)), np.zeros(5), 1
    for i in range(len(x)):
        while place < len(cut) - 1 and cut[place] <= i:
            sums[place] = total
            place += 1
        at = x[i] - middle
        omega, response = parabola(x[i], w[i], s[i], fitted[i], family)
        total[0] += omega
        total[1] += omega * at
        total[2] += omega * at * at
        total[3] += response
        total[4] += response * at
    for rest in range(place, len(cut)):
        sums[rest] = total
    return sums


@compiled
def piece(t: Any, sums: Any, middle: float, i: int, j: int) -> Any:
    """Normal equations of the piece from place i to place j: three entries of the
    matrix, two of the right side."""
    left, length = t[i] - middle, t[j] - t[i]
    s0, s1, s2 = sums[j, 0] - sums[i, 0], sums[j, 1] - sums[i, 1], sums[j, 2] - sums[i, 2]
    r0, r1 = sums[j, 3] - sums[i, 3], sums[j, 4] - sums[i, 4]
    u1 = (s1 - left * s0) / length
    u2 = max((s2 - 2 * left * s1 + left * left * s0) / (length * length), 0.0)
    r1 = (r1 - left * r0) / length
    return max(s0 - 2 * u1 + u2, 0.0), u1 - u2, u2, r0 - r1, r1


@compiled
def eliminate(
    diagonal: float, right: float, near: float, across: float, far: float, r_near: float, r_far: float
) -> Any:
    """One end of a piece eliminated: what its far end inherits on the diagonal and the
    right side, and what is explained."""
    d, u = diagonal + near, right + r_near
    return max(far - across * across / d, 0.0), r_far - across * u / d, u * u / d


@compiled
def pass_right(t: Any, sums: Any, middle: float, knots: Any, left: Any, q: int) -> None:
    """Eliminate the knot before q. A row of `left`: diagonal, right side, explained so
    far."""
    aa, ab, bb, ra, rb = piece(t, sums, middle, knots[q - 1], knots[q])
    d, r, gain = eliminate(left[q - 1, 0], left[q - 1, 1], aa, ab, bb, ra, rb)
    left[q, 0], left[q, 1], left[q, 2] = RIDGE + d, r, left[q - 1, 2] + gain


@compiled
def pass_left(t: Any, sums: Any, middle: float, knots: Any, right: Any, q: int) -> None:
    """Eliminate the knot after q."""
    aa, ab, bb, ra, rb = piece(t, sums, middle, knots[q], knots[q + 1])
    d, r, gain = eliminate(right[q + 1, 0], right[q + 1, 1], bb, ab, aa, rb, ra)
    right[q, 0], right[q, 1], right[q, 2] = RIDGE + d, r, right[q + 1, 2] + gain


@compiled
def best_between(t: Any, sums: Any, middle: float, mass: Any, gap: float, left: Any, right: Any, i: int, j: int) -> Any:
    """The best place for a knot between those at i and j, and what all knots then
    explain; −1 where none is possible."""
    best, where = -1.0, -1
    for k in range(i + 1, j):
        if mass[k] - mass[i] < gap or mass[j] - mass[k] < gap:
            continue
        aa, ab, bb, ra, rb = piece(t, sums, middle, i, k)
        d, r, first = eliminate(left[0], left[1], aa, ab, bb, ra, rb)
        aa, ab, bb, ra, rb = piece(t, sums, middle, k, j)
        d, r, second = eliminate(RIDGE + d, r, aa, ab, bb, ra, right[1] + rb)
        gain = left[2] + right[2] + first + second + r * r / (right[0] + d)
        if where < 0 or gain > best * (1 + TIE):
            best, where = gain, k
    return best, where


@compiled
def better_knots(
    x: Any, w: Any, s: Any, fitted: Any, t: Any, cut: Any, mass: Any, knots: Any, gap: float, family: Any
) -> Any:
    """One knot more, where it explains most, then every inner knot moved once to its
    best place.

    `t` are the places where a knot may stand, with `cut` cells and the weight `mass`
    before each; `knots` are indices of `t`, the ends included; `fitted` are the values
    of the present fit at the cells. The loss is replaced by its parabola there, so that
    with prefix sums the normal equations of a piece cost O(1). They are tridiagonal:
    eliminated from the left and from the right up to two neighbours, a knot between
    these is tried in O(1). Returns `knots` as they are if no place is left.
    """
    middle, n_knots = (x[0] + x[-1]) / 2, len(knots)
    sums = prefix_sums(x, w, s, fitted, cut, middle, family)
    found = np.full(n_knots + 1, len(t) - 1)
    found[:n_knots] = knots
    left, right = np.zeros((n_knots + 1, 3)), np.zeros((n_knots + 1, 3))
    left[0, 0] = right[n_knots - 1, 0] = right[n_knots, 0] = RIDGE
    for q in range(1, n_knots):
        pass_right(t, sums, middle, found, left, q)
    best, new, at = -1.0, -1, 0
    for q in range(n_knots - 1, 0, -1):
        gain, k = best_between(t, sums, middle, mass, gap, left[q - 1], right[q], found[q - 1], found[q])
        if k >= 0 and gain > best * (1 + TIE):
            best, new, at = gain, k, q
        pass_left(t, sums, middle, found, right, q - 1)
    if new < 0:
        return knots
    for q in range(n_knots, at, -1):
        found[q] = found[q - 1]
    found[at] = new
    right[n_knots] = np.array([RIDGE, 0.0, 0.0])
    for q in range(n_knots - 1, 0, -1):
        pass_left(t, sums, middle, found, right, q)
    for q in range(1, n_knots):
        found[q] = best_between(t, sums, middle, mass, gap, left[q - 1], right[q + 1], found[q - 1], found[q + 1])[1]
        pass_right(t, sums, middle, found, left, q)
    return found
