"""Rows pooled by equal prediction: all that a method on one event needs to know, whatever the order of the rows.

Group g has a prediction v_g, a weight w_g = Σw and hits h_g = Σwy. A row repeated and a row of weight two are the same.
Where there are too many predictions to keep, those of a fine bucket are pooled too, and v_g is their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from calibrant.problems import InputError
from calibrant.results import Record, kind
from calibrant.results.constraints import BIG, Above, AtMost, Holds, Rising, Shape, Within
from calibrant.types import Floats, Indices


def ends_in_order(values: Floats, low: Floats | None = None, high: Floats | None = None, **_: object) -> bool:
    """Do groups lie between their ends, one after the other? Both ends are kept, or neither."""
    if low is None or high is None:
        return low is None and high is None
    return bool((high >= values).all() and (high[:-1] < low[1:]).all())


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Pooled(Record):
    """Distinct predictions in increasing order, with the weight and the hits of each."""

    values: Annotated[Floats, Shape(least=1), Within(0, 1), Rising()]
    weight: Annotated[Floats, Shape("values"), Above(0, BIG)]
    hits: Annotated[Floats, Shape("values"), Within(0, BIG), AtMost("weight")]
    integral: Annotated[
        bool, Holds("needs whole weights", lambda weight, integral, **_: (weight % 1 == 0).all() or not integral)
    ] = True
    """are all weights whole numbers?"""
    single: Annotated[
        bool, Holds("needs weights of 1", lambda weight, single, **_: (weight == 1).all() or not single)
    ] = False
    """is every group one row of weight 1?"""
    squares: Annotated[Floats | None, Shape("values"), Above(0, BIG)] = None
    """Σw² of each group, for variances, where weights are not numbers of rows; else None, and the weight is its own"""
    low: Annotated[
        Floats | None,
        Shape("values"),
        Within(0, 1),
        AtMost("values"),
        Holds("needs `high`", lambda high, **_: high is not None),
    ] = None
    """lowest prediction of each group, where groups are buckets that may hold several; else None"""
    high: Annotated[
        Floats | None,
        Shape("values"),
        Within(0, 1),
        Holds("must be the upper ends of the groups of `low`", ends_in_order),
    ] = None
    """highest prediction of each group; None as `low` is"""

    def __post_init__(self) -> None:
        """Nothing is copied: millions of rows are pooled at a time, and those who pool them own the arrays."""

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Pooled({len(self):,} distinct predictions, weight {self.total:,.6g})"

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(len(self.weight)) if self.single else float(self.weight.sum())

    @property
    def residual(self) -> Floats:
        """Σ w(p − y) of each group."""
        if self.single:
            return np.subtract(self.values, self.hits)
        residual = self.weight * self.values
        residual -= self.hits
        return residual

    @property
    def spread(self) -> Floats:
        """What multiplies p(1 − p) in the variance of each group's hits."""
        return self.weight if self.squares is None else self.squares

    def effective(self, starts: Indices) -> Pooled:
        """Weighted rows as equal ones that tell as much: Kish's number of them in each part of the predictions.

        Parameters
        ----------
        starts
            Where each part begins.
        """
        if self.squares is None:
            return self
        weight, squares = (np.add.reduceat(each, starts) for each in (self.weight, self.squares))
        factor = np.repeat(weight / squares, np.diff(np.append(starts, len(self))))
        return Pooled(self.values, self.weight * factor, self.hits * factor, False)

    def below(self) -> Floats:
        """Weight of each group and all before it."""
        return np.arange(1.0, len(self.weight) + 1) if self.single else np.cumsum(self.weight)

    @property
    def allowance(self) -> float:
        """How far a cumulative weight may be off by rounding."""
        return 0.0 if self.integral else 1e-12 * self.total

    @property
    def coarse(self) -> bool:
        """Are groups buckets, whose predictions are known by their mean and ends?"""
        return self.low is not None

    @property
    def mixed_share(self) -> float:
        """Largest share of the weight in one bucket of different predictions; 0 where every prediction is kept."""
        if self.low is None or self.high is None:
            return 0.0
        return float(self.weight[self.low < self.high].max(initial=0.0)) / self.total

    def coarsened(self) -> Pooled:
        """The predictions of each bucket of `kernels.rows.cells` pooled: bounded in size, sums unchanged."""
        from calibrant.kernels.rows.cells import cell_index  # kernels stand above the tables they fill

        low, high = (self.values if end is None else end for end in (self.low, self.high))
        cells = cell_index(self.values)
        starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
        last = np.append(starts[1:], len(cells)) - 1
        weight, hits, sums = (
            np.add.reduceat(each, starts) for each in (self.weight, self.hits, self.weight * self.values)
        )
        low, high = low[starts], high[last]
        return Pooled(np.clip(sums / weight, low, high), weight, hits, self.integral, low=low, high=high)

    def opened(self, exact: Pooled) -> Pooled:
        """The table with all predictions of some buckets, which must be all of their rows, in the place of the buckets."""
        assert self.low is not None
        assert self.high is not None
        gone = np.isin(np.arange(len(self)), np.searchsorted(self.high, exact.values))
        if self.weight[gone].sum() != exact.total or self.hits[gone].sum() != exact.hits.sum():
            raise InputError("source", "must not change while it is read", "rows of the second pass are others")
        kept = [each[~gone] for each in (self.values, self.weight, self.hits, self.low, self.high)]
        fine = exact.values, exact.weight, exact.hits, exact.values, exact.values
        columns = [np.concatenate(pair) for pair in zip(kept, fine, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        values, weight, hits, low, high = (each[order] for each in columns)
        return Pooled(values, weight, hits, self.integral, low=low, high=high)

    def merge(self, other: Pooled) -> Pooled:
        """Both tables as one: as if all rows had been pooled at once.

        Buckets on either side make buckets of all.
        """
        if self.coarse or other.coarse:
            return _in_buckets(self, other)
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")  # both halves are sorted: a single merge
        values = values[order]
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        weight, hits, squares = (
            np.add.reduceat(np.concatenate(pair)[order], starts)
            for pair in ((self.weight, other.weight), (self.hits, other.hits), (self.spread, other.spread))
        )
        counted = self.squares is None and other.squares is None
        single = self.single and other.single and len(starts) == len(values)
        integral = self.integral and other.integral
        return Pooled(values[starts], weight, hits, integral, single, None if counted else squares)

    def rows(self) -> tuple[Floats, NDArray[np.uint8], Floats]:
        """The table as weighted rows in order: at most two per prediction, one without the event and one with it."""
        weights = np.stack([self.weight - self.hits, self.hits], axis=1).ravel()
        kept = weights > 0
        outcomes = np.tile(np.array([0, 1], np.uint8), len(self))
        return np.repeat(self.values, 2)[kept], outcomes[kept], weights[kept]


def _in_buckets(one: Pooled, other: Pooled) -> Pooled:
    """Two tables as buckets, each bucket's sums added."""
    values, weight, hits = (
        np.concatenate([getattr(table, name) for table in (one, other)]) for name in ("values", "weight", "hits")
    )
    low, high = (
        np.concatenate([table.values if end is None else end for table, end in ends])
        for ends in (((one, one.low), (other, other.low)), ((one, one.high), (other, other.high)))
    )
    order = np.argsort(values, kind="stable")
    # the groups of a bucket stand side by side, as buckets do not overlap; the widest ends are those of the bucket
    low, high = np.minimum.accumulate(low[order][::-1])[::-1], np.maximum.accumulate(high[order])
    joined = Pooled(values[order], weight[order], hits[order], one.integral and other.integral, low=low, high=high)
    return joined.coarsened()
