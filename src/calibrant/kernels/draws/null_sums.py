"""Statistics of errors in order of the predictions.

Sums between cuts, extremes of the running sum, sums over pairs.

All take a block of replicates, `(R, A)`, and fill one row per replicate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import any_order, compiled


@compiled
def sums_between(errors: Any, cuts: Any, sums: Any) -> None:
    """sums[r, b] = Σ of the errors from cut b to before cut b + 1."""
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
            sums[r, b] = (t0 + t1) + (t2 + t3)


@compiled
def courses(errors: Any, gaps: Any, found: Any) -> None:
    """found[r] = (highest, lowest, last, Σ gap·C, Σ gap·C²) of the running sum C.

    It is read only where the prediction rises.

    `gaps` is the distance to the next prediction: 0 inside a tie. The end counts as a
    rise for the highest and the lowest.
    """
    for r in range(len(errors)):
        total, high, low, first, second = 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(len(gaps)):
            total += errors[r, a]
            gap = gaps[a]
            if gap > 0.0:
                high, low = max(high, total), min(low, total)
                first += gap * total
                second += gap * total * total
        high, low = max(high, total), min(low, total)
        found[r, 0], found[r, 1], found[r, 2], found[r, 3], found[r, 4] = high, low, total, first, second


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


@compiled
def class_hits(labels: Any, slots: Any, weights: Any, hits: Any) -> None:
    """hits[r, slots[i, y_i]] += w_i: weight of each class in each of its bins."""
    for r in range(len(labels)):
        for i in range(labels.shape[1]):
            hits[r, slots[i, labels[r, i]]] += weights[i]


@compiled
def picked_sums(labels: Any, table: Any, found: Any) -> None:
    """found[r] = Σ_i table[i, y_i]."""
    for r in range(len(labels)):
        total = 0.0
        for i in range(labels.shape[1]):
            total += table[i, labels[r, i]]
        found[r] = total


@any_order
def weighed_sums(errors: Any, factors: Any, found: Any) -> None:
    """found[r, f] = Σ factors[f]·e."""
    for r in range(len(errors)):
        for f in range(len(factors)):
            total = 0.0
            for a in range(errors.shape[1]):
                total += factors[f, a] * errors[r, a]
            found[r, f] = total


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
