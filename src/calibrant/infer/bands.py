"""Bands for reliability diagrams: around the diagonal, around the estimate, and simultaneous ones."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant.bins import Binning, EqualMass, bins_of
from calibrant.infer.band import Band
from calibrant.infer.error_path import mass_starts, part_sums
from calibrant.infer.rising_rate import isotonic, rising_intervals
from calibrant.inputs import check_choice, check_count, check_level, generator_of
from calibrant.interval.mean import wilson
from calibrant.kernels.fit.isotonic import lower_bound, upper_bound
from calibrant.options import checked
from calibrant.predictions import Event, admit
from calibrant.problems import InputError
from calibrant.results import BinTable, number
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices, Seed

Pools = tuple[Floats, Floats, Floats]
"""The prediction that each pool of rows counts as, its number of rows, and its hits."""

MAX_POOLS = 200
"""Pools of equal mass that a simultaneous band is made of, unless fewer predictions differ."""

MAX_CELLS = 1000
"""Cells of equal mass that labels are drawn for."""

SHOWN = 200
"""Points of a drawn band."""

EFFECTIVE_PARTS = 20
"""Parts of the predictions in each of which weighted rows are counted as so many equal ones."""

ON_GRID = 1e-9
"""How far a prediction may be from a rounded one, relative to the step, and still be equal to it."""

ABOUT = {
    "consistency": "what a calibrated model's curve would show, point by point",
    "confidence": "the true rate, point by point",
    "simultaneous": "the true rate everywhere at once, if it rises with the prediction",
}


@checked
def simultaneous_band(
    labels: Any,
    probs: Any = None,
    *,
    level: float = 0.95,
    n_pools: int | None = MAX_POOLS,
    n_digits: int | None = None,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Band:
    """Between which rates does the true curve lie, everywhere at once? Exact, if the true rate rises.

    The claim is the reverse of a test's: `certified` is the ε for which the data prove
    that every prediction is within ±ε of its true rate, and `excluded()` tells where the
    model is proven wrong. Each run of neighbouring predictions has its exact binomial
    limits, at a level that holds for all runs at once (Dimitriadis et al. 2023). The
    band stays exact if predictions are pooled, as the lower end counts a pool at its
    largest prediction and the upper end at its smallest.

    When to trust it: rows must be independent, labels yes or no, all rows of one weight;
    counts are rows repeated. Where the true rate falls, the band does not hold; a lower
    end above the upper end is proof of that, and gives a warning. Nothing is certified
    or excluded then.

    Parameters
    ----------
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    level
        Confidence of the band.
    n_pools
        Predictions are pooled to at most so many pools of equal mass: fewer runs, a
        narrower band. None: not at all.
    n_digits
        Round predictions to so many decimal digits instead.
    view
        The event to ask about: "auto", "binary", "top" or "class k".
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> from calibrant.infer import simultaneous_band
    >>> band = simultaneous_band([1] * 700 + [0] * 300, [0.5] * 1000)
    >>> band.excluded()
    ((0.5, 0.5, 'predicts too low'),)
    >>> round(band.certified, 3)
    0.228
    """
    check_level(level)
    rows = _counted(admit(labels, probs, counts=counts, weights=weights).event(view), "simultaneous bands", exact=True)
    (below, *lower), (above, *upper) = _pools(rows, n_pools, n_digits)
    low = lower_bound(lower[0], lower[1], _tail(level, len(below)))
    high = upper_bound(upper[0], upper[1], _tail(level, len(above)))
    x, low, high = _steps(below, low, above, high)
    share = np.bincount(np.minimum(np.searchsorted(x, rows.values), len(x) - 1), rows.weight, len(x)) / rows.total
    y = np.interp(x, rows.values, isotonic(rows.weight, rows.hits))
    band = Band(x, y, low, high, share, float(level), "simultaneous", ABOUT["simultaneous"], steps=True)
    ends = band.at(rows.values)
    crossed = float(max((low - high).max(), (ends[0] - ends[1]).max()))
    if crossed > 0:
        fact = f"the true rate does not rise everywhere, as the ends cross by {number(crossed)}"
        return replace(band, cautions=(f"{fact}: this band tells nothing else",))
    return replace(band, certified=float(np.maximum(ends[1] - rows.values, rows.values - ends[0]).max()))


@checked
def consistency_band(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning | None = None,
    level: float = 0.95,
    everywhere: bool = False,
    n_draws: int = 2000,
    seed: Seed = 0,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Band:
    """What would a calibrated model's diagram look like? A band around the diagonal.

    Labels are drawn from the predictions, which stay as they are: that is calibration,
    exactly. The curve is isotonic regression, fitted anew to every set of labels.

    Parameters
    ----------
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    bins
        Bins instead of isotonic regression: the rate of each bin has its exact binomial
        range, and nothing is drawn.
    level
        Probability that a calibrated model's curve lies in the band.
    everywhere
        Should that hold for the curve as a whole, rather than at each point?
    n_draws
        Number of sets of labels drawn.
    seed
        An integer, or a generator to draw from.
    view
        The event to ask about: "auto", "binary", "top" or "class k".
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.infer import consistency_band
    >>> valid, test = cal.example()
    >>> band = consistency_band(test, bins=cal.EqualMass(10))
    >>> bool((band.y < band.low).any())  # fewer right answers than any calibrated model would show
    True
    """
    check_level(level)
    event = admit(labels, probs, counts=counts, weights=weights).event(view)
    if bins is not None:
        return band_of_bins(bins_of(bins, EqualMass).collect(event).table(), "consistency", level, everywhere)
    p, n, hits = _cells(_counted(event, "consistency bands"))
    shape = (check_count(n_draws, "n_draws", 20), len(n))
    times = np.maximum(np.round(n), 1)
    drawn = generator_of(seed).binomial(times.astype(np.int64), np.clip(p, 0, 1), shape) * (n / times)
    curves = np.stack([isotonic(n, row) for row in drawn])
    low, high = (
        _envelope(curves, level) if everywhere else np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    )
    at = _shown(len(p))
    return _isotonic_band("consistency", (p, n, hits), at, low[at], high[at], level, everywhere)


@checked
def confidence_band(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning | None = None,
    level: float = 0.95,
    everywhere: bool = False,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Band:
    """Between which rates does the true curve lie? A band around the estimate, point by point.

    The curve is isotonic regression, and the band all rates that a likelihood ratio test
    does not reject, if the true rate rises (Banerjee & Wellner 2001); the bootstrap fails
    for step functions. For a band that holds everywhere without bins see
    `simultaneous_band`.

    Parameters
    ----------
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    bins
        Bins instead of isotonic regression, with Wilson's interval of each rate.
    level
        Confidence of the band.
    everywhere
        Should the intervals of all bins hold at once? Needs `bins`.
    view
        The event to ask about: "auto", "binary", "top" or "class k".
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.infer import confidence_band
    >>> valid, test = cal.example()
    >>> band = confidence_band(test)
    >>> bool((band.low <= band.y).all() and (band.y <= band.high).all())
    True
    """
    check_level(level)
    event = admit(labels, probs, counts=counts, weights=weights).event(view)
    if bins is not None:
        return band_of_bins(bins_of(bins, EqualMass).collect(event).table(), "confidence", level, everywhere)
    if everywhere:
        raise InputError("everywhere", "needs bins here", "bins is None", "Pass bins=, or use simultaneous_band")
    rows = _counted(event, "confidence bands")
    p, n, hits = _cells(rows)
    at = _shown(len(p))
    low, high = rising_intervals(n, hits, at, level, tied=2 * len(rows.values) < rows.total)
    return _isotonic_band("confidence", (p, n, hits), at, low, high, level)


@checked
def band_of_bins(
    bins: BinTable,
    method: Literal["consistency", "confidence", "simultaneous"],
    level: float = 0.95,
    everywhere: bool = False,
) -> Band:
    """A band from bins alone, where the rows are not at hand.

    Parameters
    ----------
    bins
        The bins of an estimate, `parts["bins"]`.
    method
        "consistency" takes each bin as binomial with its mean prediction, which is no
        narrower than the truth. "confidence" is Wilson's interval of each rate.
        "simultaneous" counts a bin at its upper end for the lower bound and at its lower
        end for the upper bound.
    level
        Confidence of the band.
    everywhere
        Should the band hold for all bins at once? A simultaneous one always does.

    Examples
    --------
    >>> import calibrant as cal
    >>> bins = cal.ece([0, 1] * 100, [0.3, 0.8] * 100).parts["bins"]
    >>> band = cal.band_of_bins(bins, "consistency")
    >>> bool((band.low <= bins.mean_prob).all() and (bins.mean_prob <= band.high).all())
    True
    """
    check_choice("method", method, ("consistency", "confidence", "simultaneous"))
    n, share = bins.rows, bins.weight / bins.weight.sum()
    each = level ** (1 / len(n)) if everywhere else level
    if method == "simultaneous":
        low, high = (f(n, n * bins.label_rate, _tail(level, len(n))) for f in (lower_bound, upper_bound))
        x, low, high = _steps(bins.high, low, bins.low, high)
        y, support = np.interp(x, bins.mean_prob, bins.label_rate), np.zeros(len(x))
        support[np.searchsorted(x, bins.high)] = share
        return Band(x, y, low, high, support, float(level), method, ABOUT[method], steps=True)
    if method == "confidence":
        ends = wilson(bins.label_rate, n, each)
    else:
        from scipy.stats import binom

        n = np.maximum(np.round(n), 1)
        null = binom(n, bins.mean_prob)
        ends = null.ppf((1 - each) / 2) / n, null.isf((1 - each) / 2) / n
    return Band(bins.mean_prob, bins.label_rate, *ends, share, float(level), method, _about(method, everywhere))


def _about(method: str, everywhere: bool) -> str:
    return ABOUT[method].replace("point by point", "everywhere at once") if everywhere else ABOUT[method]


def _isotonic_band(
    method: str, cells: Pools, at: Indices, low: Floats, high: Floats, level: float, everywhere: bool = False
) -> Band:
    """The band of an isotonic curve with its ends at some of the cells."""
    p, n, hits = cells
    share, curve = np.add.reduceat(n, at) / n.sum(), isotonic(n, hits)[at]
    return Band(p[at], curve, low, high, share, float(level), method, _about(method, everywhere))


def _shown(count: int) -> Indices:
    """At most `SHOWN` of the cells, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, SHOWN)).astype(np.intp))


def _steps(below: Floats, low: Floats, above: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Lower ends that hold from `below` on and upper ends that hold up to `above`, at all these places."""
    x = np.unique(np.concatenate([below, above]))
    lower = np.append(0.0, low)[np.searchsorted(below, x, side="right")]
    upper = np.append(high, 1.0)[np.searchsorted(above, x, side="left")]
    return x, lower, upper


def _counted(event: Event, what: str, exact: bool = False) -> Pooled:
    """Rows pooled by equal prediction, of which hits can be counted."""
    if not event.hard:
        raise InputError("labels", f"must be yes or no for {what}", "they are shares", "Use bins, or hard labels")
    if event.squares is None:
        return event.pooled
    if exact:
        advice = "Pass counts= if they are numbers of rows, or use confidence_band"
        raise InputError("weights", f"must be left out for {what}, which count rows", advice=advice)
    return event.pooled.effective(mass_starts(event.pooled, EFFECTIVE_PARTS))


def _tail(level: float, n_pools: int) -> float:
    """The probability outside each limit: N pools make N(N + 1)/2 runs with two limits each."""
    return (1 - level) / (n_pools * (n_pools + 1))


def _pools(rows: Pooled, n_pools: int | None, n_digits: int | None) -> tuple[Pools, Pools]:
    """Pools of rows for the lower end of the band, each at its largest prediction, and for the upper end."""
    if n_digits is not None:
        check_count(n_digits, "n_digits")
        ups, downs = (_rounded(rows.values, n_digits, up) for up in (True, False))
        lower, upper = (np.append(0, np.flatnonzero(np.diff(v)) + 1) for v in (ups, downs))
        largest, smallest = ups[lower], downs[upper]
    else:
        most = len(rows.values) if n_pools is None else check_count(n_pools, "n_pools")
        lower = upper = mass_starts(rows, most)
        largest, smallest = rows.values[np.append(lower[1:], len(rows.values)) - 1], rows.values[upper]
    return (largest, *part_sums(rows, lower)[::2]), (smallest, *part_sums(rows, upper)[::2])


def _rounded(values: Floats, n_digits: int, up: bool) -> Floats:
    """The next multiple of 10^−digits in one direction; multiples, up to rounding error, stay."""
    scaled = values * 10.0**n_digits
    return (np.ceil(scaled - ON_GRID) if up else np.floor(scaled + ON_GRID)) / 10.0**n_digits


def _cells(rows: Pooled) -> Pools:
    """Mean prediction, rows and hits of at most `MAX_CELLS` cells."""
    n, mean, hits = part_sums(rows, mass_starts(rows, MAX_CELLS))
    return rows.values if len(n) == len(rows.values) else mean, n, hits


def _envelope(curves: Floats, level: float) -> tuple[Floats, Floats]:
    """The narrowest band between order statistics that holds one more curve with probability `level`.

    The order statistics are the same at every point. One more curve has each rank among
    all with equal probability. So the largest k for which enough of the drawn curves keep
    k others outside on either side, at every point, serves one more curve as well.
    """
    ordered, n_draws = np.sort(curves, axis=0), len(curves)

    def too_narrow(k: int) -> bool:
        inside = ((curves >= ordered[k]) & (curves <= ordered[n_draws - 1 - k])).all(axis=1)
        return bool(inside.sum() < level * (n_draws + 1))

    k = bisect_left(range(1, n_draws // 2), True, key=too_narrow)  # k of the drawn curves lie beyond, itself included
    return ordered[max(k - 1, 0)], ordered[min(n_draws - k, n_draws - 1)]
