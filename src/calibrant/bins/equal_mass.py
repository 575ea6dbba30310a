"""Equal-mass bins: edges at the empirical quantiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant.bins.binning import BinRule
from calibrant.inputs import check_choice, check_count
from calibrant.kernels.rows.buckets import bucketed, worth_buckets
from calibrant.kernels.rows.pooling import cut_squares, cut_sums, mass_cuts, mass_pieces
from calibrant.methods import method
from calibrant.predictions import Event
from calibrant.problems import InputError
from calibrant.state.bin_sums import BinSums
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices


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
        `"split"` cuts the rows, stably sorted, at floor(i·n/n_bins), as several
        packages do.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.EqualMass(10)
    EqualMass(n_bins=10, ties='keep')
    """

    n_bins: int = 15
    ties: Literal["keep", "split"] = "keep"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_bins", check_count(self.n_bins))
        check_choice("ties", self.ties, ("keep", "split"))

    def collect(self, event: Event) -> BinSums:
        """Per-bin sums; many rows are put in buckets and sorted only where a cut falls inside one."""
        if self.ties == "split":
            return self._split(event)
        if worth_buckets(event.probs, event.outcomes, event.weights):
            pieces = mass_pieces(bucketed(event.probs, event.outcomes), self.n_bins)
            if pieces is not None:
                cuts = mass_cuts(pieces.below, self.n_bins, 0.0)
                return self._state(pieces.between(cuts), pieces.last, cuts, event.n)
        return self.collect_sorted(event)

    def collect_sorted(self, event: Event) -> BinSums:
        """The same from rows pooled by equal prediction: one sort, then sums over runs."""
        cuts = self._pooled_cuts(event)
        squares = cut_squares(event.pooled, cuts)
        return replace(self._state(cut_sums(event.pooled, cuts), event.pooled.values, cuts, event.n), squares=squares)

    def edges_of(self, event: Event) -> Floats:
        """The last prediction of each bin, between 0 and 1."""
        found = self.collect(event)
        return np.append(found.low[0], found.high[0, -1])

    def index(self, event: Event) -> Indices:
        """Bin of each row."""
        if self.ties == "keep":
            cuts = self._pooled_cuts(event)
            position = np.searchsorted(event.pooled.values, event.probs.astype(np.float64), side="left")
        else:
            cuts = self._row_cuts(event)
            position = np.empty(len(event.probs), dtype=np.intp)
            position[np.argsort(event.probs, kind="stable")] = np.arange(len(event.probs))
        return np.searchsorted(cuts[1:-1], position, side="right")

    def _pooled_cuts(self, event: Event) -> Indices:
        return mass_cuts(event.pooled.below(), self.n_bins, event.pooled.allowance)

    def _split(self, event: Event) -> BinSums:
        cuts = self._row_cuts(event)
        order = np.argsort(event.probs, kind="stable")
        probs, outcomes = event.probs[order].astype(np.float64), event.outcomes[order].astype(np.float64)
        sums = cut_sums(Pooled(probs, np.ones(event.n), outcomes), cuts)
        return self._state(sums, probs, cuts, event.n)

    def _row_cuts(self, event: Event) -> Indices:
        if event.weights is not None:
            raise InputError("bins", "must keep ties with counts or weights", "it has ties='split'", "Use ties='keep'")
        return np.arange(self.n_bins + 1, dtype=np.intp) * event.n // self.n_bins

    def _state(self, sums: Floats, values: Floats, cuts: Indices, n: int) -> BinSums:
        """A bin's ends are the last prediction of the bin below and its own last prediction."""
        edges = np.concatenate([[0.0], values[np.maximum(cuts[1:-1] - 1, 0)], [1.0]])
        edges[1:-1][cuts[1:-1] == 0] = 0.0
        return BinSums(sums[None], edges[None, :-1], edges[None, 1:], n, self)

    def describe(self) -> str:
        return f"{self.n_bins} equal-mass bins" + (", ties split" if self.ties == "split" else "")
