"""A kernel estimate of the rate around each prediction, as a map."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from calibrant.inputs import check_bandwidth
from calibrant.kernels.fit.smooth_rate import NARROWEST, rule_of_thumb, smooth_rate
from calibrant.kernels.interpolation import interpolated
from calibrant.maps.binary import BinaryRecipe, PointwiseMap, doubts, margin
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.predictions import Predictions
from calibrant.results.constraints import BIG, Above, AtMost, Rising, Shape, Within
from calibrant.state.pooled import Pooled
from calibrant.types import Floats

MOST_POINTS = 1 << 13
"""Distinct predictions that are kept as they are."""

CELLS_PER_BANDWIDTH = 128
"""Cells into which more of them are pooled; changes the map by less than 1e-5."""

FARTHEST = 0.99
"""In bandwidths: further from every prediction of the fit the kernel is too small to give a rate."""


@map_recipe("kernel_density", state="pooled")
class KernelDensity(BinaryRecipe):
    """The rate of the event around a prediction, with the triweight kernel reflected at 0 and 1.

    The curve of `density_error`. A prediction further than 0.99 bandwidths from every
    prediction of the fit is moved towards the nearest one. More than 8192 distinct
    predictions are pooled into cells of 1/128 of a bandwidth, which changes the map by less
    than 1e-5.

    Parameters
    ----------
    bandwidth
        Half-width of the kernel; 1.06·σ·n^(−1/5) if `None`.
    bounded
        Keep the map ½/(n+1) away from 0 and 1.

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
        pooled = predictions.event("binary").pooled
        width = rule_of_thumb(pooled) if self.bandwidth is None else float(self.bandwidth)
        cautions = doubts(pooled)
        if width < NARROWEST:
            cautions += (f"a bandwidth of {width:g} smooths nothing: rates of equal predictions are joined by lines",)
        fit, edge = Fit(predictions.n, cautions=cautions), margin(pooled.total, self.bounded)
        if len(pooled.values) > MOST_POINTS and width >= NARROWEST:
            pooled = in_cells(pooled, width / CELLS_PER_BANDWIDTH)
        return KernelDensityMap(predictions.classes, True, fit, width, pooled.values, pooled.weight, pooled.hits, edge)


def in_cells(pooled: Pooled, width: float) -> Pooled:
    """The hits of each cell of this width at their mean, and the misses at theirs: no change to first order."""
    starts = np.flatnonzero(np.diff(np.floor(pooled.values / width), prepend=-1.0))
    parts = []
    for weight, rate in ((pooled.hits, 1.0), (pooled.weight - pooled.hits, 0.0)):
        mass, place = np.add.reduceat(weight, starts), np.add.reduceat(weight * pooled.values, starts)
        kept = mass > 0
        parts.append(np.stack([place[kept] / mass[kept], mass[kept], rate * mass[kept]]))
    joined = np.concatenate(parts, axis=1)
    return Pooled(*joined[:, np.argsort(joined[0], kind="stable")])


@map_record
class KernelDensityMap(PointwiseMap):
    """π̂(p) = Σ K((p−p_j)/h) h_j / Σ K((p−p_j)/h) w_j, kept `margin` away from 0 and 1."""

    bandwidth: Annotated[float, Within(0, 1)] = 1.0
    values: Annotated[Floats, Shape(least=1), Within(0, 1), Rising(strictly=False)] = ARRAY
    weight: Annotated[Floats, Shape("values"), Above(0, BIG)] = ARRAY
    hits: Annotated[Floats, Shape("values"), Within(0, BIG), AtMost("weight")] = ARRAY
    margin: Annotated[float, Within(0, 0.5)] = 0.0

    method: ClassVar[str] = "kernel_density"
    parameter_names: ClassVar[tuple[str, ...]] = ("bandwidth", "values", "weight", "hits")
    own_blocks = True

    def at(self, p: Floats) -> Floats:
        """The ratio of two kernel sums."""
        return np.clip(self._rate(p), self.margin, 1 - self.margin)

    def _rate(self, p: Floats) -> Floats:
        if self.bandwidth < NARROWEST:
            return interpolated(p, self.values, self.hits / self.weight)
        after = np.searchsorted(self.values, p)
        left, right = self.values[np.maximum(after - 1, 0)], self.values[np.minimum(after, len(self.values) - 1)]
        nearest = np.where(np.abs(p - left) <= np.abs(right - p), left, right)
        farthest = FARTHEST * self.bandwidth
        near = np.clip(p, nearest - farthest, nearest + farthest)
        return smooth_rate(near, Pooled(self.values, self.weight, self.hits), self.bandwidth)[0]
