"""Maximum mean calibration error over all pairs."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum
from typing import Any


def square(probs: Any, outcomes: Any, kernel: Callable[[float], float], weights: Any = None) -> float:
    """1/n² Σ_ij (y_i − p_i)(y_j − p_j) k(|p_i − p_j|)."""
    w = [1.0] * len(probs) if weights is None else [float(v) for v in weights]
    rows = [(float(p), u * (float(y) - float(p))) for p, y, u in zip(probs, outcomes, w, strict=True)]
    return fsum(r * s * kernel(abs(p - q)) for p, r in rows for q, s in rows) / fsum(w) ** 2
