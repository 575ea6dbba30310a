"""A yes/no question with its forecasts: what most methods work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calibrant.inputs import FloatArray
from calibrant.kernels.rows.buckets import Buckets, bucketed
from calibrant.kernels.rows.pooling import grouped
from calibrant.predictions.mass import Weighed
from calibrant.state.pooled import Pooled
from calibrant.state.state import State
from calibrant.types import Array


@dataclass(slots=True, eq=False)
class Event(Weighed):
    """A yes/no question: the predicted probability that it happens, and whether it did, per row; nobody writes to it."""

    probs: FloatArray
    outcomes: Array
    """uint8 zeros and ones, or float64 shares for soft labels"""
    weights: FloatArray | None
    name: str
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)
    counted: int | None = None
    """rows that these stand for, where some were pooled, repeated or left out"""
    squares: FloatArray | None = None
    """what the variance of a sum needs, where weights are not numbers of rows; see `Mass`"""

    @property
    def n(self) -> int:
        """Number of rows, those that a state has pooled included; `len(probs)` are held."""
        return len(self.probs) if self.counted is None else self.counted

    @property
    def pooled(self) -> Pooled:
        """Rows pooled by equal prediction, in order; sorted once, when first asked for."""
        found: Pooled = self.kept("pooled", lambda: grouped(self.probs, self.outcomes, self.weights, self.squares))
        return found

    @property
    def buckets(self) -> Buckets:
        """Sums of many rows in fine buckets, added up when first asked for."""
        found: Buckets = self.kept("buckets", lambda: bucketed(self.probs, self.outcomes))
        return found

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """What was made of these rows before, or is made now: several estimators share the dear parts of their work."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def named(self, name: str) -> Event:
        """The same question under another name."""
        return replace(self, name=name)

    @property
    def hard(self) -> bool:
        """Is every outcome a plain yes or no?"""
        return self.outcomes.dtype == np.uint8


def event_of(state: State, view: str) -> Event:
    """The event whose rows a state has pooled: weighted rows, at most two per prediction."""
    pooled = state.pooled(view)
    probs, outcomes, weights = pooled.rows()
    return Event(probs.astype(state.precision, copy=False), outcomes, weights, view, {"pooled": pooled}, state.n)
