"""Calibration error by kernel density: a smooth curve in place of bins."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.about import About
from calibrant.inputs import check_choice
from calibrant.kernels.groups import Groups
from calibrant.kernels.triweight import triweight_sums
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Line

Floats = NDArray[np.float64]

NARROWEST = 1e-13
"""Below this a bandwidth is lost in the rounding of the predictions."""

NODES, PEAKS = 4097, 2048
"""Nodes of the trapezoid rule for the integrated version and the curve: evenly spaced ones, and predictions with some beside."""


def density_error(
    labels: Any,
    probs: Any = None,
    *,
    norm: Literal[1, 2] = 1,
    method: Literal["pointwise", "integrated"] = "pointwise",
    bandwidth: float | None = None,
    root: bool = True,
    view: Any = "auto",
    weights: Any = None,
) -> Estimate:
    """How far are predictions from a smooth estimate of the observed rate around them?

    π̂(p) = Σ_j K((p−p_j)/h) y_j / Σ_j K((p−p_j)/h) with the triweight kernel, reflected at 0 and 1, and h = 1.06·σ·n^(−1/5) unless
    `bandwidth` is given. `pointwise` averages |p − π̂(p)|^α over the rows, exactly; `integrated` integrates it over the
    estimated density by the trapezoid rule with at least 4097 nodes. `parts["curve"]` is π̂.

    When to trust it: smooth curves and scores that are not crowded. Near 0 and 1 it smooths real structure away.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> 0 < cal.density_error(test).value < 0.2
    True
    """
    predictions = admit(labels, probs, weights=weights)
    check_choice("norm", norm, (1, 2))
    check_choice("method", method, ("pointwise", "integrated"))
    event = predictions.event(view)
    groups = event.groups
    width = rule_of_thumb(groups) if bandwidth is None else checked_bandwidth(bandwidth)
    cautions: tuple[str, ...] = ()
    if width < NARROWEST:
        rate = groups.hits / groups.weight
        power, curve = float(np.average(np.abs(groups.values - rate) ** norm, weights=groups.weight)), None
        cautions = (f"a bandwidth of {width:g} smooths nothing: rates of equal predictions are taken as they are",)
    else:
        nodes = spread_nodes(groups, width)
        rate, density = smooth_rate(nodes, groups, width)
        curve = Line.thinned(nodes[density > 0], rate[density > 0])
        power = _pointwise(groups, width, norm) if method == "pointwise" else _integrated(nodes, rate, density, norm)
    value = np.sqrt(power) if norm == 2 and root else power
    described = {"view": predictions.view(view), "norm": norm, "method": method, "bandwidth": width, "root": root}
    parts = {} if curve is None else {"curve": curve}
    title = {1: "KDE calibration error", 2: "RMS KDE calibration error" if root else "squared KDE calibration error"}[
        norm
    ]
    return Estimate("density_error", title, value, event.n, None, None, described, parts, cautions)


def rule_of_thumb(groups: Groups) -> float:
    """1.06·σ·n^(−1/5)."""
    mean = np.average(groups.values, weights=groups.weight)
    variance = np.average((groups.values - mean) ** 2, weights=groups.weight)
    return 0.0 if len(groups.values) == 1 else float(1.06 * np.sqrt(variance) * groups.total**-0.2)


def checked_bandwidth(bandwidth: float) -> float:
    """A bandwidth for which one reflection at either end is enough."""
    if isinstance(bandwidth, bool) or not isinstance(bandwidth, float | int | np.number) or not 0 < bandwidth <= 1:
        raise InputError("bandwidth", "must lie in (0, 1]", f"it is {bandwidth!r}")
    return float(bandwidth)


def spread_nodes(groups: Groups, bandwidth: float) -> Floats:
    """Nodes on [0, 1]: evenly spaced, and around every prediction, or around many spread evenly over the rows."""
    peaks = groups.values
    if len(peaks) > PEAKS:
        below = groups.below()
        peaks = np.unique(peaks[np.searchsorted(below, (np.arange(PEAKS) + 0.5) * below[-1] / PEAKS)])
    near = peaks[:, None] + bandwidth * np.linspace(-1, 1, 17)
    return np.union1d(np.linspace(0, 1, NODES), np.clip(near, 0, 1))


def smooth_rate(at: Floats, groups: Groups, bandwidth: float) -> tuple[Floats, Floats]:
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


def _pointwise(groups: Groups, bandwidth: float, norm: int) -> float:
    rate, _ = smooth_rate(groups.values, groups, bandwidth)
    return float(np.average(np.abs(groups.values - rate) ** norm, weights=groups.weight))


def _integrated(nodes: Floats, rate: Floats, density: Floats, norm: int) -> float:
    """∫ |p − π̂(p)|^α f̂(p) dp, with f̂ scaled to integrate to 1 on the nodes."""
    mass = float(np.trapezoid(density, nodes))
    return float(np.trapezoid(np.abs(nodes - rate) ** norm * density, nodes)) / mass


ABOUT = About(
    name="density",
    title="KDE calibration error",
    function=density_error,
    quantity="mean distance of a prediction from a kernel estimate of the observed rate",
    views=("binary", "top", "class k"),
    needs="sorted rows",
    bias="down for crowded scores (smooths structure away), up near calibration",
    cost="one sort, then seven prefix sums",
    source="Zhang, Kailkhura, Han 2020; Kängsepp et al. 2023, C.4",
    also_called=("KDE", "KDE-ECE"),
)
