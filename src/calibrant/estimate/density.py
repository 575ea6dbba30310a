"""Calibration error by kernel density: a smooth curve in place of bins."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.estimate.zhang_density import as_zhang
from calibrant.inputs import check_bandwidth, check_choice
from calibrant.kernels.fit.smooth_rate import NARROWEST, rule_of_thumb, smooth_rate
from calibrant.methods import estimator
from calibrant.norms import Norm, check_norm, mean_power, norm_of_name, rooted
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Line
from calibrant.state.pooled import Pooled
from calibrant.types import Floats

NODES, PEAKS = 4097, 2048
"""Nodes of the trapezoid rule for the integrated version and the curve: evenly spaced ones, and predictions with some beside."""


@estimator("density", "KDE calibration error", "KDE", "KDE-ECE")
def density_error(
    labels: Any,
    probs: Any = None,
    *,
    norm: Norm = 1,
    method: Literal["pointwise", "integrated"] = "pointwise",
    bandwidth: float | None = None,
    root: bool = True,
    compat: Literal["zhang"] | None = None,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far are predictions from a kernel estimate of the observed rate around them?

    π̂(p) = Σ_j K((p−p_j)/h) y_j / Σ_j K((p−p_j)/h) with the triweight kernel, reflected at 0
    and 1. `parts["curve"]` is π̂, `parts["density"]` f̂.

    When to trust it: smooth curves and predictions that are spread out. Near 0 and 1 it
    smooths real structure away.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square, any
        number from 1 to 100; `"max"` the largest.
    method
        `pointwise` averages |p − π̂(p)|^α over the rows, exactly; `integrated` integrates it
        over the estimated density by the trapezoid rule with at least 4097 nodes.
    bandwidth
        h; by default 1.06·σ·n^(−1/5).
    root
        Take the α-th root; `False` gives the mean power, the squared error for norm 2.
    compat
        `"zhang"`: what the code of Zhang et al. prints, and with it the KDE columns of
        Roelofs et al. It takes no root whatever `root` is, its bandwidth is the standard
        deviation of the kernel (a third of our h) and 1·σ₁·(2n)^(−1/5) with σ₁ of the rows
        where the event occurred, and it integrates over 16 384 fixed places.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean distance of a prediction from a kernel estimate of the observed
      rate.
    Bias: down for crowded scores (smooths structure away), up near calibration.
    Cost: one sort, then seven prefix sums.
    Source: Zhang, Kailkhura, Han 2020; Kängsepp et al. 2023, C.4.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> 0 < cal.density_error(test).value < 0.2
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    norm = check_norm(norm)
    check_choice("method", method, ("pointwise", "integrated"))
    event = predictions.event(view)
    pooled = event.pooled
    if compat is not None:
        check_choice("compat", compat, ("zhang",))
        if method != "pointwise" or bandwidth is not None:
            raise InputError("compat", "has a method and a bandwidth of its own", advice="Pass norm and view alone")
        return as_zhang(pooled, norm, predictions.view(view), event.n)
    width = rule_of_thumb(pooled) if bandwidth is None else check_bandwidth(bandwidth)
    cautions: tuple[str, ...] = ()
    parts = {}
    if width < NARROWEST:
        power = _pointwise(pooled, pooled.hits / pooled.weight, norm)
        cautions = (f"a bandwidth of {width:g} smooths nothing: rates of equal predictions are taken as they are",)
    else:
        nodes, pointwise = spread_nodes(pooled, width), method == "pointwise"
        both, k = np.concatenate([nodes, pooled.values]) if pointwise else nodes, len(nodes)
        rates, densities = smooth_rate(both, pooled, width)
        rate, density = rates[:k], densities[:k]
        held = density > 0
        parts = {"curve": Line.thinned(nodes[held], rate[held]), "density": Line.thinned(nodes[held], density[held])}
        power = _pointwise(pooled, rates[k:], norm) if pointwise else _integrated(nodes, rate, density, norm)
    value = rooted(power, norm, root)
    described = {"view": predictions.view(view), "norm": norm, "method": method, "bandwidth": width, "root": root}
    title = norm_of_name(norm, root) + "KDE calibration error"
    return Estimate("density_error", title, value, event.n, None, None, described, parts, cautions)


def spread_nodes(pooled: Pooled, bandwidth: float) -> Floats:
    """Nodes on [0, 1]: evenly spaced, and around every prediction, or around many spread evenly over the rows."""
    peaks = pooled.values
    if len(peaks) > PEAKS:
        below = pooled.below()
        peaks = np.unique(peaks[np.searchsorted(below, (np.arange(PEAKS) + 0.5) * below[-1] / PEAKS)])
    near = peaks[:, None] + bandwidth * np.linspace(-1, 1, 17)
    return np.union1d(np.linspace(0, 1, NODES), np.clip(near, 0, 1))


def _pointwise(pooled: Pooled, rate: Floats, norm: Norm) -> float:
    return mean_power(pooled.values - rate, norm, pooled.weight)


def _integrated(nodes: Floats, rate: Floats, density: Floats, norm: Norm) -> float:
    """∫ |p − π̂(p)|^α f̂(p) dp, with f̂ scaled to integrate to 1 on the nodes."""
    if norm == "max":
        return mean_power(nodes - rate, norm, density)
    mass = float(np.trapezoid(density, nodes))
    return float(np.trapezoid(np.abs(nodes - rate) ** norm * density, nodes)) / mass
