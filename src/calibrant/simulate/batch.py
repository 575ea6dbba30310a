"""Many data sets of the same size at once: sorted and binned in one pass, and the estimators that have such a form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import BinSums, Edges, EqualMass, EqualWidth, bins_of
from calibrant.estimate.binned import LEVEL, Options, binned_error, each_error, ece
from calibrant.estimate.chosen import RULES, rule_name
from calibrant.estimate.label_binned import label_binned_error
from calibrant.estimate.sweep import sweep_error
from calibrant.infer.squared import squared_ends
from calibrant.kernels.sums.rising_bins import cuts_of, rising_counts
from calibrant.methods import method, methods
from calibrant.norms import rooted
from calibrant.predictions import Event, Predictions
from calibrant.types import Floats, Indices


@dataclass(frozen=True, eq=False)
class Batch:
    """R data sets of n rows each: predictions and outcomes, `(R, n)`."""

    probs: Floats
    outcomes: NDArray[np.uint8]

    @cached_property
    def data_sets(self) -> list[Predictions]:
        """The data sets one by one."""
        return [
            Predictions.borrowed(outcomes, probs) for probs, outcomes in zip(self.probs, self.outcomes, strict=True)
        ]

    @cached_property
    def ordered(self) -> tuple[Floats, NDArray[np.uint8]]:
        """Rows of each data set in the order of their predictions."""
        order = np.argsort(self.probs, axis=1)
        return np.take_along_axis(self.probs, order, axis=1), np.take_along_axis(self.outcomes, order, axis=1)

    @cached_property
    def below(self) -> Floats:
        """`(R, n + 1, 4)`: sums of 1, p, p² and y over the rows before each place, in order."""
        p, y = self.ordered
        sums = np.zeros((p.shape[0], p.shape[1] + 1, 4))
        np.cumsum(np.stack([np.ones_like(p), p, p * p, y.astype(np.float64)], axis=2), axis=1, out=sums[:, 1:])
        return sums

    @cached_property
    def first(self) -> Indices:
        """`(R, n + 1)`: where the ties begin to which the row at each place belongs; n at the end."""
        p, _ = self.ordered
        new = np.concatenate([np.ones((len(p), 1), dtype=bool), p[:, 1:] != p[:, :-1]], axis=1)
        starts = np.maximum.accumulate(np.where(new, np.arange(p.shape[1]), 0), axis=1)
        return np.concatenate([starts, np.full((len(p), 1), p.shape[1])], axis=1)

    def sums(self, bins: Any) -> BinSums:
        """Per-bin sums for a rule that `is_batched` accepts, one event per data set."""
        if isinstance(bins, EqualMass):
            return self._between(self._mass_cuts(bins.n_bins), bins)
        count, n = self.probs.shape
        edges = bins.edges() if isinstance(bins, EqualWidth) else np.asarray(bins.edges)
        n_bins = len(edges) - 1
        # The edges are fixed, so every data set gets its own range of indices and one pass counts them all.
        place = (self._fixed_index(bins) + n_bins * np.arange(count)[:, None]).ravel()
        p, y = self.probs.ravel(), self.outcomes.ravel().astype(np.float64)
        columns = [np.bincount(place, weights, count * n_bins) for weights in (None, p, p * p, y)]
        sums = np.stack(columns, axis=1).reshape(count, n_bins, 4).astype(np.float64)
        low, high = (np.broadcast_to(side, (count, n_bins)) for side in (edges[:-1], edges[1:]))
        return BinSums(sums, low, high, n, bins)

    def distances(self, bins: Any) -> Floats:
        """`(R, n)`: distance of each prediction from the observed rate of its bin, in any order of rows."""
        rates, rows = self.sums(bins).label_rate, np.arange(len(self.probs))[:, None]
        if not isinstance(bins, EqualMass):
            return np.abs(self.probs - rates[rows, self._fixed_index(bins)])
        opened = np.zeros_like(self.first)
        np.add.at(opened, (rows, self._mass_cuts(bins.n_bins)[:, 1:-1]), 1)
        return np.abs(self.ordered[0] - rates[rows, opened.cumsum(axis=1)[:, :-1]])

    def swept(self, rule: str) -> BinSums:
        """Per-bin sums for as many bins of equal mass or width as keep the rates rising, data set by data set."""
        n = self.probs.shape[1]
        # Where each row stands among the bins, and where the last bin ends.
        places, end = self.ordered[0], 1.0
        if rule == "mass":
            places, end = np.broadcast_to(np.arange(1.0, n + 1), self.probs.shape), float(n)
        counts = rising_counts(places, end, self.first, self.below[:, :, 3])
        most = int(counts.max())
        return self._between(cuts_of(places, end, self.first, counts, most), RULES[rule](most))

    def _mass_cuts(self, n_bins: int) -> Indices:
        """`(R, B + 1)`: places where bins of equal mass begin and end; equal predictions are never split."""
        return self.first[:, np.arange(n_bins + 1) * self.probs.shape[1] // n_bins]

    def _fixed_index(self, bins: Any) -> Indices:
        flat = Event(self.probs.ravel(), self.outcomes.ravel(), None, "binary")
        return np.reshape(bins.index(flat), self.probs.shape)

    def _between(self, cuts: Indices, bins: Any) -> BinSums:
        sums = np.diff(np.take_along_axis(self.below, cuts[:, :, None], axis=1), axis=1)
        last = np.take_along_axis(self.ordered[0], np.maximum(cuts - 1, 0), axis=1)
        edges = np.where(cuts > 0, last, 0.0)
        edges[:, -1] = 1.0
        return BinSums(sums, edges[:, :-1], edges[:, 1:], self.probs.shape[1], bins)


Values = tuple[Floats, Floats, Floats]
"""Value and both ends of the interval for each data set, `(R,)`; the ends are nan where
the estimator has no interval.
"""


def batched(function: Callable[..., Any], options: Mapping[str, Any], batch: Batch) -> Values | None:
    """Estimates on all data sets of a batch; None where no batched form knows the options.

    A batched form is registered with `@method("batched", name=…, of=estimator)`. It
    takes a `Batch` and, as keywords, the options it understands, and returns None for
    values of them that it does not.
    """
    form = next((each.function for each in methods("batched").values() if each.of is function), None)
    if form is None or not options.keys() <= inspect.signature(form).parameters.keys():
        return None
    return cast("Values | None", form(batch, **options))


def is_batched(bins: Any) -> bool:
    """Can a batch be binned by this rule? Not if it is of another package, splits ties or drops rows."""
    known = type(bins) in (EqualMass, EqualWidth, Edges)
    return known and getattr(bins, "ties", "keep") == "keep" and getattr(bins, "ends", True)


@method("batched", name="binned", of=binned_error)
def batched_binned(
    batch: Batch, *, bins: Any = 15, norm: Any = 1, debiased: bool = False, root: bool = True, clip: bool = True
) -> Values | None:
    """`binned_error`."""
    rule = bins_of(bins, EqualMass)
    return _finish(batch.sums(rule), norm, debiased, root, clip) if is_batched(rule) else None


@method("batched", name="ece", of=ece)
def batched_ece(batch: Batch, *, bins: Any = 15) -> Values | None:
    """`ece`."""
    return batched_binned(batch, bins=bins_of(bins, EqualWidth))


@method("batched", name="sweep", of=sweep_error)
def batched_sweep(
    batch: Batch, *, bins: Any = EqualMass, norm: Any = 1, debiased: bool = False, root: bool = True, clip: bool = True
) -> Values:
    """`sweep_error`."""
    return _finish(batch.swept(rule_name(bins)), norm, debiased, root, clip)


@method("batched", name="label_binned", of=label_binned_error)
def batched_label_binned(batch: Batch, *, bins: Any = 15, norm: Any = 1, root: bool = True) -> Values | None:
    """`label_binned_error`."""
    rule = bins_of(bins, EqualMass)
    if not is_batched(rule):
        return None
    distances = batch.distances(rule)
    values = distances.max(axis=1) if norm == "max" else (distances**norm).mean(axis=1)
    return _without_interval(rooted(values, norm, root))


def _finish(state: BinSums, norm: Any, debiased: bool, root: bool, clip: bool) -> Values:
    values = each_error(state, Options(norm, debiased, root, clip))
    if norm != 2 or not debiased:
        return _without_interval(values)
    low, high = squared_ends(state, LEVEL)
    return (values, np.sqrt(low), np.sqrt(high)) if root else (values, low, high)


def _without_interval(values: Floats) -> Values:
    none = np.full(len(values), np.nan)
    return values, none, none
