"""Many data sets of the same size at once: sorted together, binned together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import BinSums, EqualMass, EqualWidth
from calibrant.kernels.sums.rising_bins_batched import cuts_of, rising_counts
from calibrant.predictions import Event

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Batch:
    """R data sets of n rows each: what was said and what happened, `(R, n)`."""

    probs: Floats
    outcomes: NDArray[np.uint8]

    @property
    def shape(self) -> tuple[int, int]:
        """Data sets and rows."""
        count, n = self.probs.shape
        return count, n

    def events(self) -> Iterator[Event]:
        """The data sets one by one."""
        for probs, outcomes in zip(self.probs, self.outcomes, strict=True):
            yield Event(probs, outcomes, None, "binary")

    @cached_property
    def ordered(self) -> tuple[Floats, NDArray[np.uint8]]:
        """Rows of each data set in the order of their predictions."""
        order = np.argsort(self.probs, axis=1)
        return np.take_along_axis(self.probs, order, axis=1), np.take_along_axis(self.outcomes, order, axis=1)

    @cached_property
    def below(self) -> Floats:
        """`(R, n + 1, 4)`: sums of 1, p, p² and y over the rows before each place, in order."""
        p, y = self.ordered
        found = np.zeros((p.shape[0], p.shape[1] + 1, 4))
        np.cumsum(np.stack([np.ones_like(p), p, p * p, y.astype(np.float64)], axis=2), axis=1, out=found[:, 1:])
        return found

    @cached_property
    def first(self) -> Indices:
        """`(R, n + 1)`: where the ties begin to which the row at each place belongs; n at the end."""
        p, _ = self.ordered
        places = np.arange(p.shape[1])
        new = np.concatenate([np.ones((len(p), 1), dtype=bool), p[:, 1:] != p[:, :-1]], axis=1)
        starts = np.maximum.accumulate(np.where(new, places, 0), axis=1)
        return np.concatenate([starts, np.full((len(p), 1), p.shape[1])], axis=1)

    def _mass_cuts(self, n_bins: int) -> Indices:
        """`(R, B + 1)`: places where bins of equal mass begin and end; equal predictions are never split."""
        return self.first[:, np.arange(n_bins + 1) * self.shape[1] // n_bins]

    def sums(self, bins: Any) -> BinSums:
        """The state of any rule for bins that keeps ties together, one event a data set."""
        if isinstance(bins, EqualMass):
            return self._between(self._mass_cuts(bins.n_bins), bins)
        return self._in_fixed(bins)

    def _between(self, cuts: Indices, bins: Any) -> BinSums:
        sums = np.diff(np.take_along_axis(self.below, cuts[:, :, None], axis=1), axis=1)
        last = np.take_along_axis(self.ordered[0], np.maximum(cuts - 1, 0), axis=1)
        edges = np.where(cuts > 0, last, 0.0)
        edges[:, -1] = 1.0
        return BinSums(sums, edges[:, :-1], edges[:, 1:], self.shape[1], bins)

    def _in_fixed(self, bins: Any) -> BinSums:
        """Bins fixed before the data are seen: all data sets in one pass, each with bins of its own."""
        count, n = self.shape
        edges = bins.edges() if isinstance(bins, EqualWidth) else np.asarray(bins.edges)
        most = len(edges) - 1
        flat = Event(self.probs.ravel(), self.outcomes.ravel(), None, "binary")
        place = (bins.index(flat).reshape(count, n) + most * np.arange(count)[:, None]).ravel()
        p, y = flat.probs, flat.outcomes.astype(np.float64)
        columns = [np.bincount(place, weights, count * most) for weights in (None, p, p * p, y)]
        sums = np.stack(columns, axis=1).reshape(count, most, 4).astype(np.float64)
        low, high = (np.broadcast_to(side, (count, most)) for side in (edges[:-1], edges[1:]))
        return BinSums(sums, low, high, n, bins)

    def distances(self, bins: Any) -> Floats:
        """`(R, n)`: how far each prediction is from the rate of its bin."""
        state, rows = self.sums(bins), np.arange(self.shape[0])[:, None]
        if isinstance(bins, EqualMass):
            opened = np.zeros((self.shape[0], self.shape[1] + 1), dtype=np.intp)
            np.add.at(opened, (rows, self._mass_cuts(bins.n_bins)[:, 1:-1]), 1)
            return np.abs(self.ordered[0] - state.label_rate[rows, opened.cumsum(axis=1)[:, :-1]])
        flat = Event(self.probs.ravel(), self.outcomes.ravel(), None, "binary")
        return np.abs(self.probs - state.label_rate[rows, bins.index(flat).reshape(self.shape)])

    def swept(self, rule: str) -> BinSums:
        """The state of as many bins of equal mass or width as keep the rates rising, data set by data set."""
        counts = rising_counts(*self._places(rule), self.first, self.below[:, :, 3])
        cuts = cuts_of(*self._places(rule), self.first, counts, int(counts.max()))
        return self._between(cuts, SWEPT[rule](int(counts.max())))

    def _places(self, rule: str) -> tuple[Floats, float]:
        """Where each row stands among bins of equal mass or width, and where the last bin ends."""
        if rule == "width":
            return self.ordered[0], 1.0
        return np.broadcast_to(np.arange(1.0, self.shape[1] + 1), self.shape), float(self.shape[1])


SWEPT: dict[str, Any] = {"mass": EqualMass, "width": EqualWidth}
