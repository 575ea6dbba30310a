"""Quantile forecasts: some quantiles of each distribution, at the same levels for all rows."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from calibrant.arrays import read_only
from calibrant.forecasts.base import NORMAL_SCORES, Forecasts, checked_levels, checked_matrix, counted
from calibrant.problems import InputError
from calibrant.types import Floats


class QuantileForecasts(Forecasts):
    """Quantiles at the same levels for every row.

    The distribution is taken to be uniform between quantiles. Nothing is known of its
    shape beyond the outermost quantiles: their mass is put on them, and no quantile
    further out can be asked for. The PIT is drawn between the two levels around the
    label, so that a test of it tests the quantiles alone.

    Parameters
    ----------
    labels
        The numbers observed, `(n,)`.
    levels
        The levels of the quantiles, `(q,)`, increasing.
    values
        The quantiles, `(n, q)`; they must not cross.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.
    groups
        The cluster of each row, if rows depend on each other.

    Examples
    --------
    >>> from calibrant.forecasts import QuantileForecasts
    >>> forecasts = QuantileForecasts([1.5, 9.0], [0.25, 0.5, 0.75], [[0, 1, 2], [0, 1, 2]])
    >>> forecasts.cdf(1.5), forecasts.quantile(0.5)
    (array([0.625, 0.625]), array([1., 1.]))
    """

    kind: ClassVar[str] = "quantile"
    per_row: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(
        self, labels: Any, levels: Any, values: Any, *, counts: Any = None, weights: Any = None, groups: Any = None
    ) -> None:
        self.levels: Floats = read_only(checked_levels(levels))
        self.values: Floats = read_only(checked_matrix(values, "values"))
        q, given = len(self.levels), self.values.shape[1]
        if q != given:
            raise InputError("values", f"must have {q} columns, one per level", f"it has {given}")
        crossing = np.diff(self.values, axis=1) < 0
        if crossing.any():
            row, k = (int(i) for i in np.unravel_index(int(np.argmax(crossing)), crossing.shape))
            first, second = (f"{self.values[row, j]} at {self.levels[j]:g}" for j in (k, k + 1))
            found, advice = f"row {row} has {first} and {second}", "np.sort(values, axis=1) if you agree"
            raise InputError("values", "must not fall from one level to the next", found, advice)
        self._fill(labels, len(self.values), counts, weights, groups, values=values)

    def _facts(self) -> list[str]:
        return [counted(len(self.levels), "level")]

    @property
    def outputs(self) -> Floats:
        return self.values

    @property
    def _masses(self) -> Floats:
        """The probabilities of the lowest quantile, of the pieces between quantiles, and of the highest one."""
        return np.diff(self.levels, prepend=0.0, append=1.0)

    @property
    def mean(self) -> Floats:
        v = self.values
        middles = np.concatenate([v[:, :1], (v[:, :-1] + v[:, 1:]) / 2, v[:, -1:]], axis=1)
        return np.asarray(middles @ self._masses)

    @property
    def variance(self) -> Floats:
        v = self.values - self.mean[:, None]
        squares = (v[:, :-1] ** 2 + v[:, :-1] * v[:, 1:] + v[:, 1:] ** 2) / 3
        return np.asarray(np.concatenate([v[:, :1] ** 2, squares, v[:, -1:] ** 2], axis=1) @ self._masses)

    def cdf(self, at: Any) -> Floats:
        return self._cdf(self._column(at, "at"), np.less_equal)

    def cdf_before(self, at: Any) -> Floats:
        return self._cdf(self._column(at, "at"), np.less)

    def _cdf(self, x: Floats, is_left: np.ufunc) -> Floats:
        """Linear between the quantiles; `is_left` tells which of them lie to the left of x."""
        below, last = is_left(self.values, x[:, None]).sum(axis=1), len(self.levels) - 1
        left, right = np.clip(below - 1, 0, last), np.clip(below, 0, last)
        low, high = self.values[np.arange(len(self.labels)), left], self.values[np.arange(len(self.labels)), right]
        width = high - low
        part = np.divide(x - low, width, out=np.zeros(len(self.labels)), where=width > 0)
        inside = self.levels[left] + part * (self.levels[right] - self.levels[left])
        return np.where(below == 0, 0.0, np.where(below > last, 1.0, inside))

    def pit_range(self) -> tuple[Floats, Floats]:
        y, ends = self.labels[:, None], np.concatenate([[0.0], self.levels, [1.0]])
        return ends[(self.values < y).sum(axis=1)], ends[(self.values <= y).sum(axis=1) + 1]

    @property
    def _level_range(self) -> tuple[float, float]:
        return float(self.levels[0]), float(self.levels[-1])

    def quantile(self, level: Any) -> Floats:
        """The quantile of each distribution at `level`, one number or one per row; linear between those given."""
        wanted, (first, last) = self._levels(level), self._level_range
        beyond = (wanted < first) | (wanted > last)
        if beyond.any():
            expected = f"must lie between the outermost quantiles, {first:g} and {last:g}"
            raise InputError("level", expected, f"it is {wanted[int(np.argmax(beyond))]}")
        right = np.minimum(np.maximum(np.searchsorted(self.levels, wanted), 1), len(self.levels) - 1)
        left = np.maximum(right - 1, 0)
        low, high = self.values[np.arange(len(self.labels)), left], self.values[np.arange(len(self.labels)), right]
        width = self.levels[right] - self.levels[left]
        part = np.divide(wanted - self.levels[left], width, out=np.ones(len(self.labels)), where=width > 0)
        return np.where(wanted == self.levels[right], high, low + part * (high - low))

    def coarse_nodes(self) -> tuple[list[Floats], Floats]:
        """Beyond the outermost quantiles, labels lie as for a Gaussian with the two outermost on that side."""
        points, chances = super().coarse_nodes()
        if len(self.levels) == 1:
            return points, chances
        normal = [NormalDist().inv_cdf(level) for level in self.levels.tolist()]
        for k, z in enumerate(NORMAL_SCORES.tolist()):
            outer, inner = (0, 1) if z < normal[0] else (-1, -2)
            if z < normal[0] or z > normal[-1]:
                slope = (self.values[:, outer] - self.values[:, inner]) / (normal[outer] - normal[inner])
                points[k] = self.values[:, outer] + (z - normal[outer]) * slope
        return points, chances
