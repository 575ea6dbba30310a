"""The ECE of other packages, edge for edge, so that a difference can be explained.

Each preset is a set of edges and a rule for the rows that lie on them. What the packages have in common with
`EqualWidth` is the idea; what differs is which side an edge belongs to, what happens at exactly 0 and 1, and how i/m is
rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import Edges
from calibrant.inputs import check_count


@dataclass(frozen=True, slots=True)
class Preset:
    """One package's way of binning."""

    package: str
    bins: Callable[[int, Any], Edges]
    differs: str
    """how it differs from `EqualWidth`, in a sentence"""
    two_columns: str = "top"
    """the view it takes of a matrix with two columns"""


def torch_linspace(n_bins: int, dtype: Any) -> NDArray[np.float64]:
    """The edges torch.linspace makes: steps up from 0 in the lower half, down from 1 in the upper.

    Each is rounded once, to its own precision, as with fused multiply-add: exact fractions first, then the rounding.
    """
    step = Fraction(float(np.ones(1, dtype)[0] / np.array(n_bins, dtype)))
    half = (n_bins + 1) // 2
    exact = [step * i if i < half else 1 - step * (n_bins - i) for i in range(n_bins + 1)]
    return np.array([float(edge) for edge in exact]).astype(dtype).astype(np.float64)


def _guo(n_bins: int, _dtype: Any) -> Edges:
    return Edges(tuple(torch_linspace(n_bins, np.float32)), closed="right", ends=False)


def _torchmetrics(n_bins: int, dtype: Any) -> Edges:
    return Edges((*torch_linspace(n_bins, dtype), np.inf), closed="left")


def _netcal(n_bins: int, _dtype: Any) -> Edges:
    return Edges(tuple(np.linspace(0, 1, n_bins + 1)), closed="left")


def _sklearn(n_bins: int, _dtype: Any) -> Edges:
    return Edges(tuple(np.linspace(0, 1, n_bins + 1)), closed="right")


PRESETS = {
    "guo": Preset("Guo et al.'s code", _guo, "edges in float32; predictions of exactly 0 are in no bin but count in n"),
    "torchmetrics": Preset(
        "torchmetrics", _torchmetrics, "bins closed on the left; predictions of exactly 1 get a bin of their own"
    ),
    "netcal": Preset(
        "netcal", _netcal, "bins closed on the left; edges from linspace in float64, with float64 data", "binary"
    ),
    "sklearn": Preset(
        "scikit-learn's calibration_curve, weighted by bin size,", _sklearn, "edges from linspace in float64", "binary"
    ),
}


def preset(name: str, n_bins: int, dtype: Any) -> Edges:
    """The bins of a package, for data of this precision."""
    return PRESETS[name].bins(check_count(n_bins), dtype)
