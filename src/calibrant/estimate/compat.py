"""The ECE of other packages, edge for edge, so that a difference can be explained.

Each preset is a set of edges and a rule for the rows that lie on them. What the packages have in common with
`EqualWidth` is the idea; what differs is which side an edge belongs to, what happens at exactly 0 and 1, and how i/m is
rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from calibrant.bins import Binning, BinSums, Edges
from calibrant.kernels.rows.pooling import cut_sums
from calibrant.norms import Norm
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices


@dataclass(frozen=True, slots=True)
class Preset:
    """One package's way of binning."""

    package: str
    bins: Callable[[int, Any], Binning]
    differs: str
    """how it differs from `EqualWidth`, in a sentence"""
    two_columns: str = "top"
    """the view it takes of a matrix with two columns"""
    counts: Callable[[int, Any], Edges] | None = None
    """the bins it counts rows with, where they are not those it takes means with"""
    norm: Norm = 1


@dataclass(frozen=True, slots=True)
class RunsOf:
    """Runs of `size` rows in order of their prediction; equal predictions stay in the order they came, and may be split.

    What is left over joins the last run. `last=False` leaves that run, the most confident rows, out of every bin while its rows still
    count in n.
    """

    mergeable: ClassVar[bool] = False

    size: int = 100
    last: bool = True

    def collect(self, event: Event) -> BinSums:
        """Sums of each run."""
        if event.weights is not None:
            raise InputError("weights", "cannot be used with runs of rows", advice="Repeat rows, or use other bins")
        order = np.argsort(event.probs, kind="stable")
        probs, outcomes = event.probs[order].astype(np.float64), event.outcomes[order].astype(np.float64)
        cuts = self._cuts(event.n)
        kept = slice(0, cuts[-1])
        sums = cut_sums(Pooled(probs[kept], np.ones(event.n)[kept], outcomes[kept]), cuts)
        edges = np.concatenate([[0.0], probs[cuts[1:-1] - 1], [1.0 if self.last else probs[max(cuts[-1] - 1, 0)]]])
        ends = edges[: len(cuts)]
        return BinSums(sums[None], ends[None, :-1], ends[None, 1:], event.n, self, float(event.n - cuts[-1]))

    def _cuts(self, n: int) -> Indices:
        runs = max(n // self.size, 1)
        cuts = np.arange(runs + 1, dtype=np.intp) * self.size
        cuts[-1] = n
        return cuts if self.last else cuts[:-1]

    def index(self, event: Event) -> Indices:
        """The run of each row; one more than there are for rows left out."""
        place = np.empty(event.n, dtype=np.intp)
        place[np.argsort(event.probs, kind="stable")] = np.arange(event.n)
        return np.searchsorted(self._cuts(event.n)[1:], place, side="right")

    def collect_classes(self, predictions: Predictions) -> BinSums:  # noqa: ARG002
        """Not defined: the rows of the last run differ from class to class."""
        raise InputError("bins", "in runs of rows cannot be used class by class", advice="Use EqualMass")

    def describe(self) -> str:
        return f"runs of {self.size} rows" + ("" if self.last else ", the last left out")


def torch_linspace(n_bins: int, dtype: Any) -> Floats:
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


def _hle(_n_bins: int, _dtype: Any) -> RunsOf:
    return RunsOf(100, last=False)


PRESETS = {
    "guo": Preset("Guo et al.'s code", _guo, "edges in float32; predictions of exactly 0 are in no bin but count in n"),
    "torchmetrics": Preset(
        "torchmetrics", _torchmetrics, "bins closed on the left; predictions of exactly 1 get a bin of their own"
    ),
    "torchmetrics_l2": Preset(
        "torchmetrics with norm='l2'", _torchmetrics, "as torchmetrics; root mean square over bins", norm=2
    ),
    "torchmetrics_max": Preset(
        "torchmetrics with norm='max'", _torchmetrics, "as torchmetrics; the largest gap of a bin", norm="max"
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
    "hle": Preset(
        "the code of Humanity's Last Exam",
        _hle,
        "root mean square over runs of 100 rows in order of confidence, whatever bins; the last and most confident run is left out "
        "but counts in n; equal confidences stay in the order they came, where that code leaves their order open",
        norm=2,
    ),
}


def collect_as(name: str, event: Event, n_bins: int) -> BinSums:
    """The sums of an event in the bins of a package."""
    chosen, dtype = PRESETS[name], event.probs.dtype
    state = chosen.bins(n_bins, dtype).collect(event)
    if chosen.counts is None or dtype == np.float64:
        return state
    counted = chosen.counts(n_bins, dtype).collect(event)
    share = np.divide(counted.weight, state.weight, out=np.zeros_like(state.weight), where=state.weight > 0)
    sums = state.sums * share[..., None]
    return replace(counted, sums=np.concatenate([counted.sums[..., :1], sums[..., 1:]], axis=-1))
