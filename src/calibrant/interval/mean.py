"""Student's interval of a mean of independent rows, and the interval of a rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from calibrant.inputs import check_level
from calibrant.interval.formulas import normal_p_value
from calibrant.kernels.compiled import COMPILE_FROM
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.sums.stable_sums import inner, spread, weighted_spread
from calibrant.results import Interval, Record, kind
from calibrant.results.constraints import BIG, MAX, Above, Holds, Within
from calibrant.types import Array, Floats

FEW_ROWS = 30
"""Rows below which an interval for the mean of skewed rows is known to be too short."""

MANY = 20_000
"""Degrees of freedom from which Student's distribution and the normal one agree to four digits."""

MOST_LOST = 0.1
"""Share of Σx² below which a difference from it is not trusted."""

CACHED_ROWS = 1 << 16
"""Rows per block: all that is computed of a block stays in a core's cache."""


def normal_quantile(level: float) -> float:
    """The z for which a standard normal variable lies within ±z with the given probability."""
    level = check_level(level)
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def mean_fits(mean: float, **_: Any) -> bool:
    """Is it infinite, or can it be squared?"""
    return bool(abs(mean) <= BIG or np.isinf(mean))


def squares_fit(mean: float, squares: float, **_: Any) -> bool:
    """Can it be Σ w(x − mean)²? It is NaN where the mean is infinite."""
    return bool(0 <= squares <= MAX / 4 or np.isinf(mean))


@kind
@dataclass(frozen=True, eq=False)
class Moments(Record):
    """All that a mean and Student's interval need to know of rows; a weight of w counts as w rows."""

    rows: Annotated[int, Within(1)]
    """number of rows with a positive weight"""
    weight: Annotated[float, Above(0, BIG)]
    mean: Annotated[float, Within(-np.inf, np.inf), Holds("must be infinite or within ±1e150", mean_fits)]
    squares: Annotated[float, Holds("must be at least 0 and finite where the mean is", squares_fit)]
    """Σ w(x − mean)², NaN where the mean is infinite"""

    @property
    def error(self) -> float | None:
        """Standard error of the mean; None where rows are too few, or the mean is infinite."""
        if self.weight < 2 or not math.isfinite(self.mean):
            return None
        return float((self.squares / (self.weight - 1) / self.weight) ** 0.5)

    @property
    def degrees(self) -> float:
        return self.weight - 1

    def interval(self, level: float) -> tuple[Interval | None, tuple[str, ...]]:
        """Student's interval and warnings. At n = 10 a normal interval would be shorter by a sixth."""
        check_level(level)
        if self.error is None:
            few = f"weights leave {self.weight:.3g} effective rows: too few for an interval"
            few = "one row has no interval" if self.rows == 1 else few
            return None, (few,) if np.isfinite(self.mean) else ()
        few = f"{self.weight:.3g} rows are few for an interval of a mean: it may be too short"
        cautions = (few,) * (self.weight < FEW_ROWS)
        return around(self.mean, self.error, self.degrees, level, "Student t"), cautions

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of rows."""
        return pooled((self, other))

    def of_rows(self, n: float) -> Moments:
        """The moments of n rows with the same mean and variance."""
        return replace(self, weight=float(n), squares=self.squares * n / self.weight)

    def p_value(self) -> float | None:
        """Student's two-sided p-value of a true mean of 0."""
        return None if self.error is None else two_sided(self.mean, self.error, self.degrees)


class OfMoments:
    """A mean whose interval is not Student's: its moments, and what the interval needs besides."""

    __slots__ = ()
    moments: Any
    """`Moments`, or the mean of clusters"""

    @property
    def mean(self) -> float:
        return self.moments.mean

    @property
    def error(self) -> float | None:
        return self.moments.error

    @property
    def degrees(self) -> float:
        return self.moments.degrees


def moments(values: Array, weights: Array | None, refill: Callable[[], None] | None = None) -> Moments:
    """The moments of one block of rows; what can `refill` the values lets their memory be used, which is in the cache."""
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]  # rows of weight 0 do not count
    n, squares = len(values), math.nan
    if not n:
        return Moments(0, 0.0, 0.0, 0.0)
    mean = float(np.add.reduce(values) / n if weights is None else np.average(values, weights=weights))
    if math.isfinite(mean):
        squares = _squares_about(mean, values, refill) if weights is None else inner(weights, (values - mean) ** 2)
    return Moments(n, float(n) if weights is None else float(weights.sum()), mean, squares)


def _squares_about(mean: float, values: Array, refill: Callable[[], None] | None) -> float:
    """Σ(x − mean)², as Σx² − n·mean² where that leaves most digits."""
    found: Floats = np.multiply(values, values, None if refill is None else values)
    total = float(np.add.reduce(found))
    squares = total - len(values) * mean * mean
    if squares < MOST_LOST * total:
        if refill is not None:
            refill()
        np.subtract(values, mean, found)
        squares = float(np.add.reduce(np.multiply(found, found, found)))
    return squares


def quick_moments(values: Floats, weights: Array | None, _: Callable[[], None] | None = None) -> Moments:
    """The same by a compiled loop, for a large block."""
    if weights is None:
        return Moments(len(values), float(len(values)), *spread(values))
    return Moments(*weighted_spread(values, weights))


def pooled(parts: Iterable[Moments]) -> Moments:
    """The moments of all parts, by the formula of Chan, Golub and LeVeque."""
    found = [part for part in parts if part.rows]
    if len(found) == 1:
        return found[0]
    total = sum(part.weight for part in found)
    overall, spread = sum(part.weight * part.mean for part in found) / total, math.nan
    if math.isfinite(overall):
        apart = [part.mean - overall for part in found]
        spread = sum(part.squares + part.weight * (d * d) for part, d in zip(found, apart, strict=True))
    return Moments(sum(part.rows for part in found), total, overall, spread)


def moments_of(values: Array, weights: Array | None, squares: Array | None = None) -> Moments:
    """The moments of any number of rows, block by block, without temporary arrays as long as the data.

    With `squares`, those of weights that are not numbers of rows, the moments are those
    of as many equal rows as would tell as much of this mean: Σw·d² / Σw²·d² instead of
    Kish's Σw / Σw², with d the distance from the mean.
    """
    if squares is not None:
        assert weights is not None  # whose squares they are
        found, positive = moments_of(values, weights), squares > 0
        copies = float((weights[positive] ** 2 / squares[positive]).sum())
        return found.of_rows(min(found.weight * told_by(values, found, squares), copies))
    of_block = quick_moments if len(values) >= COMPILE_FROM else moments

    def part(block: slice) -> Moments:
        return of_block(values[block], None if weights is None else weights[block])

    return pooled(over_blocks(len(values), part, CACHED_ROWS))


def mean_of(values: Array, weights: Array | None, squares: Array | None = None) -> float:
    """The mean of `moments_of`, without the spread where rows are few."""
    if weights is None and len(values) <= CACHED_ROWS:
        return float(np.add.reduce(values) / len(values))
    return moments_of(values, weights, squares).mean


def told_by(values: Array, found: Moments, squares: Array) -> float:
    """Rows of equal weight that tell as much of a mean as one of Kish's effective rows."""
    if not (found.squares > 0):  # equal values, or none, or an infinite mean
        return 1.0
    apart = np.where(squares > 0, values - found.mean, 0.0)
    spread = inner(squares, apart**2)
    return found.squares / spread if spread > 0 else 1.0


def around(value: float, error: float, degrees: float, level: float, method: str) -> Interval:
    """value ± Student's quantile · error; the normal quantile, without SciPy, where both agree."""
    quantile = normal_quantile(level)
    if degrees <= MANY:
        from scipy.special import stdtrit

        quantile = float(stdtrit(degrees, (1 + level) / 2))
    return Interval(value - quantile * error, value + quantile * error, level, method)


def two_sided(value: float, error: float, degrees: float) -> float:
    """Student's two-sided p-value of a true value of 0."""
    if error == 0:
        return float(value == 0)
    if degrees > MANY:
        return normal_p_value(value / error)
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(value / error)))


def wilson(rate: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's score interval of observed rates in `count` trials each; it holds near 0 and 1 too."""
    z2 = normal_quantile(level) ** 2
    centre = (count * rate + z2 / 2) / (count + z2)
    margin = np.sqrt(z2 * (count * (rate * (1 - rate)) + z2 / 4)) / (count + z2)
    return np.clip(centre - margin, 0, 1), np.clip(centre + margin, 0, 1)
