"""Distributions of the predicted probability.

A score is passed as the pair (p, q) with q = 1 − p, each in full relative precision.
Very confident networks have mass so close to 1 that p itself rounds to 1 (a tenth of
the rows of Beta(2.8, 0.05) are within 10⁻¹⁸ of it); q still distinguishes them, and so
does the true rate that a curve computes from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_column, check_positive, check_probabilities, check_weights, generator_of
from calibrant.kernels.logits import sigmoid
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Record, kind, number
from calibrant.simulate.quadrature import integral, supremum
from calibrant.types import Floats, Indices, Seed

OfScore = Callable[[Floats, Floats], Floats]
"""A function of p and q."""
PredictionAndRate = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Two functions of p and q at once: the prediction and the true rate."""


class Described(Record, ABC):
    """A world or a part of one: printed as its description."""

    @abstractmethod
    def describe(self) -> str:
        """What it is, in a line."""

    def __repr__(self) -> str:
        return self.describe()


class Scores(Described, ABC):
    """A distribution of predicted probabilities."""

    @abstractmethod
    def draw(self, size: Any, seed: Seed) -> tuple[Floats, Floats]:
        """Scores p and their complements q."""

    def draw_through(self, size: Any, seed: Seed, of: PredictionAndRate) -> tuple[Floats, Floats]:
        """Predictions and rates at drawn scores."""
        return of(*self.draw(size, seed))

    @abstractmethod
    def mean(self, function: OfScore) -> float:
        """The expectation of a function of the score, to 1e-10."""

    @abstractmethod
    def largest(self, function: OfScore) -> float:
        """The largest value that a function of the score takes."""


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class BetaScores(Scores):
    """Beta(α, β): the family that fits the top probability of most networks."""

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha)
        check_positive("beta", self.beta)

    def draw(self, size: Any, seed: Seed) -> tuple[Floats, Floats]:
        """The ratio of Gamma variables, so that neither tail is rounded away before p is."""
        if self.alpha == self.beta == 1:
            p = generator_of(seed).random(size)
            return p, 1 - p
        generator = generator_of(seed)
        p, q = generator.standard_gamma(self.alpha, size), generator.standard_gamma(self.beta, size)
        total = p + q
        lost = total == 0  # both underflow: one end or the other
        if lost.any():
            p[lost] = generator.random(int(lost.sum())) * (self.alpha + self.beta) < self.alpha
            q[lost] = 1 - p[lost]
            total[lost] = 1.0
        return p / total, q / total

    def mean(self, function: OfScore) -> float:
        """∫ f(σ(x)) σ(x)^α σ(−x)^β dx / B(α, β): in log-odds neither end is singular."""
        from scipy.special import betaln

        log_scale = betaln(self.alpha, self.beta)

        def density(x: Floats) -> Floats:
            return np.asarray(np.exp(-self.alpha * np.logaddexp(0, -x) - self.beta * np.logaddexp(0, x) - log_scale))

        points = self._points()
        total = integral(density, points)  # 1, but for the rounding of B(α, β) where they are large
        return integral(lambda x: function(sigmoid(x), sigmoid(-x)) * density(x), points) / total

    def largest(self, function: OfScore) -> float:
        """Over all of (0, 1), the limits at its ends included."""
        return supremum(lambda x: function(sigmoid(x), sigmoid(-x)), np.union1d(self._points(), [-ENDS, ENDS]))

    def _points(self) -> Floats:
        """Bounds of the first panels: quantiles, and growing steps to where 1e-16 of the mass is left."""
        from scipy.special import betaincinv, betaln

        log_scale = betaln(self.alpha, self.beta)
        low = min((np.log(REST * self.alpha) + log_scale) / self.alpha, -1.0)
        high = max(-(np.log(REST * self.beta) + log_scale) / self.beta, 1.0)
        p, q = betaincinv(self.alpha, self.beta, LEVELS), betaincinv(self.beta, self.alpha, 1 - LEVELS)
        inside, far = (p > 0) & (q > 0), 40 * 1.25 ** np.arange(1, 60)
        points = np.concatenate([np.arange(-40.0, 41.0), far, -far, np.log(p[inside]) - np.log(q[inside])])
        return np.unique(np.concatenate([[low, high], points[(points > low) & (points < high)]]))

    def describe(self) -> str:
        """The two parameters."""
        return f"Beta({self.alpha:.4g}, {self.beta:.4g}) scores"


LARGEST_TABLE = 10_000_000
"""Total weight up to which scores with integer weights are repeated in a table to draw from."""

REST = 1e-16
"""Mass neglected at either end."""

ENDS = 745.0
"""Log-odds beyond which p or q is 0 in float64."""

LEVELS = np.concatenate(
    [10.0 ** np.arange(-12, -2), np.linspace(0.01, 0.99, 50), 1 - 10.0 ** np.arange(-3.0, -13.0, -1)]
)


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class UniformScores(Scores):
    """Uniform between `low` and `high`."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 1:
            raise InputError("low", "and high must be a rising pair in [0, 1]", f"they are {self.low} and {self.high}")

    def draw(self, size: Any, seed: Seed) -> tuple[Floats, Floats]:
        """Uniform numbers."""
        p = self.low + (self.high - self.low) * generator_of(seed).random(size)
        return p, 1 - p

    def mean(self, function: OfScore) -> float:
        """∫ f dp over the interval, divided by its length."""
        total = integral(lambda p: function(p, 1 - p), np.linspace(self.low, self.high, 65))
        return total / (self.high - self.low)

    def largest(self, function: OfScore) -> float:
        """Over the closed interval."""
        return supremum(lambda p: function(p, 1 - p), np.linspace(self.low, self.high, 65))

    def describe(self) -> str:
        """The two ends."""
        return f"scores uniform on [{number(self.low)}, {number(self.high)}]"


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalScores(Scores):
    """The scores of a data set, resampled: atoms, each as often as it occurred."""

    values: Floats = (0.5,)  # type: ignore[assignment]
    """distinct, rising"""
    weights: Floats = ()  # type: ignore[assignment]
    """how often each occurred; equally often if not given"""

    def __post_init__(self) -> None:
        values = check_column(self.values, "values")
        check_probabilities(values)
        weights = np.ones(len(values)) if not np.size(self.weights) else check_weights(self.weights, len(values))
        distinct, at = np.unique(values, return_inverse=True)
        pooled = np.bincount(at, weights)
        object.__setattr__(self, "values", distinct[pooled > 0])
        object.__setattr__(self, "weights", pooled[pooled > 0])
        super().__post_init__()

    def draw(self, size: Any, seed: Seed) -> tuple[Floats, Floats]:
        """Atoms in proportion to their weights."""
        p = self.values[self._drawn(size, seed)]
        return p, 1 - p

    def draw_through(self, size: Any, seed: Seed, of: PredictionAndRate) -> tuple[Floats, Floats]:
        """Computed once per distinct score."""
        at = self._drawn(size, seed)
        predicted, rates = of(self.values, 1 - self.values)
        return predicted[at], rates[at]

    def _drawn(self, size: Any, seed: Seed) -> Indices:
        """Indices of atoms: rows of a table if all weights are integers, else by the cumulative weight."""
        total = float(self.weights.sum())
        if total <= LARGEST_TABLE and (self.weights == np.floor(self.weights)).all():
            table = np.repeat(np.arange(len(self.weights)), self.weights.astype(np.intp))
            return table[generator_of(seed).integers(int(total), size=size)]
        found = np.searchsorted(np.cumsum(self.weights), generator_of(seed).random(size) * total, side="right")
        return np.minimum(found, len(self.weights) - 1)

    def mean(self, function: OfScore) -> float:
        """A weighted mean over the atoms: exact."""
        return float(np.average(function(self.values, 1 - self.values), weights=self.weights))

    def largest(self, function: OfScore) -> float:
        """Over the atoms."""
        return float(function(self.values, 1 - self.values).max())

    def describe(self) -> str:
        """How many."""
        n = len(self.values)
        return f"{n:,} distinct score{'s' * (n > 1)} of a data set"
