"""Piecewise lines or parabolas by least squares, knots by differential evolution: PL_DE."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice, check_count, check_seed, check_tolerance
from calibrant.kernels.fit.evolved_knots import Pieces, Sums, evolved, held_out, sums_of
from calibrant.kernels.rows.pooling import group_starts, in_order
from calibrant.kernels.rows.sorted_folds import FEWER_WITHIN, fewest_within, n_counted, rows_in_folds
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.binary import BinaryRecipe, PointwiseMap, line_doubts, margin
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.maps.log_space import rows_that_count
from calibrant.predictions import Predictions
from calibrant.results.constraints import BIG, Rising, Shape, Within
from calibrant.types import Floats, Seed

MOST_PIECES = {1: 7, 2: 5}
"""By degree, as in the paper."""

ROWS_PER_PIECE = 100
"""One more piece is tried for so many rows."""


@map_recipe("evolved_pieces", state="pooled")
class EvolvedPieces(BinaryRecipe):
    """Piecewise lines (PL_DE) or parabolas by least squares, knots by differential evolution.

    The function of the probability is continuous. SciPy's differential evolution searches
    the knots, as in Kängsepp et al. (2023, C.4); heights are those of least squares, and the
    map is cut off near 0 and 1. `PiecewiseLinear` finds
    knots faster, can minimise the log loss, and is more accurate.

    Parameters
    ----------
    degree
        1 for lines, 2 for parabolas.
    n_pieces
        Number of pieces. `"cv"`, as in the paper, takes the fewest whose squared loss on
        held-out folds is within `tolerance` of the smallest, then fits them on all rows; that
        is one evolution per fold and number, some seconds.
    n_folds
        Number of folds. Rows are assigned to them in order of their prediction, so that the
        order in which they come does not matter.
    max_pieces
        Largest number of pieces tried, if None 7 lines or 5 parabolas as in the paper; there
        are at least 100 rows for each but the first.
    tolerance
        For `"cv"`: a relative difference between losses; 0 takes the smallest.
    seed
        Of the evolution, and of the shuffle of folds among equal predictions.
    bounded
        Keep the map ½/(n+1) away from 0 and 1; else it is cut off at 0 and 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.maps.EvolvedPieces(n_pieces=2).fit(valid.labels == 3, valid.probs[:, 3])
    >>> len(fitted.knots)
    3
    """

    degree: Literal[1, 2] = 1
    n_pieces: Literal["cv"] | int = 3
    n_folds: int = 10
    max_pieces: int | None = None
    tolerance: float = FEWER_WITHIN
    seed: Seed = 0
    bounded: bool = True

    def __post_init__(self) -> None:
        check_choice("degree", self.degree, tuple(MOST_PIECES))
        check_count(self.n_folds, "n_folds", 2)
        if self.max_pieces is not None:
            check_count(self.max_pieces, "max_pieces")
        check_tolerance(self.tolerance)
        object.__setattr__(self, "seed", check_seed(self.seed))
        if isinstance(self.n_pieces, str):
            check_choice("n_pieces", self.n_pieces, ("cv",))
        else:
            check_count(self.n_pieces, "n_pieces")

    def fit_event(self, predictions: Predictions) -> EvolvedMap:
        """Running sums per fold, one evolution for each fold and number of pieces, then one on all rows."""
        event = rows_that_count(predictions).event("binary")
        p, outcomes, weights = in_order(event.probs, event.outcomes, event.weights)
        n_folds = min(self.n_folds, n_counted(len(p), weights)) if self.n_pieces == "cv" else 1
        x, y, w, fold = rows_in_folds(p.astype(np.float64), outcomes, weights, n_folds, check_seed(self.seed))
        ends = (float(x[0]), float(x[-1])) if x[-1] > x[0] else (float(x[0]) - 0.5, float(x[0]) + 0.5)
        middle, total = (ends[0] + ends[1]) / 2, float(w.sum())
        around = (ends[0] - middle, ends[1] - middle)
        parts = [_pooled_sums(x, y, w * (fold == f), middle) for f in range(n_folds)]
        every = parts[0] if n_folds == 1 else _pooled_sums(x, y, w, middle)
        n_pieces = self._chosen(every, parts, around, total) if self.n_pieces == "cv" else int(self.n_pieces)
        found = self._pieces(every, around, n_pieces)
        fit = Fit(predictions.n, cautions=line_doubts(x, inner(w, y), total, np.inf))
        edge = margin(total, self.bounded)
        return EvolvedMap(predictions.classes, True, fit, found.bends, found.t + middle, found.h, edge)

    def _pieces(self, sums: Sums, ends: tuple[float, float], n_pieces: int) -> Pieces:
        return evolved(sums, ends, n_pieces, self.degree, check_seed(self.seed))

    def _chosen(self, every: Sums, parts: list[Sums], ends: tuple[float, float], total: float) -> int:
        """The fewest pieces that predict held-out rows about as well as any."""
        most = int(min(self.max_pieces or MOST_PIECES[self.degree], total // ROWS_PER_PIECE + 1))
        losses = np.zeros(most)
        for part in parts if most > 1 else []:
            rest = every.less(part)
            losses += [held_out(part, self._pieces(rest, ends, b)) for b in range(1, most + 1)]
        return 1 + fewest_within(losses, self.tolerance)


def _pooled_sums(x: Floats, y: Floats, w: Floats, middle: float) -> Sums:
    """The sums of rows in order, equal predictions pooled: an evolution follows every last digit of them."""
    starts = group_starts(x)
    weight, hits = np.add.reduceat(w, starts), np.add.reduceat(w * y, starts)
    rates = np.divide(hits, weight, out=np.zeros_like(hits), where=weight > 0)
    return sums_of(x[starts] - middle, rates, weight)


@map_record
class EvolvedMap(PointwiseMap):
    """Lines between knots plus `bends`·u(1 − u), u from 0 to 1 in each piece, kept `margin` away from 0 and 1."""

    bends: Annotated[Floats, Shape(least=1), Within(-BIG, BIG)] = ARRAY
    knots: Annotated[Floats, Shape("bends+1"), Within(-1, 2), Rising()] = ARRAY
    heights: Annotated[Floats, Shape("bends+1"), Within(-BIG, BIG)] = ARRAY
    margin: Annotated[float, Within(0, 0.5)] = 0.0

    method: ClassVar[str] = "evolved_pieces"
    parameter_names: ClassVar[tuple[str, ...]] = ("knots", "heights", "bends")

    def at(self, p: Floats) -> Floats:
        """The piece of the probability, within the margin."""
        return np.clip(Pieces(self.knots, self.heights, self.bends).at(p), self.margin, 1 - self.margin)
