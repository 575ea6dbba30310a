"""The scores of many rows, written one after another into `out`.

Loops that the compiler turns into vectors.

Each takes the probabilities, the outcomes or labels, and where to write. An event's
outcomes are 0 or 1, labels are class indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import any_order, contracted
from calibrant.types import Array, Floats


@contracted
def squared_misses(times: float, probs: Any, outcomes: Any, out: Any) -> None:
    """times · (p − y)²."""
    for i in range(len(out)):
        apart = np.float64(probs[i]) - np.float64(outcomes[i])
        out[i] = times * (apart * apart)


def squares_in_numpy(times: float, probs: Array, outcomes: Array, out: Floats) -> None:
    """The same, number by number."""
    out[:] = outcomes  # faster than two types in one pass
    np.subtract(probs, out, out)
    np.multiply(out, out, out)
    if times != 1:
        np.multiply(out, times, out)


LOOPED_ROWS = 1 << 13
"""Rows from which the loop takes less time than NumPy, once it is compiled."""


def squares(times: float, probs: Array, outcomes: Array, out: Floats) -> None:
    """The same in whichever form takes less time: both round each number alike."""
    looped = len(out) >= LOOPED_ROWS and squared_misses.ready(probs, outcomes, out)
    (squared_misses.fast if looped else squares_in_numpy)(times, probs, outcomes, out)


squared_misses.in_numpy(squares, least=1)


@contracted
def angles(probs: Any, outcomes: Any, out: Any) -> None:
    """1 − p_y/‖p‖₂ of the pair (1−p, p), by the other class's share: nothing cancels."""
    for i in range(len(out)):
        other = abs(np.float64(probs[i]) - np.float64(outcomes[i]))
        p_y, rest = 1.0 - other, other * other
        norm = np.sqrt(p_y * p_y + rest)
        out[i] = rest / (norm * (norm + p_y))


@any_order
def label_and_rest(row: Any, label: Any) -> Any:
    """p_y, and the sum of the squares of the other classes."""
    n_classes, squares = np.uintp(len(row)), 0.0
    for k in range(n_classes):
        wide = np.float64(row[k])
        squares += wide * wide
    p_y = np.float64(row[min(np.uintp(label), np.uintp(n_classes - np.uintp(1)))])
    return p_y, max(squares - p_y * p_y, 0.0)


@any_order
def squared_distances(probs: Any, labels: Any, out: Any) -> None:
    """Σ_k (p_k − [y = k])², as the squares of the other classes plus (1 − p_y)²."""
    for i in range(len(out)):
        p_y, rest = label_and_rest(probs[i], labels[i])
        out[i] = rest + (1.0 - p_y) * (1.0 - p_y)


@any_order
def label_angles(probs: Any, labels: Any, out: Any) -> None:
    """1 − p_y/‖p‖₂."""
    for i in range(len(out)):
        p_y, rest = label_and_rest(probs[i], labels[i])
        norm = np.sqrt(p_y * p_y + rest)
        out[i] = rest / (norm * (norm + p_y))


@contracted
def label_probs(probs: Any, labels: Any, out: Any) -> None:
    """p_y.

    An index changed after it was checked reads another class: better than a crash.
    """
    last = np.uintp(probs.shape[1] - 1)
    for i in range(len(out)):
        out[i] = probs[i, min(np.uintp(labels[i]), last)]


@contracted
def ranked_distances(probs: Any, labels: Any, out: Any) -> None:
    """Σ_k (P(Y ≤ k) − [y ≤ k])² over the thresholds.

    Squares of a running sum that loses 1 at the label.

    The steps of a running sum depend on each other, so four rows run in parallel, from
    one of their labels to the next.
    """
    n, last = len(out), np.uintp(probs.shape[1] - 1)
    for i in range(0, n, 4):
        a, b, c, d = i, min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        y_a, y_b, y_c, y_d = np.uintp(labels[a]), np.uintp(labels[b]), np.uintp(labels[c]), np.uintp(labels[d])
        p_a, p_b, p_c, p_d = 0.0, 0.0, 0.0, 0.0
        s_a, s_b, s_c, s_d = 0.0, 0.0, 0.0, 0.0
        start = np.uintp(0)
        while start < last:
            p_a, p_b = p_a - np.float64(y_a == start), p_b - np.float64(y_b == start)
            p_c, p_d = p_c - np.float64(y_c == start), p_d - np.float64(y_d == start)
            stop = last
            for y in (y_a, y_b, y_c, y_d):
                stop = y if start < y < stop else stop
            for k in range(start, stop):
                p_a, p_b = p_a + np.float64(probs[a, k]), p_b + np.float64(probs[b, k])
                p_c, p_d = p_c + np.float64(probs[c, k]), p_d + np.float64(probs[d, k])
                s_a, s_b, s_c, s_d = s_a + p_a * p_a, s_b + p_b * p_b, s_c + p_c * p_c, s_d + p_d * p_d
            start = stop
        out[a], out[b], out[c], out[d] = s_a, s_b, s_c, s_d


LN2_HIGH = float.fromhex("0x1.62e42f8p-1")
"""ln 2 with half its digits, so that e times it is exact"""
LN2_LOW = 1.2996506893889889e-08
"""the other half"""

LIFT, LIFTED = 2.0**54, np.int64(54 + 1023)
"""Every u is multiplied by this first, so that none is subnormal; the bias of the
exponent that is left."""

ROOT_HALF = np.int64(0x3FE6A09E << 32)
"""bits of a number just below √½"""
ABOVE = np.int64((0x3FF00000 - 0x3FE6A09E) << 32)
"""what moves √½ to the next power of two"""
MANTISSA, MANTISSA_BITS = np.int64((1 << 52) - 1), np.int64(52)
"""mask and number of the bits below the exponent"""

R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 = (2 / (2 * k + 1) for k in range(1, 11))
"""coefficients of R"""


@contracted
def surprises(probs: Any, outcomes: Any, out: Any) -> None:
    """−ln p where the outcome is 1, else −ln(1−p); infinite where that is ln 0.

    1 − p is rounded; the rounding error is known exactly, and added to ln(1 − p), where
    it matters only if p is small.
    """
    for i in range(len(out)):
        p = np.float64(probs[i])
        positive = outcomes[i] != 0
        u = p if positive else 1.0 - p
        lost = 0.0 if positive else (1.0 - u) - p
        bits = np.float64(u * LIFT).view(np.int64) + ABOVE
        e = np.float64((bits >> MANTISSA_BITS) - LIFTED)
        f = np.int64((bits & MANTISSA) + ROOT_HALF).view(np.float64) - 1.0
        s = f / (2.0 + f)
        z = s * s
        w = z * z
        odd = R1 + w * (R3 + w * (R5 + w * (R7 + w * R9)))
        even = R2 + w * (R4 + w * (R6 + w * (R8 + w * R10)))
        h = 0.5 * f * f
        surprise = (h - (s * (h + (z * odd + w * even)) + (e * LN2_LOW + lost))) - f - e * LN2_HIGH
        out[i] = surprise + 0.0 if u > 0.0 else np.inf


NEAR_ZERO = 1 / 64
"""Below this 1 − p has lost digits that ln(1−p) needs, and log1p, which is slower, takes its place."""


def surprises_in_numpy(probs: Array, outcomes: Array, out: Floats) -> None:
    """The same, in the memory of `out`."""
    out[:] = outcomes
    out -= 1.0
    out += probs  # p, or p − 1
    np.abs(out, out)
    with np.errstate(divide="ignore"):
        np.log(out, out)
    small = np.flatnonzero((probs < NEAR_ZERO) > outcomes)
    if len(small):
        out[small] = np.log1p(-probs[small].astype(np.float64))
    np.subtract(0.0, out, out)  # −0 is 0


surprises.in_numpy(surprises_in_numpy, least=1)


def label_surprises(probs: Array, labels: Array, out: Floats) -> None:
    """−ln p_y: of each row one entry is read."""
    chosen = np.empty(len(out))
    label_probs(probs, labels, chosen)
    surprises(chosen, np.ones(len(out), dtype=np.uint8), out)
