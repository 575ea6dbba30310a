"""Where is the model wrong?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.detect.calibration import statistic_test
from calibrant.estimate.cumulative import EXPECTED
from calibrant.inputs import check_count, check_seed
from calibrant.interval import Limits, cluster_mean, mean_with_interval
from calibrant.kernels.rows.pooling import in_order
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.folds import in_folds, n_units
from calibrant.options import checked
from calibrant.predictions import Event, Predictions, admit, as_predictions
from calibrant.resampling.exact import LEVEL, Exact
from calibrant.resampling.statistics import stretch
from calibrant.results import Answer, Estimate, Line, Table, TestResult, ends, kind, number, p_cell, p_words
from calibrant.results.tables import row_count
from calibrant.state.pooled import Pooled
from calibrant.types import Cluster, Seed

N_PLACES, MIN_VARIANCE = 201, 0.02
"""Candidate ends of the core, and the share of all variance that it holds at least."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Where(Answer):
    """The stretch of predictions where errors of one sign add up most, and how sure that is."""

    n: int
    view: str
    low: float
    high: float
    """smallest and largest prediction of the stretch"""
    direction: str
    rows: float
    """weight of the rows in it"""
    mean_prob: float
    label_rate: float
    core: tuple[float, float]
    """smallest and largest prediction of the part of the stretch that is most clearly wrong, by its own noise"""
    core_mean_prob: float
    core_label_rate: float
    value: float
    """Kuiper calibration error, Δ: what the stretch contributes to the mean error of all rows, in absolute value"""
    noise_floor: float
    """mean of Δ for a calibrated model"""
    test: TestResult | None
    """test of Kuiper's range, which allows for the search over all stretches"""
    held_out: Estimate | None
    """the gap on rows that were not used to find the stretch; positive confirms the direction"""
    curve: Line
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Where is it wrong?"
    printed_tables: ClassVar[int | None] = 0

    @property
    def p_value(self) -> float | None:
        """Of the test; None where labels cannot be redrawn."""
        return None if self.test is None else self.test.p_value

    @property
    def gap(self) -> float:
        """Mean prediction minus observed rate in the stretch: overstated, as it was chosen so."""
        return self.mean_prob - self.label_rate

    @property
    def loss_bound(self) -> float:
        """2Δ: the most mistakes per row that another cut than ½ can save."""
        return 2 * self.value

    def tables(self) -> tuple[Table, ...]:
        """What the terminal, the notebook and the report show."""
        held = self.held_out
        rows = (
            ("predictions", f"{number(self.low)} … {number(self.high)}"),
            ("rows", f"{self.rows:,.6g} of {self.n:,}"),
            ("mean prediction", number(self.mean_prob)),
            ("observed rate", number(self.label_rate)),
            ("gap, chosen as the worst", number(self.gap)),
            ("most clearly wrong", f"{number(self.core[0])} … {number(self.core[1])}"),
            ("mean prediction and rate there", f"{number(self.core_mean_prob)}, {number(self.core_label_rate)}"),
            (f"gap on held-out {_units(held)}, in the direction found", number(None if held is None else held.value)),
            ("95% interval of that", ends(held and held.interval)),
            ("summed gap Δ", number(self.value)),
            ("Δ of a calibrated model, mean", number(self.noise_floor)),
            ("p-value, search included", p_cell(self.p_value, self.test.least_p if self.test else 0.0)),
        )
        return (Table("Where", ("quantity", "value"), rows),)

    def sentence(self) -> str:
        """The stretch in words, and the part of it that is most clearly wrong."""
        if not self.value:
            return "Nowhere: errors do not add up over any stretch of predictions."
        chance = "" if self.test is None else f", {p_words(self.test.p_value, self.test.least_p)}"
        place, rows = _place_text(self.low, self.high), row_count(self.rows)
        rates = self._rates(self.mean_prob, self.label_rate)
        if self.p_value is not None and self.p_value > LEVEL:
            worst = f"The worst stretch lies {place}: {rates} ({rows} rows)."
            return f"Nowhere more than chance explains{chance}.\n{worst}"
        first = f"{place.capitalize()} the model {self.direction}: {rates} ({rows} rows{chance})."
        core = self._rates(self.core_mean_prob, self.core_label_rate)
        clearest = _place_text(*self.core)
        return first if clearest == place else f"{first}\nMost clearly {clearest}: {core}."

    def _rates(self, mean: float, rate: float) -> str:
        """Both in per cent, in the words that fit the predictions."""
        words = ("confidence", "accuracy") if "confident" in self.direction else ("predicted", "observed")
        return f"{words[0]} {_percent(mean)}, {words[1]} {_percent(rate)}"


def _place_text(low: float, high: float) -> str:
    ends = number(low), number(high)
    return f"at {ends[0]}" if low == high else f"between {ends[0]} and {ends[1]}"


def _percent(share: float) -> str:
    """One decimal, or as many as tell a share that is nearly 0 or 1 from 0.0 % or 100.0 %."""
    if 0.9995 <= share < 1:
        return f"{100 * share:.{math.ceil(-math.log10(100 * (1 - share)))}f} %"
    return f"{100 * share:.1f} %" if share == 0 or share >= 0.001 else f"{100 * share:.2g} %"


@checked
def where(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    n_draws: int = 999,
    cluster: bool | Cluster | None = None,
    seed: Seed = 0,
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Where:
    """Over which stretch of predictions do errors of one sign add up most? No bins, no tuning.

    The stretch lies between the lowest and the highest point of the running sum of
    errors (the range of `ks_error`). It is the interval I with the largest Δ = |mean of
    (p − y)·[p ∈ I]|, the cutoff calibration error. Deciding by a cut at t, with costs t
    of a false alarm and 1 − t of a miss, loses at most Δ per row against the best other
    cut: 2Δ in mistakes, for t = ½.

    Rows beside the error that happen to err in the same direction are part of the
    stretch. `core` is the part of it that is most clearly wrong: the largest sum of
    errors over the root of its variance, among parts with at least a fiftieth of all
    variance.

    The stretch is the worst of all, so its gap is overstated. `test` allows for that:
    it redraws the labels from the predictions and searches again each time, which makes
    its p-value exact. So does `held_out`: it finds the stretch on one half of the rows
    and measures the gap on the other. Rows of a group stay together there, so that with few
    groups it says whether the finding holds in other groups.

    Parameters
    ----------
    labels, probs, counts, weights
        The data, or a `Predictions` as the only argument.
    view
        Which event: `"binary"`, `"top"` or `"class k"`; `"auto"` is the first that
        fits.
    n_draws
        Number of null draws of the test; 0 for no test.
    cluster
        How rows of a group depend on each other, as in `is_calibrated`.
    seed
        Of the null draws, which also depend on the data.
    level
        Confidence of the held-out gap's interval.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> truth = np.where((p > 0.6) & (p < 0.8), p - 0.15, p)
    >>> found = cal.where(rng.random(4000) < truth, p)
    >>> print(found.sentence().splitlines()[1])
    Most clearly between 0.6067 and 0.8047: predicted 70.8 %, observed 52.8 %.
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = predictions.event(view)
    pooled = event.pooled
    values, steps = pooled.values, np.concatenate([[0.0], np.cumsum(pooled.residual)]) / pooled.total
    first, last, sign = stretch(steps)
    inside = slice(first, max(last, first + 1))
    core = _core(pooled, inside, sign)
    low, high, core_low, core_high = (float(values[part][end]) for part in (inside, core) for end in (0, -1))
    noise_floor = EXPECTED["range"] * float(np.sqrt(inner(pooled.spread, values * (1 - values)))) / pooled.total
    test, warnings = _tested(predictions, event.name, n_draws, cluster, check_seed(seed))
    return Where(
        predictions.n,
        event.name,
        low,
        high,
        _direction(sign, event.name == "top" or predictions.is_confidence),
        *_rates(pooled, inside),
        (core_low, core_high),
        *_rates(pooled, core)[1:],
        float(np.ptp(steps)),
        noise_floor,
        test,
        _held_out_gap(predictions, event, level),
        Line.thinned(values, steps[1:]),
        warnings,
    )


def _rates(pooled: Pooled, inside: slice) -> tuple[float, float, float]:
    """Rows, mean prediction and observed rate of some predictions."""
    weight = pooled.weight[inside]
    rows = float(weight.sum())
    return rows, inner(weight, pooled.values[inside]) / rows, float(pooled.hits[inside].sum()) / rows


def _core(pooled: Pooled, inside: slice, sign: int) -> slice:
    """The part with the largest sum of errors for its variance, on a grid of equal variance."""
    v = pooled.spread * pooled.values * (1 - pooled.values)
    variance = np.concatenate([[0.0], np.cumsum(v[inside])])
    if not sign or not variance[-1]:
        return inside
    errors = sign * np.concatenate([[0.0], np.cumsum(pooled.residual[inside])])
    places = np.searchsorted(variance, np.linspace(0, variance[-1], N_PLACES))
    cuts = np.unique(np.append(np.minimum(places, len(errors) - 1), len(errors) - 1))
    held = variance[cuts][None] - variance[cuts][:, None]
    enough = (held > 0) & (held >= min(MIN_VARIANCE * float(v.sum()), variance[-1]))
    sums = np.where(enough, errors[cuts][None] - errors[cuts][:, None], -np.inf)
    scores = sums / np.sqrt(np.where(enough, held, 1.0))
    start, stop = np.unravel_index(int(np.argmax(scores)), scores.shape)
    return slice(inside.start + int(cuts[start]), inside.start + int(cuts[stop]))


def _direction(sign: int, confidence: bool) -> str:
    if not sign:
        return "is right"
    words = ("is over-confident", "is under-confident") if confidence else ("predicts too high", "predicts too low")
    return words[0] if sign > 0 else words[1]


def _tested(
    predictions: Predictions, view: str, n_draws: int, cluster: Any, seed: int
) -> tuple[TestResult | None, tuple[str, ...]]:
    """The test of Kuiper's range and its warnings; None for soft labels or without draws."""
    if check_count(n_draws, "n_draws", 0) == 0:
        return None, ()
    if predictions.soft:
        return None, ("soft labels cannot be redrawn: there is no p-value",)
    found = statistic_test(predictions, "kuiper", Exact(n_draws, "count", seed), view, cluster, {})
    return found, found.cautions


def _units(held: Estimate | None) -> str:
    """What was held out: rows, or groups, which stay together."""
    return "rows" if held is None or "groups" not in held.settings else f"groups ({held.settings['groups']:,} in all)"


def _sorted(event: Event) -> Event:
    """Plain rows sorted by prediction: memory is read much faster in its order than at random."""
    if event.weights is not None or not event.hard:
        return event
    probs, outcomes, _ = in_order(event.probs, event.outcomes, None)
    return Event(probs, outcomes, None, event.name, counted=event.counted)


def _held_out_gap(predictions: Predictions, event: Event, level: float) -> Estimate | None:
    """The stretch of one half, measured on the other, both ways; None where there is none."""
    rows = as_predictions(_sorted(event) if predictions.groups is None else event, predictions.groups)
    if n_units(rows) < 4:
        return None
    units, masks = in_folds(rows, 2)
    gaps = np.full(len(units.labels), np.nan)
    for held in masks:
        pooled = units.rows(~held).event("binary").pooled
        first, last, sign = stretch(np.concatenate([[0.0], np.cumsum(pooled.residual)]))
        if sign:
            p = units.probs[held].astype(np.float64)
            inside = (p >= pooled.values[first]) & (p <= pooled.values[last - 1])
            gaps[held] = np.where(inside, sign * (p - units.labels[held]), np.nan)
    used = ~np.isnan(gaps)
    n, mass = units.rows(used).n if used.any() else 0, None if units.mass is None else units.mass.rows(used)
    if n < 2:
        return None
    w, squares = (None, None) if mass is None else (mass.weights, mass.squares)
    if units.groups is None:
        value, interval, warnings = mean_with_interval(gaps[used], w, level, Limits(-1.0, 1.0), squares)
    else:
        clusters = cluster_mean(gaps[used], w, units.groups[used])
        value, (interval, warnings) = clusters.mean, clusters.interval(level)
    settings = {"view": event.name, "level": level}
    if units.groups is not None:
        settings["groups"] = len(np.unique(units.groups))
    return Estimate("held_out_gap", "gap, held out", value, n, interval, None, settings, {}, warnings)
