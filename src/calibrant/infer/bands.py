"""Bands for reliability diagrams: around the diagonal, around the estimate, and one that holds everywhere at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import Binning
from calibrant.infer.band import Band
from calibrant.infer.rising_rate import isotonic, rising_intervals
from calibrant.inputs import check_choice, check_count, check_level
from calibrant.interval.proportion import wilson
from calibrant.kernels.fit.rising_bounds import lower_bound, upper_bound
from calibrant.kernels.rows.pooling import Groups, mass_cuts
from calibrant.predictions import Event, admit
from calibrant.problems import InputError
from calibrant.results import BinTable, number

Floats = NDArray[np.float64]

MOST_GROUPS = 200
"""Groups of equal mass that a simultaneous band is made of, unless fewer predictions differ."""

MOST_CELLS = 1000
"""Cells of equal mass that labels are drawn for."""

SHOWN = 200
"""Points of a drawn band."""

ON_GRID = 1e-9

ABOUT = {
    "consistency": "what a calibrated model's curve would show, point by point",
    "confidence": "the true rate, point by point",
    "simultaneous": "the true rate everywhere at once, if it rises with the prediction",
}
EVERYWHERE = "what a calibrated model's curve would show, everywhere at once"


def simultaneous_band(
    labels: Any,
    probs: Any = None,
    *,
    level: float = 0.95,
    groups: int | None = MOST_GROUPS,
    digits: int | None = None,
    view: Any = "auto",
    weights: Any = None,
) -> Band:
    """Between which rates does the true curve lie, everywhere at once? Exact for every n, if the true rate rises.

    The claim is the reverse of a test's: `certified` is the ε for which the data prove that every prediction is within ±ε of
    its true rate, and `excluded()` tells where the model is proven wrong. Each run of neighbouring predictions has its exact
    binomial limits, at a level that holds for all runs at once (Dimitriadis et al. 2023).

    Predictions are pooled to at most `groups` groups of equal mass (None: not at all), or rounded to `digits`: fewer runs, a
    narrower band. The band stays exact, as the lower end counts a group at its largest prediction and the upper end at its
    smallest.

    When to trust it: rows must be independent, labels yes or no, weights whole numbers of rows. Where the true rate falls, the
    band does not hold; a lower end above the upper end is proof of that, and is told. Nothing is certified or excluded then.

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
    event = admit(labels, probs, weights=weights).event(view)
    rows = _counted(event, "simultaneous bands")
    to_last, from_first = _cuts(rows, groups, digits)
    below, above = rows.values[to_last[1:] - 1], rows.values[from_first[:-1]]
    if digits is not None:
        below, above = _round_up(below, digits), _round_down(above, digits)
    low = lower_bound(*_pooled(rows, to_last), _chance(level, len(below)))
    high = upper_bound(*_pooled(rows, from_first), _chance(level, len(above)))
    x, low, high = _steps(below, low, above, high)
    share = np.bincount(np.minimum(np.searchsorted(x, rows.values), len(x) - 1), rows.weight, len(x)) / rows.total
    y = np.interp(x, rows.values, isotonic(rows.weight, rows.hits))
    band = Band(x, y, low, high, share, float(level), "simultaneous", ABOUT["simultaneous"], steps=True)
    ends = band.at(rows.values)
    falls = float(max((low - high).max(), (ends[0] - ends[1]).max()))
    if falls > 0:
        doubt = f"the true rate does not rise everywhere, as the ends cross by {number(falls)}: this band tells nothing else"
        return replace(band, cautions=(doubt,))
    return replace(band, certified=float(np.maximum(ends[1] - rows.values, rows.values - ends[0]).max()))


def consistency_band(
    labels: Any,
    probs: Any = None,
    *,
    bins: Binning | None = None,
    level: float = 0.95,
    everywhere: bool = False,
    draws: int = 2000,
    seed: Any = 0,
    view: Any = "auto",
    weights: Any = None,
) -> Band:
    """What would a calibrated model's diagram look like? A band around the diagonal; a curve that leaves it is news.

    Labels are drawn from the predictions, which stay as they are: that is calibration, exactly. The curve is isotonic
    regression, drawn anew for every set of labels; with `bins`, the rate of each bin has its exact binomial range and nothing
    is drawn. The band holds at each point with probability `level`; `everywhere=True` widens it so that a whole curve stays
    inside with that probability.

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
    event = admit(labels, probs, weights=weights).event(view)
    if bins is not None:
        return band_of_bins(_table(bins, event), "consistency", level, everywhere)
    rows = _counted(event, "consistency bands")
    p, n, hits = _cells(rows)
    curves = _drawn_curves(n, p, check_count(draws, "draws", 20), seed)
    low, high = _envelope(curves, level) if everywhere else _quantiles(curves, level)
    about = EVERYWHERE if everywhere else ABOUT["consistency"]
    kept = _spread(len(p))
    share = np.add.reduceat(n, kept) / n.sum()
    return Band(p[kept], isotonic(n, hits)[kept], low[kept], high[kept], share, float(level), "consistency", about)


def confidence_band(
    labels: Any,
    probs: Any = None,
    *,
    bins: Binning | None = None,
    level: float = 0.95,
    everywhere: bool = False,
    view: Any = "auto",
    weights: Any = None,
) -> Band:
    """Between which rates does the true curve lie? A band around the estimate, point by point.

    The curve is isotonic regression, and the band all rates that a likelihood ratio does not refuse, if the true rate rises
    (Banerjee & Wellner 2001); the bootstrap fails for step functions. With `bins`, Wilson's interval of each rate;
    `everywhere=True` makes all of them hold at once. For a band that holds everywhere without bins see `simultaneous_band`.

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
    event = admit(labels, probs, weights=weights).event(view)
    if bins is not None:
        return band_of_bins(_table(bins, event), "confidence", level, everywhere)
    if everywhere:
        raise InputError("everywhere", "needs bins here", "bins is None", "Pass bins=, or use simultaneous_band")
    rows = _counted(event, "confidence bands")
    p, n, hits = _cells(rows)
    kept = _spread(len(p))
    low, high = rising_intervals(n, hits, kept, level, tied=2 * len(rows.values) < rows.total)
    share = np.add.reduceat(n, kept) / n.sum()
    return Band(p[kept], isotonic(n, hits)[kept], low, high, share, float(level), "confidence", ABOUT["confidence"])


def band_of_bins(
    bins: BinTable,
    method: Literal["consistency", "confidence", "simultaneous"],
    level: float = 0.95,
    everywhere: bool = False,
) -> Band:
    """A band from the bins alone: what a diagram of bins can show of rows it does not have.

    `consistency` takes each bin as binomial with its mean prediction, which is no narrower than the truth. `simultaneous`
    counts a bin at its upper end from below and at its lower end from above.

    Examples
    --------
    >>> import calibrant as cal
    >>> bins = cal.ece([0, 1] * 100, [0.3, 0.8] * 100).parts["bins"]
    >>> band = cal.band_of_bins(bins, "consistency")
    >>> bool((band.low <= bins.mean_prob).all() and (bins.mean_prob <= band.high).all())
    True
    """
    check_choice("method", method, ("consistency", "confidence", "simultaneous"))
    n, share = bins.weight, bins.weight / bins.weight.sum()
    each = level ** (1 / len(n)) if everywhere else level
    if method == "simultaneous":
        low, high = (f(n, n * bins.label_rate, _chance(level, len(n))) for f in (lower_bound, upper_bound))
        x, low, high = _steps(bins.high, low, bins.low, high)
        y, support = np.interp(x, bins.mean_prob, bins.label_rate), np.zeros(len(x))
        support[np.searchsorted(x, bins.high)] = share
        return Band(x, y, low, high, support, float(level), method, ABOUT[method], steps=True)
    if method == "confidence":
        ends = wilson(bins.label_rate, n, each)
    else:
        from scipy.stats import binom

        law = binom(np.maximum(np.round(n), 1), bins.mean_prob)
        ends = law.ppf((1 - each) / 2) / n, law.isf((1 - each) / 2) / n
    about = ABOUT[method].replace("point by point", "everywhere at once") if everywhere else ABOUT[method]
    return Band(bins.mean_prob, bins.label_rate, *ends, share, float(level), method, about)


def _steps(below: Floats, low: Floats, above: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Lower ends that hold from `below` on, and upper ends that hold up to `above`, at all of these places."""
    x = np.unique(np.concatenate([below, above]))
    at = np.append(0.0, low)[np.searchsorted(below, x, side="right")]
    up_to = np.append(high, 1.0)[np.searchsorted(above, x, side="left")]
    return x, at, up_to


def _table(bins: Binning, event: Event) -> BinTable:
    state = bins.collect(event)
    columns = (state.low, state.high, state.weight, state.mean_prob, state.label_rate)
    return BinTable(*(column[0][state.weight[0] > 0] for column in columns))


def _counted(event: Event, what: str) -> Groups:
    """Rows pooled by equal prediction, each of which happened or not."""
    if not event.hard:
        raise InputError("labels", f"must be yes or no for {what}", "they are shares", "Use bins, or hard labels")
    if not event.groups.integral:
        raise InputError("weights", f"must be whole numbers of rows for {what}", advice="Round them, or leave them out")
    return event.groups


def _chance(level: float, groups: int) -> float:
    """Of each limit: N(N + 1)/2 runs of groups with two limits each."""
    return (1 - level) / (groups * (groups + 1))


def _cuts(rows: Groups, groups: int | None, digits: int | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where groups begin and end, for the lower end of the band and for the upper end."""
    count = len(rows.values)
    if digits is not None:
        check_count(digits, "digits")
        return tuple(_changes(f(rows.values, digits)) for f in (_round_up, _round_down))  # type: ignore[return-value]
    if groups is None or check_count(groups, "groups") >= count:
        every = np.arange(count + 1)
        return every, every
    cuts = np.unique(mass_cuts(rows.below(), groups, rows.allowance))
    return cuts, cuts


def _changes(values: Floats) -> NDArray[np.intp]:
    return np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]])


def _round_up(values: Floats, digits: int) -> Floats:
    """To the next multiple; rounding of the last bits does not make a value leave its own."""
    return np.ceil(values * 10.0**digits - ON_GRID) / 10.0**digits


def _round_down(values: Floats, digits: int) -> Floats:
    return np.floor(values * 10.0**digits + ON_GRID) / 10.0**digits


def _pooled(rows: Groups, cuts: NDArray[np.intp]) -> tuple[Floats, Floats]:
    return np.add.reduceat(rows.weight, cuts[:-1]), np.add.reduceat(rows.hits, cuts[:-1])


def _cells(rows: Groups) -> tuple[Floats, Floats, Floats]:
    """Mean prediction, rows and hits of at most so many cells."""
    if len(rows.values) <= MOST_CELLS:
        return rows.values, rows.weight, rows.hits
    cuts = np.unique(mass_cuts(rows.below(), MOST_CELLS, rows.allowance))
    n, hits = _pooled(rows, cuts)
    return np.add.reduceat(rows.weight * rows.values, cuts[:-1]) / n, n, hits


def _drawn_curves(n: Floats, rate: Floats, draws: int, seed: Any) -> Floats:
    """(draws, cells): isotonic fits of labels drawn at given rates."""
    hits = np.random.default_rng(seed).binomial(n.astype(np.int64), np.clip(rate, 0, 1), (draws, len(n)))
    return np.stack([isotonic(n, row) for row in hits.astype(np.float64)])


def _quantiles(curves: Floats, level: float) -> tuple[Floats, Floats]:
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _envelope(curves: Floats, level: float) -> tuple[Floats, Floats]:
    """The narrowest band between order statistics, the same at every point, that holds a further curve with the given chance.

    A further curve is one more of its kind: it has each rank among all as likely as the others. So the last k for which enough
    of the drawn curves keep k others outside on either side, at every point, serves a further curve as well.
    """
    from bisect import bisect_left

    ordered, draws = np.sort(curves, axis=0), len(curves)

    def too_tight(k: int) -> bool:
        inside = ((curves >= ordered[k]) & (curves <= ordered[draws - 1 - k])).all(axis=1)
        return bool(inside.sum() < level * (draws + 1))

    k = bisect_left(range(1, draws // 2), True, key=too_tight)  # of the drawn curves, k lie beyond; itself makes one
    return ordered[max(k - 1, 0)], ordered[min(draws - k, draws - 1)]


def _spread(count: int) -> NDArray[np.intp]:
    """At most so many of the cells, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, SHOWN)).astype(np.intp))
