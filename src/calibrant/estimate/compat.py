"""The ECE of other packages, edge for edge, so that a difference can be explained.

Each preset is a set of edges and a rule for the rows that lie on them. What the packages have in common with
`EqualWidth` is the idea; what differs is which side an edge belongs to, what happens at exactly 0 and 1, and how i/m is
rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import BinSums, Edges
from calibrant.inputs import check_count
from calibrant.predictions import Event


@dataclass(frozen=True, slots=True)
class Preset:
    """One package's way of binning."""

    package: str
    bins: Callable[[int, Any], Edges]
    differs: str
    """how it differs from `EqualWidth`, in a sentence"""
    two_columns: str = "top"
    """the view it takes of a matrix with two columns"""
    counts: Callable[[int, Any], Edges] | None = None
    """the bins it counts rows with, where they are not those it takes means with"""


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


def _netcal(n_bins: int, dtype: Any) -> Edges:
    return Edges(tuple(np.linspace(0, 1, n_bins + 1).astype(dtype)), closed="left")


def _netcal_counts(n_bins: int, _dtype: Any) -> Edges:
    return Edges(tuple(np.linspace(0, 1, n_bins + 1)), closed="left")


def _sklearn(n_bins: int, _dtype: Any) -> Edges:
    return Edges(tuple(np.linspace(0, 1, n_bins + 1)), closed="right")


PRESETS = {
    "guo": Preset("Guo et al.'s code", _guo, "edges in float32; predictions of exactly 0 are in no bin but count in n"),
    "torchmetrics": Preset(
        "torchmetrics", _torchmetrics, "bins closed on the left; predictions of exactly 1 get a bin of their own"
    ),
    "netcal": Preset(
        "netcal",
        _netcal,
        "bins closed on the left; edges from linspace, rounded to the data's precision for means but not for counts",
        "binary",
        _netcal_counts,
    ),
    "sklearn": Preset(
        "scikit-learn's calibration_curve, weighted by bin size,", _sklearn, "edges from linspace in float64", "binary"
    ),
}


def collect_as(name: str, event: Event, n_bins: int) -> BinSums:
    """The sums of an event in the bins of a package."""
    chosen, dtype = PRESETS[name], event.probs.dtype
    state = chosen.bins(check_count(n_bins), dtype).collect(event)
    if chosen.counts is None or dtype == np.float64:
        return state
    counted = chosen.counts(n_bins, dtype).collect(event)
    share = np.divide(counted.weight, state.weight, out=np.zeros_like(state.weight), where=state.weight > 0)
    sums = state.sums * share[..., None]
    return replace(counted, sums=np.concatenate([counted.sums[..., :1], sums[..., 1:]], axis=-1))
