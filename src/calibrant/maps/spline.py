"""A spline through the cumulative curve: calibration without bins, by a derivative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, check_count
from calibrant.kernels.fit.cubic_basis import RUN_OUT, fit_spline, slopes_at
from calibrant.kernels.rows.pooling import Groups, mass_cuts
from calibrant.kernels.rows.sorted_folds import fewest_within, rows_in_folds
from calibrant.kernels.rows.sorting import in_order
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.binary import BinaryRecipe, Floats
from calibrant.maps.calibration_map import Fit
from calibrant.maps.pointwise import PointwiseMap, margin, one_sided
from calibrant.predictions import Event, Predictions
from calibrant.results import kind

CELLS = 1000
"""Cells of equal mass into which more distinct predictions than this are pooled."""

MOST_KNOTS = 16
"""Tried by cross-validation."""


@dataclass(frozen=True, slots=True)
class Spline(BinaryRecipe):
    """p + g′(t): what is missing at a prediction, read off the slope of the cumulative curve of what is missing.

    With rows in order of their prediction, t is the share of rows up to p and G(t) the mean of y − p over them, zero
    beyond; its largest distance from 0 is the KS error. g is the cubic spline over `knots` evenly spaced knots closest to
    G, equal to it at 0 and 1, and `kind` says how it runs out at the ends. So the mean of the map is the rate of the
    event, but for ties and for what is stopped at 0 and 1.

    With `knots="cv"` the squared loss on held-out folds decides: the fewest knots within 0.1 % of the best, up to 16. Rows
    are dealt to the folds in order of their prediction, ties shuffled by `seed`, so their order does not matter. More than
    1000 distinct predictions are pooled into cells of 1/1000 of the rows, for the fit and for t. What would leave [0, 1]
    stops at the end; `bounded=True` stops ½/(n+1) before it. After Gupta et al. 2021.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.Spline(knots=5).fit(valid.labels == 3, valid.probs[:, 3])
    >>> fitted.values.shape
    (5,)
    """

    kind: Literal["natural", "cubic", "parabolic"] = "natural"
    knots: Literal["cv"] | int = "cv"
    folds: int = 10
    seed: int = 0
    bounded: bool = True

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(RUN_OUT))
        check_count(self.folds, "folds", 2)
        check_count(self.seed, "seed", 0)
        if isinstance(self.knots, str):
            check_choice("knots", self.knots, ("cv",))
        else:
            check_count(self.knots, "knots", fewest_knots(self.kind))

    def fit_event(self, predictions: Predictions) -> SplineMap:
        """Least squares on the cumulative curve, once for each number of knots and fold."""
        event = predictions.event("binary")
        groups, cuts = event.groups, cells(event.groups)
        n_knots = self._chosen(event, groups.values[cuts[1:-1] - 1]) if self.knots == "cv" else int(self.knots)
        weight, missing = np.add.reduceat(groups.weight, cuts[:-1]), -np.add.reduceat(groups.residual, cuts[:-1])
        y, bent = fitted_to(weight, missing, n_knots, self.kind)[:2]
        fit = Fit(predictions.n, cautions=one_sided(groups))
        scores, places = placed(groups, cuts)
        edge = margin(groups.total, self.bounded)
        return SplineMap(predictions.classes, True, fit, scores, places, y, bent, edge)

    def _chosen(self, event: Event, edges: Floats) -> int:
        """The fewest knots that predict held-out rows about as well as any."""
        weight, residual, squares = fold_sums(event, edges, self.folds, self.seed)
        total = weight.sum()
        losses = np.full(MOST_KNOTS + 1 - fewest_knots(self.kind), squares)
        for f in range(self.folds):
            n, r = weight[:, f], residual[:, f]
            train = weight.sum(axis=1) - n
            if train.sum() <= 1e-12 * total:
                continue
            missing = r - residual.sum(axis=1)
            for i in range(len(losses)):
                y, bent, t = fitted_to(train, missing, fewest_knots(self.kind) + i, self.kind)
                shift = slopes_at(t - train / train.sum() / 2, y, bent)
                losses[i] += float((2 * shift * r + shift**2 * n).sum())
        return fewest_knots(self.kind) + fewest_within(losses / total)


def fewest_knots(ends: str) -> int:
    """Below this the rule for the ends leaves the spline undecided."""
    return len(RUN_OUT[ends]) + 1


def cells(groups: Groups) -> NDArray[np.intp]:
    """Cuts between groups: every group alone, or about `CELLS` of equal mass and every heavier group alone."""
    if len(groups.values) <= CELLS:
        return np.arange(len(groups.values) + 1)
    heavy = np.flatnonzero(groups.weight > groups.total / CELLS)
    return np.unique(np.concatenate([mass_cuts(groups.below(), CELLS, groups.allowance), heavy, heavy + 1]))


def fold_sums(event: Event, edges: Floats, folds: int, seed: int) -> tuple[Floats, Floats, float]:
    """(C, F): weight and Σw(p − y) of each cell and fold; and Σw(p − y)² of all rows."""
    p, y, w, fold = rows_in_folds(*in_order(event.probs, event.outcomes, event.weights), folds, seed)
    where, n_cells, r = np.searchsorted(edges, p, side="left") * folds + fold, len(edges) + 1, p - y
    weight, residual = (np.bincount(where, t, n_cells * folds).reshape(n_cells, folds) for t in (w, w * r))
    return weight, residual, inner(w, r**2)


def fitted_to(weight: Floats, missing: Floats, n_knots: int, ends: str) -> tuple[Floats, Floats, Floats]:
    """(y, M) of the spline closest to the cumulative curve of what is missing, and where the cells end."""
    share = weight / weight.sum()
    t = np.cumsum(share)
    return *fit_spline(t, np.cumsum(missing) / weight.sum(), share, n_knots, ends), t


def placed(groups: Groups, cuts: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Scores and the share of rows up to them, half of their own included: the first and the last of every cell."""
    kept = np.unique(np.append(cuts[:-1], cuts[1:] - 1))
    return groups.values[kept], (groups.below() - groups.weight / 2)[kept] / groups.total


@kind
@dataclass(frozen=True, eq=False, repr=False)
class SplineMap(PointwiseMap):
    """p ↦ p + g′(t(p)), kept `margin` away from 0 and 1. t joins `places` at `scores` by straight lines."""

    scores: NDArray[np.float64] = ()  # type: ignore[assignment]
    places: NDArray[np.float64] = ()  # type: ignore[assignment]
    values: NDArray[np.float64] = ()  # type: ignore[assignment]
    """g at its knots"""
    bends: NDArray[np.float64] = ()  # type: ignore[assignment]
    """its second derivative there"""
    margin: float = 0.0

    method: ClassVar[str] = "spline"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("scores", "places", "values", "bends")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"scores": self.scores, "places": self.places, "values": self.values, "bends": self.bends}

    def moves(self, probs: NDArray[Any]) -> Floats:
        """The shift of each prediction."""
        return self._shift(probs.astype(np.float64))

    def at(self, p: Floats) -> Floats:
        """Shifted by the slope, and kept within the margin."""
        return np.clip(p + self._shift(p), self.margin, 1 - self.margin)

    def shift(self, probs: Any = None, *, logits: Any = None) -> Floats:
        """g′ at each row, before anything is kept within [0, 1]."""
        return self._shift(self._said(probs, logits))

    def _shift(self, p: Floats) -> Floats:
        return slopes_at(np.interp(p, self.scores, self.places), self.values, self.bends)
