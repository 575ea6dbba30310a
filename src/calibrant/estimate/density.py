"""Calibration error by kernel density: a smooth curve in place of bins."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_bandwidth, check_choice
from calibrant.kernels.fit.smooth_rate import NARROWEST, rule_of_thumb, smooth_rate
from calibrant.kernels.rows.pooling import Groups
from calibrant.methods import ONE_EVENT, method
from calibrant.predictions import admit
from calibrant.results import Estimate, Line

Floats = NDArray[np.float64]

NODES, PEAKS = 4097, 2048
"""Nodes of the trapezoid rule for the integrated version and the curve: evenly spaced ones, and predictions with some beside."""


@method(
    "estimator",
    name="density",
    title="KDE calibration error",
    quantity="mean distance of a prediction from a kernel estimate of the observed rate",
    views=ONE_EVENT,
    state="pooled",
    bias="down for crowded scores (smooths structure away), up near calibration",
    cost="one sort, then seven prefix sums",
    source="Zhang, Kailkhura, Han 2020; Kängsepp et al. 2023, C.4",
    also_called=("KDE", "KDE-ECE"),
)
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
    width = rule_of_thumb(groups) if bandwidth is None else check_bandwidth(bandwidth)
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


def spread_nodes(groups: Groups, bandwidth: float) -> Floats:
    """Nodes on [0, 1]: evenly spaced, and around every prediction, or around many spread evenly over the rows."""
    peaks = groups.values
    if len(peaks) > PEAKS:
        below = groups.below()
        peaks = np.unique(peaks[np.searchsorted(below, (np.arange(PEAKS) + 0.5) * below[-1] / PEAKS)])
    near = peaks[:, None] + bandwidth * np.linspace(-1, 1, 17)
    return np.union1d(np.linspace(0, 1, NODES), np.clip(near, 0, 1))


def _pointwise(groups: Groups, bandwidth: float, norm: int) -> float:
    rate, _ = smooth_rate(groups.values, groups, bandwidth)
    return float(np.average(np.abs(groups.values - rate) ** norm, weights=groups.weight))


def _integrated(nodes: Floats, rate: Floats, density: Floats, norm: int) -> float:
    """∫ |p − π̂(p)|^α f̂(p) dp, with f̂ scaled to integrate to 1 on the nodes."""
    mass = float(np.trapezoid(density, nodes))
    return float(np.trapezoid(np.abs(nodes - rate) ** norm * density, nodes)) / mass
