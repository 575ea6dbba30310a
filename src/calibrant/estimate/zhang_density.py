"""The KDE calibration error as the code of Zhang, Kailkhura & Han (2020) computes it, for comparisons."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.fit.smooth_rate import triweight_sums
from calibrant.norms import Norm
from calibrant.problems import InputError
from calibrant.results import Estimate, Line
from calibrant.state.pooled import Pooled
from calibrant.types import Floats

PLACES = np.linspace(-0.6, 1.6, 1 << 14)
"""Where that code evaluates its densities; it integrates over those in [0, 1]."""

PER_SD = 3.0
"""Half the width of a triweight kernel in units of its standard deviation."""

LEAST_DENSITY = 1e-6
"""Where both densities are smaller, the integrand of the place before is taken."""


def as_zhang(pooled: Pooled, norm: Norm, view: str, n: int) -> Estimate:
    """∫|p − π̂(p)|^α f̂(p) dp without a root, with the bandwidth, reflection and grid of that code."""
    if norm == "max":
        raise InputError("norm", "must be a number with compat='zhang'", "it is 'max'")
    sd = _bandwidth(pooled)
    mass, hits = (_density(pooled.values, weight, sd, pooled.total) for weight in (pooled.weight, pooled.hits))
    known = np.maximum(mass, hits * pooled.total / pooled.hits.sum()) > LEAST_DENSITY
    rate = np.minimum(np.divide(hits, mass, out=np.zeros_like(mass), where=mass > 0), 1.0)
    powers = np.where(known & (mass > 0), np.abs(PLACES - rate) ** norm * mass, 0.0)
    last = np.maximum.accumulate(np.where(known, np.arange(len(PLACES)), 0))
    inside = (PLACES >= 0) & (PLACES <= 1)
    x, total = PLACES[inside], float(np.trapezoid(mass[inside], PLACES[inside]))
    value = float(np.trapezoid(powers[last][inside], x)) / total
    drawn = known & inside & (mass > 0)
    described = {"view": view, "norm": norm, "method": "integrated", "bandwidth": PER_SD * sd, "root": False}
    parts = {"curve": Line.thinned(PLACES[drawn], rate[drawn])}
    title = "KDE calibration error as the code of Zhang et al. prints it"
    return Estimate("density_error", title, value, n, None, None, described | {"compat": "zhang"}, parts)


def _bandwidth(pooled: Pooled) -> float:
    """The standard deviation of the predictions where the event occurred, times (2n)^(−1/5)."""
    events = float(pooled.hits.sum())
    if events > 0:
        mean = float(pooled.hits @ pooled.values) / events
        variance = float(pooled.hits @ (pooled.values - mean) ** 2) / events
        if variance > 0:
            return float(np.sqrt(variance) * (2 * pooled.total) ** -0.2)
    raise InputError(
        "labels", "must hold events with different predictions for compat='zhang'", f"there are {events:g} events"
    )


def _density(values: Floats, weight: Floats, sd: float, total: float) -> Floats:
    """Σ w K at every place per row, 0 outside (0, 1): rows reflected at the nearer end and shared by the places beside them."""
    points = np.concatenate([np.where(values < 0.5, -values, 2 - values), values])
    step = PLACES[1] - PLACES[0]
    at = (points - PLACES[0]) / step
    left = np.minimum(at.astype(np.intp), len(PLACES) - 2)
    share, twice = at - left, np.concatenate([weight, weight])
    shared = np.zeros(len(PLACES))
    for place, part in ((left, 1 - share), (left + 1, share)):
        shared += np.bincount(place, twice * part, len(PLACES))
    width = PER_SD * sd
    sums = triweight_sums(PLACES, PLACES, shared, np.zeros_like(shared), width)[0]
    return np.where((PLACES > 0) & (PLACES < 1), np.maximum(sums, 0.0) * (35 / 32) / (width * total), 0.0)
