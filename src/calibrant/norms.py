"""The norm of an error: mean of |distance|^α and its α-th root for any α ≥ 1, or the largest distance."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from calibrant.problems import InputError
from calibrant.types import Array, Floats

Norm = float | Literal["max"]
"""An exponent of at least 1, or "max"."""

LARGEST = 100
"""Beyond it powers of small distances vanish; "max" is the limit."""


def check_norm(norm: Any) -> Norm:
    """A number from 1 to 100, or "max"; whole numbers as such."""
    if isinstance(norm, str) and norm == "max":
        return "max"
    known = isinstance(norm, int | float | np.integer | np.floating) and not isinstance(norm, bool)
    if not known or not 1 <= norm <= LARGEST:
        raise InputError("norm", f"must be a number from 1 to {LARGEST}, or 'max'", f"it is {norm!r:.60}")
    return int(norm) if norm == int(norm) else float(norm)


def mean_power(distance: Array, norm: Norm, weights: Array | None = None) -> float:
    """The mean of |distance|^α; for "max" the largest distance of a row that counts."""
    size = np.abs(distance)
    if norm == "max":
        return float((size if weights is None else size[weights > 0]).max())
    return float(np.average(size**norm, weights=weights))


def rooted(power: Any, norm: Norm, root: bool = True) -> Any:
    """The error whose α-th power is given."""
    if norm == "max" or norm == 1 or not root:  # noqa: PLR1714  (for type checkers)
        return power
    return np.sqrt(power) if norm == 2 else power ** (1 / norm)


def norm_of_name(norm: Norm, root: bool = True) -> str:
    """What stands before the name of an error: "RMS ", "squared ", "L3 ", "mean-power-3 ", "largest "; nothing for norm 1."""
    known = {2: "RMS " if root else "squared ", "max": "largest "}
    return known.get(norm) or ("" if norm == 1 else f"L{norm:g} " if root else f"mean-power-{norm:g} ")


def normal_moment(norm: float) -> float:
    """E|Z|^α of a standard normal Z."""
    return math.exp(norm / 2 * math.log(2) + math.lgamma((norm + 1) / 2)) / math.sqrt(math.pi)


def noise_power(variance: Floats, norm: float) -> Floats:
    """E|X|^α of a normal X with mean 0 and this variance."""
    return np.asarray(normal_moment(norm) * variance ** (norm / 2))
