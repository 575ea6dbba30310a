"""The interval of a mean of skewed rows without limits: scores and gaps of forecasts of a real number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant.inputs import check_level
from calibrant.interval.clusters import ClusterMean, cluster_mean, cluster_sums
from calibrant.interval.mean import Moments, OfMoments, around, moments_of, two_sided
from calibrant.results import Interval
from calibrant.types import Array, Floats

METHOD = "Student t, skewed"

CUBED = 12.0
"""Weight of the cube of the skewness: few rows show less of a long tail than there is, the more so the longer it is."""
SHORT = 0.3
"""Share of the skewness by which the end on the side of the short tail is drawn in; theory says about 0.75."""
REFUTED = 4.0
"""Forecasts whose variance is more than this many times that of the rows count in proportion."""
UNSEEN = 10.0
"""Rows that the forecasts expect beyond all rows seen: if they expect more, what lies there counts in proportion."""
FEWEST, MOST = -0.6, 3.0
"""Least and largest logarithmic bend: an end is at least 0.75 and at most 6.4 times as far away as Student's."""
HEAVY = 0.4
"""Skewness, over the root of the number of rows, from which on the spread is that of a few rows."""

# Chosen on the worlds `CHOOSING` of studies/coverage_forecasts.py, reported there on others.


class Possible(NamedTuple):
    """What each row could have been if the forecasts were right."""

    values: tuple[Floats, ...]
    """for each of a few outcomes, the value of every row"""
    chances: tuple[float, ...]
    """probabilities of these outcomes, the same for all rows"""


@dataclass(frozen=True, slots=True)
class End:
    """What one end of the interval needs to know."""

    error: float
    """standard error of the mean"""
    bend: float
    """how much faster than in proportion the end moves away with Student's quantile; 0 is Student's own interval"""

    def distance(self, quantile: float) -> float:
        """How far the end is from the mean: error · (exp(bend · quantile) − 1) / bend."""
        bent = min(max(self.bend * quantile, FEWEST), MOST)
        return self.error * quantile * _growth(bent)

    def quantile(self, distance: float) -> float:
        """Student's quantile that belongs to a distance."""
        t = distance / self.error
        bent = math.log1p(max(self.bend * t, math.expm1(FEWEST)))
        return t / _growth(min(bent, MOST))


def _growth(bent: float) -> float:
    """(exp(x) − 1)/x."""
    return math.expm1(bent) / bent if bent else 1.0


@dataclass(frozen=True, slots=True)
class SkewedMean(OfMoments):
    """A mean of rows of any size, whose interval reaches further on the side of their long tail.

    With r = Σd³ / (Σd²)^1.5, the skewness of the rows over the root of their number, an
    end is not q standard errors away, with q Student's quantile, but (exp(bq) − 1)/b: to
    first order the interval of Johnson (1978) and Hall (1992) for b = 0.75 r. Rows from
    a long tail show too little of it, so b is r + 12 r³ on that side and 0.3 r on the
    other. Where it is known what the rows could have been under the forecasts, b is at
    least the r of those, and one more row beyond the largest row seen is allowed for:
    so the interval does not collapse where no label was outside.
    """

    moments: Moments | ClusterMean
    below: End
    above: End
    heavy: bool = False
    """is the spread that of a few rows?"""

    @classmethod
    def of(
        cls, values: Array, weights: Array | None, squares: Array | None = None, possible: Possible | None = None
    ) -> SkewedMean:
        """The mean of rows.

        Parameters
        ----------
        values
            One number per row.
        weights
            How much each row counts; once if None.
        squares
            Squares of weights that are not numbers of rows.
        possible
            What the rows could have been.
        """
        x, w = np.asarray(values, dtype=np.float64), np.ones(len(values)) if weights is None else weights
        found = moments_of(x, weights, squares)
        if found.error is None:
            return cls(found, End(0.0, 0.0), End(0.0, 0.0))
        seen = _skewness(w * (x - found.mean))
        law = Law() if possible is None else Law.of(possible, x[w > 0], w[w > 0], w > 0)
        below = _end(found, law.variance, -seen, -law.skewness, law.below)
        above = _end(found, law.variance, seen, law.skewness, law.above)
        return cls(found, below, above, abs(seen) > HEAVY)

    @classmethod
    def of_clusters(cls, values: Array, weights: Array | None, clusters: Array) -> SkewedMean:
        """The mean of rows in clusters, by the skewness of the clusters' sums."""
        found = cluster_mean(values, weights, clusters)
        if found.error is None:
            return cls(found, End(0.0, 0.0), End(0.0, 0.0))
        seen = _skewness(cluster_sums(values, weights, clusters)[-1])
        return cls(found, End(found.error, _bend(-seen)), End(found.error, _bend(seen)), abs(seen) > HEAVY)

    def interval(self, level: float) -> tuple[Interval | None, tuple[str, ...]]:
        """The interval and warnings."""
        plain, cautions = self.moments.interval(check_level(level))
        if plain is None:
            return None, cautions
        quantile = around(0.0, 1.0, self.degrees, level, "").high
        ends = self.mean - self.below.distance(quantile), self.mean + self.above.distance(quantile)
        if self.heavy:
            warning = (
                "a few rows make up most of the spread, so rows not seen yet may matter more than the interval says"
            )
            cautions += (warning,)
        return Interval(*ends, level, plain.method.replace("Student t", METHOD)), cautions

    def p_value(self) -> float | None:
        """Two-sided p-value of a true mean of 0: below α just where the interval at 1 − α leaves 0 out."""
        if self.error is None:
            return None
        end = self.below if self.mean > 0 else self.above
        if end.error == 0:
            return float(self.mean == 0)
        return two_sided(end.quantile(abs(self.mean)), 1.0, self.degrees)


FARTHEST = 1e100
"""Distances from the rows seen, in units of the law's own reach, that are told apart."""


@dataclass(frozen=True, slots=True)
class Law:
    """The distribution of the rows if the forecasts were right."""

    variance: float = 0.0
    skewness: float = 0.0
    """over the root of the number of rows"""
    below: float = 0.0
    """mean square of what lies below the smallest row seen, as far as it is credible that no such row was seen"""
    above: float = 0.0
    """the same above the largest"""

    @classmethod
    def of(cls, possible: Possible, seen: Floats, weights: Floats, counted: Array) -> Law:
        """Of the possible values of rows, beside the values seen."""
        values = [each[counted] for each in possible.values]
        share, low, high = weights / weights.sum(), float(seen.min()), float(seen.max())
        mean = sum(chance * float(share @ each) for each, chance in zip(values, possible.chances, strict=True))
        unit = max(float(np.abs(each - mean).max()) for each in values)
        if not 0 < unit < np.inf:
            return cls()
        sums = np.zeros(7)
        for each, chance in zip(values, possible.chances, strict=True):
            away = (each - mean) / unit
            mass, spread = share * away**2, (weights * away) ** 2
            sides = [np.clip(side, 0, FARTHEST * unit) / unit for side in (low - each, each - high)]
            beyond = [weights @ (side > 0) for side in sides] + [share @ side**2 for side in sides]
            sums += chance * np.array([mass.sum(), spread.sum(), spread @ (weights * away), *beyond])
        variance, squares, cubes, *expected, below, above = sums.tolist()
        credible = [min(1.0, UNSEEN / max(rows, 1e-300)) * unit**2 for rows in expected]
        skewness: float = max(-1.0, min(1.0, cubes / squares**1.5))
        return cls(variance * unit**2, skewness, below * credible[0], above * credible[1])


def _skewness(apart: Floats) -> float:
    """Σd³ / (Σd²)^1.5, between −1 and 1."""
    largest = float(np.abs(apart).max())
    if largest == 0:
        return 0.0
    apart = apart / largest
    squares = apart * apart
    return float((squares * apart).sum() / squares.sum() ** 1.5)


def _bend(seen: float, law: float = 0.0) -> float:
    """The bend on the side of a tail, from the skewness towards it of the rows and of the law of the forecasts."""
    bend = max(seen + CUBED * seen**3, law)
    return bend if bend > 0 else SHORT * seen


def _end(found: Moments, variance: float, seen: float, law: float, beyond: float) -> End:
    """One end of the interval; the law counts as far as the rows do not refute it."""
    squares = found.squares + beyond
    credible = 0.0
    if law > 0 and squares > 0:
        credible = max(REFUTED * found.squares / found.weight / max(variance, 1e-300), beyond / squares)
    error = (squares / (found.weight - 1) / found.weight) ** 0.5
    return End(error, _bend(seen, law * min(credible, 1.0)))
