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
EXPECTED_ROWS = 30.0
"""Rows of the forecasts' own variance that are added to those seen: few rows of a long tail mostly show none of it."""
UNSEEN = 2.0
"""Rows that the forecasts expect beyond all rows seen: if they expect more, they are believed in proportion."""
STEEPEST = 1.0
"""Largest bend: a 95 % end is at most 3.2 times as far away as Student's."""
FEWEST, MOST = -0.6, 3.0
"""Least and largest logarithmic bend: an end is at least 0.75 and at most 6.4 times as far away, at any level."""
SKEWED, OF_FEW = 4.0, 0.2
"""Skewness of the rows, and skewness over the root of their number, from which on larger rows than any seen may matter.
Squares of Student's errors with 3 or 4 degrees of freedom, whose variance is infinite, reach one of them in nearly all
samples, and less often if other numbers are added to them or they are multiplied by others:
`studies/results/coverage_forecasts.md` has the shares."""
MORE_SKEWED = 1.5
"""The same for rows in units of what the forecasts let each of them be: their skewness, but not below so many times that of
the forecasts themselves. This leaves out what is added and multiplied."""
ROUNDING = 1e-9
"""Differences of this share of the values may come from their rounding."""

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
    least the r of those, and their variance is counted as that of 30 rows more, unless it
    is smaller than the one seen: so the interval does not collapse where no label was
    outside. Forecasts that expected far larger rows than any seen are believed less.
    """

    moments: Moments | ClusterMean
    below: End
    above: End
    heavy: bool = False
    """are the rows so skewed that larger ones than any seen may matter?"""

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
        below = _end(found, -seen, law.variance, -law.skewness, law.below)
        above = _end(found, seen, law.variance, law.skewness, law.above)
        heavy = _heavy(seen, found.weight) or (possible is not None and _surprising(x, w, possible, found))
        return cls(found, below, above, heavy)

    @classmethod
    def of_clusters(cls, values: Array, weights: Array | None, clusters: Array) -> SkewedMean:
        """The mean of rows in clusters, by the skewness of the clusters' sums."""
        found = cluster_mean(values, weights, clusters)
        if found.error is None:
            return cls(found, End(0.0, 0.0), End(0.0, 0.0))
        seen = _skewness(cluster_sums(values, weights, clusters)[-1])
        return cls(
            found, End(found.error, _bend(-seen)), End(found.error, _bend(seen)), _heavy(seen, found.degrees + 1)
        )

    def interval(self, level: float) -> tuple[Interval | None, tuple[str, ...]]:
        """The interval and warnings."""
        plain, cautions = self.moments.interval(check_level(level))
        if plain is None:
            return None, cautions
        quantile = around(0.0, 1.0, self.degrees, level, "").high
        ends = self.mean - self.below.distance(quantile), self.mean + self.above.distance(quantile)
        if self.heavy:
            warning = (
                "the rows have a long tail: where larger ones than any seen are possible, the interval may be too short"
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


@dataclass(frozen=True, slots=True)
class Law:
    """The distribution of the rows if the forecasts were right."""

    variance: float = 0.0
    skewness: float = 0.0
    """over the root of the number of rows"""
    below: float = 0.0
    """how credible it is, from 0 to 1, that no row below the smallest one was seen"""
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
        sums = np.zeros(5)
        for each, chance in zip(values, possible.chances, strict=True):
            away = (each - mean) / unit
            spread = (weights * away) ** 2
            beyond = weights @ (each < low - ROUNDING * unit), weights @ (each > high + ROUNDING * unit)
            sums += chance * np.array([share @ away**2, spread.sum(), spread @ (weights * away), *beyond])
        variance, squares, cubes, *expected = sums.tolist()
        credible = [min(1.0, UNSEEN / max(rows, 1e-300)) for rows in expected]
        return cls(variance * unit**2, max(-1.0, min(1.0, cubes / squares**1.5)), *credible)


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
    return min(bend, STEEPEST) if bend > 0 else SHORT * seen


def _heavy(seen: float, rows: float) -> bool:
    return abs(seen) > min(OF_FEW, SKEWED / math.sqrt(max(rows, 1.0)))


def _surprising(x: Floats, w: Array, possible: Possible, found: Moments) -> bool:
    """Are rows, in units of their own forecasts, far more skewed than those forecasts?"""
    pairs, none = list(zip(possible.values, possible.chances, strict=True)), np.zeros(len(x))
    with np.errstate(all="ignore"):  # rows without a law, or with an infinite one, are left out
        mean = sum((chance * each for each, chance in pairs), none)
        spread = np.sqrt(sum((chance * (each - mean) ** 2 for each, chance in pairs), none))
        law = sum((chance * ((each - mean) / spread) ** 3 for each, chance in pairs), none)
        away = (x - mean) / spread
    known = np.isfinite(away) & np.isfinite(law) & (w > 0) & (spread > ROUNDING * np.maximum(np.abs(mean), np.abs(x)))
    if not known.any():
        return False
    share = w[known] / w[known].sum()
    seen = _skewness(share * (away[known] - share @ away[known])) * math.sqrt(found.weight)
    return abs(seen) > max(SKEWED, MORE_SKEWED * abs(float(share @ law[known])))


def _end(found: Moments, seen: float, variance: float, law: float, unseen: float) -> End:
    """One end of the interval; the law with its variance and skewness counts as far as the rows do not refute it."""
    degrees, credible = found.weight - 1, 0.0
    spread = found.squares / degrees
    if law > 0:
        more = EXPECTED_ROWS * unseen
        credible = min(max(REFUTED * found.squares / found.weight / max(variance, 1e-300), unseen), 1.0)
        spread = max(spread, (found.squares + more * variance) / (degrees + more))
    return End(math.sqrt(spread / found.weight), _bend(seen, law * credible))
