"""Bins between edges that the user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from calibrant.bins.binning import BinRule
from calibrant.inputs import check_choice, floats
from calibrant.methods import method
from calibrant.predictions import Event
from calibrant.problems import InputError
from calibrant.types import Array, Floats, Indices


@method("binning", name="edges", state="bin sums")
@dataclass(frozen=True, slots=True)
class Edges(BinRule):
    """Bins between the given edges.

    Parameters
    ----------
    edges
        At least two increasing numbers that cover [0, 1].
    closed
        Which end belongs to a bin. The outer edge that would be left open belongs to
        its end bin, unless `ends=False`.
    ends
        False: rows exactly on the open outer edge count in n but are in no bin, as in
        some published code.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.Edges([0, 0.5, 0.9, 1])
    Edges(edges=(0.0, 0.5, 0.9, 1.0), closed='right', ends=True)
    """

    mergeable: ClassVar[bool] = True

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

    def edges_of(self, event: Event) -> Floats:  # noqa: ARG002
        """The given edges."""
        return np.array(self.edges)

    def place(self, probs: Array, edges: Floats) -> Indices:
        """Bin of each probability; −1 or n_bins for those in no bin."""
        side: Literal["left", "right"] = "left" if self.closed == "right" else "right"
        index = np.searchsorted(edges, probs.astype(np.float64, copy=False), side=side) - 1
        return np.clip(index, 0, self.n_bins - 1) if self.ends else index

    def describe(self) -> str:
        return f"{self.n_bins} given bins" + (" closed on the left" if self.closed == "left" else "")
