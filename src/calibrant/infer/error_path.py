"""A path of calibration curves, from calibrated to beyond the fitted one, over cells of predictions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from calibrant.infer.squared import cube_root
from calibrant.kernels.draws.laws import Law, binned_law
from calibrant.kernels.fit.log_odds_process import bounded_log_odds, direction
from calibrant.kernels.logits import sigmoid
from calibrant.kernels.rows.pooling import pooled_cuts, width_cuts
from calibrant.predictions import Event
from calibrant.problems import InputError
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices

FITTED_CELLS, FITTED_WIDTHS = 40, 20
"""The direction of the path is fitted on cells of equal mass, cut again at equal widths: rare predictions count too."""

MAX_ATOMS, ROWS_PER_ATOM = 60, 10
"""So few distinct predictions, each so often on average, are bins by themselves, with errors of their own."""

STEEPEST = 1e-3
"""p(1 − p) below which log-odds move no faster."""

KEPT_CELLS = 1000
"""Cells that the error of a curve is summed over; fewer predictions than these are taken one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class ErrorPath:
    """c_t(p) = σ(logit p + t·d(p)) at cells of predictions: t = 0 is calibrated, the error grows with t."""

    prob: Floats
    """mean prediction of each cell"""
    share: Floats
    """share of the rows in each cell"""
    logit: Floats
    away: Floats
    """d at each cell"""
    rows: float
    bins: Indices
    """cell at which each bin begins"""
    hits: Floats
    """hits of each bin"""
    rough: bool = False
    """does each prediction have an error of its own, unrelated to its neighbours'?"""
    squares: Floats | None = None
    """Σw² of each cell, in squared shares, where rows have weights"""
    laws: dict[tuple[float, int], Law] = field(default_factory=dict, repr=False)
    """distributions that were asked for before"""

    def level(self) -> ErrorPath:
        """The path with the same signs along which all predictions have about the same error, in probability.

        Rough errors are estimated with noise: some look larger than they are, and a path
        through them shows more than it should. This path shows the least for a given
        error.
        """
        slope = np.maximum(self.prob * (1 - self.prob), STEEPEST)
        return replace(self, away=np.sign(self.away) * slope.min() / slope, laws={})

    def rate(self, t: float) -> Floats:
        """c_t in each cell; the prediction itself at t = 0."""
        return sigmoid(self.logit + t * self.away) if t else self.prob

    def error(self, t: float, norm: int) -> float:
        """(E|c_t(p) − p|^α)^(1/α) of the predictions."""
        return float(self.share @ np.abs(self.rate(t) - self.prob) ** norm) ** (1 / norm)

    def statistic(self, norm: int) -> float:
        """The binned error of the data, without a root."""
        share, _, prob, _ = self._binned(self.prob)
        return float(share @ np.abs(self.hits / (share * self.rows) - prob) ** norm)

    def excess(self, norm: int) -> float:
        """How far that lies above what a calibrated model shows."""
        return self.statistic(norm) - self.law(0.0, norm).mean

    def law(self, t: float, norm: int) -> Law:
        """The distribution of that statistic if c_t were the true curve, with the predictions a sample."""
        if (t, norm) not in self.laws:
            self.laws[t, norm] = self._law(t, norm)
        return self.laws[t, norm]

    def _law(self, t: float, norm: int) -> Law:
        size = np.abs(self.rate(t) - self.prob) ** norm
        size = size - self.share @ size
        square = self.share * size**2
        share, rows, prob, rate = self._binned(self.rate(t))
        sampled = binned_law(rows, prob, rate, norm, share)
        return sampled.plus(float(square.sum()) / self.rows, float(square @ size) / self.rows**2)

    def _binned(self, rate: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Share of the rows, number of them, mean prediction and mean rate of each bin."""
        share, prob, rates = np.add.reduceat(self.share * [np.ones(len(rate)), self.prob, rate], self.bins, axis=1)
        rows = share * self.rows if self.squares is None else share**2 / np.add.reduceat(self.squares, self.bins)
        return share, rows, prob / share, rates / share


def path_of(event: Event) -> ErrorPath:
    """The path of an event, fitted once for all norms."""
    found: ErrorPath = event.kept("error path", lambda: fitted_path(event))
    return found


def fitted_path(event: Event) -> ErrorPath:
    """The path through an event's fitted curve, over ⌈n^(1/3)⌉ bins of equal mass, or over few distinct predictions."""
    check_hard(event)
    pooled = event.pooled
    few, fitted = fitted_cells(pooled)
    rows, place, hits = part_sums(pooled, fitted, bounded_log_odds(pooled.values))
    return path_along(pooled, place, direction(place, rows, hits, rough=few))


def check_hard(event: Event) -> None:
    """Shares have no binomial distribution."""
    if not event.hard:
        raise InputError("labels", "must be yes or no for this interval", "they are shares", "Pass hard labels")


def fitted_cells(pooled: Pooled) -> tuple[bool, Indices]:
    """Whether the distinct predictions are few enough to be bins, and the starts of the cells that curves are fitted to."""
    few, bins, _ = _cut(pooled, pooled.total)
    if few:
        return few, bins
    starts = np.union1d(mass_starts(pooled, FITTED_CELLS), width_cuts(pooled.values, FITTED_WIDTHS)[:-1])
    return few, starts[starts < len(pooled.values)]


def path_along(pooled: Pooled, place: Floats, away: Floats, times: int = 1) -> ErrorPath:
    """The path with direction `away` at the log-odds `place`, over `times` as many bins as ⌈n^(1/3)⌉."""
    few, bins, cells = _cut(pooled, pooled.total, times)
    n, prob, _ = part_sums(pooled, cells)
    logit = bounded_log_odds(prob)
    of_bins = np.add.reduceat(pooled.hits, bins)
    squares = None if pooled.squares is None else np.add.reduceat(pooled.squares, cells) / pooled.total**2
    at = np.searchsorted(cells, bins)
    return ErrorPath(prob, n / n.sum(), logit, np.interp(logit, place, away), pooled.total, at, of_bins, few, squares)


def _cut(pooled: Pooled, rows: float, times: int = 1) -> tuple[bool, Indices, Indices]:
    """Whether the distinct predictions are few enough to be bins, and the starts of bins and of cells."""
    few = len(pooled.values) <= min(MAX_ATOMS, rows / ROWS_PER_ATOM)
    bins = mass_starts(pooled, len(pooled.values) if few else times * cube_root(int(np.ceil(rows))))
    return few, bins, np.union1d(bins, mass_starts(pooled, KEPT_CELLS))


def mass_starts(pooled: Pooled, count: int) -> Indices:
    """The starts of `count` parts of equal mass; equal predictions are never split."""
    if count >= len(pooled.values):
        return np.arange(len(pooled.values))
    return np.unique(pooled_cuts(pooled, count)[:-1])


def part_sums(pooled: Pooled, starts: Indices, values: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """Rows, mean value and hits of each part."""
    values = pooled.values if values is None else values
    n, sums, hits = (np.add.reduceat(v, starts) for v in (pooled.weight, pooled.weight * values, pooled.hits))
    return n, sums / n, hits
