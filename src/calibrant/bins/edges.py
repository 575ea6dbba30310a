"""Bins between edges that the user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, floats
from calibrant.kernels.sums.bin_sums import CHUNK, index_sums
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.state.bin_sums import BinSums, stacked


@dataclass(frozen=True, slots=True)
class Edges:
    """Bins between the given edges, which must increase and cover [0, 1].

    `closed` says to which side an edge belongs. The outer edge that would be left open belongs to its end bin, unless
    `ends=False`: then rows exactly on it count in n but fall into no bin, as in some published code.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.Edges([0, 0.5, 0.9, 1])
    Edges(edges=(0.0, 0.5, 0.9, 1.0), closed='right', ends=True)
    """

    edges: tuple[float, ...]
    closed: Literal["right", "left"] = "right"
    ends: bool = True

    def __post_init__(self) -> None:
        edges = floats(self.edges, "edges").astype(np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise InputError("edges", "must be at least two numbers that increase", f"it is {self.edges!r}")
        if edges[0] > 0 or edges[-1] < 1:
            raise InputError("edges", "must cover [0, 1]", f"they run from {edges[0]} to {edges[-1]}", "Add 0 and 1")
        check_choice("closed", self.closed, ("right", "left"))
        object.__setattr__(self, "edges", tuple(edges.tolist()))

    @property
    def n_bins(self) -> int:
        return len(self.edges) - 1

    @property
    def mergeable(self) -> bool:
        return True

    def index(self, event: Event) -> NDArray[np.intp]:
        """Bin of each row; −1 or n_bins for rows that fall into none."""
        probs = event.probs.astype(np.float64, copy=False)
        index = np.searchsorted(np.array(self.edges), probs, side="left" if self.closed == "right" else "right") - 1
        return np.clip(index, 0, self.n_bins - 1) if self.ends else index

    def collect(self, event: Event) -> BinSums:
        """Sums of the event's rows in each bin."""
        padded = np.zeros((self.n_bins + 2, 4))
        for start in range(0, event.n, CHUNK):
            rows = slice(start, start + CHUNK)
            weights = None if event.weights is None else event.weights[rows]
            part = Event(event.probs[rows], event.outcomes[rows], weights, event.name)
            padded += index_sums(self.index(part) + 1, part.probs, part.outcomes, weights, self.n_bins + 2)
        edges = np.array(self.edges)[None]
        outside = float(padded[0, 0] + padded[-1, 0])
        return BinSums(padded[None, 1:-1], edges[:, :-1], edges[:, 1:], event.n, self, outside)

    def collect_classes(self, predictions: Predictions) -> BinSums:
        """The same for every class."""
        parts = [self.collect(event) for event in predictions.class_events()]
        if any(part.outside for part in parts):
            raise InputError("bins", "with ends=False cannot be used class by class", advice="Use ends=True")
        return stacked(parts, self)

    def describe(self) -> str:
        return f"{self.n_bins} given bins" + (" closed on the left" if self.closed == "left" else "")
