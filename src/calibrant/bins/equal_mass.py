"""Equal-mass bins: edges at the empirical quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.bins.sums import BinSums, check_choice, check_count
from calibrant.kernels.ordered import group_starts, in_order, run_sums
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError


@dataclass(frozen=True, slots=True)
class EqualMass:
    """`n_bins` bins that hold about as many rows each.

    The i-th cut comes after the largest prediction whose cumulative share of the rows is at most i/n_bins. Equal
    predictions are never split, so the order of the rows does not matter; when ties make that uneven, bins are uneven
    and some may be empty. `ties="split"` cuts the rows, stably sorted, at floor(i·n/n_bins), as several packages do.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.EqualMass(10)
    EqualMass(n_bins=10, ties='keep')
    """

    n_bins: int = 15
    ties: Literal["keep", "split"] = "keep"

    def __post_init__(self) -> None:
        check_count(self.n_bins)
        check_choice("ties", self.ties, ("keep", "split"))

    @property
    def mergeable(self) -> bool:
        return False

    def collect(self, event: Event) -> BinSums:
        """Sums of the event's rows in each bin: one sort, then sums over runs."""
        probs, outcomes, weights = self._sorted(event)
        cuts = self.cuts(probs, weights)
        return _state(probs, outcomes, weights, cuts, self)

    def collect_classes(self, predictions: Predictions) -> BinSums:
        """The same for every class, each with its own bins."""
        parts = [self.collect(event) for event in predictions.class_events()]
        stack = [np.concatenate([getattr(part, name) for part in parts]) for name in ("sums", "low", "high")]
        return BinSums(stack[0], stack[1], stack[2], predictions.n, self)

    def index(self, event: Event) -> NDArray[np.intp]:
        """Bin of each row."""
        probs, _, weights = self._sorted(event)
        if self.ties == "keep":
            position = np.searchsorted(probs, event.probs, side="left")
        else:
            position = np.empty(event.n, dtype=np.intp)
            position[np.argsort(event.probs, kind="stable")] = np.arange(event.n)
        return np.searchsorted(self.cuts(probs, weights)[1:-1], position, side="right")

    def cuts(self, probs: NDArray[Any], weights: NDArray[Any] | None) -> NDArray[np.intp]:
        """Positions 0 = c_0 ≤ … ≤ c_m = n in the sorted rows at which bins begin and end."""
        n, m = len(probs), self.n_bins
        if weights is None:
            cuts = np.arange(m + 1, dtype=np.intp) * n // m
            if self.ties == "keep":
                cuts[1:-1] = np.searchsorted(probs, probs[np.minimum(cuts[1:-1], n - 1)], side="left")
            return cuts
        starts = group_starts(probs)
        below = np.cumsum(np.add.reduceat(weights, starts))
        rounding = 1e-12 * below[-1]
        n_groups = np.searchsorted(below, np.arange(m + 1) * below[-1] / m + rounding, side="right")
        n_groups[0], n_groups[-1] = 0, len(starts)
        ends: NDArray[np.intp] = np.append(starts, n)
        return ends[n_groups]

    def _sorted(self, event: Event) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        if self.ties == "keep":
            return in_order(event.probs, event.outcomes, event.weights)
        if event.weights is not None:
            raise InputError("weights", "cannot be used with ties='split'", advice="Use ties='keep', or repeat rows")
        order = np.argsort(event.probs, kind="stable")
        return event.probs[order], event.outcomes[order], None

    def describe(self) -> str:
        return f"{self.n_bins} equal-mass bins" + (", ties split" if self.ties == "split" else "")


def _state(
    probs: NDArray[Any], outcomes: NDArray[Any], weights: NDArray[Any] | None, cuts: NDArray[np.intp], bins: EqualMass
) -> BinSums:
    """Sums between the cuts; a bin's ends are the last prediction of the bin below and its own last prediction."""
    filled = np.flatnonzero(np.diff(cuts))
    sums = np.zeros((len(cuts) - 1, 4))
    sums[filled] = run_sums(probs, outcomes, weights, cuts[np.append(filled, len(cuts) - 1)])
    edges = np.concatenate([[0.0], probs[np.maximum(cuts[1:-1] - 1, 0)].astype(np.float64), [1.0]])
    edges[1:-1][cuts[1:-1] == 0] = 0.0
    return BinSums(sums[None], edges[None, :-1], edges[None, 1:], len(probs), bins)
