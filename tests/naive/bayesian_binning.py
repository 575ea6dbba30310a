"""Bayesian binning by plain loops over rows written out."""

from __future__ import annotations

import math


def binnings(labels, probs, reach):
    """The distinct equal-mass binnings: lists of bins, each a list of (p, y)."""
    n = len(probs)
    fewest = max(1, math.floor(math.cbrt(n) / reach))
    most = max(fewest, min(math.ceil(math.cbrt(n) * reach), n))
    found = []
    for n_bins in range(fewest, most + 1):
        bins = {}
        for p, y in zip(probs, labels, strict=True):
            upto = sum(q <= p for q in probs)
            bins.setdefault(min(k for k in range(1, n_bins + 1) if upto * n_bins <= k * n), []).append((p, y))
        made = [sorted(bins[k]) for k in sorted(bins)]
        if made not in found:
            found.append(made)
    return found


def predict(labels, probs, score, prior_rows=2.0, reach=10.0):
    """The average over binnings of the posterior mean of the bin in which the score lies."""
    n = len(probs)
    logs, heights = [], []
    for bins in binnings(labels, probs, reach):
        ends = [max(p for p, _ in rows) for rows in bins]
        ends[-1] = 1.0
        log, height = 0.0, None
        for k, rows in enumerate(bins):
            low = 0.0 if k == 0 else ends[k - 1]
            centre = min(max((low + ends[k]) / 2, 0.5 / (n + 1)), 1 - 0.5 / (n + 1))
            a, b = prior_rows / len(bins) * centre, prior_rows / len(bins) * (1 - centre)
            h = sum(y for _, y in rows)
            for x, sign in ((a + h, 1), (b + len(rows) - h, 1), (a + b + len(rows), -1), (a, -1), (b, -1), (a + b, 1)):
                log += sign * math.lgamma(x)
            if height is None and score <= ends[k]:
                height = (a + h) / (a + b + len(rows))
        logs.append(log)
        heights.append(height)
    shares = [math.exp(log - max(logs)) for log in logs]
    return sum(s * h for s, h in zip(shares, heights, strict=True)) / sum(shares)
