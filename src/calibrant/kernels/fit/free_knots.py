"""Continuous piecewise-linear functions with free knots, on cells of rows: two loops that are compiled.

A cell has a place x, a weight w and hits s. Heights h stand at knots t; between them the function is a straight line. It gives
a probability c (`logit` false) or log-odds η with probability μ = σ(η) (`logit` true), and is scored by its log or squared loss.
In both spaces the identity has the heights h = t, and a small ridge draws every fit towards it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled

RIDGE = 1e-3
"""In rows: far below what one row says, enough to decide what no row decides."""

SEARCH_FLOOR = 0.01
"""Probabilities are kept this far from 0 and 1 in the weights of the knot search, which would explode there."""

TIE = 1e-9
"""Places that explain the same but for rounding: the first is taken."""

ENOUGH = 1e-7
"""A step that changes the loss by less, in nats of all rows, is the last."""

LEAST_SLOPE = 1e-6
"""Of a function that must rise."""


@compiled
def better_knots(  # noqa: C901, PLR0915  (nested functions are what Numba inlines)
    x: Any, w: Any, s: Any, fitted: Any, t: Any, cut: Any, mass: Any, knots: Any, gap: float, logit: bool, brier: bool
) -> Any:
    """One knot more, where it explains most, then every inner knot moved once to its best place.

    `t` are the places where a knot may stand, with `cut` cells and the weight `mass` before each; `knots` are indices of `t`,
    the ends included; `fitted` are the values of the present fit at the cells. The loss is replaced by its parabola there, so
    that with prefix sums the normal equations of a piece cost O(1). They are tridiagonal: eliminated from the left and from the
    right up to two neighbours, a knot between these is tried in O(1). Returns `knots` as they are when there is no room.
    """
    n_places = len(t)
    middle = (x[0] + x[-1]) / 2
    sums = np.zeros((n_places, 5))
    place = 1
    total = np.zeros(5)
    for i in range(len(x)):
        while place < n_places - 1 and cut[place] <= i:
            sums[place] = total
            place += 1
        f, at = fitted[i], x[i] - middle
        if logit:
            e = np.exp(-abs(f))
            mu = 1 / (1 + e) if f >= 0 else e / (1 + e)
            v = mu * (1 - mu)
            omega = w[i] * v * v if brier else w[i] * v
            response = omega * (f - x[i]) + (v if brier else 1.0) * (s[i] - w[i] * mu)
        else:
            c = min(max(f, SEARCH_FLOOR), 1 - SEARCH_FLOOR)
            v = 1.0 if brier else 1 / (c * (1 - c))
            omega = w[i] * v
            response = v * (s[i] - w[i] * x[i])
        total[0] += omega
        total[1] += omega * at
        total[2] += omega * at * at
        total[3] += response
        total[4] += response * at
    for rest in range(place, n_places):
        sums[rest] = total

    def piece(i: int, j: int) -> Any:
        """Normal equations of the piece from place i to place j: three entries of the matrix, two of the right side."""
        left, length = t[i] - middle, t[j] - t[i]
        s0, s1, s2 = sums[j, 0] - sums[i, 0], sums[j, 1] - sums[i, 1], sums[j, 2] - sums[i, 2]
        r0, r1 = sums[j, 3] - sums[i, 3], sums[j, 4] - sums[i, 4]
        u1 = (s1 - left * s0) / length
        u2 = max((s2 - 2 * left * s1 + left * left * s0) / (length * length), 0.0)
        r1 = (r1 - left * r0) / length
        return max(s0 - 2 * u1 + u2, 0.0), u1 - u2, u2, r0 - r1, r1

    n_knots = len(knots)
    found = np.full(n_knots + 1, n_places - 1)
    found[:n_knots] = knots
    left, right = np.zeros((n_knots + 1, 3)), np.zeros((n_knots + 1, 3))  # diagonal, right side, explained so far

    def pass_right(q: int) -> None:
        """Eliminate the knot before q."""
        aa, ab, bb, ra, rb = piece(found[q - 1], found[q])
        d, u = left[q - 1, 0] + aa, left[q - 1, 1] + ra
        left[q, 0], left[q, 1], left[q, 2] = (
            RIDGE + max(bb - ab * ab / d, 0.0),
            rb - ab * u / d,
            left[q - 1, 2] + u * u / d,
        )

    def pass_left(q: int) -> None:
        """Eliminate the knot after q."""
        aa, ab, bb, ra, rb = piece(found[q], found[q + 1])
        d, u = right[q + 1, 0] + bb, right[q + 1, 1] + rb
        right[q, 0], right[q, 1], right[q, 2] = (
            RIDGE + max(aa - ab * ab / d, 0.0),
            ra - ab * u / d,
            right[q + 1, 2] + u * u / d,
        )

    def best_between(before: int, after: int) -> Any:
        """The best place for a knot between two others, and what all knots then explain."""
        i, j = found[before], found[after]
        best, where = -1.0, -1
        for k in range(i + 1, j):
            if mass[k] - mass[i] < gap or mass[j] - mass[k] < gap:
                continue
            aa, ab, bb, ra, rb = piece(i, k)
            d, u = left[before, 0] + aa, left[before, 1] + ra
            gain = left[before, 2] + right[after, 2] + u * u / d
            a, b = RIDGE + max(bb - ab * ab / d, 0.0), rb - ab * u / d
            aa, ab, bb, ra, rb = piece(k, j)
            d, u = a + aa, b + ra
            gain += u * u / d
            a, b = right[after, 0] + max(bb - ab * ab / d, 0.0), right[after, 1] + rb - ab * u / d
            gain += b * b / a
            if where < 0 or gain > best * (1 + TIE):
                best, where = gain, k
        return best, where

    left[0, 0] = right[n_knots - 1, 0] = right[n_knots, 0] = RIDGE
    for q in range(1, n_knots):
        pass_right(q)
    best, new, at = -1.0, -1, 0
    for q in range(n_knots - 1, 0, -1):
        gain, k = best_between(q - 1, q)
        if k >= 0 and gain > best * (1 + TIE):
            best, new, at = gain, k, q
        pass_left(q - 1)
    if new < 0:
        return knots
    for q in range(n_knots, at, -1):
        found[q] = found[q - 1]
    found[at] = new
    right[n_knots] = np.array([RIDGE, 0.0, 0.0])
    for q in range(n_knots - 1, 0, -1):
        pass_left(q)
    for q in range(1, n_knots):
        found[q] = best_between(q - 1, q + 1)[1]
        pass_right(q)
    return found


@compiled
def fit_heights(  # noqa: C901, PLR0912, PLR0915
    x: Any,
    w: Any,
    s: Any,
    t: Any,
    start: Any,
    logit: bool,
    brier: bool,
    ends: Any,
    rising: bool,
    ridge: float,
    steps: int,
) -> Any:
    """Heights at the knots `t` with the smallest loss, and that loss: Newton steps, halved until the loss falls.

    Heights stay between `ends`; `rising` makes them rise. With no steps and no ridge it is the loss of `start` on these cells.
    """
    n, m = len(x), len(t)
    low, high = ends
    h, trial = start.copy(), start.copy()
    slope, diagonal, beside = np.zeros(m), np.zeros(m), np.zeros(m)
    target, work, cross = np.zeros(m), np.zeros(m), np.zeros(m)
    part, share = np.zeros(n, np.int64), np.zeros(n)
    k = 0
    for i in range(n):
        while k < m - 2 and x[i] > t[k + 1]:
            k += 1
        part[i] = k
        share[i] = (x[i] - t[k]) / (t[k + 1] - t[k])

    def solved(right: Any, out: Any) -> None:
        """The tridiagonal system."""
        work[0] = diagonal[0]
        out[0] = right[0]
        for j in range(1, m):
            ratio = beside[j - 1] / work[j - 1]
            work[j] = max(diagonal[j] - ratio * beside[j - 1], ridge)
            out[j] = right[j] - ratio * out[j - 1]
        out[m - 1] /= work[m - 1]
        for j in range(m - 2, -1, -1):
            out[j] = (out[j] - beside[j] * out[j + 1]) / work[j]

    best, size = np.inf, 1.0
    for step in range(steps + 1):
        loss = 0.0
        for j in range(m):
            away = trial[j] - t[j]
            loss += ridge / 2 * away * away
            slope[j], diagonal[j], beside[j] = ridge * away, ridge, 0.0
        for i in range(n):
            j, u = part[i], share[i]
            f = trial[j] + (trial[j + 1] - trial[j]) * u
            if logit:
                e = np.exp(-abs(f))
                mu = 1 / (1 + e) if f >= 0 else e / (1 + e)
                if brier:
                    v = mu * (1 - mu)
                    loss += (w[i] * mu - 2 * s[i]) * mu + s[i]
                    first, second = 2 * v * (w[i] * mu - s[i]), 2 * w[i] * v * v
                else:
                    loss += w[i] * (max(f, 0.0) + np.log1p(e)) - s[i] * f
                    first, second = w[i] * mu - s[i], w[i] * mu * (1 - mu)
            elif brier:
                loss += (w[i] * f - 2 * s[i]) * f + s[i]
                first, second = 2 * (w[i] * f - s[i]), 2 * w[i]
            else:
                f = min(max(f, low), high)
                missed = w[i] - s[i]
                loss -= (s[i] * np.log(f) if s[i] > 0 else 0.0) + (missed * np.log1p(-f) if missed > 0 else 0.0)
                first = missed / (1 - f) - s[i] / f
                second = missed / (1 - f) ** 2 + s[i] / f**2
            slope[j] += (1 - u) * first
            slope[j + 1] += u * first
            diagonal[j] += (1 - u) * (1 - u) * second
            diagonal[j + 1] += u * u * second
            beside[j] += u * (1 - u) * second
        if loss <= best:
            gained = best - loss
            h[:] = trial
            best, size = loss, 1.0
            if gained < ENOUGH or step == steps:
                break
            for j in range(m):
                cross[j] = diagonal[j] * h[j] - slope[j]
                if j > 0:
                    cross[j] += beside[j - 1] * h[j - 1]
                if j < m - 1:
                    cross[j] += beside[j] * h[j + 1]
            solved(cross, target)
            outside = False
            for j in range(m):
                outside = outside or target[j] < low or target[j] > high
            if outside and not rising:  # projected Gauss–Seidel
                for j in range(m):
                    target[j] = min(max(target[j], low), high)
                for _ in range(200):
                    moved = 0.0
                    for j in range(m):
                        r = cross[j]
                        if j > 0:
                            r -= beside[j - 1] * target[j - 1]
                        if j < m - 1:
                            r -= beside[j] * target[j + 1]
                        r = min(max(r / diagonal[j], low), high)
                        moved = max(moved, abs(r - target[j]))
                        target[j] = r
                    if moved < 1e-10:
                        break
            if rising:  # Hildreth: one multiplier for each rise and one for each end
                lean = np.zeros((m + 1, m))
                for c in range(m + 1):
                    cross[:] = 0.0
                    if c > 0:
                        cross[c - 1] -= 1.0
                    if c < m:
                        cross[c] += 1.0
                    solved(cross, lean[c])
                push = np.zeros(m + 1)
                for _ in range(1000):
                    moved = 0.0
                    for c in range(m + 1):
                        if c == 0:
                            lack, own = low - target[0], lean[0, 0]
                        elif c == m:
                            lack, own = target[m - 1] - high, -lean[m, m - 1]
                        else:
                            least = LEAST_SLOPE * (t[c] - t[c - 1])
                            lack, own = least - target[c] + target[c - 1], lean[c, c] - lean[c, c - 1]
                        new = max(push[c] + lack / own, 0.0)
                        change = new - push[c]
                        if change != 0.0:
                            push[c] = new
                            for j in range(m):
                                target[j] += change * lean[c, j]
                            moved = max(moved, abs(change) * own)
                    if moved < 1e-10:
                        break
                for j in range(m):
                    target[j] = min(max(target[j], low), high)
                    if j > 0:
                        target[j] = max(target[j], target[j - 1] + LEAST_SLOPE * (t[j] - t[j - 1]))
        elif loss - best < ENOUGH:
            break
        else:
            size /= 2
        for j in range(m):
            trial[j] = h[j] + size * (target[j] - h[j])
    return h, best
