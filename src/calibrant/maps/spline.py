"""A spline through the cumulative curve: calibration without bins, by a derivative."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice, check_count, check_seed, check_tolerance
from calibrant.kernels.fit.cubic_basis import RUN_OUT, fit_spline, slopes_at
from calibrant.kernels.interpolation import interpolated
from calibrant.kernels.rows.pooling import in_order, pooled_cuts
from calibrant.kernels.rows.sorted_folds import FEWER_WITHIN, fewest_within, rows_in_folds
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.binary import BinaryRecipe, ShiftMap, doubts, margin
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.predictions import Event, Predictions
from calibrant.results.constraints import Rising, Shape, Within
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices, Seed

CELLS = 1000
"""Cells of equal mass into which more distinct predictions than this are pooled."""

MOST_KNOTS = 16
"""Tried by cross-validation."""


@map_recipe("spline", state="pooled")
class Spline(BinaryRecipe):
    """p + g′(t): the gap at a prediction as the slope of the cumulative gap (Gupta et al. 2021).

    With rows in order of their prediction, t is the share of rows up to p and G(t) the mean
    of y − p over these rows, with 0 for all others; its largest distance from 0 is the KS
    error. g is the cubic spline over evenly spaced knots closest to G, equal to it at 0 and
    1. So the mean of the map is the rate of the event, except for ties and for values cut
    off at 0 and 1. More than 1000 distinct predictions are pooled into cells of 1/1000 of
    the rows, for the fit and for t.

    Parameters
    ----------
    kind
        What holds at the ends of the spline.
    n_knots
        Number of knots. `"cv"` takes the fewest, up to 16, whose squared loss on held-out
        folds is within `tolerance` of the smallest.
    n_folds
        Number of folds. Rows are assigned to them in order of their prediction, so that the
        order in which they come does not matter.
    tolerance
        For `"cv"`: a relative difference between losses; 0 takes the smallest.
    seed
        Seed of the shuffle of folds among equal predictions.
    bounded
        Keep the map ½/(n+1) away from 0 and 1; else it is cut off at 0 and 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.maps.Spline(n_knots=5).fit(valid.labels == 3, valid.probs[:, 3])
    >>> fitted.values.shape
    (5,)
    """

    kind: Literal["natural", "cubic", "parabolic"] = "natural"
    n_knots: Literal["cv"] | int = "cv"
    n_folds: int = 10
    tolerance: float = FEWER_WITHIN
    seed: Seed = 0
    bounded: bool = True

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(RUN_OUT))
        check_count(self.n_folds, "n_folds", 2)
        check_tolerance(self.tolerance)
        object.__setattr__(self, "seed", check_seed(self.seed))
        if isinstance(self.n_knots, str):
            check_choice("n_knots", self.n_knots, ("cv",))
        else:
            check_count(self.n_knots, "n_knots", fewest_knots(self.kind))

    def fit_event(self, predictions: Predictions) -> SplineMap:
        """Least squares on the cumulative curve, once for each number of knots and fold."""
        event = predictions.event("binary")
        pooled, cuts = event.pooled, cells(event.pooled)
        n_knots = self._chosen(event, pooled.values[cuts[1:-1] - 1]) if self.n_knots == "cv" else int(self.n_knots)
        weight, missing = np.add.reduceat(pooled.weight, cuts[:-1]), -np.add.reduceat(pooled.residual, cuts[:-1])
        y, bends = fitted_to(weight, missing, n_knots, self.kind)[:2]
        fit, edge = Fit(predictions.n, cautions=doubts(pooled)), margin(pooled.total, self.bounded)
        return SplineMap(predictions.classes, True, fit, *placed(pooled, cuts), y, bends, edge)

    def _chosen(self, event: Event, edges: Floats) -> int:
        """The fewest knots that predict held-out rows about as well as any."""
        weight, residual, squares = fold_sums(event, edges, self.n_folds, check_seed(self.seed))
        total, fewest = weight.sum(), fewest_knots(self.kind)
        train, missing = weight.sum(axis=1) - weight.T, residual.T - residual.sum(axis=1)
        used = train.sum(axis=1) > 1e-12 * total
        train, missing, n, r = train[used], missing[used], weight.T[used], residual.T[used]
        losses = np.full(MOST_KNOTS + 1 - fewest, squares)
        for i in range(len(losses)):
            y, bends, t = fitted_to(train, missing, fewest + i, self.kind)  # all folds at once
            shift = slopes_at(t - train / train.sum(axis=1, keepdims=True) / 2, y, bends)
            losses[i] += float((2 * shift * r + shift**2 * n).sum())
        return fewest + fewest_within(losses / total, self.tolerance)


def fewest_knots(ends: str) -> int:
    """The fewest knots with which the rule for the ends determines the spline."""
    return len(RUN_OUT[ends]) + 1


def cells(pooled: Pooled) -> Indices:
    """Cuts between predictions: each alone, or `CELLS` of equal mass and heavier ones alone."""
    if len(pooled.values) <= CELLS:
        return np.arange(len(pooled.values) + 1)
    heavy = np.flatnonzero(pooled.weight > pooled.total / CELLS)
    return np.unique(np.concatenate([pooled_cuts(pooled, CELLS), heavy, heavy + 1]))


def fold_sums(event: Event, edges: Floats, n_folds: int, seed: int) -> tuple[Floats, Floats, float]:
    """(C, F): weight and Σw(p − y) of each cell and fold; and Σw(p − y)² of all rows."""
    p, y, w, fold = rows_in_folds(*in_order(event.probs, event.outcomes, event.weights), n_folds, seed)
    where, n_cells, r = np.searchsorted(edges, p, side="left") * n_folds + fold, len(edges) + 1, p - y
    weight, residual = (
        np.bincount(where, t, n_cells * n_folds).astype(np.float64).reshape(n_cells, n_folds) for t in (w, w * r)
    )
    return weight, residual, inner(w, r**2)


def fitted_to(weight: Floats, missing: Floats, n_knots: int, ends: str) -> tuple[Floats, Floats, Floats]:
    """(y, M) of the spline closest to the cumulative sums, and the ends of the cells; rows are several splines."""
    total = weight.sum(axis=-1, keepdims=True)
    share = weight / total
    t = np.cumsum(share, axis=-1)
    return *fit_spline(t, np.cumsum(missing, axis=-1) / total, share, n_knots, ends), t


def placed(pooled: Pooled, cuts: Indices) -> tuple[Floats, Floats]:
    """First and last prediction of every cell, and the share of rows up to each, half its own included."""
    kept = np.unique(np.append(cuts[:-1], cuts[1:] - 1))
    return pooled.values[kept], (pooled.below() - pooled.weight / 2)[kept] / pooled.total


@map_record
class SplineMap(ShiftMap):
    """p ↦ p + g′(t(p)), kept `margin` away from 0 and 1. t joins `places` at `scores` by straight lines."""

    scores: Annotated[Floats, Shape(least=1), Within(0, 1), Rising()] = ARRAY
    places: Annotated[Floats, Shape("scores"), Within(0, 1), Rising(strictly=False)] = ARRAY
    values: Annotated[Floats, Shape(least=2)] = ARRAY
    """g at its knots"""
    bends: Annotated[Floats, Shape("values")] = ARRAY
    """its second derivative there"""
    margin: Annotated[float, Within(0, 0.5)] = 0.0

    method: ClassVar[str] = "spline"
    parameter_names: ClassVar[tuple[str, ...]] = ("scores", "places", "values", "bends")

    def shift_at(self, p: Floats) -> Floats:
        """g′ at the share of rows up to p."""
        return slopes_at(interpolated(p, self.scores, self.places), self.values, self.bends)
