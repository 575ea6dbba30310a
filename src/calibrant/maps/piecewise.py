"""Piecewise-linear maps with free knots: PL in probabilities, PL3 in log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice, check_count, check_seed, check_tolerance
from calibrant.kernels.fit.knot_heights import Family
from calibrant.kernels.fit.knot_paths import Bent, Cells, cells_of, crossed
from calibrant.kernels.fit.knot_search import best_line
from calibrant.kernels.logits import inside, log_odds, sigmoid
from calibrant.kernels.rows.pooling import event_order, in_order
from calibrant.kernels.rows.sorted_folds import FEWER_WITHIN, Ints, fewest_within, n_counted, rows_in_folds
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.binary import BentLineMap, BinaryRecipe, last_log_odds, line_doubts, margin
from calibrant.maps.calibration_map import ARRAY, Fit, map_recipe, map_record
from calibrant.maps.folds import Folds, continued
from calibrant.maps.log_space import rows_that_count
from calibrant.predictions import Predictions
from calibrant.results.constraints import Holds, Shape, SumsTo, Within
from calibrant.types import Array, Floats

ROWS_PER_PIECE = 200
"""One more piece is tried for so many rows."""

LEAST_HEIGHT = 1e-6
"""How far heights in probabilities stay from 0 and 1 where the smallest loss is asked for; with
folds they stay ½/(n+1) away."""


@map_recipe("piecewise_linear", state="pooled")
class PiecewiseLinear(BinaryRecipe):
    """A piecewise-linear function of the log-odds (PL3) or the probabilities (PL), knots fitted.

    Parameters
    ----------
    space
        What the map is linear in: `"logit"` or `"probability"`.
    loss
        What the fit minimises: `"log"` or `"brier"`.
    n_pieces
        A number fits that many pieces with the smallest loss on all rows, the arg min of
        Kängsepp et al. (2023): knots anywhere, searched from many starts, never worse than
        knots every 5 % for up to four pieces. `"cv"` and `"average"` fit up to `max_pieces`
        pieces without each fold in turn, take their losses on the held-out rows, and return
        the mean of the folds' lines; there knots are added one by one, with 4 % of the rows
        between two, which is faster and overfits less. `"cv"` takes the fewest pieces within
        `tolerance` of the smallest loss; `"average"` weights all numbers of pieces by it.
    n_folds
        Number of folds. Rows are assigned to them in order of their prediction, so that the
        order in which they come does not matter.
    max_pieces
        Largest number of pieces tried; there are at least 200 rows for each but the first.
    tolerance
        For `"cv"`: fewer pieces are taken if their loss is, relatively, this near the
        smallest; 0 takes the smallest.
    monotone
        Make the map increase.
    seed
        Seed of the shuffle of folds among equal predictions.
    identity
        Let the average include the identity. That recalibrates better, but makes the model
        look closer to calibrated than it is: set it to `False` to measure an error.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.maps.PiecewiseLinear(n_pieces=1).fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> len(fitted.knots), fitted.injective
    (2, True)
    """

    space: Literal["logit", "probability"] = "logit"
    loss: Literal["log", "brier"] = "log"
    n_pieces: Literal["average", "cv"] | int = "average"
    n_folds: int = 10
    max_pieces: int = 16
    tolerance: float = FEWER_WITHIN
    monotone: bool = False
    seed: int = 0
    identity: bool = True

    def __post_init__(self) -> None:
        check_choice("space", self.space, ("logit", "probability"))
        check_choice("loss", self.loss, ("log", "brier"))
        check_count(self.n_folds, "n_folds", 2)
        check_count(self.max_pieces, "max_pieces")
        check_tolerance(self.tolerance)
        object.__setattr__(self, "seed", check_seed(self.seed))
        if isinstance(self.n_pieces, str):
            check_choice("n_pieces", self.n_pieces, ("average", "cv"))
        else:
            object.__setattr__(self, "n_pieces", check_count(self.n_pieces, "n_pieces"))

    def fit_event(self, predictions: Predictions) -> PiecewiseMap:
        """Rows into cells, one path of fits per fold, then the choice or the mean."""
        limit, losses = self._limit(predictions), None
        if isinstance(self.n_pieces, int):
            x, y, w, _, doubts = self._rows_in_folds(predictions, 1)
            family = self._family(float(w.sum()))
            line, shares = best_line(x, y, w, family, self.n_pieces), np.append(np.zeros(self.n_pieces), 1.0)
        else:
            found = self._crossing(predictions)
            family, doubts, losses = found.family, found.doubts, found.losses.sum(axis=0) / found.total
            several = self.n_pieces == "average"
            shares = self._averaged(losses, found.total) if several else _chosen(losses, self.tolerance)
            line = _mean(found.cells, found.paths, shares)
        if self.space == "probability":
            line = _to_the_ends(line, *family.ends)
        fit = Fit(predictions.n, cautions=doubts)
        return PiecewiseMap(predictions.classes, True, fit, line.t, line.h, limit, self.space, shares, losses)

    def _rows_in_folds(self, predictions: Predictions, n_folds: int) -> tuple[Floats, Floats, Floats, Ints, Doubts]:
        """Sorted rows: place, outcome, weight and fold, and warnings about them."""
        limit, (z, y, w) = self._limit(predictions), _rows(rows_that_count(predictions), self.space == "logit")
        x, outcomes, weight, fold = rows_in_folds(
            np.clip(z, -limit, limit), y, w, min(n_folds, n_counted(len(z), w)), self.seed
        )
        total = float(weight.sum())
        return x, outcomes, weight, fold, line_doubts(z, inner(weight, outcomes), total, limit)

    def _crossing(self, predictions: Predictions) -> Crossing:
        """The paths of the folds, which the map and its judges share."""

        def made() -> Crossing:
            x, y, w, fold, doubts = self._rows_in_folds(predictions, self.n_folds)
            return self._crossed(x, y, w, fold, float(w.sum()), doubts)

        kept: Crossing = predictions.kept(f"folds of {self!r}", made)
        return kept

    def _crossed(
        self, x: Floats, y: Floats, w: Floats, fold: Ints, total: float, doubts: Doubts = (), n_folds: int | None = None
    ) -> Crossing:
        """Paths without each fold, or each of the first ones."""
        cells, family = cells_of(x, y, w, fold, int(fold.max()) + 1), self._family(total)
        return Crossing(cells, *crossed(cells, family, self._most(total), n_folds), family, total, fold, doubts)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """A path of fits without each judged fold; the others' losses decide the numbers of pieces.

        Different predictions of no groups were in folds when the map was fitted: its paths are those. Others share
        paths with the rest of their fold or group.
        """
        every, logit = folded.every, self.space == "logit"
        if not every.is_binary or self.n_pieces != "average":
            return BinaryRecipe.held_out(self, folded, fitted)  # super() does not know a class with slots
        x, event = self._places(every), every.event("binary")
        sorted_here = folded.event.order if folded.event is not None and logit else None
        order = event_order(x, event.outcomes) if sorted_here is None else sorted_here
        fold, known = folded.fold, self._crossing(folded.given)
        if every.groups is None and len(known.fold) == len(x) and bool((np.diff(x[order]) > 0).all()):
            fold = np.empty_like(known.fold)
            fold[order] = known.fold
        else:
            weight = np.ones(len(x)) if event.weights is None else event.weights
            y, w = (each[order].astype(np.float64) for each in (event.outcomes, weight))
            rest = float(w.sum()) * (1 - 1 / (int(fold.max()) + 1))
            known = self._crossed(x[order], y, w, fold[order], rest, n_folds=max(folded.n_judged, 2))
        lines = self._lines_without(known)
        found = sigmoid(continued(x, fold, lines)) if logit else _at_folds(x, fold, lines, known.family)
        return found[folded.judged]

    def _places(self, rows: Predictions) -> Floats:
        """Where rows lie in the space of the map."""
        limit, logit = self._limit(rows), self.space == "logit"
        x = (rows.event("binary").probs if rows.logits is None or not logit else rows.logits).astype(np.float64)
        return np.clip(log_odds(x) if logit and rows.logits is None else x, -limit, limit)

    def _lines_without(self, known: Crossing) -> list[Bent]:
        """The mean line of the numbers of pieces without each fold, by the losses of the other folds."""
        masses, lines = known.cells.weight[:, : len(known.paths)].sum(axis=0), []
        for mass, mine, path in zip(masses, known.losses, known.paths, strict=True):
            total = float(masses.sum() - mass)
            shares = self._averaged((known.losses.sum(axis=0) - mine) / total, total)
            lines.append(_mean(known.cells, [path], shares))
        return lines

    def _limit(self, predictions: Predictions) -> float:
        return last_log_odds(predictions) if self.space == "logit" else np.inf

    def _most(self, total: float) -> int:
        """The largest number of pieces tried."""
        return int(min(self.max_pieces, total // ROWS_PER_PIECE + 1))

    def _family(self, total: float) -> Family:
        least = LEAST_HEIGHT if isinstance(self.n_pieces, int) else margin(max(total, 1.0), True)
        logit = self.space == "logit"
        ends = (-np.inf, np.inf) if logit else (least, 1 - least)
        return Family(logit, self.loss == "brier", ends, self.monotone)

    def _averaged(self, losses: Floats, total: float) -> Floats:
        """Shares ∝ exp(−T·n·loss − price); a squared loss counts as that of a normal error."""
        if self.loss == "brier":
            losses = np.log(np.maximum(losses, 1e-12)) / 2
        price = PRICE[self.space] * np.arange(float(len(losses)))
        price[2:] += FIRST_BEND[self.space]
        price[0] = PRICE_OF_NONE if self.identity else np.inf
        score = -TRUST[self.space] * total * losses - price
        shares = np.exp(score - score.max())
        shares[shares < SMALL_SHARE] = 0.0
        return shares / shares.sum()


Doubts = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """Paths of fits without each fold."""

    cells: Cells
    paths: list[list[Bent]]
    losses: Floats
    """of each fold by its path, `(folds, pieces + 1)`"""
    family: Family
    total: float
    """weight of the rows of a fit"""
    fold: Ints
    """the fold of each row, in their order"""
    doubts: Doubts


TRUST = {"logit": 0.6, "probability": 0.5}
PRICE = {"logit": 1.25, "probability": 0.5}
FIRST_BEND = {"logit": 0.75, "probability": 0.0}
PRICE_OF_NONE = 0.5
"""T and the prices per piece, of the first bend and of the identity, chosen on separate simulated data: see
studies/piecewise.py."""

SMALL_SHARE = 1e-9


IN_SPACE = "must be that of the heights, which lie in [0, 1] if they are probabilities"


def in_space(space: str, heights: Floats, **_: Any) -> bool:
    """Are heights probabilities, if the map joins probabilities?"""
    return space == "logit" or bool(heights.min() >= 0 and heights.max() <= 1)


@map_record
class PiecewiseMap(BentLineMap):
    """Straight lines between knots: in log-odds with slope one beyond, or in probabilities from 0 to 1.

    `shares` are the weights of 0 (the identity), 1, 2, … pieces in it, and `losses` their
    mean held-out losses. Log-odds beyond `limit`, those of the probabilities next to 0 and
    1, are read as `limit`.
    """

    space: Annotated[Literal["logit", "probability"], Holds(IN_SPACE, in_space)] = "logit"
    shares: Annotated[Floats, Shape(), Within(0, 1), SumsTo(1)] = ARRAY
    losses: Annotated[Floats, Shape("shares"), Within(-np.inf, np.inf)] | None = None

    method: ClassVar[str] = "piecewise_linear"

    def of_log_odds(self, z: Floats) -> Floats:
        """Interpolated in the space of the map."""
        return self._at(sigmoid(z)) if self.space == "probability" else super().of_log_odds(z)

    def from_probs(self, probs: Array) -> Array:
        """Without log-odds in between if the map is linear in probabilities."""
        if self.space == "probability":
            return inside(self._at(probs.astype(np.float64)), probs.dtype)
        return super().from_probs(probs)


def _rows(predictions: Predictions, logit: bool) -> tuple[Floats, Array, Array | None]:
    """Sorted rows: place, outcome, weight."""
    event = predictions.event("binary")
    if logit and predictions.logits is not None:  # outcomes as floats, as logits are not sorted by their bits
        return in_order(predictions.logits.astype(np.float64), event.outcomes.astype(np.float64), event.weights)
    x, y, w = in_order(event.probs, event.outcomes, event.weights)
    x = x.astype(np.float64)
    return log_odds(x) if logit else x, y, w


def _chosen(losses: Floats, tolerance: float) -> Floats:
    """All weight on the fewest pieces within the tolerance; the identity does not compete."""
    shares = np.zeros(len(losses))
    shares[1 + fewest_within(losses[1:], tolerance)] = 1.0
    return shares


def _mean(cells: Cells, paths: list[list[Bent]], shares: Floats) -> Bent:
    """The mean line of the folds and of the numbers of pieces: one line with the knots of all."""
    heights, used = shares[0] * cells.t, np.zeros(len(cells.t), dtype=bool)
    used[[0, -1]] = True
    for lines in paths:
        for share, line in zip(shares[1:], lines, strict=True):
            if share:
                heights = heights + share / len(paths) * line.at(cells.t)
                used |= np.isin(cells.t, line.t)
    return Bent(cells.t[used], heights[used])


def _at_folds(x: Floats, fold: Ints, lines: list[Bent], family: Family) -> Floats:
    """At every row the line in probabilities of its fold."""
    found = np.empty(len(x))
    for f, line in enumerate(lines):
        found[fold == f] = _to_the_ends(line, *family.ends).at(x[fold == f])
    return found


def _to_the_ends(line: Bent, low: float, high: float) -> Bent:
    """A line in probabilities continued to 0 and 1, with slope one where it stays within [0, 1]."""
    t, h = line.t, np.clip(line.h, low, high)
    if t[0] > 0:
        t, h = np.append(0.0, t), np.append(max(h[0] - t[0], min(low, h[0])), h)
    if t[-1] < 1:
        t, h = np.append(t, 1.0), np.append(h, min(h[-1] + 1 - t[-1], max(high, h[-1])))
    return Bent(t, h)
