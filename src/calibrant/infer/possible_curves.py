"""The calibration curves that an event leaves possible, at cells of its predictions."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.infer.error_path import mass_starts, part_sums
from calibrant.kernels.fit.error_curves import ErrorCurves, error_curves
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.predictions import Event
from calibrant.results import Curve
from calibrant.state.pooled import Pooled
from calibrant.types import Bools, Floats, Indices

CELLS = 100
"""Cells of equal mass; equal predictions are never split."""

WIDEST = 0.05
"""Cells whose predictions span more are cut again for the largest error: it may lie at a few of a cell's rows alone, which
its mean prediction hides. Chosen on rare events and confident models, other worlds than those of studies/coverage_clinical.py."""

BEYOND_ONE = 3.0
"""Log-odds beyond those of one row in all from which on a prediction is as good as certain: were it right, so many rows
would hold such an event once in twenty times."""

WIDENED = 5
"""The noise of a curve adds to a quantile of its distances, so that the plain posterior interval misses it too often: the rate at which it may miss is divided by this."""

STEEP = 0.4
"""A quantile of the distances is steep where the distance a little below it is smaller by more than this part of the one above."""

DRAWS = 1000
"""Curves drawn; the median is then off by a twenty-fifth of the posterior's standard deviation."""


@dataclass(frozen=True, eq=False)
class PossibleCurves:
    """Cells with their mean prediction and share of the rows, and curves drawn from the posterior when they are asked for."""

    prob: Floats
    support: Floats
    found: ErrorCurves
    believed: Bools
    """cells of predictions that are 0 or 1, and were never wrong: taken at their word"""
    right: Floats
    """rows of the other cells whose predictions are as good as certain and were right; 0 elsewhere"""

    @cached_property
    def _drawn(self) -> Floats:
        """Log-odds, `(draws, cells)`."""
        return self._draws(self.found.share)

    @cached_property
    def away(self) -> Floats:
        """`(draws, cells)`: rate less prediction."""
        return self._apart(self._drawn)

    @cached_property
    def of_mean(self) -> Floats:
        """The same of curves drawn for the mean error, whose prior is another one."""
        return self._apart(self._draws(self.found.error_share))

    @cached_property
    def of_square(self) -> Floats:
        """The same for the mean square."""
        return self._apart(self._draws(self.found.square_share))

    @cached_property
    def likely(self) -> Floats | None:
        """Likelihood, under each curve of `away`, of the rows that are `right`; None if none are."""
        at = self.right > 0
        if not at.any():
            return None
        likely: Floats = np.exp(-np.logaddexp(0.0, -np.sign(self.found.z[at]) * self._drawn[:, at]) @ self.right[at])
        return likely

    def _draws(self, share: Floats) -> Floats:
        return self.found.drawn(DRAWS, np.random.default_rng(0), share)

    def _apart(self, drawn: Floats) -> Floats:
        return np.where(self.believed, 0.0, sigmoid(drawn) - sigmoid(self.found.z))

    def errors(self, norm: int | str) -> Floats:
        """E|c(p) − p|^α of each curve, without a root; for `"max"` the largest distance."""
        if norm == "max":
            largest: Floats = np.abs(self.away).max(axis=1)
            return largest
        errors: Floats = np.abs(self.of_square if norm == 2 else self.of_mean) ** int(norm) @ self.support
        return errors

    def posterior(self, errors: Floats, level: float, exact: bool = False) -> tuple[float, float, float]:
        """Lower end, median and upper end of an error over the curves.

        The curves come from a Gaussian approximation, which the few rows of a certain prediction
        that was right do not bend at all: it lets their rate lie anywhere. A mean hardly sees such
        rows; the largest error is theirs alone, so it needs their exact likelihood.

        Parameters
        ----------
        errors
            One of each curve.
        level
            Confidence of the interval.
        exact
            Weigh the curves by the likelihood of the rows of certain predictions.
        """
        at = [(1 - level) / 2, 0.5, (1 + level) / 2]
        if exact and self.likely is not None:
            low, middle, high = np.quantile(errors, at, weights=self.likely, method="inverted_cdf").tolist()
        else:
            low, middle, high = np.quantile(errors, at).tolist()
        return low, middle, high

    def most(self, level: float) -> float:
        """Upper end of the largest distance; it errs half as often as the posterior says."""
        return self.posterior(self.errors("max"), (1 + level) / 2, exact=True)[2]

    def error_quantiles(self, *shares: float) -> Floats:
        """The distances |c(p) − p| that these shares of the rows do not exceed, `(shares, draws)`."""
        return self._quantiles(np.abs(self.away), *shares)

    def least_and_most(self, share: float, beside: float, tail: float) -> tuple[float, float]:
        """Limits of the distance that a share of the rows does not exceed, if few rows lie outside a band.

        Each end of the band is exceeded with the probability `tail` in each cell. As long as no
        more than a share `beside` of the rows lie outside it, no quantile of the distances is
        below the one of the least distances within the band, `beside` lower, nor above that of
        the largest, `beside` higher.
        """
        low, high = np.quantile(self.away, [tail, 1 - tail], axis=0)
        least, most = np.maximum(0.0, np.maximum(low, -high)), np.maximum(np.abs(low), np.abs(high))
        below, above = (self._quantiles(each[None], share + by) for each, by in ((least, -beside), (most, beside)))
        return below.item(), above.item()

    def steep(self, share: float, beside: float) -> bool:
        """Do the distances of the mean curve change much between the shares beside this one?"""
        away = np.abs(self.away.mean(axis=0, keepdims=True))
        below, above = self._quantiles(away, share - beside, share + beside)
        return below.item() < (1 - STEEP) * above.item()

    def _quantiles(self, away: Floats, *shares: float) -> Floats:
        """The distances that these shares of the rows do not exceed, `(shares, curves)`."""
        order = np.argsort(away, axis=1)
        covered = np.cumsum(self.support[order], axis=1)
        at = np.stack([(covered < share - 1e-12).sum(axis=1) for share in shares], axis=1)
        at = np.take_along_axis(order, np.minimum(at, away.shape[1] - 1), axis=1)
        found: Floats = np.take_along_axis(away, at, axis=1).T
        return found

    def band(self, level: float) -> Curve:
        """Mean of the curves, and quantiles cell by cell."""
        low, high = np.quantile(self.away, [(1 - level) / 2, (1 + level) / 2], axis=0)
        y, low, high = (np.clip(self.prob + away, 0.0, 1.0) for away in (self.away.mean(axis=0), low, high))
        return Curve(self.prob, y, low, high, self.support, float(level))


def possible_curves(event: Event, *, finely: bool = False) -> PossibleCurves:
    """The curves of an event, computed once for all norms; the same rows give the same draws.

    Parameters
    ----------
    event
        The rows.
    finely
        Cut cells of rows that are far apart again, for the largest error.
    """

    def made() -> PossibleCurves:
        starts = _cells(event.pooled)
        finer = _cut_again(event.pooled, starts) if finely else starts
        if finely and len(finer) == len(starts):
            return possible_curves(event)
        return _possible(event.pooled, finer)

    found: PossibleCurves = event.kept(f"possible curves{', finely' * finely}", made)
    return found


def _limit(pooled: Pooled) -> float:
    """Log-odds from which on a prediction is as good as certain."""
    return float(np.log(pooled.total) + BEYOND_ONE)


def _cells(pooled: Pooled) -> Indices:
    """Where cells start; certain predictions share none with others."""
    limit, values = _limit(pooled), pooled.values
    ends = np.array([bisect_right(values, end, key=lambda p: float(log_odds(p))) for end in (-limit, limit)])
    return np.union1d(mass_starts(pooled, CELLS), ends[ends < len(values)])


def _cut_again(pooled: Pooled, starts: Indices) -> Indices:
    """The starts, and cuts at multiples of `WIDEST` within the cells that span more."""
    values = pooled.values
    spans = values[np.append(starts[1:], len(values)) - 1] - values[starts]
    cuts = np.searchsorted(values, np.arange(WIDEST, 1.0, WIDEST))
    cuts = cuts[cuts < len(values)]
    return np.union1d(starts, cuts[spans[np.searchsorted(starts, cuts, side="right") - 1] > WIDEST])


def _possible(pooled: Pooled, starts: Indices) -> PossibleCurves:
    limit = _limit(pooled)
    weight, prob, _ = part_sums(pooled, starts)
    told = pooled.effective(starts)
    rows, hits = (np.add.reduceat(v, starts) for v in (told.weight, told.hits))
    place = np.clip(log_odds(prob), -limit, limit)
    found = error_curves(place, rows, hits, np.abs(place) == limit)
    believed = ((prob == 0) | (prob == 1)) & (hits == rows * prob)  # certain, and never wrong: taken at its word
    right = (np.abs(place) == limit) & (hits == rows * (place > 0)) & ~believed
    return PossibleCurves(prob, weight / weight.sum(), found, believed, np.where(right, rows, 0.0))
