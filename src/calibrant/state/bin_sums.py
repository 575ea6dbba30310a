"""The state of every binned method: four sums per bin, for one event or for one event per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibrant.problems import InputError
from calibrant.results import BinTable
from calibrant.types import Floats

LEAST = 1e-150
"""Less than any weight; its square can be divided by."""


@dataclass(eq=False)
class BinSums:
    """Sums (n, P, Q, Y) for each of C events and B bins, with the bins' ends. Empty bins are rows of zeros."""

    sums: Floats
    """(C, B, 4): Σw, Σwp, Σwp², Σwy"""
    low: Floats
    """(C, B)"""
    high: Floats
    n: int
    """rows seen"""
    bins: Any
    outside: float = 0.0
    """weight of rows that fall into no bin"""
    squares: Floats | None = None
    """the same sums with squared weights, for variances; None where weights are numbers of rows"""

    def merge(self, other: BinSums) -> BinSums:
        """The state of both parts."""
        if not self.bins.mergeable:
            raise InputError(
                "bins", "cannot be merged", f"{self.bins.describe()} depend on all rows", "Use EqualWidth or Edges"
            )
        if self.bins != other.bins or self.sums.shape != other.sums.shape:
            raise InputError("bins", "must be the same in both parts", f"{self.bins} is not {other.bins}")
        return BinSums(
            self.sums + other.sums,
            self.low,
            self.high,
            self.n + other.n,
            self.bins,
            self.outside + other.outside,
            None if self.squares is None and other.squares is None else self.spread + other.spread,
        )

    @property
    def spread(self) -> Floats:
        """(C, B, 4): the sums that variances are made of."""
        return self.sums if self.squares is None else self.squares

    @cached_property
    def rows(self) -> Floats:
        """(C, B): how many rows of equal weight would tell as much as those of the bin."""
        spread = self.spread[..., 0]
        return np.divide(self.weight**2, spread, out=np.zeros_like(self.weight), where=spread > 0)

    @cached_property
    def weight(self) -> Floats:
        return self.sums[..., 0]

    @cached_property
    def total(self) -> Floats:
        """(C,): weight of all rows, those outside every bin included."""
        total: Floats = np.add.reduce(self.weight, axis=-1)
        return total + self.outside if self.outside else total

    @cached_property
    def mean_prob(self) -> Floats:
        """(C, B); 0 in empty bins."""
        return self._means[..., 1]

    @cached_property
    def label_rate(self) -> Floats:
        return self._means[..., 3]

    @cached_property
    def mean_variance(self) -> Floats:
        """(C, B): mean of p(1−p), the variance of an outcome if the forecasts are right."""
        return np.maximum(self._means[..., 1] - self._means[..., 2], 0)

    @property
    def prob_variance(self) -> Floats:
        """(C, B): spread of the forecasts within the bin."""
        return np.maximum(self._means[..., 2] - self._means[..., 1] ** 2, 0)

    @cached_property
    def rate_variance(self) -> Floats:
        """(C, B): variance of the observed rate if the forecasts are right; 0 in empty bins."""
        if self.squares is None:
            return self.mean_variance / self._divisor
        sums = np.maximum(self.squares[..., 1] - self.squares[..., 2], 0)
        return sums / self._divisor**2

    def table(self, event: int = 0) -> BinTable:
        """The bins of one event that are not empty."""
        columns = [self.low, self.high, self.weight, self.mean_prob, self.label_rate]
        columns += [] if self.squares is None else [self.rows]
        filled = self.weight[event] > 0
        rows = slice(None) if filled.all() else filled
        return BinTable(*(column[event][rows] for column in columns))

    def mean_over_rows(self, terms: Floats) -> Floats:
        """(C,): Σ n_k/n of the terms of the bins."""
        mean: Floats = np.add.reduce(self.shares * terms, axis=-1)
        return mean

    def gap_over_rows(self) -> Floats:
        """(C,): Σ n_k/n · |p̄_k − ȳ_k|, of which the n_k cancel."""
        sums = self.sums
        gaps = sums[..., 1] - sums[..., 3]
        total = np.add.reduce(sums[..., 0], axis=-1)
        found: Floats = np.add.reduce(np.abs(gaps, gaps), axis=-1) / (total + self.outside if self.outside else total)
        return found

    @cached_property
    def shares(self) -> Floats:
        """(C, B): the share of all rows that each bin holds."""
        shares: Floats = self.weight / self.total[:, None]
        return shares

    @cached_property
    def _means(self) -> Floats:
        """(C, B, 4): the sums per weight; 0 in empty bins."""
        means: Floats = self.sums / self._divisor[..., None]
        return means

    @cached_property
    def _divisor(self) -> Floats:
        """(C, B): the weight of each bin; positive for empty ones, whose sums are 0."""
        return np.maximum(self.weight, LEAST)


def stacked(states: Sequence[BinSums], bins: Any) -> BinSums:
    """One state of several events, each with its own bins; shorter ones are filled up with empty bins."""
    most = max(state.sums.shape[1] for state in states)

    def filled(array: Floats) -> Floats:
        return np.pad(array, [(0, 0), (0, most - array.shape[1]), *[(0, 0)] * (array.ndim - 2)])

    parts = ([filled(getattr(state, name)) for state in states] for name in ("sums", "low", "high", "spread"))
    sums, low, high, spread = (np.concatenate(part) for part in parts)
    return BinSums(sums, low, high, states[0].n, bins, squares=None if states[0].squares is None else spread)
