"""The observed rate around each prediction, smoothed by a triweight kernel that is
reflected at 0 and 1."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.pairs.triweight import triweight_sums
from calibrant.state.pooled import Pooled
from calibrant.types import Floats

NARROWEST = 1e-13
"""Below this a bandwidth is lost in the rounding of the predictions."""


def rule_of_thumb(groups: Pooled) -> float:
    """1.06·σ·n^(−1/5)."""
    mean = np.average(groups.values, weights=groups.weight)
    variance = np.average((groups.values - mean) ** 2, weights=groups.weight)
    return 0.0 if len(groups.values) == 1 else float(1.06 * np.sqrt(variance) * groups.total**-0.2)


def smooth_rate(at: Floats, groups: Pooled, bandwidth: float) -> tuple[Floats, Floats]:
    """π̂ and the density of the predictions at the given points."""
    low, high = groups.values <= bandwidth, groups.values >= 1 - bandwidth
    points = np.concatenate([-groups.values[low][::-1], groups.values, 2 - groups.values[high][::-1]])
    weight, happened = (
        np.concatenate([column[low][::-1], column, column[high][::-1]]) for column in (groups.weight, groups.hits)
    )
    mass, hits = triweight_sums(at, points, weight, happened, bandwidth)
    mass, hits = np.maximum(mass, 0.0), np.clip(hits, 0.0, mass)
    rate = np.divide(hits, mass, out=np.zeros_like(hits), where=mass > 0)
    return rate, mass * (35 / 32) / (bandwidth * groups.total)
