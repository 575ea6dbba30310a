"""Maximum mean calibration error: errors weighed against each other by how close their predictions are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from calibrant.inputs import check_positive
from calibrant.kernels.pairs.line_pairs import laplace_pair_sum, pair_sum
from calibrant.kernels.sums.stable_sums import inner
from calibrant.methods import estimator
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate


@estimator("mmce", "MMCE", "MMCE", of_the_error=False)
def mmce(
    labels: Any,
    probs: Any = None,
    *,
    bandwidth: float = 0.4,
    kernel: str | Callable[[Any], Any] = "laplace",
    root: bool = True,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """Do errors of the same sign lie close together? Maximum mean calibration error.

    √(1/n² Σ_ij r_i r_j k(p_i, p_j)) with r = y − p.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    bandwidth
        Scale of the kernel.
    kernel
        `"laplace"`, exp(−|p−p'|/bandwidth), summed exactly in O(n log n); `"gaussian"`,
        exp(−(p−p')²/(2·bandwidth²)); or any function of the distance, summed over all pairs
        in blocks.
    root
        `False` gives the square.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: root of the kernel-weighted mean product of errors; 0 only for a
      calibrated model.
    Bias: up: the diagonal adds Σp(1−p)/n² to the square.
    Cost: one sort with the Laplace kernel; all pairs with any other.
    Source: Kumar, Sarawagi, Jain 2018; Gruber & Buettner 2022, C.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.mmce([1, 0], [0.8, 0.4]).value, 6)
    0.187843
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = predictions.event(view)
    pooled = event.pooled
    square = max(line_pair_sum(pooled.values, pooled.residual, kernel, bandwidth), 0.0) / pooled.total**2
    floor = inner(pooled.spread, pooled.values * (1 - pooled.values)) / pooled.total**2
    name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", type(kernel).__name__)
    described = {"view": predictions.view(view), "kernel": name, "bandwidth": bandwidth, "root": root}
    value, expected = (np.sqrt(square), np.sqrt(floor)) if root else (square, floor)
    title = "MMCE" if root else "squared MMCE"
    return Estimate("mmce", title, value, event.n, None, float(expected), described)


def line_pair_sum(values: Any, a: Any, kernel: str | Callable[[Any], Any], bandwidth: float) -> float:
    """Σ a_g a_h k(|v_g − v_h|) for a kernel by name or as a function of the distance."""
    check_positive("bandwidth", bandwidth)
    if kernel == "laplace":
        return laplace_pair_sum(values, a, bandwidth)
    if kernel == "gaussian":
        return pair_sum(values, a, partial(_gaussian, bandwidth))
    if callable(kernel):
        return pair_sum(values, a, kernel)
    raise InputError("kernel", "must be 'laplace', 'gaussian' or a function of the distance", f"it is {kernel!r}")


def _gaussian(bandwidth: float, distance: Any) -> Any:
    return np.exp(-((distance / bandwidth) ** 2) / 2)
