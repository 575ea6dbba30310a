"""Piecewise-linear maps with free knots: PL in probabilities, PL3 in log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, check_count
from calibrant.kernels.fit.knot_paths import Bent, Cells, Family, cells_of, crossed, path
from calibrant.kernels.logits import inside, log_odds, sigmoid
from calibrant.kernels.rows.sorted_folds import fewest_within, n_counted, rows_in_folds
from calibrant.kernels.rows.sorting import in_order
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.bent_line import BentLineMap
from calibrant.maps.binary import LAST, BinaryRecipe, Floats
from calibrant.maps.calibration_map import Fit
from calibrant.maps.log_space import rows_that_count
from calibrant.maps.pointwise import margin
from calibrant.predictions import Predictions
from calibrant.results import kind

ROWS_A_PIECE = 200
"""A piece more is tried for so many rows."""


@dataclass(frozen=True, slots=True)
class PiecewiseLinear(BinaryRecipe):
    """A bent line through the log-odds (PL3) or the probabilities (PL); knots and heights are fitted.

    `pieces` is a number, `"cv"` or `"average"`. The last two fit up to `max_pieces` pieces without each of the `folds` in turn
    and judge them on the rows left out. `"cv"` takes the fewest pieces within 0.1 % of the smallest loss; `"average"` weighs
    all numbers of pieces by their loss, and no map at all if `identity` is true, which mends better but makes the map look
    closer to calibrated than it is: leave it out to measure. Both return the mean of the folds' lines.

    `loss` is what is made small, `"log"` or `"brier"`. `monotone=True` makes the line rise. Rows are dealt to the folds in
    order of their prediction, ties shuffled by `seed`, so the order in which they come does not matter.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.PiecewiseLinear(pieces=1).fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> len(fitted.knots), fitted.injective
    (2, True)
    """

    space: Literal["logit", "probability"] = "logit"
    loss: Literal["log", "brier"] = "log"
    pieces: Literal["average", "cv"] | int = "average"
    folds: int = 10
    max_pieces: int = 16
    monotone: bool = False
    seed: int = 0
    identity: bool = True

    def __post_init__(self) -> None:
        check_choice("space", self.space, ("logit", "probability"))
        check_choice("loss", self.loss, ("log", "brier"))
        check_count(self.folds, "folds", 2)
        check_count(self.max_pieces, "max_pieces")
        check_count(self.seed, "seed", 0)
        if isinstance(self.pieces, str):
            check_choice("pieces", self.pieces, ("average", "cv"))
        else:
            object.__setattr__(self, "pieces", check_count(self.pieces, "pieces"))

    def fit_event(self, predictions: Predictions) -> PiecewiseMap:
        """Rows into cells, one path of fits a fold, then the choice or the mean."""
        logit = self.space == "logit"
        limit = last_log_odds(predictions) if logit else np.inf
        said, y, w = _rows(rows_that_count(predictions), logit)
        n_folds = 1 if isinstance(self.pieces, int) else min(self.folds, n_counted(len(said), w))
        x, y, w, fold = rows_in_folds(np.clip(said, -limit, limit), y, w, n_folds, self.seed)
        total = float(w.sum())
        cautions = doubts_about(said, inner(w, y), total, limit)
        cells = cells_of(x, y, w, fold, n_folds)
        least = margin(max(total, 1.0), True)
        ends = (-np.inf, np.inf) if logit else (least, 1 - least)
        family = Family(logit, self.loss == "brier", ends, self.monotone)
        if isinstance(self.pieces, int):
            line = path(cells, cells.weight[:, 0], cells.hits[:, 0], family, self.pieces)[-1]
            shares, losses = np.append(np.zeros(self.pieces), 1.0), None
        else:
            most = int(min(self.max_pieces, total // ROWS_A_PIECE + 1))
            paths, found, none = crossed(cells, family, most)
            losses = np.append(none, found) / total
            shares = _chosen(losses) if self.pieces == "cv" else self._weighed(losses, total)
            line = _mean(cells, paths, shares)
        if not logit:
            line = _to_the_ends(line, *ends)
        fit = Fit(predictions.n, cautions=cautions)
        return PiecewiseMap(predictions.classes, True, fit, line.t, line.h, limit, self.space, shares, losses)

    def _weighed(self, losses: Floats, total: float) -> Floats:
        """Shares ∝ exp(−T·n·loss − price). The squared loss counts as that of a normal error of its own size."""
        if self.loss == "brier":
            losses = np.log(np.maximum(losses, 1e-12)) / 2
        price = PRICE[self.space] * np.arange(float(len(losses)))
        price[2:] += FIRST_BEND[self.space]
        price[0] = PRICE_OF_NONE if self.identity else np.inf
        score = -TRUST[self.space] * total * losses - price
        shares = np.exp(score - score.max())
        shares[shares < SMALL_SHARE] = 0.0
        return shares / shares.sum()


TRUST = {"logit": 0.6, "probability": 0.5}
PRICE = {"logit": 1.25, "probability": 0.5}
FIRST_BEND = {"logit": 0.75, "probability": 0.0}
PRICE_OF_NONE = 0.5
"""T, the prices of a piece, of the first bend and of the identity, chosen on simulated data of their own: see studies/piecewise.py."""

SMALL_SHARE = 1e-9


@kind
@dataclass(frozen=True, eq=False, repr=False)
class PiecewiseMap(BentLineMap):
    """Straight lines between knots: in log-odds with slope one beyond, or in probabilities from 0 to 1.

    `shares` are the weights of 0 (the identity), 1, 2, … pieces in it, and `losses` their mean held-out losses. Log-odds
    beyond `limit` count as `limit`: so far from 0 and 1 lie the probabilities next to them.
    """

    space: str = "logit"
    shares: NDArray[np.float64] = ()  # type: ignore[assignment]
    losses: NDArray[np.float64] | None = None

    method: ClassVar[str] = "piecewise_linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hold("shares", "losses")

    def of_log_odds(self, z: Floats) -> Floats:
        """Interpolated in the space of the map."""
        return self._at(sigmoid(z)) if self.space == "probability" else super().of_log_odds(z)

    def from_probs(self, probs: NDArray[Any]) -> NDArray[Any]:
        """Straight from the probabilities where the map lives there."""
        if self.space == "probability":
            return inside(self._at(probs.astype(np.float64)), probs.dtype)
        return super().from_probs(probs)


def _rows(predictions: Predictions, logit: bool) -> tuple[Floats, NDArray[Any], NDArray[Any] | None]:
    """Sorted rows: place, outcome, weight."""
    event = predictions.event("binary")
    said, outcomes = event.probs, event.outcomes
    if logit and predictions.logits is not None:
        said, outcomes = predictions.logits.astype(np.float64), outcomes.astype(np.float64)
    x, y, w = in_order(said, outcomes, event.weights)
    x = x.astype(np.float64)
    return log_odds(x) if logit and predictions.logits is None else x, y, w


def last_log_odds(predictions: Predictions) -> float:
    """The log-odds of the last probability before 1, in the precision that was given; of logits, that of the first one after 0."""
    if predictions.logits is not None:
        return LAST
    return float(-np.log(np.finfo(predictions.probs.dtype).epsneg))


def doubts_about(x: Floats, happened: float, total: float, limit: float) -> tuple[str, ...]:
    """What a user should know of sorted predictions that say little."""
    told = []
    if (np.abs(x[[0, -1]]) > limit).any():
        told.append(f"predictions within {np.exp(-limit):.1e} of 0 or 1 are read as so far away")
    if x[0] == x[-1]:
        told.append("all predictions are equal: elsewhere the map is a guess")
    if happened in (0.0, total):
        told.append("the event " + ("never" if happened == 0 else "always") + " happened: the map says little else")
    return tuple(told)


def _chosen(losses: Floats) -> Floats:
    """All weight on the fewest pieces within 0.1 % of the smallest loss; the identity does not compete."""
    shares = np.zeros(len(losses))
    shares[1 + fewest_within(losses[1:])] = 1.0
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


def _to_the_ends(line: Bent, low: float, high: float) -> Bent:
    """A line in probabilities continued to 0 and 1, with slope one where there is room."""
    t, h = line.t, np.clip(line.h, low, high)
    if t[0] > 0:
        t, h = np.append(0.0, t), np.append(max(h[0] - t[0], min(low, h[0])), h)
    if t[-1] < 1:
        t, h = np.append(t, 1.0), np.append(h, min(h[-1] + 1 - t[-1], max(high, h[-1])))
    return Bent(t, h)
