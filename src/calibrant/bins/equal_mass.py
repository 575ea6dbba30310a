"""Equal-mass bins: edges at the empirical quantiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from calibrant.bins.binning import BinRule
from calibrant.inputs import check_choice, check_count
from calibrant.kernels.rows.buckets import worth_buckets
from calibrant.kernels.rows.pooling import cut_squares, cut_sums, mass_cuts, mass_pieces, pooled_cuts
from calibrant.methods import method
from calibrant.predictions import Event
from calibrant.problems import InputError
from calibrant.state.bin_sums import BinSums
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices

Ties = Literal["keep", "split", "caltrain", "array_split"]
"""What happens to equal predictions where a cut falls among them, and how rows are shared out if they are split."""


def check_ties(ties: Any) -> Ties:
    """One of the names."""
    return check_choice("ties", ties, ("keep", "split", "caltrain", "array_split"))


def row_cuts(n: int, n_bins: int, ties: Ties) -> Indices:
    """Where n sorted rows are cut, equal ones or not, from 0 to n."""
    steps = np.arange(n_bins + 1, dtype=np.intp)
    if ties == "array_split":  # the first n mod m bins hold one row more
        return steps * (n // n_bins) + np.minimum(steps, n % n_bins)
    if ties == "caltrain":  # the row of rank r is in bin ⌊r/n·m⌋, in floating point as there
        bins = np.minimum(np.floor(np.arange(n) / n * n_bins), n_bins - 1)
        return np.searchsorted(bins, steps, side="left")
    return steps * n // n_bins


@method("binning", name="mass", state="pooled")
@dataclass(frozen=True, slots=True)
class EqualMass(BinRule):
    """Bins that hold about the same number of rows each.

    The i-th cut comes after the largest prediction whose cumulative share of the rows
    is at most i/n_bins. Equal predictions are never split, so the order of the rows
    does not matter; where ties make that uneven, bins are uneven and some may be empty.

    Parameters
    ----------
    n_bins
        How many.
    ties
        `"keep"` never splits equal predictions. The others cut the sorted rows, equal
        ones or not, by their ranks 0 … n−1; equal predictions stay in the order they
        came. `"split"`: at floor(i·n/n_bins), as Nixon et al. do. `"caltrain"`: rank r is
        in bin floor(r/n·n_bins), as in the code that Roelofs et al. released.
        `"array_split"`: as numpy.array_split, the first bins one row larger, as in the
        code of Kängsepp et al.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.EqualMass(10)
    EqualMass(n_bins=10, ties='keep')
    """

    n_bins: int = 15
    ties: Ties = "keep"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_bins", check_count(self.n_bins))
        check_ties(self.ties)

    def collect(self, event: Event) -> BinSums:
        """Per-bin sums; many rows are put in buckets and sorted only where a cut falls inside one."""
        if self.ties != "keep":
            return self.collect_sorted(event)
        if worth_buckets(event.probs, event.outcomes, event.weights):
            pieces = mass_pieces(event.buckets, self.n_bins)
            if pieces is not None:
                cuts = mass_cuts(pieces.below, self.n_bins, 0.0)
                return self._state(pieces.between(cuts), pieces.last, cuts, event.n)
        return self.collect_sorted(event)

    def collect_sorted(self, event: Event) -> BinSums:
        """The same from rows pooled by equal prediction, or from sorted rows: one sort, then sums over runs."""
        if self.ties != "keep":
            order, cuts = self._ranked(event)
            probs, outcomes = event.probs[order].astype(np.float64), event.outcomes[order].astype(np.float64)
            return self._state(cut_sums(Pooled(probs, np.ones(event.n), outcomes), cuts), probs, cuts, event.n)
        cuts = self._pooled_cuts(event)
        squares = cut_squares(event.pooled, cuts)
        return replace(self._state(cut_sums(event.pooled, cuts), event.pooled.values, cuts, event.n), squares=squares)

    def edges_of(self, event: Event) -> Floats:
        """The last prediction of each bin, between 0 and 1."""
        found = self.collect(event)
        return np.append(found.low[0], found.high[0, -1])

    def ranges(self, event: Event) -> tuple[Floats, Floats]:
        """The smallest and the largest prediction of each bin; 0 for bins without rows."""
        if self.ties == "keep":
            values, cuts = event.pooled.values, self._pooled_cuts(event)
        else:
            order, cuts = self._ranked(event)
            values = event.probs[order].astype(np.float64)
        filled = np.diff(cuts) > 0
        low, high = (values[np.clip(at, 0, len(values) - 1)] for at in (cuts[:-1], cuts[1:] - 1))
        return np.where(filled, low, 0.0), np.where(filled, high, 0.0)

    def index(self, event: Event) -> Indices:
        """Bin of each row."""
        if self.ties == "keep":
            cuts = self._pooled_cuts(event)
            position = np.searchsorted(event.pooled.values, event.probs.astype(np.float64), side="left")
        else:
            order, cuts = self._ranked(event)
            position = np.empty(len(event.probs), dtype=np.intp)
            position[order] = np.arange(len(event.probs))
        return np.searchsorted(cuts[1:-1], position, side="right")

    def cuts_in(self, event: Event) -> Indices:
        """Where each bin begins, and the last one ends, among rows that are sorted by prediction."""
        if self.ties != "keep":
            return BinRule.cuts_in(self, event)
        first = np.append(event.pooled.values, np.inf)[self._pooled_cuts(event)]
        return np.searchsorted(event.probs.astype(np.float64, copy=False), first, side="left")

    def _pooled_cuts(self, event: Event) -> Indices:
        return pooled_cuts(event.pooled, self.n_bins)

    def _ranked(self, event: Event) -> tuple[Indices, Indices]:
        """The rows in order of their prediction, and the cuts between them."""
        if event.weights is not None:
            found = f"it has ties={self.ties!r}"
            raise InputError("bins", "must keep ties with counts or weights", found, "Use ties='keep'")
        return np.argsort(event.probs, kind="stable"), row_cuts(event.n, self.n_bins, self.ties)

    def _state(self, sums: Floats, values: Floats, cuts: Indices, n: int) -> BinSums:
        """A bin's ends are the last prediction of the bin below and its own last prediction."""
        edges = np.concatenate([[0.0], values[np.maximum(cuts[1:-1] - 1, 0)], [1.0]])
        edges[1:-1][cuts[1:-1] == 0] = 0.0
        return BinSums(sums[None], edges[None, :-1], edges[None, 1:], n, self)

    def describe(self) -> str:
        ways = {"keep": "", "split": ", ties split", "caltrain": ", ties split as caltrain does"}
        return f"{self.n_bins} equal-mass bins" + ways.get(self.ties, ", ties split as numpy.array_split does")
