"""Equal-width bins: edges at i/m."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.arrays import read_only
from calibrant.bins.binning import BinRule
from calibrant.inputs import check_choice, check_count
from calibrant.kernels.rows.pooling import cut_squares, cut_sums, width_cuts
from calibrant.kernels.sums.bin_sums import class_grid_sums, grid_gaps, grid_index, grid_sums, rounded_down
from calibrant.kernels.sums.device_bins import bin_sums
from calibrant.methods import method
from calibrant.predictions import DevicePredictions, Event, Predictions, StatePredictions
from calibrant.problems import InputError
from calibrant.state.bin_sums import BinSums, stacked
from calibrant.state.state import State
from calibrant.types import Array, Floats, Indices

MOST_GRID_BINS = (1 << 16) - 1
"""Above this the kernel's guess of the bin could be off by more than one."""


@method("binning", name="width", state="bin sums")
@dataclass(frozen=True, slots=True)
class EqualWidth(BinRule):
    """Bins of the same width, with edges i/n_bins.

    Predictions are compared as the numbers they are, with i/n_bins in float64: 0.2 lies
    on the edge 1/5, but 0.2 stored as float32 is 0.200000003 and lies above it.

    Parameters
    ----------
    n_bins
        How many.
    closed
        `"right"` puts a prediction that equals an edge into the bin below it and 0 into
        the first; `"left"` puts it into the bin above and 1 into the last.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.EqualWidth(10)
    EqualWidth(n_bins=10, closed='right')
    """

    mergeable: ClassVar[bool] = True

    n_bins: int = 15
    closed: Literal["right", "left"] = "right"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_bins", check_count(self.n_bins))
        if self.closed == "left" and self.n_bins > MOST_GRID_BINS:
            raise InputError(
                "n_bins", f"must be at most {MOST_GRID_BINS} for bins closed on the left", f"it is {self.n_bins}"
            )
        check_choice("closed", self.closed, ("right", "left"))

    def edges_of(self, event: Event) -> Floats:  # noqa: ARG002
        """The same edges for every event."""
        return self.edges()

    def edges(self) -> Floats:
        """The n_bins + 1 edges, correctly rounded."""
        return _edges(self.n_bins)

    def thresholds(self, dtype: Any) -> Array:
        """Edges as `kernels.sums.bin_sums` takes them: bin b is t_b < p ≤ t_(b+1)."""
        return _thresholds(self.n_bins, self.closed, dtype)

    def index(self, event: Event) -> Indices:
        """Bin of each row."""
        if self.n_bins > MOST_GRID_BINS:
            return np.maximum(np.searchsorted(self.edges(), event.probs.astype(np.float64), side="left") - 1, 0)
        return grid_index(event.probs, self.thresholds(event.probs.dtype))

    def cuts_in(self, event: Event) -> Indices:
        """Where each bin begins, and the last one ends, among rows that are sorted by prediction."""
        thresholds = self.thresholds(np.float64)
        return np.searchsorted(event.probs.astype(np.float64, copy=False), thresholds, side="right")

    def collect(self, event: Event) -> BinSums:
        """Per-bin sums of the event's rows, in one pass."""
        if self.n_bins > MOST_GRID_BINS and self.closed == "right":
            return self.collect_sorted(event)
        thresholds = self.thresholds(event.probs.dtype)

        def sums(weights: Array | None) -> Floats:
            return grid_sums(event.probs, event.outcomes, weights, thresholds)[None]

        return self.state_of(sums(event.weights), event.n, None if event.squares is None else sums(event.squares))

    def has_gaps(self, predictions: Predictions) -> bool:
        """Are the sums of the bins added here, row by row, so that their gaps can be too?"""
        there = isinstance(predictions, DevicePredictions) and self._on_device(predictions)
        return self.n_bins <= MOST_GRID_BINS and not there

    def gaps(self, outcomes: Array, probs: Array) -> Floats:
        """P − Y of each bin alone, of few plain rows: it takes a fraction of the time of all sums."""
        return grid_gaps(probs, outcomes, self.thresholds(probs.dtype))

    def collect_sorted(self, event: Event) -> BinSums:
        """The same from rows pooled by equal prediction, for bins closed on the right."""
        pooled = event.pooled
        cuts = width_cuts(pooled.values, self.n_bins)
        return self.state_of(cut_sums(pooled, cuts)[None], event.n, cut_squares(pooled, cuts))

    def collect_classes(self, predictions: Predictions) -> BinSums:
        """The same for every class, in one pass over the matrix; a state's cells are added up."""
        if isinstance(predictions, StatePredictions):
            return self._coarser(predictions.state)
        if (found := self.collect_on_device(predictions, "classwise")) is not None:
            return found
        if self.n_bins > MOST_GRID_BINS:
            return stacked([self.collect_sorted(event) for event in predictions.class_events()], self)
        thresholds = self.thresholds(predictions.probs.dtype)

        def sums(weights: Array | None) -> Floats:
            return class_grid_sums(predictions.probs, predictions.observed, weights, thresholds)

        squares = None if predictions.squares is None else sums(predictions.squares)
        return self.state_of(sums(predictions.weights), predictions.n, squares)

    def collect_on_device(self, predictions: Predictions, view: str) -> BinSums | None:
        """The same of rows on an accelerator, counted there; None for all others, and for rows that have weights."""
        if not (isinstance(predictions, DevicePredictions) and self._on_device(predictions)):
            return None
        given = (predictions.tensor, predictions.codes) if view == "classwise" else predictions.asked(view)
        return self.state_of(bin_sums(*given, self.n_bins).cpu().numpy(), predictions.n)

    def _on_device(self, predictions: DevicePredictions) -> bool:
        return self.closed == "right" and self.n_bins <= MOST_GRID_BINS and predictions.weights is None

    def state_of(self, sums: Floats, n: int, squares: Floats | None = None) -> BinSums:
        """Sums `(C, B, 4)` of n rows as the state of these bins."""
        return BinSums(sums, *_ends(self.n_bins, len(sums)), n, self, squares=squares)

    def _coarser(self, state: State) -> BinSums:
        """The cells of a state's grid, added up to these bins."""
        n_cells = 0 if state.grid is None else state.grid.sums.shape[1]
        if state.grid is None or n_cells % self.n_bins or self.closed == "left":
            raise InputError(
                "bins",
                f"must be EqualWidth, closed on the right, with a divisor of {n_cells} bins for this state",
                f"it is {self!r}",
                f"Collect with n_cells={self.n_bins}",
            )
        sums = state.grid.sums.reshape(-1, self.n_bins, n_cells // self.n_bins, 4).sum(axis=2)
        return self.state_of(sums, state.n)

    def describe(self) -> str:
        return f"{self.n_bins} equal-width bins" + (" closed on the left" if self.closed == "left" else "")


@lru_cache(maxsize=64)
def _edges(n_bins: int) -> Floats:
    edges: Floats = np.arange(n_bins + 1) / n_bins
    return read_only(edges)


@lru_cache(maxsize=64)
def _ends(n_bins: int, n_events: int) -> tuple[Floats, Floats]:
    edges = np.broadcast_to(_edges(n_bins), (n_events, n_bins + 1))
    return edges[:, :-1], edges[:, 1:]


@lru_cache(maxsize=64)
def _thresholds(n_bins: int, closed: str, dtype: Any) -> Array:
    edges = _edges(n_bins)
    if closed == "left":
        edges = np.nextafter(edges, -np.inf)
    inner = rounded_down(edges, dtype)
    inner[0], inner[-1] = -np.inf, np.inf
    return read_only(inner)
