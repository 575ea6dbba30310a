"""Laws that plans are made by: the power of a test and the width of an interval, as functions of the number of rows.

Every law knows the predictions only through v = p(1 − p), the variance of a label if the model is calibrated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from calibrant.infer.error import error_ends
from calibrant.infer.error_path import true_path
from calibrant.infer.running import brownian_quantile
from calibrant.infer.squared import cube_root
from calibrant.interval import LimitedMean, Limits, Moments
from calibrant.interval.mean import normal_quantile
from calibrant.interval.proportion import wilson
from calibrant.kernels.rows.pooling import Groups, grouped
from calibrant.problems import InputError
from calibrant.resampling.formulas import brownian_range_p_value
from calibrant.simulate.scores import Scores
from calibrant.simulate.world import ScoreWorld

Floats = NDArray[np.float64]

NORMAL = NormalDist()
FAR = 100.0
"""Standard deviations beyond which a normal variable is never seen."""

MOST_ROWS = 10**15
"""A plan that needs more is refused."""


@dataclass(frozen=True, slots=True)
class Variance:
    """How v = p(1 − p) is distributed: over some scores, or one value everywhere."""

    scores: Scores | None = None
    value: float = 0.25

    def mean(self, function: Callable[[Floats], Floats] = lambda v: v) -> float:
        """The expectation of a function of v."""
        if self.scores is None:
            return float(function(np.array([self.value]))[0])
        return self.scores.mean(lambda p, q: function(p * q))

    @property
    def largest(self) -> float:
        """The largest v."""
        return self.value if self.scores is None else self.scores.largest(lambda p, q: p * q)


class TestLaw(ABC):
    """How often a test finds an error."""

    __test__ = False  # not a test case, whatever its name says

    @abstractmethod
    def power(self, n: int, error: float, level: float) -> float:
        """The chance of an alarm on `n` rows."""

    def needed(self, error: float, power: float, level: float) -> int:
        """Rows that find the error with this power."""
        return smallest(lambda n: self.power(n, error, level) >= power, "error")

    def detectable(self, n: int, power: float, level: float) -> float:
        """The smallest error found with this power on `n` rows; more than 1 if there is none."""
        from scipy.optimize import brentq

        if self.power(n, 1.0, level) < power:
            return math.inf
        return float(brentq(lambda error: self.power(n, error, level) - power, 0.0, 1.0, xtol=1e-12))


@dataclass(frozen=True)
class SquaredLaw(TestLaw):
    """The debiased RMS error over ⌈n^(1/3)⌉ bins of equal mass.

    n·T + Σv is a sum of squares with variances v, one a bin: s·χ² with h degrees of freedom, s = E v² / E v and h = B·(E v)² / E v²,
    which have the right mean and variance. An error θ that is larger where v is makes it non-central by nθ²/s.
    """

    mean: float
    square: float

    @classmethod
    def of(cls, variance: Variance) -> SquaredLaw:
        """With the first two moments of v."""
        return cls(variance.mean(), variance.mean(np.square))

    def power(self, n: int, error: float, level: float) -> float:
        """P(χ²_h(λ) above the 1 − level quantile of χ²_h)."""
        from scipy.special import chdtri, chndtr

        scale, degrees = self.square / self.mean, cube_root(n) * self.mean**2 / self.square
        if not error:
            return level
        return float(1 - chndtr(chdtri(degrees, level), degrees, n * error**2 / scale))

    def normal_needed(self, error: float, power: float, level: float) -> int:
        """The same by the normal law, n = (z_α + z_β)·√(2B)·v̄ / θ²: too few rows, as χ² is skewed and its spread grows with the error."""
        z = NORMAL.inv_cdf(1 - level) + NORMAL.inv_cdf(power)
        return smallest(lambda n: n >= z * math.sqrt(2 * cube_root(n)) * self.mean / error**2, "error")

    def normal_detectable(self, n: int, power: float, level: float) -> float:
        """The error in that formula."""
        z = NORMAL.inv_cdf(1 - level) + NORMAL.inv_cdf(power)
        return math.sqrt(z * math.sqrt(2 * cube_root(n)) * self.mean / n)


@dataclass(frozen=True)
class AbsoluteLaw(TestLaw):
    """The plain mean absolute error over ⌈n^(1/3)⌉ bins of equal mass, its mean under calibration taken off by the test.

    Each bin shows the absolute value of a normal variable with standard deviation √(vB/n), around 0 or around an error of the same
    size everywhere. Their mean is taken as normal.
    """

    variance: Variance

    def power(self, n: int, error: float, level: float) -> float:
        """From mean and variance of folded normal variables."""
        bins = cube_root(n)
        (mean, spread), (null_mean, null_spread) = (self._folded(n, bins, size) for size in (error, 0.0))
        threshold = null_mean + NORMAL.inv_cdf(1 - level) * math.sqrt(null_spread / bins)
        return NORMAL.cdf((mean - threshold) / math.sqrt(spread / bins))

    def _folded(self, n: int, bins: int, error: float) -> tuple[float, float]:
        """Mean and variance of |N(error, v·bins/n)|, averaged over v."""
        from scipy.special import erf

        def mean(v: Floats) -> Floats:
            sd = np.sqrt(v * bins / n)
            far = np.divide(error, sd, out=np.full(sd.shape, np.inf if error else 0.0), where=sd > 0)
            far = np.minimum(far, FAR)
            found: Floats = sd * np.sqrt(2 / np.pi) * np.exp(-(far**2) / 2) + error * erf(far / np.sqrt(2))
            return found

        squares = error**2 + self.variance.mean() * bins / n
        return self.variance.mean(mean), squares - self.variance.mean(lambda v: mean(v) ** 2)


@dataclass(frozen=True)
class KuiperLaw(TestLaw):
    """The range of the running sum of errors, for a gap of one sign: a Brownian motion with drift gap·√(n/v̄)."""

    mean: float

    def power(self, n: int, error: float, level: float) -> float:
        """P(range of the motion above its 1 − level quantile without drift)."""
        return 1 - drifting_range(range_quantile(level), error * math.sqrt(n / self.mean))


@dataclass(frozen=True)
class GapLaw(TestLaw):
    """The mean gap, tested on both sides: normal with standard deviation √(v̄/n)."""

    mean: float

    def power(self, n: int, error: float, level: float) -> float:
        """P(|N(μ, 1)| above z)."""
        z, drift = normal_quantile(1 - level), error * math.sqrt(n / self.mean)
        return NORMAL.cdf(drift - z) + NORMAL.cdf(-drift - z)


@cache
def range_quantile(level: float) -> float:
    """What the range of a Brownian motion on [0, 1] exceeds with probability `level`."""
    from scipy.optimize import brentq

    return float(brentq(lambda x: brownian_range_p_value(x) - level, 0.05, 50.0, xtol=1e-12))


TERMS = np.arange(-12, 13)[:, None]
"""Images that matter for any range worth asking for."""


@cache
def _nodes() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(200)
    return nodes, weights


def drifting_range(r: float, drift: float) -> float:
    """P(max − min ≤ r) of a Brownian motion on [0, 1] with drift.

    Without drift, P(no exit from (a, b), end at x) is a sum over images, Σ φ(x − 2kL) − φ(x − 2b − 2kL) with L = b − a. Its slope in a,
    integrated over all a with b = a + r, has the range below r; the end then weighs e^(drift·x − drift²/2).
    """
    if drift > r + 40:
        return 0.0
    nodes, weights = _nodes()
    total = 0.0
    for centre in (-r / 2, r / 2):
        x = centre + r / 2 * nodes
        first, last = np.maximum(0, x), np.minimum(r, r + x)
        plain = 2 * TERMS * (r - np.abs(x)) * (x - 2 * TERMS * r) * _density(x - 2 * TERMS * r)
        turned = -TERMS * (_density(x - 2 * last - 2 * TERMS * r) - _density(x - 2 * first - 2 * TERMS * r))
        total += float(r / 2 * (weights * np.exp(drift * x - drift**2 / 2) * (plain + turned).sum(axis=0)).sum())
    return min(max(total, 0.0), 1.0)


def _density(x: Floats) -> Floats:
    found: Floats = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return found


FEW_NODES = np.polynomial.hermite_e.hermegauss(5)
PREDICTIONS = 8192
"""Drawn from a world to stand for all of its predictions."""
TINY = 1e-12

HERMITE = np.polynomial.hermite_e.hermegauss(41)
"""For expectations over a normal variable."""


class WidthLaw(ABC):
    """How wide an interval is expected to be."""

    @abstractmethod
    def width(self, n: int, level: float) -> float:
        """On `n` rows, at confidence `level`."""

    def needed(self, width: float, level: float) -> int:
        """Rows that make the interval no wider than this."""
        return smallest(lambda n: self.width(n, level) <= width, "width")


@dataclass(frozen=True)
class SquaredWidth(WidthLaw):
    """The interval of the RMS error over ⌈n^(1/3)⌉ bins (`squared_error_interval`), on average over the debiased squares to be seen.

    Its variance takes the squares of single bins as they are seen, cut off at 0. What is left of noise alone widens the interval,
    so their expectation is used: that of v/n_b·((Z + a)² − 1)₊ with a the error in standard deviations of a bin.
    """

    error: float
    mean: Callable[[Callable[[Floats, Floats], Floats]], float]
    """expectation of a function of the error at a score and of v there"""
    largest: float
    """the largest v"""

    @classmethod
    def even(cls, variance: Variance, error: float = 0.0) -> SquaredWidth:
        """An error of the same size everywhere."""
        return cls(error, lambda f: variance.mean(lambda v: f(np.full(v.shape, error), v)), variance.largest)

    @classmethod
    def within(cls, world: ScoreWorld, error: float) -> SquaredWidth:
        """The errors of a world."""

        def of(f: Callable[[Floats, Floats], Floats]) -> Callable[[Floats, Floats], Floats]:
            def at(p: Floats, q: Floats) -> Floats:
                said, rate = world.prediction_and_rate(p, q)
                return f(np.abs(said - rate), rate * (1 - rate))

            return at

        largest = world.scores.largest(of(lambda _, v: v))
        return cls(error, lambda f: world.scores.mean(of(f)), largest)

    def width(self, n: int, level: float) -> float:
        """Between the roots of the two ends, the square taken as normal."""
        z2, bins = normal_quantile(level) ** 2, cube_root(n)
        rows = max(n / bins, 2.0)
        near = 2 * bins * rows / (rows - 1) * self.mean(lambda _, v: v**2) / n**2
        varies = near + 4 * self.mean(lambda error, v: v * error**2) / n
        spread = near + 4 * self.mean(lambda error, v: v * seen_square(error, v / rows)) / n
        half = 2 * z2 * self.largest / n
        square = self.error**2 + math.sqrt(varies) * HERMITE[0]
        low = np.clip(square - math.sqrt(z2 * spread), 0, 1)
        high = np.clip(square + half + math.sqrt(half**2 + z2 * spread), 0, 1)
        return float((np.sqrt(high) - np.sqrt(low)) @ HERMITE[1] / HERMITE[1].sum())


def seen_square(error: Floats, noise: Floats) -> Floats:
    """Expected debiased square of a bin, cut off at 0, where its mean has variance `noise`."""
    from scipy.special import ndtr

    far = error / np.sqrt(np.maximum(noise, 1e-300))
    above = far**2 * ndtr(far - 1) + (far + 1) * _density(far - 1)
    below = far**2 * ndtr(-far - 1) + (1 - far) * _density(far + 1)
    found: Floats = noise * (above + below)
    return found


@dataclass(frozen=True)
class ErrorWidth(WidthLaw):
    """The interval of the calibration error itself (`calibration_error_interval`), along the true curve, over the statistics to be seen."""

    groups: Groups
    """predictions, and the true rates as their hits"""
    norm: int
    erring: bool

    @classmethod
    def of(cls, world: ScoreWorld | None, error: float, norm: int) -> ErrorWidth:
        """Predictions of a world, or ½ everywhere, told too high by the error."""
        if world is None:
            p, rate = np.array([0.5]), np.array([0.5 - min(error, 0.5)])
        else:
            p, rate = world.scores.draw_through(PREDICTIONS, np.random.default_rng(0), world.prediction_and_rate)
        return cls(grouped(p, rate, None), norm, error > 0)

    def width(self, n: int, level: float) -> float:
        """The statistic taken as normal, around its mean under the truth."""
        path = true_path(self.groups, float(n))
        law = path.law(1.0 if self.erring else 0.0, self.norm)
        nodes, weights = FEW_NODES
        seen = np.maximum(law.mean + math.sqrt(law.variance) * nodes, TINY)
        widths = [high - low for low, high in (error_ends(path, self.norm, level, float(x)) for x in seen)]
        return float(weights @ np.array(widths) / weights.sum())


@dataclass(frozen=True)
class RangeWidth(WidthLaw):
    """The interval of the Kuiper error (`cumulative_interval`) for a gap of one sign: the value ± reach, cut off at 0."""

    mean: float
    """of p(1 − p)"""
    error: float

    def width(self, n: int, level: float) -> float:
        """The cut takes off what the value falls short of the reach, ∫ P(value ≤ x) dx up to there."""
        q2 = brownian_quantile("range", level) ** 2
        sd, half = math.sqrt(self.mean / n), q2 / (2 * n)
        reach = math.sqrt(q2) * sd
        nodes, weights = np.polynomial.legendre.leggauss(48)
        x = reach / 2 * (1 + nodes)
        below = np.array([drifting_range(each / sd, self.error / sd) for each in x])
        return half + math.sqrt(half**2 + reach**2) + reach - float(reach / 2 * weights @ below)


@dataclass(frozen=True)
class MeanWidth(WidthLaw):
    """The interval of a mean of rows: a mean gap or a proper score."""

    mean: Callable[[int], Moments | LimitedMean]
    """of so many rows, all like those that are known"""

    @classmethod
    def even(cls, sd: float) -> MeanWidth:
        """Of rows that are as often above their mean as below, none farther away than 1."""
        apart, half = np.array([-sd, sd]), np.full(2, 0.5)
        return cls(lambda n: LimitedMean.of(apart, n * half, Limits(-1.0, 1.0)))

    def width(self, n: int, level: float) -> float:
        """Where what is seen is the truth."""
        interval = None if n < 2 else self.mean(n).interval(level)[0]
        return math.inf if interval is None else interval.high - interval.low


@dataclass(frozen=True)
class RateWidth(WidthLaw):
    """Wilson's interval of a rate."""

    rate: float

    def width(self, n: int, level: float) -> float:
        """Where the rate seen is the true one."""
        low, high = wilson(np.array([self.rate]), np.array([float(n)]), level)
        return float(high[0] - low[0])


def smallest(holds: Callable[[int], bool], argument: str) -> int:
    """A whole number n that holds while n − 1 does not; the smallest, where what holds once holds for all larger."""
    high = 2
    while not holds(high):
        high *= 2
        if high > MOST_ROWS:
            raise InputError(argument, "must be reachable", f"it would take more than {MOST_ROWS:.0e} rows")
    low = 1 if high == 2 else high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
