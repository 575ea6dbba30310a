"""Rules that cut [0, 1] into bins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from calibrant.inputs import check_count
from calibrant.kernels.sums.bin_sums import CHUNK, index_sums
from calibrant.methods import methods
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.state.bin_sums import BinSums, stacked
from calibrant.types import Array, Floats, Indices


@runtime_checkable
class Binning(Protocol):
    """What estimators need of a rule for bins; `BinRule` has all of it but the edges."""

    @property
    def mergeable(self) -> bool:
        """Are the bins fixed before the data are seen?"""

    def collect(self, event: Event) -> BinSums:
        """Per-bin sums of the event's rows."""

    def collect_classes(self, predictions: Predictions) -> BinSums:
        """The same for the `class k` event of every class."""

    def index(self, event: Event) -> Indices:
        """Bin of each row; outside 0 … B−1 for rows in no bin."""

    def describe(self) -> str:
        """The rule in a few words."""


class BinRule(ABC):
    """A rule for bins, given by its edges; bins are closed on the right.

    A rule of your own is a frozen dataclass with `edges_of`. It can be passed as
    `bins=` wherever a rule is taken, and registered with
    `calibrant.extend.method("binning")`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import calibrant as cal, numpy as np
    >>> from calibrant.extend import BinRule
    >>> @dataclass(frozen=True)
    ... class Halves(BinRule):
    ...     cut: float = 0.5
    ...     def edges_of(self, event):
    ...         return np.array([0, self.cut, 1])
    >>> round(cal.binned_error([0, 1, 1], [0.2, 0.6, 0.8], bins=Halves()).value, 6)
    0.266667
    """

    __slots__ = ()

    mergeable: ClassVar[bool] = False
    """are the bins fixed before the data are seen, so that sums of parts can be added?"""

    @abstractmethod
    def edges_of(self, event: Event) -> Floats:
        """The edges of the bins for this event: increasing, from 0 to 1."""

    def place(self, probs: Array, edges: Floats) -> Indices:
        """Bin of each probability between these edges."""
        return np.searchsorted(edges[1:-1], probs.astype(np.float64, copy=False), side="left")

    def index(self, event: Event) -> Indices:
        """Bin of each row; outside 0 … B−1 for rows in no bin."""
        return self.place(event.probs, self.edges_of(event))

    def cuts_in(self, event: Event) -> Indices:
        """Where each bin begins, and the last one ends, among rows that are sorted by prediction."""
        return _cuts_by_index(self, event)

    def collect(self, event: Event) -> BinSums:
        """Per-bin sums of the event's rows, block by block; rows in no bin count as `outside`."""
        edges = self.edges_of(event)
        padded = self._padded(event, event.weights, edges)
        squares = None if event.squares is None else self._padded(event, event.squares, edges)[None, 1:-1]
        outside = float(padded[0, 0] + padded[-1, 0])
        return BinSums(padded[None, 1:-1], edges[None, :-1], edges[None, 1:], event.n, self, outside, squares)

    def _padded(self, event: Event, weights: Array | None, edges: Floats) -> Floats:
        """The sums of all bins, with one more at either end for rows in no bin."""
        padded = np.zeros((len(edges) + 1, 4))
        for start in range(0, len(event.probs), CHUNK):
            rows = slice(start, start + CHUNK)
            cells, w = self.place(event.probs[rows], edges) + 1, None if weights is None else weights[rows]
            padded += index_sums(cells, event.probs[rows], event.outcomes[rows], w, len(padded))
        return padded

    def collect_classes(self, predictions: Predictions) -> BinSums:
        """Per-bin sums of the `class k` event of every class, each with its own bins."""
        parts = [self.collect(event) for event in predictions.class_events()]
        if any(part.outside for part in parts):
            raise InputError("bins", "must hold every row class by class", "some rows are in no bin", "Use ends=True")
        return stacked(parts, self)

    def describe(self) -> str:
        """The rule in a few words."""
        return repr(self)


def sorted_cuts(bins: Binning, event: Event) -> Indices:
    """Where the bins of any rule begin, and the last one ends, among rows that are sorted by prediction."""
    return bins.cuts_in(event) if isinstance(bins, BinRule) else _cuts_by_index(bins, event)


def _cuts_by_index(bins: Any, event: Event) -> Indices:
    return np.searchsorted(bins.index(event), np.arange(bins.collect(event).sums.shape[1] + 1))


def bins_of(bins: Any, usual: Callable[[int], Binning]) -> Binning:
    """The user's `bins=`: a rule as it is, a number as that many bins of the method's usual rule."""
    if type(bins) is int or (isinstance(bins, int | np.integer) and not isinstance(bins, bool)):
        return _usual(usual, int(bins))
    if isinstance(bins, type) or not isinstance(bins, BinRule | Binning):
        expected = "must be a number of bins, EqualWidth(m), EqualMass(m) or Edges([...])"
        raise InputError("bins", expected, f"it is {bins!r}")
    return bins


@lru_cache(maxsize=64)
def _usual(rule: Callable[[int], Binning], n_bins: int) -> Binning:
    return rule(check_count(n_bins, "bins"))


def settings(bins: Any) -> dict[str, Any]:
    """A rule for bins as plain data."""
    named = fields(bins) if is_dataclass(type(bins)) else ()
    return {"rule": type(bins).__name__, **{each.name: getattr(bins, each.name) for each in named}}


def from_settings(data: dict[str, Any]) -> Any:
    """The rule that an estimate's `settings["rule"]` describes."""
    rules = {each.function.__name__: each.function for each in methods("binning").values()}
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "rule"}
    return rules[data["rule"]](**options)
