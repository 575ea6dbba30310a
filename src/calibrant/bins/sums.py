"""The state of every binned method: additive sums a bin, for one event or for one event a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError


@runtime_checkable
class Binning(Protocol):
    """What an estimator needs of a rule for bins."""

    @property
    def mergeable(self) -> bool:
        """Are the bins fixed before the data are seen?"""

    def collect(self, event: Event) -> BinSums:
        """Sums of the event's rows in each bin."""

    def collect_classes(self, predictions: Predictions) -> BinSums:
        """The same for the `class k` event of every class."""

    def index(self, event: Event) -> NDArray[np.intp]:
        """Bin of each row; outside 0 … B−1 for rows that fall into none."""

    def describe(self) -> str:
        """The rule in a few words."""


@dataclass(frozen=True, slots=True, eq=False)
class BinSums:
    """Sums (n, P, Q, Y) for each of C events and B bins, with the bins' ends. Empty bins are rows of zeros."""

    sums: NDArray[np.float64]
    """(C, B, 4): Σw, Σwp, Σwp², Σwy"""
    low: NDArray[np.float64]
    """(C, B)"""
    high: NDArray[np.float64]
    n: int
    """rows seen"""
    bins: Any
    outside: float = 0.0
    """weight of rows that fall into no bin"""

    def merge(self, other: BinSums) -> BinSums:
        """The state of both parts together."""
        if not self.bins.mergeable:
            raise InputError(
                "bins", "cannot be merged", f"{self.bins.describe()} depend on all rows", "Use EqualWidth or Edges"
            )
        if self.bins != other.bins or self.sums.shape != other.sums.shape:
            raise InputError("bins", "must be the same in both parts", f"{self.bins} is not {other.bins}")
        return BinSums(
            self.sums + other.sums, self.low, self.high, self.n + other.n, self.bins, self.outside + other.outside
        )

    @property
    def weight(self) -> NDArray[np.float64]:
        return self.sums[..., 0]

    @property
    def total(self) -> NDArray[np.float64]:
        """(C,): weight of all rows, those outside every bin included."""
        total: NDArray[np.float64] = self.weight.sum(axis=-1) + self.outside
        return total

    @property
    def mean_prob(self) -> NDArray[np.float64]:
        """(C, B); 0 in empty bins."""
        return self._per_weight(1)

    @property
    def label_rate(self) -> NDArray[np.float64]:
        return self._per_weight(3)

    @property
    def mean_variance(self) -> NDArray[np.float64]:
        """(C, B): mean of p(1−p), the variance of an outcome if the forecasts are right."""
        return np.maximum(self._per_weight(1) - self._per_weight(2), 0)

    @property
    def prob_variance(self) -> NDArray[np.float64]:
        """(C, B): spread of the forecasts within the bin."""
        return np.maximum(self._per_weight(2) - self._per_weight(1) ** 2, 0)

    def _per_weight(self, column: int) -> NDArray[np.float64]:
        return np.divide(self.sums[..., column], self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)


def stacked(states: Sequence[BinSums], bins: Any) -> BinSums:
    """One state of several events, each with its own bins; shorter ones are filled up with empty bins."""
    most = max(state.sums.shape[1] for state in states)

    def filled(array: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.pad(array, [(0, 0), (0, most - array.shape[1]), *[(0, 0)] * (array.ndim - 2)])

    parts = ([filled(getattr(state, name)) for state in states] for name in ("sums", "low", "high"))
    sums, low, high = (np.concatenate(part) for part in parts)
    return BinSums(sums, low, high, states[0].n, bins)


def settings(bins: Any) -> dict[str, Any]:
    """A rule for bins as plain data."""
    return {"rule": type(bins).__name__, **asdict(bins)}


def from_settings(data: dict[str, Any]) -> Any:
    """The rule that `settings` described."""
    import calibrant.bins as rules

    options = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "rule"}
    return getattr(rules, data["rule"])(**options)
