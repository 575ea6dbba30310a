"""The statistics of one event: functions of the errors, sorted by prediction.

Those registered without `of` are known to `calibration_test` by name; those with `of`
compute that estimator for all draws at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.bins import Binning, BinSums, EqualMass, EqualWidth, bins_of
from calibrant.bins.binning import sorted_cuts
from calibrant.estimate import mean_gap as mean_gap_estimator
from calibrant.estimate.binned import Options, binned_error, ece
from calibrant.estimate.binned import finish as finish_binned
from calibrant.estimate.cumulative import ks_error
from calibrant.inputs import check_statistic
from calibrant.interval.formulas import kolmogorov_p_value, normal_p_value
from calibrant.kernels.draws.null_sums import (
    bridges,
    courses,
    high_low,
    sums_between,
    weighed_sums,
)
from calibrant.kernels.logits import log_odds
from calibrant.methods import method
from calibrant.problems import InputError
from calibrant.resampling.cells import Cells
from calibrant.resampling.draw import Along, Statistic
from calibrant.resampling.rows import Atoms
from calibrant.results import number
from calibrant.types import Floats, Indices

SCANNED = EqualMass(30)
"""Bins whose runs are scanned for the clearest error."""

Cuts = Indices
Collect = Callable[[Floats], Floats]

NEAR = 0.5
"""Log-odds of a cell are as near as this: its mean then stands for them."""


def collected(kernel: Callable[..., None], width: int | None, *arguments: Any) -> Callable[[Any], Floats]:
    """A `collect` by a kernel that fills `width` numbers per draw, or one if None."""

    def collect(errors: Any) -> Floats:
        found = np.empty((len(errors), width or 1))
        kernel(errors, *arguments, found if width else found[:, 0])
        return found

    return collect


def linear(*factors: Floats, cuts: Cuts | None = None) -> Along:
    """Σ factor·e, one number per factor; between the cuts, factors hardly differ."""
    every = np.stack(factors)

    def of_cells(cells: Cells) -> Along:
        return linear(*map(cells.mean, factors))

    return Along(weighed_sums, len(factors), lambda rows: (np.ascontiguousarray(every[:, rows]),), of_cells, cuts)


def per(values: Any, scale: Any) -> Any:
    """values / scale, and 0 where the scale is 0: nothing varies there."""
    out = np.zeros(np.broadcast(values, scale).shape)
    with np.errstate(over="ignore"):  # an error where almost none was possible
        return np.divide(values, scale, out=out, where=np.asarray(scale) > 0)


def scores(atoms: Atoms) -> Collect:
    """Three standardised sums: of errors, of errors times centred log-odds, and Spiegelhalter's.

    The first two are the scores of intercept and slope in a logistic regression on
    log-odds. Positive values mean predictions that are too high, too extreme, too
    extreme.
    """
    variance, odds, tilt = atoms.variance, bounded_log_odds(atoms.p), 2 * atoms.p - 1
    total = float(variance.sum())
    centred = odds - per(float((variance * odds).sum()), total)
    spread = float((variance * centred**2).sum())
    if spread <= 1e-12 * float((variance * odds**2).sum()):
        spread = 0.0  # one prediction has no slope
    brier = float((variance * tilt**2).sum())
    level = np.full(len(odds), per(1.0, np.sqrt(total)))
    steps = np.flatnonzero(np.diff(np.floor(odds / NEAR))) + 1
    return linear(level, per(centred, np.sqrt(spread)), per(tilt, np.sqrt(brier)), cuts=steps)


@method("statistic", name="mean_gap", of=mean_gap_estimator.mean_gap)
def mean_gap(atoms: Atoms, sums: Collect | None = None) -> Statistic:
    """|Σe| / n: too high or too low on average."""
    total = atoms.total
    scale = float(np.sqrt(atoms.variance.sum())) / total if sums else 1.0
    collect = sums or linear(np.full(len(atoms.p), 1 / total))
    return Statistic("mean_gap", "mean gap", collect, lambda states: scale * np.abs(states[:, 0]), shift)


@method("statistic", name="cox")
def cox(atoms: Atoms, sums: Collect | None = None) -> Statistic:
    """Score test of intercept 0 and slope 1 in a logistic regression on log-odds: χ² with 2 degrees."""

    def words(state: Floats) -> str:
        return extremes(state[1]) if abs(state[1]) > abs(state[0]) else shift(state)

    return Statistic("cox", "Cox's χ²", sums or scores(atoms), lambda states: (states[:, :2] ** 2).sum(axis=1), words)


@method("statistic", name="spiegelhalter")
def spiegelhalter(atoms: Atoms, sums: Collect | None = None) -> Statistic:
    """|Z| with Z = Σ(y − p)(1 − 2p) / √Σ(1 − 2p)²p(1 − p): is the Brier score as expected?"""

    def words(state: Floats) -> str:
        if state[1] * state[2] > 0:
            return extremes(state[2])
        # a shift away from 0.5 raises the score too, as of rare events that are more frequent than predicted
        return f"the Brier score is {'higher' if state[2] > 0 else 'lower'} than that of a calibrated model"

    name, title, collect = "spiegelhalter", "Spiegelhalter's z", sums or scores(atoms)
    return Statistic(name, title, collect, lambda states: np.abs(states[:, 2]), words)


def shift(state: Floats) -> str:
    """The sign of the summed errors in words."""
    return f"predictions are too {'high' if state[0] > 0 else 'low'} on average"


def extremes(score: float) -> str:
    """The sign of a score that grows with over-confidence in words."""
    return f"predictions are {'too extreme (over-confident)' if score > 0 else 'not extreme enough (under-confident)'}"


def bounded_log_odds(p: Floats) -> Floats:
    """Log-odds, and 0 for predictions of 0 and 1, which leave nothing to chance."""
    odds = log_odds(p)
    return np.where(np.isfinite(odds), odds, 0.0)


def running(atoms: Atoms, only_ends: bool = False) -> Collect:
    """Highest, lowest and last running sum, and unless these are enough the two sums that ATB needs."""
    found, distinct = Along(courses, 5, lambda rows: (atoms.gaps[rows],)), bool((atoms.gaps[:-1] > 0).all())
    if not distinct:
        return found.__call__  # of all rows, as no part of them may end inside a tie
    return ends_of_runs() if only_ends else found


def ends_of_runs() -> Along:
    """Highest, lowest and last running sum, read after every error: of a row, or of a cell."""
    return Along(high_low, 3, lambda rows: (), lambda cells: ends_of_runs())  # noqa: ARG005


@method("statistic", name="ks", of=ks_error)
def cumulative(atoms: Atoms, statistic: str = "max") -> Statistic:
    """`range`: max C − min C (Kuiper); `max`: max|C| (KS); of the running sum C."""
    total, kuiper = atoms.total, check_statistic(statistic, ("max", "range")) == "range"

    def finish(states: Floats) -> Floats:
        high, low = states[:, 0], states[:, 1]
        return np.asarray((high - low if kuiper else np.maximum(high, -low)) / total)

    name, title = ("kuiper", "Kuiper's range") if kuiper else ("ks", "KS maximum")
    return Statistic(name, title, running(atoms, True), finish, lambda _: stretch_words(atoms))


@method("statistic", name="kuiper")
def kuiper(atoms: Atoms) -> Statistic:
    """Kuiper's range of the running sum of errors."""
    return cumulative(atoms, "range")


def stretch(sums: Floats) -> tuple[int, int, int]:
    """First and last step between the extremes of a running sum that begins with 0, and its direction.

    The steps are first … last − 1; the direction is 1 where the sum rises, −1 where it falls.
    """
    high, low = int(np.argmax(sums)), int(np.argmin(sums))
    return min(high, low), max(high, low), int(np.sign(high - low))


def stretch_words(atoms: Atoms) -> str:
    """The stretch over which errors add up most in words; equal predictions are not separated."""
    cuts = np.concatenate([[-1], np.flatnonzero(atoms.gaps[:-1] > 0), [len(atoms.p) - 1]]) + 1
    sums = np.concatenate([[0.0], np.cumsum(atoms.errors)[cuts[1:] - 1]])
    first, last, _ = stretch(sums)
    return between_words(atoms, int(cuts[first]), int(cuts[last]), float(sums[last] - sums[first]))


@method("statistic", name="two_part")
def two_part(atoms: Atoms) -> Statistic:
    """−2 ln(p₁p₂) of the last value and of the bridge that is left when the line to it is taken away."""
    scale = float(np.sqrt(atoms.variance.sum()))
    sums = collected(bridges, 2, atoms.gaps, np.cumsum(per(atoms.variance, scale**2)))

    def finish(states: Floats) -> Floats:
        from scipy.special import erfc, kolmogorov

        # far out both p-values are 0 in floating point; the largest logarithm then decides
        tiny = np.finfo(np.float64).tiny
        first, second = erfc(np.abs(states[:, 0]) / np.sqrt(2)), kolmogorov(states[:, 1])
        return np.asarray(-2 * (np.log(np.maximum(first, tiny)) + np.log(np.maximum(second, tiny))))

    def words(state: Floats) -> str:
        return shift(state) if normal_p_value(state[0]) < kolmogorov_p_value(state[1]) else stretch_words(atoms)

    def parts(state: Floats) -> dict[str, float]:
        return {"z": -float(state[0]), "bridge": float(state[1])}  # observed minus expected, as the authors have it

    return Statistic(
        "two_part", "two-part cumulative χ²", lambda errors: np.asarray(per(sums(errors), scale)), finish, words, parts
    )


@method("statistic", name="atb")
def averaged_two_bin(atoms: Atoms) -> Statistic:
    """ATB = ∫ (C(q)² + (C(1) − C(q))²) dq: squared errors below and above q, averaged over q."""
    total = atoms.total

    def finish(states: Floats) -> Floats:
        last, first, second = states[:, 2], states[:, 3], states[:, 4]
        # C is 0 below the first prediction, and the lengths of all stretches add up to 1
        return np.asarray((2 * second - 2 * last * first + last**2) / total**2)

    return Statistic("atb", "averaged two-bin error", running(atoms), finish, lambda _: stretch_words(atoms))


def cuts_of(atoms: Atoms, bins: Binning) -> Cuts:
    """Where bins begin among the atoms; rows outside every bin lie before the first cut or after the last."""
    if bins not in atoms.cuts:
        atoms.cuts[bins] = sorted_cuts(bins, atoms.event).astype(np.intp)
    return atoms.cuts[bins]


def between(cuts: Cuts) -> Along:
    """Per-bin sums of errors."""

    def of_rows(rows: slice) -> tuple[Any, ...]:
        start = rows.start or 0
        return (np.clip(cuts - start, 0, None if rows.stop is None else rows.stop - start),)

    return Along(sums_between, len(cuts) - 1, of_rows, lambda cells: between(cells.at(cuts)), cuts)


def bin_variances(atoms: Atoms, cuts: Cuts) -> Floats:
    """Variance of each bin's sum of errors under calibration."""
    return np.asarray(np.add.reduceat(np.append(atoms.variance, 0.0), cuts)[:-1] * (cuts[1:] > cuts[:-1]))


@method("statistic", name="hosmer_lemeshow")
def hosmer_lemeshow(atoms: Atoms, bins: int | Binning = 10) -> Statistic:
    """Σ_b E_b² / V_b over bins, V_b the variance under calibration: χ² with one degree per bin."""
    rule = bins_of(bins, EqualMass)
    cuts = cuts_of(atoms, rule)
    variance = bin_variances(atoms, cuts)

    def words(state: Floats) -> str:
        worst = int(np.argmax(per(state**2, variance)))
        return between_words(atoms, cuts[worst], cuts[worst + 1], float(state[worst]))

    def finish(states: Floats) -> Floats:
        return np.asarray(per(states**2, variance).sum(axis=1))

    return Statistic("hosmer_lemeshow", f"Hosmer–Lemeshow χ², {rule.describe()}", between(cuts), finish, words)


@method("statistic", name="scan")
def scan(atoms: Atoms, bins: Binning = SCANNED) -> Statistic:
    """The largest E² / V over all runs of neighbouring bins: where is the model most clearly wrong?"""
    rule = bins_of(bins, EqualMass)
    cuts = cuts_of(atoms, rule)
    variance = bin_variances(atoms, cuts)

    def finish(states: Floats) -> Floats:
        return largest_runs(states, variance)

    def words(state: Floats) -> str:
        start, stop = clearest_run(state, variance)
        return between_words(atoms, cuts[start], cuts[stop], float(state[start:stop].sum()))

    return Statistic("scan", f"scan of {bins.describe()}", between(cuts), finish, words)


def largest_runs(states: Floats, variance: Floats) -> Floats:
    """The largest E² / V over all runs of bins, one number per draw."""
    turned, found = np.ascontiguousarray(states.T), np.zeros(len(states))
    for start in range(len(variance)):
        error, spread = np.zeros(len(states)), 0.0
        for own, more in zip(turned[start:], variance[start:], strict=True):
            error += own
            spread += more
            if spread > 0:
                np.maximum(found, error**2 / spread, out=found)
    return found


def runs(states: Floats, variance: Floats, start: int) -> Floats:
    """E² / V of the runs that begin at a bin."""
    return np.asarray(per(np.cumsum(states[:, start:], axis=1) ** 2, np.cumsum(variance[start:])))


def clearest_run(state: Floats, variance: Floats) -> tuple[int, int]:
    """The bins from and to before which E² / V is largest."""
    each = [runs(state[None], variance, start)[0] for start in range(len(variance))]
    start = int(np.argmax([run.max() for run in each]))
    return start, start + int(np.argmax(each[start])) + 1


def clearest(atoms: Atoms) -> dict[str, float]:
    """The range of predictions that the scan finds, and the mean error there."""
    start, stop, error = _clearest_atoms(atoms)
    weight = float(atoms.weight[start : max(stop, start + 1)].sum())
    low, high = atoms.p[min(start, len(atoms.p) - 1)], atoms.p[min(max(stop, start + 1), len(atoms.p)) - 1]
    return {"from": float(low), "to": float(high), "gap": error / weight if weight else 0.0}


def clearest_words(atoms: Atoms) -> str:
    """The same in words."""
    return between_words(atoms, *_clearest_atoms(atoms))


def _clearest_atoms(atoms: Atoms) -> tuple[int, int, float]:
    """The atoms from and to before which errors are clearest, and the sum of their errors."""
    cuts = cuts_of(atoms, SCANNED)
    state = between(cuts)(atoms.errors[None])[0]
    first, last = clearest_run(state, bin_variances(atoms, cuts))
    return int(cuts[first]), int(cuts[last]), float(state[first:last].sum())


def between_words(atoms: Atoms, start: int, stop: int, error: float) -> str:
    """How far predictions are off from one atom to before another."""
    if start == stop or error == 0:
        return ""
    gap = error / float(atoms.weight[start:stop].sum())
    low, high = number(float(atoms.p[start])), number(float(atoms.p[stop - 1]))
    where = f"between {low} and {high}" if low != high else f"at {low}"
    return f"predictions {where} are too {'high' if gap > 0 else 'low'} by {number(abs(gap))}"


def filled_bins(atoms: Atoms, bins: Binning) -> int:
    """Bins whose labels can vary: the degrees of freedom of Hosmer–Lemeshow on validation data."""
    cuts = cuts_of(atoms, bins)
    varies = np.concatenate([[0], np.cumsum(atoms.variance > 0)])
    return int((varies[cuts[1:]] > varies[cuts[:-1]]).sum())


def least_expected(atoms: Atoms, bins: Binning) -> Floats:
    """Of each bin whose labels can vary, how many labels of the rarer kind are expected."""
    cuts = cuts_of(atoms, bins)
    kinds = (np.add.reduceat(np.append(atoms.count * share, 0.0), cuts)[:-1] for share in (atoms.p, 1 - atoms.p))
    return np.asarray(np.minimum(*kinds)[bin_variances(atoms, cuts) > 0])


def binned(atoms: Atoms, bins: Binning, **options: Any) -> Statistic:
    """A binned calibration error of any norm, debiased or not.

    The estimator's own `finish`, with draws in place of classes.
    """
    cuts, state = cuts_of(atoms, bins), bins.collect(atoms.event)

    def finish(states: Floats) -> Floats:
        sums = np.repeat(state.sums, len(states), axis=0)
        sums[:, :, 3] = sums[:, :, 1] - states
        low, high = (np.broadcast_to(end, (len(states), end.shape[1])) for end in (state.low, state.high))
        squares = None if state.squares is None else np.repeat(state.squares, len(states), axis=0)
        every = BinSums(sums, low, high, atoms.n, bins, state.outside, squares)
        by_class = finish_binned(every, "classwise", tuple(range(len(states))), Options(**options)).parts["classes"]
        return np.asarray(by_class.values)

    return Statistic("binned", "binned calibration error", between(cuts), finish)


@method("statistic", name="binned", of=binned_error)
def fast_binned(atoms: Atoms, bins: int | Binning = 15, **options: Any) -> Statistic | None:
    """`binned_error` of all draws at once; None where it needs rates, which flipped errors do not give."""
    if options.get("debiased") and atoms.cluster is not None:
        return None
    rule = bins_of(bins, EqualMass)
    if isinstance(rule, EqualMass) and rule.ties == "split":
        raise InputError("bins", "must keep ties together in a test", "ties='split' depends on the order of rows")
    return binned(atoms, rule, **options)


@method("statistic", name="ece", of=ece)
def fast_ece(atoms: Atoms, bins: int | Binning = 15) -> Statistic:
    """`ece` of all draws at once."""
    return binned(atoms, bins_of(bins, EqualWidth))
