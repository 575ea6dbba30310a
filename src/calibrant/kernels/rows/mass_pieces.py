"""Rows in order, in pieces just fine enough for equal-mass bins: whole buckets, and
single predictions where a cut falls inside one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.kernels.rows.buckets import HIGH, Buckets, bucket_index
from calibrant.kernels.rows.pooling import mass_targets, pooled
from calibrant.kernels.rows.radix import sorted_keys
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Stretches of predictions, in increasing order."""

    sums: Floats
    """(M, 4): the sums (n, P, Q, Y) of `bin_sums`"""
    last: Floats
    """the highest prediction of each"""

    @property
    def below(self) -> Floats:
        """Rows of each piece and all before it."""
        return np.cumsum(self.sums[:, 0])

    def between(self, cuts: Indices) -> Floats:
        """The sums between consecutive cuts; zeros where a bin is empty."""
        filled = np.flatnonzero(np.diff(cuts))
        sums = np.zeros((len(cuts) - 1, 4))
        sums[filled] = np.add.reduceat(self.sums, cuts[filled], axis=0)
        return sums


def mass_pieces(buckets: Buckets, n_bins: int) -> Pieces | None:
    """Pieces for that many equal-mass bins; None where most rows would have to be
    sorted anyway."""
    filled = buckets.filled
    below = np.cumsum(buckets.table[filled, 0])
    cut = filled[np.unique(np.searchsorted(below, mass_targets(below[-1], n_bins), side="right"))]
    cut = cut[buckets.mixed[cut]]
    if 2 * buckets.table[cut, 0].sum() > len(buckets.probs):
        return None
    opened = buckets.mask(cut)
    groups = pooled(*sorted_keys(buckets.probs, buckets.outcomes, buckets.index, opened))
    closed = filled[~opened[filled]]
    order = np.argsort(np.append(closed, bucket_index(groups.values)), kind="stable")
    sums = np.concatenate([buckets.sums(closed), group_sums(groups)])
    return Pieces(sums[order], np.append(buckets.table[closed, HIGH], groups.values)[order])


def group_sums(groups: Pooled) -> Floats:
    """(G, 4): the sums of single groups."""
    wp = groups.weight * groups.values
    return np.stack([groups.weight, wp, wp * groups.values, groups.hits], axis=1)
