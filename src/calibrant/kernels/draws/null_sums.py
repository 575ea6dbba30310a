"""Statistics of errors in order of the predictions.

Sums between cuts, extremes of the running sum, sums over pairs.

All take a block of replicates, `(R, A)`, and fill one row per replicate. `sums_between`,
`courses`, `high_low` and `weighed_sums` go on from what it holds, zeros at first, so that the errors
may come part by part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import any_order, compiled
from calibrant.types import Floats, Indices

COMPILE_FROM_STATES = 2_500_000
"""Numbers of all draws at once from which a compiled loop reads them."""


@compiled
def sums_between(errors: Any, cuts: Any, sums: Any) -> None:
    """sums[r, b] += Σ of the errors from cut b to before cut b + 1."""
    for r in range(len(errors)):
        for b in range(len(cuts) - 1):
            start, stop = cuts[b], cuts[b + 1]
            even = start + (stop - start) // 4 * 4
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0  # four independent sums overlap
            for a in range(start, even, 4):
                t0 += errors[r, a]
                t1 += errors[r, a + 1]
                t2 += errors[r, a + 2]
                t3 += errors[r, a + 3]
            for a in range(even, stop):
                t0 += errors[r, a]
            sums[r, b] += (t0 + t1) + (t2 + t3)


@sums_between.in_numpy
def _sums_between(errors: Floats, cuts: Indices, sums: Floats) -> None:
    turned = np.zeros((errors.shape[1] + 1, len(errors)))  # the last cut may lie behind the last error
    turned[:-1] = errors.T
    sums += np.where(cuts[1:] > cuts[:-1], np.add.reduceat(turned, cuts, axis=0)[:-1].T, 0.0)


@compiled
def courses(errors: Any, gaps: Any, found: Any) -> None:
    """found[r] = (highest, lowest, last, Σ gap·C, Σ gap·C²) of the running sum C.

    It is read only where the prediction rises.

    `gaps` is the distance to the next prediction: 0 inside a tie. The end counts as a
    rise for the highest and the lowest; a part of the errors ends at a rise.
    """
    for r in range(len(errors)):
        high, low, total, first, second = found[r, 0], found[r, 1], found[r, 2], found[r, 3], found[r, 4]
        for a in range(len(gaps)):
            total += errors[r, a]
            gap = gaps[a]
            if gap > 0.0:
                high, low = max(high, total), min(low, total)
                first += gap * total
                second += gap * total * total
        high, low = max(high, total), min(low, total)
        found[r, 0], found[r, 1], found[r, 2], found[r, 3], found[r, 4] = high, low, total, first, second


@courses.in_numpy
def _courses(errors: Floats, gaps: Floats, found: Floats) -> None:
    sums = np.cumsum(errors, axis=1)
    sums += found[:, 2:3]
    found[:, 2] = last = sums[:, -1]
    if not (gaps > 0).all():
        sums, gaps = sums[:, gaps > 0], gaps[gaps > 0]
    np.maximum(found[:, 0], np.maximum(sums.max(axis=1, initial=0.0), last), out=found[:, 0])
    np.minimum(found[:, 1], np.minimum(sums.min(axis=1, initial=0.0), last), out=found[:, 1])
    found[:, 3] += np.einsum("ra,a->r", sums, gaps)
    found[:, 4] += np.einsum("ra,ra,a->r", sums, sums, gaps)


@compiled
def high_low(errors: Any, found: Any) -> None:
    """found[r] = (highest, lowest, last) of the running sum, which is read after every error."""
    n = errors.shape[1]
    even = n // 4 * 4
    for r in range(len(errors)):
        high, low, total = found[r, 0], found[r, 1], found[r, 2]
        for a in range(0, even, 4):  # the sum waits for one addition instead of four
            pair = errors[r, a] + errors[r, a + 1]
            c0, c1, c2 = total + errors[r, a], total + pair, total + (pair + errors[r, a + 2])
            total += pair + (errors[r, a + 2] + errors[r, a + 3])
            above, below, top, bottom = max(c0, c1), min(c0, c1), max(c2, total), min(c2, total)
            high, low = max(high, above, top), min(low, below, bottom)
        for a in range(even, n):
            total += errors[r, a]
            high, low = max(high, total), min(low, total)
        found[r, 0], found[r, 1], found[r, 2] = high, low, total


@high_low.in_numpy
def _high_low(errors: Floats, found: Floats) -> None:
    sums = np.cumsum(errors, axis=1)
    sums += found[:, 2:3]
    np.maximum(found[:, 0], sums.max(axis=1), out=found[:, 0])
    np.minimum(found[:, 1], sums.min(axis=1), out=found[:, 1])
    found[:, 2] = sums[:, -1]


@compiled
def bridges(errors: Any, gaps: Any, time: Any, found: Any) -> None:
    """found[r] = (last, largest |C − time·last|): the running sum C, tied down at both ends."""
    for r in range(len(errors)):
        last = 0.0
        for a in range(len(time)):
            last += errors[r, a]
        total, most = 0.0, 0.0
        for a in range(len(time)):
            total += errors[r, a]
            if gaps[a] > 0.0:
                most = max(most, abs(total - time[a] * last))
        found[r, 0], found[r, 1] = last, most


@bridges.in_numpy
def _bridges(errors: Floats, gaps: Floats, time: Floats, found: Floats) -> None:
    sums = np.cumsum(errors, axis=1)
    last, rises = sums[:, -1:], gaps > 0
    found[:, 0] = last[:, 0]
    found[:, 1] = np.abs(sums[:, rises] - time[rises] * last).max(axis=1, initial=0.0)


@compiled
def pairs_between(errors: Any, constant: Any, factor: Any, cuts: Any, scale: Any, found: Any) -> None:
    """found[r] = Σ_b ((Σ e)² − Σ (constant + factor·e))·scale_b.

    The products of different rows of a bin, if the second sum is that of the rows'
    squares.
    """
    for r in range(len(errors)):
        value = 0.0
        for b in range(len(cuts) - 1):
            total, squares = 0.0, 0.0
            for a in range(cuts[b], cuts[b + 1]):
                e = errors[r, a]
                total += e
                squares += constant[a] + factor[a] * e
            value += (total * total - squares) * scale[b]
        found[r] = value


@pairs_between.in_numpy
def _pairs_between(errors: Floats, constant: Floats, factor: Floats, cuts: Indices, scale: Floats, found: Any) -> None:
    totals, spread = np.zeros((len(errors), len(scale))), np.zeros(len(constant))
    _sums_between(errors, cuts, totals)
    spread[cuts[0] : cuts[-1]] = np.repeat(scale, np.diff(cuts))
    squares = np.einsum("a,a->", spread, constant) + np.einsum("ra,a->r", errors, spread * factor)
    found[:] = np.einsum("rb,rb,b->r", totals, totals, scale) - squares


@compiled
def fading_pairs(errors: Any, fades: Any, found: Any) -> None:
    """found[r] = Σ_ab e_a e_b κ(a, b), with κ the product of the fades between a and b.

    A Laplace kernel on sorted predictions.
    """
    for r in range(len(errors)):
        value, left = 0.0, 0.0
        for a in range(len(fades)):
            left *= fades[a]
            e = errors[r, a]
            value += e * (e + 2.0 * left)
            left += e
        found[r] = value


@fading_pairs.in_numpy
def _fading_pairs(errors: Floats, fades: Floats, found: Any) -> None:
    lefts = np.empty((len(fades), len(errors)))
    left = np.zeros(len(errors))
    for fade, e, before in zip(fades.tolist(), np.ascontiguousarray(errors.T), lefts, strict=True):
        np.multiply(left, fade, out=before)
        np.add(before, e, out=left)
    found[:] = np.einsum("ra,ra->r", errors, errors + 2.0 * lefts.T)


@compiled
def rising_gains(hits: Any, weight: Any, found: Any) -> None:
    """found[r] = the log-likelihood of the rising rates that fit the hits of draw r best.

    Neighbouring bins are pooled until their rates rise.
    """
    pooled, size = np.empty(len(weight)), np.empty(len(weight))
    for r in range(len(hits)):
        k = 0
        for b in range(len(weight)):
            pooled[k], size[k] = hits[r, b], weight[b]
            k += 1
            while k > 1 and pooled[k - 2] * size[k - 1] >= pooled[k - 1] * size[k - 2]:
                pooled[k - 2] += pooled[k - 1]
                size[k - 2] += size[k - 1]
                k -= 1
        total = 0.0
        for j in range(k):
            yes, no = pooled[j], size[j] - pooled[j]
            if yes > 0.0:
                total += yes * np.log(yes / size[j])
            if no > 0.0:
                total += no * np.log(no / size[j])
        found[r] = total


def _rising_gains(hits: Floats, weight: Floats, found: Any) -> None:
    """All draws step by step: each has a stack of pools, of which the last two are joined while their rates fall."""
    n, bins = hits.shape
    pooled, size, start = np.zeros(n * bins), np.ones(n * bins), bins * np.arange(n)
    top = start - 1  # the place of each draw's last pool
    for b in range(bins):
        top += 1
        pooled[top], size[top] = hits[:, b], weight[b]
        left = np.flatnonzero(top > start)
        while len(left):
            last = top[left]
            y, w, before_y, before_w = pooled[last], size[last], pooled[last - 1], size[last - 1]
            falls = before_y * w >= y * before_w
            left, before = left[falls], last[falls] - 1
            pooled[before], size[before] = (before_y + y)[falls], (before_w + w)[falls]
            top[left] = before
            left = left[before > start[left]]
    k = top - start + 1
    kept = (np.arange(bins) < k[:, None]).ravel()
    yes, size = pooled[kept], size[kept]
    no = size - yes
    gains = [np.where(part > 0, part * np.log(np.where(part > 0, part, size) / size), 0.0) for part in (yes, no)]
    found[:] = np.add.reduceat(gains[0] + gains[1], np.cumsum(k) - k)


rising_gains.in_numpy(_rising_gains, COMPILE_FROM_STATES)


@compiled
def class_sums(labels: Any, table: Any, sums: Any) -> None:
    """sums[r, y_i] += table[i, y_i], a few numbers per class."""
    for r in range(len(labels)):
        for i in range(labels.shape[1]):
            for j in range(table.shape[2]):
                sums[r, labels[r, i], j] += table[i, labels[r, i], j]


@class_sums.in_numpy
def _class_sums(labels: Any, table: Floats, sums: Floats) -> None:
    n, classes, width = sums.shape
    places = (labels + classes * np.arange(n)[:, None]).ravel()
    flat, at = table.ravel(), width * _places(labels, classes).ravel()
    for j in range(width):
        sums[:, :, j] += np.bincount(places, flat.take(at + j), n * classes).reshape(n, classes)


def _places(labels: Any, classes: int) -> Any:
    """Where the entries [i, y_i] of a table stand when it is laid flat."""
    return labels + classes * np.arange(labels.shape[1])


@compiled
def class_hits(labels: Any, slots: Any, weights: Any, hits: Any) -> None:
    """hits[r, slots[i, y_i]] += w_i: weight of each class in each of its bins."""
    for r in range(len(labels)):
        for i in range(labels.shape[1]):
            hits[r, slots[i, labels[r, i]]] += weights[i]


@class_hits.in_numpy
def _class_hits(labels: Any, slots: Any, weights: Floats, hits: Floats) -> None:
    places = slots.ravel().take(_places(labels, slots.shape[1])) + hits.shape[1] * np.arange(len(labels))[:, None]
    every = np.broadcast_to(weights, labels.shape)
    hits += np.bincount(places.ravel(), every.ravel(), hits.size).reshape(hits.shape)


@compiled
def picked_sums(labels: Any, table: Any, found: Any) -> None:
    """found[r] = Σ_i table[i, y_i]."""
    for r in range(len(labels)):
        total = 0.0
        for i in range(labels.shape[1]):
            total += table[i, labels[r, i]]
        found[r] = total


@picked_sums.in_numpy
def _picked_sums(labels: Any, table: Floats, found: Any) -> None:
    found[:] = table.ravel().take(_places(labels, table.shape[1])).sum(axis=1)


@any_order
def weighed_sums(errors: Any, factors: Any, found: Any) -> None:
    """found[r, f] += Σ factors[f]·e."""
    for r in range(len(errors)):
        for f in range(len(factors)):
            total = 0.0
            for a in range(errors.shape[1]):
                total += factors[f, a] * errors[r, a]
            found[r, f] += total


@weighed_sums.in_numpy
def _weighed_sums(errors: Floats, factors: Floats, found: Floats) -> None:
    found += np.einsum("ra,fa->rf", errors, factors)  # not BLAS, whose threads would compete


@compiled
def same_class_pairs(kappa: Any, labels: Any, n_classes: int, found: Any) -> None:
    """found[r] = Σ κ_ij over pairs i ≠ j of rows with the same label, κ symmetric."""
    n = labels.shape[1]
    members = np.empty(n, np.intp)
    for r in range(len(labels)):
        ends = np.zeros(n_classes + 1, np.intp)
        for i in range(n):
            ends[labels[r, i] + 1] += 1
        for k in range(n_classes):
            ends[k + 1] += ends[k]
        places = ends.copy()
        for i in range(n):
            members[places[labels[r, i]]] = i
            places[labels[r, i]] += 1
        total = 0.0
        for k in range(n_classes):
            for a in range(ends[k], ends[k + 1]):
                for b in range(ends[k], a):
                    total += kappa[members[a], members[b]]
        found[r] = 2.0 * total


@same_class_pairs.in_numpy
def _same_class_pairs(kappa: Floats, labels: Any, n_classes: int, found: Any) -> None:
    found[:] = 0.0
    for k in range(n_classes):
        chosen = (labels == k).astype(np.float64)
        _turned_pairs(kappa, chosen, one := np.empty(len(labels)))
        found += one


@compiled
def turned_pairs(pairs: Any, signs: Any, found: Any) -> None:
    """found[r] = Σ s_i s_j h_ij over pairs i ≠ j, h symmetric."""
    n = len(pairs)
    for r in range(len(signs)):
        total = 0.0
        for i in range(n):
            row = 0.0
            for j in range(i):
                row += signs[r, j] * pairs[i, j]
            total += signs[r, i] * row
        found[r] = 2.0 * total


@turned_pairs.in_numpy
def _turned_pairs(pairs: Floats, signs: Floats, found: Any) -> None:
    different = pairs - np.diag(np.diag(pairs))
    found[:] = np.einsum("ri,ri->r", np.einsum("ri,ij->rj", signs, different), signs)
