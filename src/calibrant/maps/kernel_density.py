"""A kernel estimate of the rate around each prediction, as a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_bandwidth
from calibrant.kernels.fit.smooth_rate import NARROWEST, rule_of_thumb, smooth_rate
from calibrant.kernels.rows.pooling import Groups
from calibrant.maps.binary import BinaryRecipe, Floats
from calibrant.maps.calibration_map import Fit
from calibrant.maps.pointwise import PointwiseMap, margin, one_sided
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.results import kind

MOST_POINTS = 1 << 13
"""Distinct predictions that are kept as they are."""

CELLS_A_BANDWIDTH = 128
"""Cells into which more of them are pooled; moves the map by less than 1e-5."""

REACH = 0.99
"""Of the bandwidth: further from every score the kernel is too small to say anything."""


@method("map", name="kernel_density", state="pooled")
@dataclass(frozen=True, slots=True)
class KernelDensity(BinaryRecipe):
    """The rate of the event around a prediction, with the triweight kernel reflected at 0 and 1.

    The curve of `density_error`, bandwidth 1.06·σ·n^(−1/5) unless given. A prediction further than 0.99 bandwidths from
    every score of the fit is moved towards the nearest one. `bounded=True` keeps the map ½/(n+1) away from 0 and 1. More
    than 8192 distinct predictions are pooled into cells of 1/128 of a bandwidth, which moves the map by less than 1e-5.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.KernelDensity(bandwidth=0.3).fit([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9])
    >>> fitted.apply([0.1, 0.45, 0.9]).round(2)
    array([0.1, 0.5, 0.9])
    """

    bandwidth: float | None = None
    bounded: bool = True

    def __post_init__(self) -> None:
        if self.bandwidth is not None:
            check_bandwidth(self.bandwidth)

    def fit_event(self, predictions: Predictions) -> KernelDensityMap:
        """Nothing is searched for: the pooled rows are the map."""
        groups = predictions.event("binary").groups
        width = rule_of_thumb(groups) if self.bandwidth is None else float(self.bandwidth)
        cautions = one_sided(groups)
        if width < NARROWEST:
            cautions += (f"a bandwidth of {width:g} smooths nothing: rates of equal predictions are joined by lines",)
        fine = width / CELLS_A_BANDWIDTH
        kept = pooled(groups, fine) if len(groups.values) > MOST_POINTS and width >= NARROWEST else groups
        fit, edge = Fit(predictions.n, cautions=cautions), margin(groups.total, self.bounded)
        return KernelDensityMap(predictions.classes, True, fit, width, kept.values, kept.weight, kept.hits, edge)


def pooled(groups: Groups, width: float) -> Groups:
    """The hits of each cell of this width at their mean, and the misses at theirs: no change to first order."""
    starts = np.flatnonzero(np.diff(np.floor(groups.values / width), prepend=-1.0))
    parts = []
    for weight, rate in ((groups.hits, 1.0), (groups.weight - groups.hits, 0.0)):
        mass, place = np.add.reduceat(weight, starts), np.add.reduceat(weight * groups.values, starts)
        kept = mass > 0
        parts.append(np.stack([place[kept] / mass[kept], mass[kept], rate * mass[kept]]))
    joined = np.concatenate(parts, axis=1)
    return Groups(*joined[:, np.argsort(joined[0], kind="stable")])


@kind
@dataclass(frozen=True, eq=False, repr=False)
class KernelDensityMap(PointwiseMap):
    """π̂(p) = Σ K((p−p_j)/h) h_j / Σ K((p−p_j)/h) w_j, kept `margin` away from 0 and 1."""

    bandwidth: float = 1.0
    values: NDArray[np.float64] = ()  # type: ignore[assignment]
    weight: NDArray[np.float64] = ()  # type: ignore[assignment]
    hits: NDArray[np.float64] = ()  # type: ignore[assignment]
    margin: float = 0.0

    method: ClassVar[str] = "kernel_density"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("values", "weight", "hits")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"bandwidth": self.bandwidth, "values": self.values, "weight": self.weight, "hits": self.hits}

    def at(self, p: Floats) -> Floats:
        """The ratio of two kernel sums."""
        return np.clip(self._rate(p), self.margin, 1 - self.margin)

    def _rate(self, p: Floats) -> Floats:
        if self.bandwidth < NARROWEST:
            return np.interp(p, self.values, self.hits / self.weight)
        after = np.searchsorted(self.values, p)
        left, right = self.values[np.maximum(after - 1, 0)], self.values[np.minimum(after, len(self.values) - 1)]
        nearest = np.where(np.abs(p - left) <= np.abs(right - p), left, right)
        reach = REACH * self.bandwidth
        near = np.clip(p, nearest - reach, nearest + reach)
        return smooth_rate(near, Groups(self.values, self.weight, self.hits), self.bandwidth)[0]
