"""The interval of the true calibration error, valid at 0 and far from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from calibrant.infer.error_bound import signed_rows
from calibrant.infer.error_path import ErrorPath, path_along, path_of
from calibrant.inputs import check_choice, check_level
from calibrant.interval import gap_limits, mean_with_interval
from calibrant.kernels.draws.laws import Law
from calibrant.kernels.fit.log_odds_process import unit_sized
from calibrant.kernels.fit.root import EPSILON, root
from calibrant.options import checked
from calibrant.predictions import Event, admit
from calibrant.results import ClassTable, Interval

METHOD = "cross-fitted bound below, test inversion above"

KEPT = {1: 0.6, 2: 0.4}
"""Share of 1 − level that the tests of each norm may use; the rest allows for the path, which is fitted and not known.
A square weighs the few predictions with a large error most, so the shape of the path matters more."""

FINER = 3
"""So many times more bins show waves and narrow errors that the fewer bins hide; the upper end of a calibrated model
lies a fifth higher for it."""

FINEST, HIDDEN = 9, 1.0
"""A square weighs a large error in a narrow stretch most, which bins of about its width hide in part. So many times
more bins are asked too, where they show more than the finer ones by this many standard errors."""

FARTHEST = 2.0**20
"""The largest t that is tried, a distance in log-odds."""

CLOSE = 1e-3
"""Precision of t."""


@checked
def calibration_error_interval(
    labels: Any,
    probs: Any = None,
    *,
    norm: Literal[1, 2] = 1,
    level: float = 0.95,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Interval:
    """Where does the true calibration error lie, (E|P(Y=1|p) − p|^α)^(1/α) with α = `norm`? No bins.

    The lower end needs no assumption about the curve. For any function s of the
    prediction with values within ±1, E[s(p)(y − p)] is at most the error; s is the sign
    of the miscalibration as a curve fitted to other rows expects it (five folds), and the
    mean has the interval that means have here.

    The upper end inverts a test. A fitted calibration curve, scaled up, makes a path of
    curves from "calibrated" to far beyond. Under each curve the distribution of a binned
    error is known, including its bias, so that a test can ask whether the observed one is
    too small for that curve. This is done over ⌈n^(1/3)⌉ bins and over three times as
    many, for `norm=2` also over nine times as many where those show more error, and the
    larger answer counts. Nothing is drawn at random.

    When to trust it: in the simulations of `studies/results/coverage_error.md`, with
    errors everywhere, in a tail, in a stretch, in waves and on few predictions, and 50 to
    20 000 rows, 95 % intervals held the truth in 97 % of cases or more on average, and in
    no world in fewer than 93.5 % beyond what chance explains. No interval can see an error
    that changes within its bins: a fast wave may lie above the upper end, and so may the
    root mean square of an error in a stretch narrower than one of 3·n^(1/3) bins. Rows
    must be independent.

    Parameters
    ----------
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    norm
        α: 1 for the mean absolute error, 2 for the root mean square.
    level
        Confidence of the interval.
    view
        The event to ask about: "auto", "binary", "top" or "class k".
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.infer import calibration_error_interval
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(1000)
    >>> calibration_error_interval(rng.random(1000) < probs, probs).low  # calibrated
    0.0
    >>> 1 / 6 in calibration_error_interval(rng.random(1000) < probs**2, probs)  # E|p² − p| = 1/6
    True
    """
    check_choice("norm", norm, (1, 2))
    check_level(level)
    event = admit(labels, probs, counts=counts, weights=weights).event(view)
    return Interval(*event_ends(event, norm, level), float(level), METHOD)


@checked
def classwise_intervals(
    labels: Any,
    probs: Any = None,
    *,
    norm: Literal[1, 2] = 1,
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> ClassTable:
    """Where does the true calibration error of each class lie, all intervals holding at once?

    Each interval is that of `calibration_error_interval` at level 1 − (1 − level)/K
    (Bonferroni). A class's value is the error of the curve under which the observed
    error is the median, so that noise hardly biases it, moved into its interval where it
    lies outside.

    Parameters
    ----------
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    norm
        1 for the mean absolute error, 2 for the root mean square.
    level
        Confidence of all intervals at once.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.infer import classwise_intervals
    >>> valid, test = cal.example()
    >>> table = classwise_intervals(test)
    >>> int((table.low > 0).sum())  # of ten digits, miscalibrated at 95 % confidence
    9
    """
    check_choice("norm", norm, (1, 2))
    check_level(level)
    predictions = admit(labels, probs, counts=counts, weights=weights)
    events = list(predictions.class_events())
    paths, each = [path_of(event) for event in events], 1 - (1 - level) / len(events)
    ends = np.array([event_ends(event, norm, each) for event in events])
    values = np.clip([error_between(path, norm) for path in paths], ends[:, 0], ends[:, 1])
    weight = np.array([float(path.hits.sum()) for path in paths])
    return ClassTable(predictions.classes, values, weight, ends[:, 0], ends[:, 1])


def error_between(path: ErrorPath, norm: int) -> float:
    """The error of the curve under which the observed statistic is the median; 0 if below all medians."""
    observed = path.statistic(norm)
    return path.error(crossing(lambda t: 0.5 - path.law(t, norm).at_most(observed)), norm)


def event_ends(event: Event, norm: int, level: float) -> tuple[float, float]:
    """The ends of an event's interval.

    The lower one is that of rows signed by other rows. The upper one is the largest that
    any of the scales leaves possible, and at least that of the mean gap: the error is
    not below it.
    """
    bound, gap = signed_rows(event).interval(norm, level), gap_interval(event, level)
    high = max(upper_end(path, norm, level) for path in (*paths_of(event), *finest_paths(event, norm)))
    if gap is None or bound is None:
        return 0.0, high
    low = max(bound.low, 0.0)
    return low, max(high, low, abs(gap.low), abs(gap.high))


def least_error(event: Event, norm: int) -> float:
    """An error that an estimate should not lie below: the larger of the lower ends by signed rows and by the mean gap, 95 %."""
    bound, gap = signed_rows(event).interval(norm, 0.95), gap_interval(event, 0.95)
    return 0.0 if bound is None or gap is None else max(bound.low, gap.low, -gap.high, 0.0)


def gap_interval(event: Event, level: float) -> Interval | None:
    """The interval of the mean gap, computed once for all norms; None for a single row."""

    def made() -> Interval | None:
        gaps = event.probs.astype(np.float64) - event.outcomes
        limits = gap_limits(event.probs, event.weights)
        return mean_with_interval(gaps, event.weights, level, limits, event.squares)[1]

    found: Interval | None = event.kept(f"gap interval {level!r}", made)
    return found


def paths_of(event: Event) -> tuple[ErrorPath, ErrorPath]:
    """The path through a curve with bends on several scales, over few bins and over more.

    Where each of few distinct predictions is a bin, the second is the level path
    instead.
    """

    def made() -> tuple[ErrorPath, ErrorPath]:
        path = _path_over(event)
        return path, path.level() if path.rough else _path_over(event, FINER)

    found: tuple[ErrorPath, ErrorPath] = event.kept("error paths", made)
    return found


def finest_paths(event: Event, norm: int) -> tuple[ErrorPath, ...]:
    """For squares the path over the most bins, where those show an error that the finer bins hide; else none."""
    fine = paths_of(event)[1]
    if norm == 1 or fine.rough:
        return ()
    finest: ErrorPath = event.kept("finest error path", lambda: _path_over(event, FINEST))
    spread = finest.law(0.0, norm).variance - fine.law(0.0, norm).variance
    hidden = finest.excess(norm) - fine.excess(norm)
    return (finest,) if hidden > HIDDEN * max(spread, 0.0) ** 0.5 else ()


def _path_over(event: Event, times: int = 1) -> ErrorPath:
    signed = signed_rows(event)
    return path_along(event.pooled, signed.place, unit_sized(signed.centre[-1] - signed.place), times)


def upper_end(path: ErrorPath, norm: int, level: float) -> float:
    """The error of the last curve on the path under which the observed error is not too small.

    Less noise than on average does not prove an error small.
    """
    observed, tail = max(path.statistic(norm), path.law(0.0, norm).mean), KEPT[norm] * (1 - level) / 2
    return path.error(crossing(lambda t: tail - path.law(t, norm).at_most(observed)), norm)


def inverted(
    law: Callable[[float], Law], observed: float, cautious: float, tail: float, close: float = CLOSE
) -> tuple[float, float]:
    """The ends of the part of the path that fits the data, with all values that a test does not reject.

    `law(t)` is the distribution at t of a statistic that grows with t. The lower end leaves
    out `tail` above the observed statistic, the upper end `tail` below the cautious one; both
    are found to within `close`.
    """
    low = crossing(lambda t: 1 - law(t).at_most(observed) - tail, close)
    return low, max(low, crossing(lambda t: tail - law(t).at_most(cautious), close))


def crossing(rising: Callable[[float], float], close: float = CLOSE) -> float:
    """The t ≥ 0 at which an increasing function reaches 0."""
    if rising(0.0) >= 0:
        return 0.0
    far = 1.0
    while rising(far) < 0:
        if far >= FARTHEST:
            return far
        far *= 2
    return root(rising, 0.0 if far == 1.0 else far / 2, far, close, EPSILON)
