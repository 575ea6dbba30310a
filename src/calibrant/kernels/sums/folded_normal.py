"""The mean of the absolute value of a normal variable."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calibrant.types import Floats

SQRT_2_PI, ROOT_2 = float(np.sqrt(2 / np.pi)), float(np.sqrt(2))


@cache
def _erf() -> Any:
    from scipy.special import erf

    return erf


def folded_normal_mean(mean: Floats, sd: Floats) -> Floats:
    """E|X| for X ~ N(μ, σ²): σ√(2/π)·exp(−μ²/2σ²) + μ·erf(μ/(σ√2)); |μ| where σ = 0."""
    erf = _erf()
    if not sd.size or sd.item(sd.argmin()) > 0:
        ratio = mean / (sd * ROOT_2)
        return sd * SQRT_2_PI * np.exp(-(ratio * ratio)) + mean * erf(ratio)
    ratio = np.divide(mean, sd * ROOT_2, out=np.zeros_like(mean), where=sd > 0)
    return np.where(sd > 0, sd * SQRT_2_PI * np.exp(-(ratio**2)) + mean * erf(ratio), np.abs(mean))
