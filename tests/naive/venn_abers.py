"""Venn–Abers by refitting: one isotonic regression for every score asked about and either outcome."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression


def pair(labels, probs, weights, score):
    """(p0, p1) at one score: the isotonic fit there with one more row of weight 1 in its place."""
    found = []
    for outcome in (0.0, 1.0):
        p, y, w = np.append(probs, score), np.append(labels, outcome), np.append(weights, 1.0)
        values = np.unique(p[w > 0])
        weight = np.array([w[p == v].sum() for v in values])
        hits = np.array([(w * y)[p == v].sum() for v in values])
        fitted = isotonic_regression(hits / weight, weights=weight).x
        found.append(fitted[np.searchsorted(values, score)])
    return found
