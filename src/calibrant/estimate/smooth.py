"""Smooth calibration error: errors averaged with a Gaussian whose width is the error itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.about import About
from calibrant.inputs import check_positive
from calibrant.predictions import Event, admit
from calibrant.results import Estimate

Floats = NDArray[np.float64]
Errors = tuple[Floats, Floats]
"""where and how large: p and w(p − y)/n of each row"""

NODES_PER_SIGMA = 32
COARSE, FINE = 1 << 12, 1 << 18
"""Cells of the grid: the first search, and the most a narrow kernel gets."""


def smooth_error(
    labels: Any, probs: Any = None, *, sigma: float | None = None, view: Any = "auto", weights: Any = None
) -> Estimate:
    """How far off is the model, without bins? Smooth ECE.

    smECE_σ = ∫ |1/n Σ_i K_σ(t, p_i)(p_i − y_i)| dt, with a Gaussian reflected at 0 and 1, at the width where smECE_σ = σ; or at a
    given `sigma`. Errors are put on a grid of at least 32 cells per σ and smoothed by cosine transform, which is the reflected
    Gaussian exactly; the grid leaves an error of about 10⁻⁴ of the value.

    When to trust it: it changes little when predictions change little, unlike every binned error, and is within constant
    factors of the distance to the nearest calibrated model.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.smooth_error([1] * 7 + [0] * 3, [0.5] * 10, sigma=100.0).value, 4)  # wide kernel: |mean gap|
    0.2
    """
    predictions = admit(labels, probs, weights=weights)
    if sigma is not None:
        check_positive("sigma", sigma)
    event = predictions.event(view)
    errors = errors_of(event)
    width, value = fixed_point(errors) if sigma is None else (sigma, at_width(errors, sigma))
    described = {"view": predictions.view(view), "sigma": width}
    return Estimate("smooth_error", "smooth ECE", value, event.n, None, None, described)


def errors_of(event: Event) -> Errors:
    """Each row's error; no order is needed."""
    p = event.probs.astype(np.float64)
    r = p - event.outcomes
    return (p, r / len(r)) if event.weights is None else (p, r * (event.weights / event.weights.sum()))


def fixed_point(errors: Errors) -> tuple[float, float]:
    """The width σ with smECE_σ = σ: the left side falls, the right side rises, so halving a bracket closes on it."""
    if not errors[1].any():
        return 0.0, 0.0
    cells, low, high = COARSE, 0.0, 1.0
    while True:
        spectrum = cosine_transform(on_grid(errors, cells))
        width = _halved(spectrum, low, high)
        if cells >= cells_for(width):
            return width, smoothed_size(spectrum, width)
        cells, low, high = cells_for(width), width / 2, min(2 * width, 1.0)


def _halved(spectrum: Floats, low: float, high: float) -> float:
    """Where smECE_σ crosses σ, to rounding."""
    while high - low > 1e-14 + 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if smoothed_size(spectrum, middle) > middle else (low, middle)
    return high


def cells_for(sigma: float) -> int:
    """Cells of the grid for a width: a power of two."""
    wanted = NODES_PER_SIGMA / sigma
    return COARSE if wanted <= COARSE else min(FINE, 1 << int(np.ceil(np.log2(wanted))))


def at_width(errors: Errors, sigma: float) -> float:
    """smECE at one width."""
    return smoothed_size(cosine_transform(on_grid(errors, cells_for(sigma))), sigma)


def on_grid(errors: Errors, cells: int) -> Floats:
    """Errors w(p − y)/n on the centres of the cells, each shared between the two nearest; the ends reflect."""
    place = errors[0] * cells - 0.5
    left = np.floor(place)
    share = place - left
    mass = errors[1]
    left_index = np.clip(left, 0, cells - 1).astype(np.intp)
    right_index = np.clip(left + 1, 0, cells - 1).astype(np.intp)
    grid: Floats = np.bincount(left_index, mass * (1 - share), minlength=cells).astype(np.float64)
    return grid + np.bincount(right_index, mass * share, minlength=cells)


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
    steps = (sigma * cells) ** 2
    shrink = np.exp(-steps * angle**2 / 2) if sigma * cells >= 4 else np.exp(-steps * (1 - np.cos(angle)))
    return float(np.abs(idct(spectrum * shrink, type=2, norm="ortho")).sum())


ABOUT = About(
    name="smooth",
    title="smooth ECE",
    function=smooth_error,
    quantity="size of the errors after smoothing over as wide a neighbourhood as they are large",
    views=("binary", "top", "class k"),
    needs="all rows",
    bias="up near calibration",
    cost="one pass and a few cosine transforms",
    source="Błasiok & Nakkiran 2024",
    also_called=("smECE", "smooth ECE"),
)
