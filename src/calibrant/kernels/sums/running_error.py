"""The running sum of errors along the predictions, C(σ) = Σ_(p ≤ σ) w(p − y).

Where is it highest and lowest, and, along confidence, what is the risk at any coverage?

With many rows there is no need to sort them all. The sums of fine buckets give C at
every bucket's end; inside a bucket, C can rise by no more than Σ max(p − y, 0) above
its start, nor fall by more below its end. Only buckets that could beat the best end are
opened and sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.buckets import HIGH, SUMS, Buckets, rows_of
from calibrant.kernels.sums.stable_sums import inner
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices

POINTS = 1000
"""Points kept of the running sum, besides its highest and lowest."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Points of C, in order; the highest above 0 and the lowest below 0 are among them."""

    places: Floats
    sums: Floats
    total: float
    """weight of all rows"""
    variance: float
    """Σ wp(1−p)"""


def group_course(groups: Pooled) -> Course:
    """The running sum over rows pooled by equal prediction."""
    sums = np.cumsum(groups.residual)
    kept = _with_ends(np.linspace(0, len(sums) - 1, min(len(sums), POINTS)).astype(np.intp), sums)
    variance = inner(groups.spread, groups.values * (1 - groups.values))
    return Course(groups.values[kept], sums[kept], groups.total, variance)


def bucket_course(buckets: Buckets, both: bool = True) -> Course:
    """The same from buckets, of which only those that matter are sorted.

    Points are bucket ends, evenly spread over rows.

    `both=False` searches inside buckets only for the sum farthest from 0.
    """
    filled = buckets.filled
    n, p, variance, y, rise = buckets.table[filled, :SUMS].T
    sums = np.cumsum(p - y)
    before = sums - (p - y)
    top, bottom = max(0.0, float(sums.max())), min(0.0, float(sums.min()))
    if not both:
        top, bottom = max(top, -bottom), min(-top, bottom)
    wanted = buckets.mixed[filled] & ((before + rise > top) | (sums - rise < bottom))
    keys, ends = buckets.opened(filled[wanted])
    found, at = np.array([top, bottom]), np.array([-1, -1])
    inner_extremes(keys, ends[filled[wanted]], before[wanted], found, at)
    inside = at >= 0
    kept = _with_ends(np.searchsorted(np.cumsum(n), np.linspace(1, len(buckets.probs), POINTS)), sums)
    places = np.append(buckets.table[filled[kept], HIGH], rows_of(keys[at[inside]])[0])
    order = np.argsort(places, kind="stable")
    return Course(places[order], np.append(sums[kept], found[inside])[order], float(n.sum()), float(variance.sum()))


def _with_ends(kept: Indices, sums: Floats) -> Indices:
    return np.unique(np.append(kept, [np.argmax(sums), np.argmin(sums)]))


@compiled
def inner_extremes(keys: Any, ends: Any, before: Any, sums: Any, at: Any) -> None:
    """Sums above the first and below the second of `sums` within buckets, the farthest, and at which keys.

    Both stay as they are where there is none. Ties are added up before they are compared.
    The ends of buckets need no comparison: `sums` includes them.
    """
    start = 0
    for b in range(len(ends)):
        total = before[b]
        for i in range(start, ends[b]):
            value = np.uint64(keys[i] >> np.uint64(1))
            total += value.view(np.float64) - np.float64(keys[i] & np.uint64(1))
            if i + 1 < ends[b] and keys[i + 1] >> np.uint64(1) != value:
                if total > sums[0]:
                    sums[0], at[0] = total, i
                elif total < sums[1]:
                    sums[1], at[1] = total, i
        start = ends[b]


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """The curve at the end of each tie, from the most confident on.

    Also its area, and what each row's influence on it needs.
    """

    coverage: Floats
    risk: Floats
    area: float
    order: Floats
    """confidences, falling"""
    late: Floats
    """for each confidence, the mean of Σ w/W over places from the row's own to the last,
    W the weight up to there: what an error there costs"""
    passed: Floats
    """for each confidence, the mean over all rows of errors no more confident, each over
    the share of rows at least as confident"""


def risk_coverage(groups: Pooled, confidences: Floats) -> RiskCoverage:
    """From rows pooled by equal confidence, and the confidences of the rows one by one.

    Rows of a tie, whose order is unknown, count by their mean weight.
    """
    rows = np.unique(confidences, return_counts=True)[1][::-1]
    weight, wrong = groups.weight[::-1], (groups.weight - groups.hits)[::-1]
    starts = np.cumsum(rows) - rows
    unit = np.repeat(weight / rows, rows)  # of each place
    ends = np.cumsum(unit)
    inverse = unit / ends
    later = np.cumsum(inverse[::-1])[::-1]
    late = np.add.reduceat(later, starts) / rows
    shares = wrong * np.add.reduceat(inverse, starts) / weight
    passed = np.cumsum(shares[::-1])[::-1] - shares / 2
    total, ends = float(ends[-1]), ends[starts + rows - 1]
    risk, area = np.cumsum(wrong) / ends, float(wrong @ late) / total
    return RiskCoverage(ends / total, risk, area, groups.values[::-1], late, passed)


def influences(curve: RiskCoverage, confidences: Floats, wrong: Floats, weights: Floats | None = None) -> Floats:
    """How far each row moves the area, centred.

    Their mean is 0 and their spread that of √n times the area.
    """
    at = len(curve.order) - 1 - np.searchsorted(curve.order[::-1], confidences)
    moved = wrong * curve.late[at] - curve.passed[at]
    centred: Floats = moved - np.average(moved, weights=weights)
    return centred
