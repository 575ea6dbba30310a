"""Risk and coverage: how wrong are the most confident rows, for any number of them?

Rows of equal confidence have no order among them, so everything is the mean over their
orders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.state.pooled import Pooled
from calibrant.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """The curve at the end of each tie, from the most confident on; its area, and each
    row's influence on it."""

    coverage: Floats
    risk: Floats
    area: float
    order: Floats
    """confidences, falling"""
    late: Floats
    """for each confidence, the mean of Σ 1/j over places j from the row's own to the
    last: what an error there costs"""
    passed: Floats
    """for each confidence, 1/n Σ of errors no more confident, each over the share of
    rows at least as confident"""


def risk_coverage(groups: Pooled) -> RiskCoverage:
    """From rows pooled by equal confidence, of weight 1 each."""
    weight, wrong = groups.weight[::-1], (groups.weight - groups.hits)[::-1]
    n = int(groups.total)
    ends = np.cumsum(weight)
    starts = (ends - weight).astype(np.intp)
    inverse = 1 / np.arange(1, n + 1)
    later = np.cumsum(inverse[::-1])[::-1]
    late = np.add.reduceat(later, starts) / weight
    shares = wrong * np.add.reduceat(inverse, starts) / weight
    passed = np.cumsum(shares[::-1])[::-1] - shares / 2
    return RiskCoverage(ends / n, np.cumsum(wrong) / ends, float(wrong @ late) / n, groups.values[::-1], late, passed)


def influences(curve: RiskCoverage, confidences: Floats, wrong: Floats) -> Floats:
    """How far each row moves the area, centred: their mean is 0 and their spread that
    of √n times the area."""
    at = len(curve.order) - 1 - np.searchsorted(curve.order[::-1], confidences)
    moved = wrong * curve.late[at] - curve.passed[at]
    centred: Floats = moved - moved.mean()
    return centred
