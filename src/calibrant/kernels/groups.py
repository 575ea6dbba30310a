"""Rows pooled by equal prediction: all that a method on one event needs to know, whatever the order of the rows.

A group g has a value v_g, a weight w_g = Σw and hits h_g = Σwy. A row repeated and a row of weight two are then the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.ordered import group_starts, in_order

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Distinct predictions in increasing order, with the weight and the hits of each."""

    values: Floats
    weight: Floats
    hits: Floats
    whole: bool = True
    """are all weights whole numbers?"""
    single: bool = False
    """is every group one row of weight 1?"""

    @property
    def total(self) -> float:
        return float(len(self.weight)) if self.single else float(self.weight.sum())

    @property
    def residual(self) -> Floats:
        """Σ w(p − y) of each group."""
        return self.weight * self.values - self.hits

    def below(self) -> Floats:
        """Weight of each group and all before it."""
        return np.arange(1.0, len(self.weight) + 1) if self.single else np.cumsum(self.weight)

    @property
    def allowance(self) -> float:
        """How far a cumulative weight may be off by rounding."""
        return 0.0 if self.whole else 1e-12 * self.total


def grouped(probs: NDArray[Any], outcomes: NDArray[Any], weights: NDArray[Any] | None) -> Groups:
    """One sort, then sums over runs of equal predictions. Groups of weight 0 are left out."""
    p, y, w = in_order(probs, outcomes, weights)
    if w is None and (p[1:] != p[:-1]).all():
        return Groups(p.astype(np.float64, copy=False), np.ones(len(p)), y.astype(np.float64), single=True)
    starts = group_starts(p)
    values = p[starts].astype(np.float64)
    if w is None:
        weight = np.diff(np.append(starts, len(p))).astype(np.float64)
        return Groups(values, weight, np.add.reduceat(y, starts, dtype=np.float64))
    weight, hits = np.add.reduceat(w, starts), np.add.reduceat(w * y, starts)
    kept = weight > 0
    return Groups(values[kept], weight[kept], hits[kept], bool((w == np.floor(w)).all()))


def mass_cuts(below: Floats, n_bins: int, allowance: float | None = None) -> NDArray[np.intp]:
    """Equal-mass bins as cuts 0 = c_0 ≤ … ≤ c_m = G between groups, from the cumulative weights.

    The i-th cut comes after the last group whose cumulative weight is at most i/m of the whole, give or take the allowance
    for rounding: nothing for whole numbers.
    """
    if allowance is None:
        allowance = 0.0 if (below == np.floor(below)).all() else 1e-12 * float(below[-1])
    targets = np.arange(1, n_bins) * below[-1] / n_bins
    inner = np.searchsorted(below, targets + allowance, side="right")
    return np.concatenate([[0], inner, [len(below)]]).astype(np.intp)


def width_cuts(values: Floats, n_bins: int) -> NDArray[np.intp]:
    """Equal-width bins, closed on the right, as cuts between groups."""
    cuts = np.searchsorted(values, np.arange(n_bins + 1) / n_bins, side="right")
    cuts[0] = 0
    return cuts


def cut_sums(groups: Groups, cuts: NDArray[np.intp]) -> Floats:
    """The sums (n, P, Q, Y) of `bin_sums` between consecutive cuts; zeros where a bin is empty."""
    filled = np.flatnonzero(np.diff(cuts))
    sums = np.zeros((len(cuts) - 1, 4))
    wp = groups.weight * groups.values
    for column, terms in enumerate((groups.weight, wp, wp * groups.values, groups.hits)):
        sums[filled, column] = np.add.reduceat(terms, cuts[filled])
    return sums
