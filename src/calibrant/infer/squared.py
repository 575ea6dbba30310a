"""The interval of a squared calibration error, valid at 0 and far from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.bins import Binning, BinSums, EqualMass, bins_of
from calibrant.interval.mean import normal_quantile
from calibrant.kernels.rows.pooling import in_order
from calibrant.options import checked
from calibrant.predictions import Event, admit
from calibrant.problems import InputError
from calibrant.results import Interval
from calibrant.types import Floats

METHOD = "debiased square, two regimes"

ADDED = 1.0
"""Hits and misses added to each bin before its variance is taken: a bin without misses may yet have some."""


@checked
def squared_error_interval(
    labels: Any,
    probs: Any = None,
    *,
    bins: int | Binning | None = None,
    level: float = 0.95,
    root: bool = True,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Interval:
    """Where does the RMS calibration error over bins lie? Closed form, one pass after the bins.

    The debiased square T = Σ n_b/n · [(p̄_b − ȳ_b)² − ȳ_b(1−ȳ_b)/(n_b−1)] varies by about
    1/n where the model is calibrated and by about 1/√n where it is not; one variance
    holds both parts. The upper end takes the variance that an error of that size would
    have, not the observed one, as Wilson's interval of a rate does.

    When to trust it: it holds the error *of these bins*. Errors of opposite sign inside a
    bin are not seen; for the error of the predictions themselves see
    `calibration_error_interval`.

    Parameters
    ----------
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    bins
        Number of equal-mass bins, or a rule for bins; ⌈n^(1/3)⌉ bins of equal mass if None.
    level
        Confidence of the interval.
    root
        Take the root, for an error in units of probability? False keeps squares.
    view
        The event to ask about: "auto", "binary", "top" or "class k".
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> from calibrant.infer import squared_error_interval
    >>> squared_error_interval([0, 1] * 200, [0.5] * 400).low
    0.0
    >>> far = squared_error_interval([1] * 300 + [0] * 100, [0.5] * 400)  # predicts 50 %, observed 75 %
    >>> 0.25 in far
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    chosen = predictions.view(view)
    if chosen == "classwise":
        raise InputError("view", "must be one question", "'classwise' is many", "See binned_error's parts['classes']")
    event = predictions.event(chosen)
    if bins is not None:  # sums in one order, whatever order rows come in; equal masses need none
        rows = in_order(event.probs, event.outcomes, event.weights)
        event = Event(*rows, event.name, counted=event.counted)
    rule = bins_of(cube_root(event.n) if bins is None else bins, EqualMass)
    return overall_interval(rule.collect(event), level, root, "mean")


def cube_root(n: int) -> int:
    """⌈n^(1/3)⌉ bins: finer ones add noise as fast as they remove bias."""
    return int(np.ceil(round(n ** (1 / 3), 9)))


def squared_ends(state: BinSums, level: float) -> tuple[Floats, Floats]:
    """Lower and upper ends of the squared error of each event of a state, `(C,)` each, within [0, 1]."""
    z2 = normal_quantile(level) ** 2
    n, rate, share = state.rows, state.label_rate, state.weight / state.total[:, None]
    free = np.maximum(n - 1, 1.0)
    part = np.divide(share**2, n, out=np.zeros_like(n), where=n > 0)  # of a rate's variance in that of the mean
    square = (state.mean_prob - rate) ** 2 - np.where(n >= 2, rate * (1 - rate), 0) / free
    value = (share * square).sum(axis=-1)
    square = np.maximum(square, 0)
    known = (n * rate + ADDED) / (n + 2 * ADDED)
    variance = np.where(n > 0, known * (1 - known), 0)
    total = state.total
    apart = (square - (share * square).sum(axis=-1, keepdims=True)) ** 2
    spread = (part * (4 * square * variance + 2 * variance**2 / free) + share / total[:, None] * apart).sum(axis=-1)
    half = 2 * z2 * variance.max(axis=-1) / total  # an error larger by x has a variance larger by 4·v·x/n
    low, high = value - np.sqrt(z2 * spread), value + half + np.sqrt(half**2 + z2 * spread)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def overall_interval(state: BinSums, level: float, root: bool, average: str) -> Interval:
    """The interval of one event's error, or of the mean or sum of those of several classes.

    The classes share their rows, so their ends are added, each at the level that makes
    all of them hold at once.
    """
    each = class_intervals(state, level, root=False)
    ends = [float(end.sum() if average == "sum" else end.mean()) for end in each]
    low, high = map(math.sqrt, ends) if root else ends
    return Interval(low, high, level, METHOD + (", all classes" if len(each[0]) > 1 else ""))


def class_intervals(state: BinSums, level: float, root: bool) -> tuple[Floats, Floats]:
    """Ends of each class's error that hold for all C classes at once: level 1 − (1 − level)/C each."""
    low, high = squared_ends(state, 1 - (1 - level) / len(state.weight))
    return (np.sqrt(low), np.sqrt(high)) if root else (low, high)
