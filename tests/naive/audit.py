"""Audits the slow way: masks instead of cells, one segment and one draw at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def every_segment(columns, depth, least):
    """{rows of the segment: [its descriptions, those with few conditions first]}, by trying every combination of levels."""
    n = len(next(iter(columns.values())))
    found = {}
    for d in range(depth + 1):
        for names in combinations(columns, d):
            for values in sorted({tuple(columns[name][i] for name in names) for i in range(n)}):
                rows = tuple(i for i in range(n) if all(columns[k][i] == v for k, v in zip(names, values, strict=True)))
                if len(rows) >= least or not names:
                    conditions = tuple(f"{k} = {v}" for k, v in zip(names, values, strict=True))
                    found.setdefault(rows, []).append(" & ".join(conditions) or "all rows")
    return found


def course(errors, p):
    """The sum of errors in order of p, and the range of the running sum; equal predictions are added before it is looked at."""
    total, high, low = 0.0, 0.0, 0.0
    for value in sorted(set(p)):
        total += sum(e for e, q in zip(errors, p, strict=True) if q == value)
        high, low = max(high, total), min(low, total)
    return total, high - low


def adjusted_p_values(scores):
    """Step-down: whoever is more suspicious is taken out, one after the other."""
    observed, left, found, worst = scores[0], list(range(scores.shape[1])), {}, 0.0
    for s in sorted(left, key=lambda s: -observed[s]):
        larger = sum(max(row[left]) >= observed[s] for row in scores)
        worst = max(worst, larger / len(scores))
        found[s] = worst
        left.remove(s)
    return np.array([found[s] for s in range(scores.shape[1])])
