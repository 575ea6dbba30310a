"""Heights of a piecewise-linear function with given knots.

The smallest loss, by Newton steps on tridiagonal systems. Loops over the few knots are
written out, and arrays are made by the caller: arithmetic on whole arrays and making them
would take the compiler several times as long.

A cell has a place x, a weight w and hits s. The function gives a probability (`logit`
false) or log-odds (`logit` true) and is scored by its log or squared loss. A ridge
draws the heights towards the identity, h = t. Loops know the family by `brier`, which is
True or None, and by `ends`, None for log-odds: what is None the compiler sees, and it
leaves out what that does not need.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from calibrant.kernels.compiled import compiled, in_caller
from calibrant.types import Floats, Indices

ENOUGH = 1e-7
"""A step that changes the loss by less, in nats of all rows, is the last."""

NOTHING = 1e-12
"""A step along which the slope promises less than this is taken without a look at the loss there."""

LEAST_SLOPE = 1e-6
"""Of a function that must rise."""

SETTLED = 1e-10
"""Heights that move by less than this in a sweep have settled."""

MOST_SWEEPS, MOST_RISING_SWEEPS = 200, 1000
"""Sweeps over the heights, and over the multipliers of Hildreth's method, which
converges more slowly."""


class Family(NamedTuple):
    """Which functions are fitted, and by which loss."""

    logit: bool
    """do heights give log-odds, or probabilities?"""
    brier: bool
    """is the loss the squared error, or the log loss?"""
    ends: tuple[float, float]
    """the lowest and the highest height; log-odds have none"""
    rising: bool
    """must heights rise?"""


@compiled
def cell_loss(w: float, s: float, f: float, brier: Any, ends: Any) -> Any:
    """The loss of a cell where the function is f, and its first and second derivative."""
    if ends is None:
        e = np.exp(-abs(f))  # which cannot overflow
        mu = (1.0 if f >= 0 else e) / (1 + e)
        if brier is not None:
            v = mu * (1 - mu)
            return (w * mu - 2 * s) * mu + s, 2 * v * (w * mu - s), 2 * w * v * v
        return w * ((f if f > 0 else 0.0) + np.log1p(e)) - s * f, w * mu - s, w * mu * (1 - mu)
    if brier is not None:
        return (w * f - 2 * s) * f + s, 2 * (w * f - s), 2 * w
    f = min(max(f, ends[0]), ends[1])
    missed = w - s
    gain = (s * np.log(f) if s > 0 else 0.0) + (missed * np.log1p(-f) if missed > 0 else 0.0)
    return -gain, missed / (1 - f) - s / f, missed / ((1 - f) * (1 - f)) + s / (f * f)


@in_caller
def find_pieces(x: Any, t: Any, starts: Any, share: Any) -> None:
    """Where the cells of each piece begin; how far each cell lies on the way from knot to knot."""
    k = 0
    starts[0] = 0
    for i in range(len(x)):
        while k < len(t) - 2 and x[i] > t[k + 1]:
            k += 1
            starts[k] = i
        share[i] = (x[i] - t[k]) / (t[k + 1] - t[k])
    for j in range(k + 1, len(t)):
        starts[j] = len(x)


@find_pieces.in_numpy
def find_pieces_in_numpy(x: Floats, t: Floats, starts: Indices, share: Floats) -> None:
    """The same, with one search for all knots."""
    starts[0], starts[-1] = 0, len(x)
    starts[1:-1] = np.searchsorted(x, t[1:-1], side="right")
    length = np.diff(starts)
    np.divide(x - np.repeat(t[:-1], length), np.repeat(np.diff(t), length), out=share)


@in_caller
def add_losses(
    starts: Any, share: Any, w: Any, s: Any, t: Any, h: Any, brier: Any, ends: Any, ridge: float, system: Any
) -> float:
    """The loss of the heights h.

    Rows of `system`: its slope, the diagonal of its curvature and the entries beside
    that.
    """
    loss = 0.0
    for j in range(len(t)):
        away = h[j] - t[j]
        loss += ridge / 2 * away * away
        system[0, j], system[1, j], system[2, j] = ridge * away, ridge, 0.0
    for j in range(len(t) - 1):
        left, right, beside = system[0, j], system[0, j + 1], 0.0
        left_left, right_right = system[1, j], system[1, j + 1]
        for i in range(starts[j], starts[j + 1]):
            u = share[i]
            f = h[j] + (h[j + 1] - h[j]) * u
            value, first, second = cell_loss(w[i], s[i], f, brier, ends)
            loss += value
            left += (1 - u) * first
            right += u * first
            left_left += (1 - u) * (1 - u) * second
            right_right += u * u * second
            beside += u * (1 - u) * second
        system[0, j], system[0, j + 1], system[2, j] = left, right, beside
        system[1, j], system[1, j + 1] = left_left, right_right
    return loss


@add_losses.in_numpy
def add_losses_in_numpy(
    starts: Indices,
    share: Floats,
    w: Floats,
    s: Floats,
    t: Floats,
    h: Floats,
    brier: Literal[True] | None,
    ends: tuple[float, float] | None,
    ridge: float,
    system: Floats,
) -> float:
    """The same, all cells at a time."""
    n_pieces, away = len(t) - 1, h - t
    piece = np.repeat(np.arange(n_pieces), np.diff(starts))
    rest = 1 - share
    value, first, second = cell_losses(w, s, h[piece] + np.diff(h)[piece] * share, brier, ends)
    terms = rest * first, share * first, rest * rest * second, share * share * second, rest * share * second
    left, right, left_left, right_right, beside = (np.bincount(piece, each, n_pieces) for each in terms)
    system[0], system[1], system[2, :-1], system[2, -1] = ridge * away, ridge, beside, 0.0
    system[0, :-1] += left
    system[0, 1:] += right
    system[1, :-1] += left_left
    system[1, 1:] += right_right
    return float(value.sum() + ridge / 2 * (away * away).sum())


def cell_losses(
    w: Floats, s: Floats, f: Floats, brier: Literal[True] | None, ends: tuple[float, float] | None
) -> tuple[Floats, Floats, Floats]:
    """`cell_loss` of all cells."""
    if ends is None:
        e = np.exp(-np.abs(f))
        mu = np.where(f >= 0, 1, e) / (1 + e)
        v = mu * (1 - mu)
        if brier:
            return (w * mu - 2 * s) * mu + s, 2 * v * (w * mu - s), 2 * w * v * v
        return w * (np.maximum(f, 0.0) + np.log1p(e)) - s * f, w * mu - s, w * v
    if brier:
        return (w * f - 2 * s) * f + s, 2 * (w * f - s), 2 * w
    f, missed = np.clip(f, *ends), w - s
    gain = np.where(s > 0, s * np.log(f), 0.0) + np.where(missed > 0, missed * np.log1p(-f), 0.0)
    return -gain, missed / (1 - f) - s / f, missed / ((1 - f) * (1 - f)) + s / (f * f)


@in_caller
def solve(system: Any, right: Any, ridge: float, out: Any, work: Any) -> None:
    """Curvature · out = right, by elimination; no pivot, kept in `work`, falls below the ridge."""
    m = len(out)
    work[0] = system[1, 0]
    out[0] = right[0]
    for j in range(1, m):
        ratio = system[2, j - 1] / work[j - 1]
        work[j] = max(system[1, j] - ratio * system[2, j - 1], ridge)
        out[j] = right[j] - ratio * out[j - 1]
    out[m - 1] /= work[m - 1]
    for j in range(m - 2, -1, -1):
        out[j] = (out[j] - system[2, j] * out[j + 1]) / work[j]


@compiled
def find_leverages(system: Any, ridge: float, work: Any, unit: Any, lean: Any) -> None:
    """How a unit of each of Hildreth's multipliers moves the heights, one row per multiplier.

    0 for the ends, which stand before and after the heights.
    """
    m = system.shape[1]
    for c in range(m + 1):
        for j in range(m + 2):
            unit[j] = 0.0
        unit[c], unit[c + 1] = -1.0, 1.0
        solve(system, unit[1:-1], ridge, lean[c, 1:-1], work)


@compiled
def hold_between(system: Any, right: Any, low: float, high: float, target: Any) -> None:
    """The minimum of the parabola between the ends: projected Gauss–Seidel.

    Nothing lies beside the last knot, `system[2, -1]` is 0: indices may run in a circle.
    """
    m, inside = len(target), True
    for j in range(m):
        inside = inside and not (target[j] < low or target[j] > high)
        target[j] = min(max(target[j], low), high)
    if inside:
        return
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        for j in range(m):
            r = right[j] - system[2, j - 1] * target[j - 1] - system[2, j] * target[(j + 1) % m]
            r = min(max(r / system[1, j], low), high)
            moved = max(moved, abs(r - target[j]))
            target[j] = r
        if moved < SETTLED:
            break


@compiled
def make_rise(system: Any, t: Any, ends: Any, ridge: float, work: Any, rise: Any, target: Any) -> None:
    """The minimum of the parabola among rising heights between the ends.

    Hildreth's method, with one multiplier per rise and per end.
    """
    m, low, high = len(t), -np.inf, np.inf
    if ends is not None:
        low, high = ends
    push, least, heights, unit, lean = rise[0], rise[1], rise[2], rise[3], rise[4:]
    heights[0], heights[m + 1] = low, high
    push[m] = least[m] = 0.0
    for j in range(m):
        push[j] = 0.0
        heights[j + 1] = target[j]
        least[j] = LEAST_SLOPE * (t[j] - t[j - 1]) if j > 0 else 0.0
    find_leverages(system, ridge, work, unit, lean)
    for _ in range(MOST_RISING_SWEEPS):
        moved = 0.0
        for c in range(m + 1):
            own = lean[c, c + 1] - lean[c, c]
            new = max(push[c] + (least[c] - heights[c + 1] + heights[c]) / own, 0.0)
            change = new - push[c]
            if change != 0.0:
                push[c] = new
                for j in range(1, m + 1):
                    heights[j] += change * lean[c, j]
                moved = max(moved, abs(change) * own)
        if moved < SETTLED:
            break
    for j in range(m):  # what rounding has left
        target[j] = max(min(max(heights[j + 1], low), high), target[j - 1] + least[j] if j > 0 else low)


@in_caller
def newton_target(
    system: Any, t: Any, h: Any, ends: Any, ridge: float, right: Any, work: Any, rise: Any, target: Any
) -> None:
    """The heights with the smallest parabola around h, within what is allowed."""
    m = len(t)
    for j in range(m):
        right[j] = system[1, j] * h[j] - system[0, j]
        if j > 0:
            right[j] += system[2, j - 1] * h[j - 1]
        if j < m - 1:
            right[j] += system[2, j] * h[j + 1]
    solve(system, right, ridge, target, work)
    if rise is not None:
        make_rise(system, t, ends, ridge, work, rise, target)
    elif ends is not None:
        hold_between(system, right, ends[0], ends[1], target)


@compiled
def descend(
    x: Any,
    w: Any,
    s: Any,
    t: Any,
    h: Any,
    brier: Any,
    ends: Any,
    ridge: float,
    steps: int,
    starts: Any,
    share: Any,
    rows: Any,
    rise: Any,
) -> float:
    """Newton steps from the heights h, halved until the loss falls; h becomes the best, whose loss is returned."""
    m = len(t)
    trial, target = rows[0], rows[1]
    right, work, system = rows[2], rows[3], rows[4:]
    for j in range(m):
        trial[j] = target[j] = h[j]
    find_pieces(x, t, starts, share)
    best, size = np.inf, 1.0
    for step in range(steps + 1):
        loss = add_losses(starts, share, w, s, t, trial, brier, ends, ridge, system)
        if loss <= best:
            gained = best - loss
            best, size = loss, 1.0
            for j in range(m):
                h[j] = trial[j]
            if gained < ENOUGH or step == steps:
                break
            newton_target(system, t, h, ends, ridge, right, work, rise, target)
            slope = 0.0
            for j in range(m):
                slope += system[0, j] * (h[j] - target[j])
            if abs(slope) < NOTHING:
                for j in range(m):
                    h[j] = target[j]
                break
        elif loss - best < ENOUGH:
            break
        else:
            size /= 2
        for j in range(m):
            trial[j] = h[j] + size * (target[j] - h[j])
    return best


def fit_each(
    x: Floats,
    w: Floats,
    s: Floats,
    t: Floats,
    start: Floats,
    family: Family,
    ridge: float,
    steps: int,
    fast: bool = True,
    enough: float = -np.inf,
) -> tuple[Floats, Floats]:
    """Heights at each row of knots `t` with the smallest loss, and these losses.

    Heights stay within what the family allows. With no steps and no ridge it
    is the loss of `start` on these cells. `fast` compiles the loops. After a loss below `enough`
    no other is searched: those are infinite.
    """
    (n, m), h = t.shape, np.array(start, dtype=np.float64)
    rise, losses = np.zeros((m + 5, m + 2)) if family.rising else None, np.full(n, np.inf)
    how = (
        family.brier or None,
        None if family.logit else family.ends,
        ridge,
        steps,
        np.zeros(m, np.int64),
        np.empty(len(x)),
        np.zeros((7, m)),
        rise,
    )
    run = descend if fast else descend.looped
    for i in range(n):
        losses[i] = run(x, w, s, t[i], h[i], *how)
        if losses[i] < enough:
            break
    return h, losses


def fit_heights(
    x: Floats,
    w: Floats,
    s: Floats,
    t: Floats,
    start: Floats,
    family: Family,
    ridge: float,
    steps: int,
    fast: bool = True,
) -> tuple[Floats, float]:
    """The same for one row of knots."""
    h, losses = fit_each(x, w, s, t[None], start[None], family, ridge, steps, fast)
    return h[0], float(losses[0])
