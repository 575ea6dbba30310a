"""A bound below the calibration error that holds for any curve: rows signed by a curve fitted to other rows.

For any function s of the prediction, E[s(p)(y − p)] = E[s(p)(c(p) − p)], and that is at
most E|c(p) − p| where |s| ≤ 1, and at most the root of E(c(p) − p)² where E s(p)² = 1.
So the mean of rows with known limits, whatever s is, bounds the error from below, as
long as s knows nothing of the labels that it multiplies: it is fitted in five folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.infer.error_path import check_hard, fitted_cells, part_sums
from calibrant.interval import Limits, Moments, mean_with_interval
from calibrant.interval.limited_mean import is_students
from calibrant.kernels.fit.log_odds_process import Priors, averaged, bounded_log_odds
from calibrant.kernels.logits import sigmoid
from calibrant.kernels.rows.sorted_folds import rows_in_folds
from calibrant.kernels.sums.fold_errors import ERROR, HITS, LOW, SQUARE, N, fold_errors
from calibrant.predictions import Event
from calibrant.results import Interval
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices

N_FOLDS = 5

SIGN_PRIORS = Priors((0.8,), (0.5,), (0.02, 0.1), (2.0,), 1e-2)
"""A line, and bends on three scales: the finest follows an error in a twentieth of the range. More priors find hardly more."""


@dataclass(frozen=True, slots=True, eq=False)
class SignedRows:
    """Rows in folds and cells, and what curves fitted without its fold say of every cell."""

    probs: Floats
    """in increasing order"""
    outcomes: Floats
    weights: Floats
    squares: Floats | None
    fold: Indices
    ends: Indices
    """the row after the last one of each cell"""
    sums: Floats
    """those of `fold_errors`, `(6, N_FOLDS, cells)`"""
    place: Floats
    """log-odds of the cells"""
    share: Floats
    """share of the rows in each cell"""
    centre: Floats
    """mean log-odds of the curves, `(N_FOLDS + 1, cells)`: without each fold, then with all rows"""
    spread: Floats
    """their standard deviation"""

    @property
    def cell(self) -> Indices:
        """The cell of each row."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def signs(self, norm: int) -> Floats:
        """s in each cell by the curve without each fold, `(N_FOLDS, cells)`.

        For norm 1 the expected sign of c(p) − p; for norm 2 c(p) − p itself, in units of
        its root mean square.
        """
        from scipy.special import ndtr

        if norm == 1:
            found: Floats = 2 * ndtr((self.centre[:-1] - self.place) / np.maximum(self.spread[:-1], LEAST)) - 1
            return found
        away = sigmoid(self.centre[:-1]) - sigmoid(self.place)
        return away / np.maximum(np.sqrt(away**2 @ self.share), LEAST)[:, None]

    def interval(self, norm: int, level: float) -> Interval | None:
        """The interval of E[s(p)(y − p)]; None for a single row.

        Two folds depend on each other as far as each is signed by the noise of the other.
        That adds the variance of the signs, which shows between the folds (a jackknife), to
        their squares: there are fewer effective rows, half as many if signs are all noise.
        Where Student's interval is as good, the sums of the rows say all.
        """
        signs = self.signs(norm)
        noise, squares = len(signs) * signs.var(axis=0), self.sums[SQUARE]
        seen = float((signs**2 * squares).sum())
        fewer = 1 + float(noise @ squares.sum(axis=0)) / seen if seen > 0 else 1.0
        limits = self._limits(signs)
        if self.squares is None:
            weight, mean = float(self.sums[N].sum()), float((signs * self.sums[ERROR]).sum() / self.sums[N].sum())
            spread = max(seen - weight * mean**2, 0.0)
            found = Moments(len(self.probs), weight / fewer, mean, spread / fewer)
            if is_students(found, limits):
                return found.interval(level)[0]
        values = signs[self.fold, self.cell] * (self.outcomes - self.probs)
        squared = None if self.squares is None else self.squares / fewer
        return mean_with_interval(values, self.weights / fewer, level, limits, squared)[1]

    def _limits(self, signs: Floats) -> Limits:
        """Of s(p)(y − p) for either outcome of any row."""
        low, high = self.sums[LOW:]
        filled = high >= low
        s, low, high = signs[filled], low[filled], high[filled]
        ends = np.concatenate([-s * low, -s * high, s * (1 - low), s * (1 - high)])
        return Limits(float(ends.min()), float(ends.max()))


LEAST = 1e-12
"""Spreads and sizes below this are rounding."""


def signed_rows(event: Event) -> SignedRows:
    """The signed rows of an event, fitted once for all norms and levels."""
    check_hard(event)
    found: SignedRows = event.kept("signed rows", lambda: _signed_rows(event.pooled))
    return found


def _signed_rows(pooled: Pooled) -> SignedRows:
    few, starts = fitted_cells(pooled)
    rows, place, hits = part_sums(pooled, starts, bounded_log_odds(pooled.values))
    probs, outcomes, weights, squares, fold = _in_folds(pooled)
    ends = np.append(np.searchsorted(probs, pooled.values[starts[1:]]), len(probs))
    sums = fold_errors(probs, outcomes, weights, fold, N_FOLDS, ends)
    told = np.add.reduceat(pooled.effective(starts).weight, starts) / rows  # below 1 where rows have weights
    held = sums[[N, HITS]]
    n, s = (
        told * np.vstack([np.maximum(whole - part, 0), whole]) for whole, part in zip((rows, hits), held, strict=True)
    )
    centre, spread = averaged(place, n, s, SIGN_PRIORS, [np.eye(len(place))] if few else [])
    share = rows / rows.sum()
    return SignedRows(probs, outcomes, weights, squares, fold, ends, sums, place, share, centre, spread)


def _in_folds(pooled: Pooled) -> tuple[Floats, Floats, Floats, Floats | None, Indices]:
    """Predictions, outcomes, weights, squares of weights and folds.

    Rows of equal prediction and outcome are assigned to the folds by their number, which
    is Kish's where they have weights.
    """
    if pooled.single:
        probs, outcomes, weights, fold = rows_in_folds(pooled.values, pooled.hits, None, N_FOLDS, 0)
        return probs, outcomes, weights, None, fold
    mass = np.stack([pooled.weight - pooled.hits, pooled.hits], axis=1)
    mass[mass < ROUNDING * pooled.weight[:, None]] = 0.0
    unit = (pooled.spread / pooled.weight)[:, None]
    number = np.maximum(np.floor(mass / unit + HALF), mass > 0)
    of_rows = np.repeat(pooled.values, 2), np.tile([0.0, 1.0], len(pooled)), number.ravel()
    probs, outcomes, times, fold = rows_in_folds(*of_rows, N_FOLDS, 0)
    if pooled.integral:
        return probs, outcomes, times, None, fold
    each = (mass / np.maximum(number, 1.0))[np.searchsorted(pooled.values, probs), outcomes.astype(np.intp)]
    return probs, outcomes, times * each, times * each**2 if pooled.squares is not None else None, fold


ROUNDING = 1e-9
"""Less than this share of a prediction's weight is a rounding error of sums."""

HALF = 0.5 - 1e-6
"""Numbers are rounded, halves downwards even where sums are rounded."""
