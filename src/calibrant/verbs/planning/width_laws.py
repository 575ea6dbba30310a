"""Widths of intervals as functions of the number of rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrant.infer.running import brownian_quantile
from calibrant.infer.squared import cube_root
from calibrant.interval import LimitedMean, Limits, Moments, normal_quantile, wilson
from calibrant.simulate.quadrature import normal_density
from calibrant.simulate.world import ScoreWorld
from calibrant.types import Floats
from calibrant.verbs.planning.power_laws import Variance, drifting_range, legendre, smallest

HERMITE = np.polynomial.hermite_e.hermegauss(41)
"""Nodes and weights for expectations over a normal variable."""

OfError = Callable[[Floats, Floats], Floats]
"""A function of the error at a score and of v there."""


class WidthLaw(ABC):
    """How wide an interval is expected to be."""

    @abstractmethod
    def width(self, n: int, level: float) -> float:
        """The expected width on `n` rows, at confidence `level`."""

    def needed(self, width: float, level: float) -> int:
        """Rows that make the interval no wider than this."""
        return smallest(lambda n: self.width(n, level) <= width, "width")


@dataclass(frozen=True)
class SquaredWidth(WidthLaw):
    """The interval of the RMS error over ⌈n^(1/3)⌉ bins (`squared_error_interval`).

    It is averaged over the debiased square. Its variance is computed from the debiased
    squares of single bins, clipped at 0. Noise alone makes them positive and widens the
    interval, so their expectation is used: that of v/n_b·((Z + a)² − 1)₊ with a the
    error in standard deviations of a bin.
    """

    error: float
    mean: Callable[[OfError], float]
    """expectation over the scores"""
    largest: float
    """the largest v"""

    @classmethod
    def even(cls, variance: Variance, error: float = 0.0) -> SquaredWidth:
        """An error of the same size everywhere."""
        return cls(error, lambda f: variance.mean(lambda v: f(np.full(v.shape, error), v)), variance.largest)

    @classmethod
    def within(cls, world: ScoreWorld, error: float) -> SquaredWidth:
        """The errors of a world."""

        def at(f: OfError, p: Floats, q: Floats) -> Floats:
            predicted, rate = world.prediction_and_rate(p, q)
            return f(np.abs(predicted - rate), rate * (1 - rate))

        scores = world.scores
        return cls(error, lambda f: scores.mean(partial(at, f)), scores.largest(partial(at, lambda _, v: v)))

    def width(self, n: int, level: float) -> float:
        """Between the roots of the two ends, the square taken to be normal."""
        z2, bins = normal_quantile(level) ** 2, cube_root(n)
        rows = max(n / bins, 2.0)
        near = 2 * bins * rows / (rows - 1) * self.mean(lambda _, v: v**2) / n**2
        varies = near + 4 * self.mean(lambda error, v: v * error**2) / n
        spread = near + 4 * self.mean(lambda error, v: v * clipped_square(error, v / rows)) / n
        half = 2 * z2 * self.largest / n
        square = self.error**2 + math.sqrt(varies) * HERMITE[0]
        low = np.clip(square - math.sqrt(z2 * spread), 0, 1)
        high = np.clip(square + half + math.sqrt(half**2 + z2 * spread), 0, 1)
        return float((np.sqrt(high) - np.sqrt(low)) @ HERMITE[1] / HERMITE[1].sum())


def clipped_square(error: Floats, noise: Floats) -> Floats:
    """Expected debiased square of a bin, clipped at 0, where its mean has variance `noise`."""
    from scipy.special import ndtr

    far = error / np.sqrt(np.maximum(noise, 1e-300))
    above = far**2 * ndtr(far - 1) + (far + 1) * normal_density(far - 1)
    below = far**2 * ndtr(-far - 1) + (1 - far) * normal_density(far + 1)
    return np.asarray(noise * (above + below))


@dataclass(frozen=True)
class RangeWidth(WidthLaw):
    """The interval of the Kuiper error (`cumulative_interval`): value ± margin, clipped at 0.

    The gap has one sign.
    """

    mean: float
    """of p(1 − p)"""
    error: float

    def width(self, n: int, level: float) -> float:
        """Clipping removes the part of the margin above the value: on average ∫ P(value ≤ x) dx up to the margin."""
        q2 = brownian_quantile("range", level) ** 2
        sd, half = math.sqrt(self.mean / n), q2 / (2 * n)
        margin = math.sqrt(q2) * sd
        nodes, weights = legendre(48)
        x = margin / 2 * (1 + nodes)
        below = np.array([drifting_range(each / sd, self.error / sd) for each in x])
        return half + math.sqrt(half**2 + margin**2) + margin - float(margin / 2 * weights @ below)


@dataclass(frozen=True)
class MeanWidth(WidthLaw):
    """The interval of a mean of rows: a mean gap or a proper score."""

    mean: Callable[[int], Moments | LimitedMean]
    """of so many rows, all like those that are known"""

    @classmethod
    def even(cls, sd: float) -> MeanWidth:
        """Of rows that are as often above their mean as below it, none farther away than 1."""
        values, half = np.array([-sd, sd]), np.full(2, 0.5)
        return cls(lambda n: LimitedMean.of(values, n * half, Limits(-1.0, 1.0)))

    def width(self, n: int, level: float) -> float:
        """If the observed moments are the true ones."""
        interval = None if n < 2 else self.mean(n).interval(level)[0]
        return math.inf if interval is None else interval.high - interval.low


@dataclass(frozen=True)
class RateWidth(WidthLaw):
    """Wilson's interval of a rate."""

    rate: float

    def width(self, n: int, level: float) -> float:
        """If the observed rate is the true one."""
        low, high = wilson(np.asarray(self.rate), np.asarray(float(n)), level)
        return float(high - low)
