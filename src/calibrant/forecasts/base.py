"""What all kinds of forecasts have in common: labels, weights, groups, and what quantiles determine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from math import erfc
from typing import Any, ClassVar, Self

import numpy as np

from calibrant import inputs
from calibrant.arrays import common_index, own, read_only
from calibrant.predictions import Mass, check_mass, chosen_rows
from calibrant.problems import InputError
from calibrant.results.frames import Framed
from calibrant.results.notebook import Shown
from calibrant.types import Array, Floats, Seed

NODES = 200
"""Equally likely points that represent a distribution where there is no closed form."""

NORMAL_SCORES = np.arange(-7, 8) * 0.75
"""Normal quantiles of a few points that represent a distribution with its tails."""


LARGEST = 1e150
"""The size of numbers up to which sums of their squares are finite; variances are at least 1/LARGEST."""


class Forecasts(Shown, Framed, ABC):
    """A distribution for each of `n` real numbers, and the numbers observed: `labels`, `(n,)`.

    A new kind defines `outputs`, `mean`, `variance`, `cdf`, `quantile` and
    `per_row`, and calls `_fill` once its own fields are set. Whatever has no closed form
    for it is computed from its quantiles.
    """

    kind: ClassVar[str] = "forecasts"
    per_row: ClassVar[tuple[str, ...]] = ()
    """names of the fields with one entry per row, apart from labels, weights and groups"""
    labels: Floats
    weights: Floats | None
    squares: Floats | None
    groups: Array | None
    source: tuple[Forecasts, Any] | None
    """the forecasts and the map that these are the output of"""
    index: Any = None
    """the index of the rows, if they came with one"""

    def _fill(self, labels: Any, n: int, counts: Any, weights: Any, groups: Any, **predicted: Any) -> None:
        """Check and keep what every kind has; `predicted` are the columns of this kind, which share its index."""
        self.labels = own(checked_column(labels, "labels", n))
        self.groups = None if groups is None else own(inputs.check_groups(groups, n))
        self.index = common_index(labels=labels, **predicted, counts=counts, weights=weights, groups=groups)
        self.weights = self.squares = self.source = None
        mass = check_mass(counts, weights, n)
        if mass is None:
            return
        at, mass = mass.single()  # rows that occurred twice are two rows; those of weight 0 are none
        for name in ("labels", "groups", *self.per_row):
            column = getattr(self, name)
            setattr(self, name, None if column is None else read_only(column[at]))
        self.index = None if self.index is None else self.index[at]
        if mass.squares is not None:
            self.weights, self.squares = read_only(mass.weights), read_only(mass.squares)

    @property
    def n(self) -> int:
        """Number of rows, repeated ones included and those of weight 0 left out."""
        return len(self.labels)

    @property
    def observed(self) -> Floats:
        """What was observed: the labels."""
        return self.labels

    def columns_of_rows(self) -> dict[str, Any]:
        """Label, what was predicted and, where there are some, weights and groups, as columns."""
        found: dict[str, Any] = {"label": self.labels}
        for name in self.per_row:
            values, short = getattr(self, name), name.strip("_")
            found |= (
                {short: values} if values.ndim == 1 else {f"{short}_{k}": column for k, column in enumerate(values.T)}
            )
        beside = {"weight": self.weights, "group": self.groups}
        return found | {name: values for name, values in beside.items() if values is not None}

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        extras = [name for name in ("weights", "groups") if getattr(self, name) is not None]
        return f"{type(self).__name__}({', '.join([counted(self.n, 'row'), *self._facts(), *extras])})"

    def _facts(self) -> list[str]:
        """Further facts to print."""
        return []

    @property
    @abstractmethod
    def outputs(self) -> Floats:
        """The numbers predicted, which define the distributions, `(n, k)`: equal rows are equal forecasts."""

    @property
    def width(self) -> int:
        """How many numbers are predicted per row."""
        return int(self.outputs.shape[1])

    @property
    @abstractmethod
    def mean(self) -> Floats:
        """The mean of each distribution."""

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """The variance of each distribution."""

    @abstractmethod
    def cdf(self, at: Any) -> Floats:
        """P(Y_i ≤ at_i); `at` is one number, or one per row."""

    @abstractmethod
    def quantile(self, level: Any) -> Floats:
        """The quantile of each distribution at `level`, one number in (0, 1) or one per row."""

    def cdf_before(self, at: Any) -> Floats:
        """P(Y_i < at_i): less than `cdf` where a distribution jumps."""
        return self.cdf(at)

    def pit_range(self) -> tuple[Floats, Floats]:
        """The cumulative probabilities between which each label lies; equal for a continuous distribution."""
        return self.cdf_before(self.labels), self.cdf(self.labels)

    def pit(self, seed: Seed = 0) -> Floats:
        """The probability integral transform F_i(y_i), uniform on [0, 1] for a calibrated model.

        Parameters
        ----------
        seed
            Where the distribution jumps at the label, or leaves its place open, a point
            of the range is drawn with this seed.
        """
        low, high = self.pit_range()
        if np.array_equal(low, high):
            return high
        return np.asarray(low + inputs.generator_of(seed).random(len(low)) * (high - low))

    def draw(self, seed: Seed) -> Floats:
        """One number from each distribution: labels as they would be if the forecasts were right.

        Parameters
        ----------
        seed
            An integer, or a generator to draw from.
        """
        return self.quantile(np.clip(inputs.generator_of(seed).random(len(self.labels)), *self._level_range))

    def nodes(self) -> tuple[Floats, Floats]:
        """Points `(n, k)` and their probabilities `(k,)`, which represent the distributions in sums."""
        levels = np.clip((np.arange(NODES) + 0.5) / NODES, *self._level_range)
        return np.stack([self.quantile(level) for level in levels], axis=1), np.full(NODES, 1 / NODES)

    def coarse_nodes(self) -> tuple[list[Floats], Floats]:
        """A few labels per row, far into both tails, and their probabilities: evenly spaced for a Gaussian."""
        levels = np.clip([0.5 * erfc(-z / 2**0.5) for z in NORMAL_SCORES.tolist()], *self._level_range)
        chances = np.exp(-(NORMAL_SCORES**2) / 2)
        return [self.quantile(level) for level in levels], chances / chances.sum()

    @property
    def _level_range(self) -> tuple[float, float]:
        """The levels between which quantiles are known."""
        return float(np.finfo(float).tiny), 1 - 2**-53

    def rows(self, which: Any) -> Self:
        """The forecasts of some rows.

        Parameters
        ----------
        which
            A mask, a slice or indices.

        Examples
        --------
        >>> from calibrant.forecasts import GaussianForecasts
        >>> GaussianForecasts([0.1, 0.9, 2.0], [0, 1, 2], [1, 1, 4]).rows(slice(1, 3)).mean
        array([1., 2.])
        """
        chosen, part = chosen_rows(which, self), copy(self)
        for name in ("labels", "groups", *self.per_row):
            column = getattr(self, name)
            setattr(part, name, None if column is None else read_only(column[chosen]))
        if self.weights is not None:
            mass = Mass(self.weights, self.squares).rows(chosen)
            part.weights, part.squares = (mass.weights, mass.squares) if mass.squares is not None else (None, None)
        part.source, part.index = None, None if self.index is None else self.index[chosen]
        return part

    def _column(self, values: Any, argument: str) -> Floats:
        """One number, or one per row, as one float64 number per row."""
        if np.ndim(values) == 0:
            if isinstance(values, bool) or not isinstance(values, float | int | np.number) or np.isnan(values):
                raise InputError(argument, "must be a number, or one per row", f"it is {values!r}")
            return np.full(len(self.labels), float(values))
        common_index(forecasts=self, **{argument: values})
        return inputs.check_column(values, argument, len(self.labels))

    def _levels(self, level: Any) -> Floats:
        """One level per row, strictly between 0 and 1."""
        levels = self._column(level, "level")
        outside = ~((levels > 0) & (levels < 1))
        if outside.any():
            raise InputError("level", "must lie between 0 and 1", f"it is {levels[int(np.argmax(outside))]}")
        return levels


def admit_forecasts(forecasts: Any) -> Forecasts:
    """Forecasts as they are: how every function of them takes its data."""
    if isinstance(forecasts, Forecasts):
        return forecasts
    found, advice = (
        f"it is a {type(forecasts).__name__}",
        "Use Predictions.from_gaussian, from_quantiles or from_samples",
    )
    raise InputError("forecasts", "must be forecasts of a real number", found, advice)


def checked_levels(levels: Any) -> Floats:
    """Increasing levels strictly between 0 and 1."""
    found = inputs.check_column(levels, "levels")
    if (found <= 0).any() or (found >= 1).any() or (np.diff(found) <= 0).any():
        raise InputError("levels", "must rise, strictly between 0 and 1", f"they are {inputs.listed(found.tolist())}")
    return found


def checked_matrix(values: Any, argument: str) -> Floats:
    """Finite float64 numbers whose squares are finite, `(n, k)`; one column may come as `(n,)`."""
    array = inputs.floats(values, argument).astype(
        np.float64, order="C"
    )  # the order of sums, and so ties, depend on it
    inputs.check_finite(array, argument)
    return within(array, argument).reshape(len(array), -1)


def checked_column(values: Any, argument: str, n: int | None = None) -> Floats:
    """One finite float64 number per row whose square is finite, `n` of them if that is known."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim == 1 and n in (None, len(values)):
        column: Floats = values.copy()
        if len(column) and (sizes := np.abs(column)).item(sizes.argmax()) <= LARGEST:  # NaN is not
            return column
    return within(inputs.check_column(values, argument, n), argument)


def within(array: Floats, argument: str) -> Floats:
    """Finite numbers as they are, refused where their squares would not be finite."""
    if max(-array.min(), array.max()) > LARGEST:
        inputs.refuse(np.abs(array) > LARGEST, array, argument, f"must lie within ±{LARGEST:g}", "Use a larger unit")
    return array


def counted(count: int, noun: str) -> str:
    """'1 row', '1,000 rows'."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
