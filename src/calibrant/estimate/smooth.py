"""Smooth calibration error: errors averaged with a Gaussian whose width is the error itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from calibrant.inputs import check_positive
from calibrant.kernels.sums.error_grid import error_grid
from calibrant.methods import estimator
from calibrant.predictions import Event, admit
from calibrant.results import Estimate
from calibrant.types import Floats

WIDE = 1e6
"""A standard deviation of the kernel from which on nothing but the mean gap is left."""

NODES_PER_SIGMA = 32
COARSE, FINE = 1 << 12, 1 << 18
"""Cells of the grid: the first search, and the most a narrow kernel gets."""


@estimator("smooth", "smooth ECE", "smECE", "smooth ECE", of_the_error=False)
def smooth_error(
    labels: Any,
    probs: Any = None,
    *,
    sigma: float | None = None,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far off is the model, without bins? Smooth ECE.

    smECE_σ = ∫ |1/n Σ_i K_σ(t, p_i)(p_i − y_i)| dt with a Gaussian kernel reflected at 0 and 1,
    at the width where smECE_σ = σ. Errors are put on a grid of at least 32 cells per σ and
    smoothed by cosine transform, which is the reflected Gaussian exactly; the grid leaves a
    relative error of about 10⁻⁴.

    When to trust it: it changes little when predictions change little, unlike every binned
    error, and is within constant factors of the distance to the nearest calibrated model.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    sigma
        A fixed width in place of the fixed point.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: size of the errors after smoothing over as wide a neighbourhood as they
      are large.
    Bias: up near calibration.
    Cost: one pass and a few cosine transforms.
    Source: Błasiok & Nakkiran 2024.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.smooth_error([1] * 7 + [0] * 3, [0.5] * 10, sigma=100.0).value, 4)  # wide kernel: |mean gap|
    0.2
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    if sigma is not None:
        check_positive("sigma", sigma)
    event = predictions.event(view)
    if sigma is None:
        width, value = fixed_point(event)
    else:
        width, value = sigma, smoothed_size(cosine_transform(on_grid(event, cells_for(sigma))), sigma)
    described = {"view": predictions.view(view), "sigma": width}
    return Estimate("smooth_error", "smooth ECE", value, event.n, None, None, described)


def fixed_point(event: Event) -> tuple[float, float]:
    """The width σ with smECE_σ = σ: the left side falls, the right side rises, so a bracket closes on it."""
    cells, low, high = COARSE, 0.0, 1.0
    while True:
        grid = on_grid(event, cells)
        if not grid.any():
            if cells == FINE:
                return 0.0, 0.0
            cells = FINE
            continue
        spectrum = cosine_transform(grid)
        width = crossing(partial(smoothed_size, spectrum), low, high)
        if cells >= cells_for(width):
            return width, smoothed_size(spectrum, width)
        cells, low, high = cells_for(width), width / 2, min(2 * width, 1.0)


def crossing(size: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function of σ crosses σ, to rounding.

    The difference falls at least as fast as σ rises, so the crossing is no farther from any point than the difference there.
    Secant steps, and a halving wherever the last step has not halved the bracket.
    """
    at, gap, slope, width = high, size(high) - high, -1.0, np.inf
    while high - low > 1e-14 + 1e-12 * high:
        target = at - gap / slope
        halved, width = high - low <= width / 2, high - low
        last, before = at, gap
        at = target if halved and low < target < high else (low + high) / 2
        gap = size(at) - at
        slope = min((gap - before) / (at - last), -1.0)
        low, high = (at, min(high, at + gap)) if gap > 0 else (max(low, at + gap), at)
    return high


def cells_for(sigma: float) -> int:
    """Cells of the grid for a width: a power of two."""
    wanted = NODES_PER_SIGMA / sigma
    return COARSE if wanted <= COARSE else min(FINE, 1 << int(np.ceil(np.log2(wanted))))


def on_grid(event: Event, cells: int) -> Floats:
    """The event's errors, divided by the total weight, on the centres of so many cells."""
    return error_grid(event.probs, event.outcomes, event.weights, cells)


def cosine_transform(grid: Floats) -> Floats:
    """The grid as cosines cos(πkt), which the reflected Gaussian leaves in shape."""
    from scipy.fft import dct

    return np.asarray(dct(grid, type=2, norm="ortho"))


def smoothed_size(spectrum: Floats, sigma: float) -> float:
    """Σ|·| of the grid after smoothing: the k-th cosine shrinks by exp(−(πkσ)²/2).

    Below four cells the grid cannot hold a Gaussian; a random walk of the same variance takes its place.
    """
    from scipy.fft import idct

    cells = len(spectrum)
    angle = np.pi * np.arange(cells) / cells
    sigma = min(sigma, WIDE)
    steps = (sigma * cells) ** 2
    shrink = np.exp(-steps * angle**2 / 2) if sigma * cells >= 4 else np.exp(-steps * (1 - np.cos(angle)))
    return float(np.abs(idct(spectrum * shrink, type=2, norm="ortho")).sum())
