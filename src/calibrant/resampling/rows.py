"""The rows of one event as a test sees them: sorted by prediction, pooled where they are equal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Event, Mass, Predictions, cluster_kind, repeats_groups
from calibrant.problems import InputError
from calibrant.state.pooled import Pooled
from calibrant.types import Array, Cluster, Floats, Indices


@dataclass(frozen=True, eq=False)
class Atoms:
    """Pooled rows: `count` rows of prediction `p` and weight `unit`, `hits` with label 1; sorted by p."""

    p: Floats
    unit: Floats
    count: NDArray[np.int64]
    hits: Floats
    cluster: NDArray[np.int64] | None
    """number of the row's cluster, where rows may depend on each other"""
    view: str
    n: int
    """rows given"""
    dependence: Cluster | None = None
    """how rows of a cluster may depend on each other; None for independent rows"""
    assumed_independent: bool = False
    """there are groups of several rows, and the user did not say whether these rows depend on each other"""
    marks: Floats | None = None
    """what stands for `p` in the seed of the draws, where p is a mean, whose rounding depends on the order of rows"""

    @classmethod
    def single(cls, p: Floats, hits: Floats, view: str, n: int, unit: Floats | None = None) -> Atoms:
        """Independent single rows, sorted by p, of weight 1 unless weights are given."""
        return cls(p, np.ones(len(p)) if unit is None else unit, np.ones(len(p), np.int64), hits, None, view, n)

    @cached_property
    def errors(self) -> Floats:
        """Σ w(p − y) of each atom."""
        return np.asarray(self.unit * (self.count * self.p - self.hits))

    @cached_property
    def weight(self) -> Floats:
        return np.asarray(self.unit * self.count)

    @cached_property
    def total(self) -> float:
        return float(self.weight.sum())

    @cached_property
    def variance(self) -> Floats:
        """Variance of each error, if the model is calibrated and rows are independent."""
        return np.asarray(self.unit**2 * self.count * self.p * (1 - self.p))

    @cached_property
    def chance(self) -> float:
        """Σp(1 − p) over rows; of as many rows of equal weight as tell as much, where weights differ."""
        fourth = float((self.unit**2 * self.variance).sum())
        return float(self.variance.sum()) ** 2 / fourth if fourth > 0 else 0.0

    @cached_property
    def gaps(self) -> Floats:
        """Distance to the next prediction, that of the last to 1; 0 inside a tie."""
        return np.diff(self.p, append=1.0)

    @cached_property
    def impossible(self) -> int:
        """Atoms with labels to which the predictions give probability 0."""
        return int((((self.p == 0) & (self.hits > 0)) | ((self.p == 1) & (self.hits < self.count))).sum())

    @cached_property
    def fixed(self) -> bool:
        """Do rows have weights, which are held fixed?"""
        return bool((self.unit != 1).any())

    @cached_property
    def plain(self) -> bool:
        """Is every atom one row of weight 1?"""
        return not self.fixed and bool((self.count == 1).all())

    @property
    def content(self) -> tuple[Array | None, ...]:
        """The data, from which the seed of the null draws is made."""
        # ones in place of the weights, whose rounding would change the seed with their scale
        marks = self.p if self.marks is None else self.marks
        return marks, np.ones(len(self.p)), self.count, self.hits, self.cluster

    @property
    def settings(self) -> dict[str, Any]:
        """How clusters and weights were read, where there are any that matter."""
        cluster = {} if self.dependence is None else {"cluster": self.dependence}
        return cluster | ({"weights": "fixed"} if self.fixed else {})

    def labels(self, hits: Floats) -> NDArray[np.uint8]:
        """One label per single row, of which the first `hits` of each atom are 1."""
        place = np.arange(int(self.count.sum())) - np.repeat(np.cumsum(self.count) - self.count, self.count)
        return (place < np.repeat(hits, self.count)).astype(np.uint8)

    @cached_property
    def event(self) -> Event:
        """The same as an event, for rules that cut it into bins; distinct predictions are not pooled again."""
        none = np.zeros(len(self.p), np.uint8)
        kept = {}
        squares = self.unit * self.weight if self.fixed else None
        if (self.gaps[:-1] > 0).all():
            sums = self.p, self.weight, none.astype(np.float64)
            kept["pooled"] = Pooled(*sums, not self.fixed, self.plain, squares)
        weights = None if self.plain else self.weight
        return Event(self.p, none, weights, self.view, kept, int(self.count.sum()), squares)

    @cached_property
    def cuts(self) -> dict[Any, Indices]:
        """Where bins begin, by the rule for bins: filled by those who look for them."""
        return {}


def atoms_of(predictions: Predictions, view: Any, cluster: Any = None) -> Atoms:
    """The event of a view as atoms. Equal rows are pooled unless weights or clusters keep them apart."""
    refuse_soft(predictions)
    event, kind = predictions.event(view), cluster_kind(predictions, cluster)
    assumed = assumes_independence(predictions, cluster)
    if kind is None and event.squares is None:
        pooled = event.pooled
        counts = np.round(pooled.weight).astype(np.int64)
        rows = pooled.values, np.ones(len(counts)), counts, pooled.hits
        return Atoms(*rows, None, event.name, event.n, None, assumed, pooled.low)
    kept = slice(None) if event.weights is None else event.weights > 0
    codes = cluster_codes(predictions)[kept] if kind else None
    return single_rows(event, kept, kind, codes, assumed)[0]


def single_rows(
    event: Event,
    kept: Any,
    kind: Cluster | None,
    codes: NDArray[np.int64] | None,
    assumed: bool = False,
    cells: NDArray[np.int64] | None = None,
) -> tuple[Atoms, Indices]:
    """Every row with its copies an atom of its own, and the order in which they were sorted.

    They are sorted by prediction, then by all else, so that the given order does not matter.
    """
    p, y = event.probs[kept].astype(np.float64), event.outcomes[kept].astype(np.float64)
    mass = Mass(np.ones(len(p))) if event.mass is None else event.mass.rows(kept)
    unit, count = mass.unit, mass.counts
    if kind == "same":  # copies of a row share their cluster's number, and thus their label
        unit, count = mass.weights, np.ones(len(p))
    order = np.lexsort([key for key in (y, count, unit, codes, cells, p) if key is not None])
    cluster = None if codes is None else codes[order]
    counted = count[order].astype(np.int64), (count * y)[order]
    return Atoms(p[order], unit[order], *counted, cluster, event.name, event.n, kind, assumed), order


def refuse_soft(predictions: Predictions) -> None:
    """Soft labels have no distribution that the predictions would fix."""
    if predictions.soft:
        found = "they are shares (soft labels), whose distribution is unknown"
        advice = "Use hard labels, or an estimator with its interval"
        raise InputError("labels", "must be classes for a test of calibration", found, advice)


def refuse_many(rows: float, most: float) -> None:
    """Refuse counts that stand for more rows than can be held in memory."""
    if rows > most:
        advice = "Pass weights= if they say how much each row matters, rather than how often it occurred"
        raise InputError("counts", f"must stand for at most {most:.3g} rows", f"they stand for {rows:.3g}", advice)


def assumes_independence(predictions: Predictions, cluster: Any) -> bool:
    """Are there groups of several rows, and did the user not say how these depend on each other?"""
    return cluster is None and repeats_groups(predictions)


def cluster_codes(predictions: Predictions) -> NDArray[np.int64]:
    """The clusters as numbers from 0."""
    assert predictions.groups is not None
    return np.unique(predictions.groups, return_inverse=True)[1].ravel().astype(np.int64)
