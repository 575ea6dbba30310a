"""Power of tests as a function of the number of rows.

Every law depends on the predictions only through v = p(1 − p), the variance of a label
if the model is calibrated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from calibrant.infer.squared import cube_root
from calibrant.interval import normal_quantile
from calibrant.interval.formulas import brownian_range_p_value
from calibrant.problems import InputError
from calibrant.simulate.quadrature import normal_density
from calibrant.simulate.scores import Scores
from calibrant.types import Floats

NORMAL = NormalDist()
FAR = 100.0
"""Standard deviations beyond which a normal variable has no probability in float64."""

MOST_ROWS = 10**15
"""A plan that needs more is refused."""


@dataclass(frozen=True, slots=True)
class Variance:
    """The distribution of v = p(1 − p): that of some scores, or one value everywhere."""

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
    """How often a test detects an error."""

    __test__ = False  # not a test case, whatever its name says

    @abstractmethod
    def power(self, n: int, error: float, alpha: float) -> float:
        """The probability of an alarm on `n` rows."""

    def needed(self, error: float, power: float, alpha: float) -> int:
        """Rows that detect the error with this power."""
        return smallest(lambda n: self.power(n, error, alpha) >= power, "error")

    def detectable(self, n: int, power: float, alpha: float) -> float:
        """The smallest error detected with this power on `n` rows; infinite if there is none."""
        from scipy.optimize import brentq

        if self.power(n, 1.0, alpha) < power:
            return math.inf
        return float(brentq(lambda error: self.power(n, error, alpha) - power, 0.0, 1.0, xtol=1e-12))


@dataclass(frozen=True)
class SquaredLaw(TestLaw):
    """The debiased RMS error over ⌈n^(1/3)⌉ bins of equal mass.

    n·T + Σv is a sum of squares with variances v, one per bin: s·χ² with h degrees of
    freedom, s = E v² / E v and h = B·(E v)² / E v², which have the right mean and
    variance. An error θ that is larger where v is larger adds the non-centrality nθ²/s.
    """

    mean: float
    square: float

    @classmethod
    def of(cls, variance: Variance) -> SquaredLaw:
        """With the first two moments of v."""
        return cls(variance.mean(), variance.mean(np.square))

    def power(self, n: int, error: float, alpha: float) -> float:
        """P(χ²_h(λ) above the 1 − alpha quantile of χ²_h)."""
        from scipy.special import chdtri, chndtr

        if not error:
            return alpha
        scale, degrees = self.square / self.mean, cube_root(n) * self.mean**2 / self.square
        return float(1 - chndtr(chdtri(degrees, alpha), degrees, n * error**2 / scale))

    def normal_needed(self, error: float, power: float, alpha: float) -> int:
        """Rows by the normal approximation, n = (z_α + z_β)·√(2B)·v̄ / θ².

        They are too few, as χ² is skewed and widens with the error.
        """
        z = NORMAL.inv_cdf(power) - NORMAL.inv_cdf(alpha)
        return smallest(lambda n: n >= z * math.sqrt(2 * cube_root(n)) * self.mean / error**2, "error")

    def normal_detectable(self, n: int, power: float, alpha: float) -> float:
        """The error in that approximation."""
        z = NORMAL.inv_cdf(power) - NORMAL.inv_cdf(alpha)
        return math.sqrt(z * math.sqrt(2 * cube_root(n)) * self.mean / n)


@dataclass(frozen=True)
class AbsoluteLaw(TestLaw):
    """The plain mean absolute error over ⌈n^(1/3)⌉ bins of equal mass, centred.

    Its mean under calibration is subtracted. Each bin has the absolute value of a
    normal variable with standard deviation √(vB/n), around 0 or around an error of the
    same size everywhere. Their mean is taken to be normal.
    """

    variance: Variance

    def power(self, n: int, error: float, alpha: float) -> float:
        """From mean and variance of folded normal variables."""
        bins = cube_root(n)
        (mean, spread), (null_mean, null_spread) = (self._folded(n, bins, size) for size in (error, 0.0))
        threshold = null_mean + -NORMAL.inv_cdf(alpha) * math.sqrt(null_spread / bins)
        return NORMAL.cdf((mean - threshold) / math.sqrt(spread / bins))

    def _folded(self, n: int, bins: int, error: float) -> tuple[float, float]:
        """Mean and variance of |N(error, v·bins/n)|, averaged over v."""
        from scipy.special import erf

        def mean(v: Floats) -> Floats:
            sd = np.sqrt(v * bins / n)
            far = np.divide(error, sd, out=np.full(sd.shape, FAR if error else 0.0), where=sd > 0).clip(max=FAR)
            return np.asarray(2 * sd * normal_density(far) + error * erf(far / np.sqrt(2)))

        squares = error**2 + self.variance.mean() * bins / n
        return self.variance.mean(mean), squares - self.variance.mean(lambda v: mean(v) ** 2)


@dataclass(frozen=True)
class KuiperLaw(TestLaw):
    """The range of the cumulative sum of errors, for a gap of one sign: a Brownian motion with drift gap·√(n/v̄)."""

    mean: float

    def power(self, n: int, error: float, alpha: float) -> float:
        """P(range of the motion above its 1 − alpha quantile without drift)."""
        return 1 - drifting_range(range_quantile(alpha), error * math.sqrt(n / self.mean))


@dataclass(frozen=True)
class GapLaw(TestLaw):
    """The mean gap, tested two-sided: normal with standard deviation √(v̄/n)."""

    mean: float

    def power(self, n: int, error: float, alpha: float) -> float:
        """P(|N(μ, 1)| above z)."""
        z, drift = normal_quantile(1 - alpha), error * math.sqrt(n / self.mean)
        return NORMAL.cdf(drift - z) + NORMAL.cdf(-drift - z)


@cache
def range_quantile(alpha: float) -> float:
    """The value that the range of a Brownian motion on [0, 1] exceeds with probability `alpha`."""
    from scipy.optimize import brentq

    return float(brentq(lambda x: brownian_range_p_value(x) - alpha, 0.05, 50.0, xtol=1e-12))


TERMS = np.arange(-12, 13)[:, None]
"""Images that contribute for any range of interest."""

legendre = cache(np.polynomial.legendre.leggauss)


def drifting_range(r: float, drift: float) -> float:
    """P(max − min ≤ r) of a Brownian motion on [0, 1] with drift.

    Without drift, P(no exit from (a, b), end at x) is a sum over images, Σ φ(x − 2kL) −
    φ(x − 2b − 2kL) with L = b − a. Its derivative in a, integrated over all a with b =
    a + r, is the probability of a range below r; with drift the end x has the density
    ratio e^(drift·x − drift²/2).
    """
    if drift > r + 40:
        return 0.0
    nodes, weights = legendre(200)
    total = 0.0
    for centre in (-r / 2, r / 2):
        x = centre + r / 2 * nodes
        first, last, image = np.maximum(0, x), np.minimum(r, r + x), x - 2 * TERMS * r
        plain = 2 * TERMS * (r - np.abs(x)) * image * normal_density(image)
        mirrored = -TERMS * (normal_density(image - 2 * last) - normal_density(image - 2 * first))
        total += float(r / 2 * (weights * np.exp(drift * x - drift**2 / 2) * (plain + mirrored).sum(axis=0)).sum())
    return min(max(total, 0.0), 1.0)


def smallest(holds: Callable[[int], bool], argument: str) -> int:
    """An integer n that holds while n − 1 does not: the smallest, if all larger ones hold too."""
    high = 2
    while not holds(high):
        high *= 2
        if high > MOST_ROWS:
            raise InputError(argument, "must be attainable", f"it would take more than {MOST_ROWS:.0e} rows")
    low = 1 if high == 2 else high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
