"""A language model's answers and confidences: can the confidences be believed?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.arrays import common_index, to_numpy
from calibrant.bins import Edges, EqualMass
from calibrant.estimate.binned import binned_error, ece
from calibrant.estimate.sampled import sampled_error
from calibrant.estimate.selective import clustered_mean, grouped_rows, plain_event, selective_risk
from calibrant.inputs import check_choice, check_groups, check_seed, missing
from calibrant.interval import Limits, gap_limits, wilson
from calibrant.kernels.pairs.row_pairs import squared_gaps
from calibrant.options import checked
from calibrant.predictions import Event, Predictions, admit, as_predictions, check_mass
from calibrant.problems import InputError
from calibrant.resampling.rank import Ties
from calibrant.results import Answer, Estimate, Interval, Keyed, Table, ends, kind, p_cell, rows_by_key
from calibrant.results.constraints import Probability
from calibrant.results.tables import row_count
from calibrant.state.state import State
from calibrant.types import Array, Bools, Floats, Indices, Seed
from calibrant.verbs.confidence_levels import MAX_LEVELS, RANGES, ConfidenceLevels, level_of_each, levels_tested
from calibrant.verbs.verdicts import CLEAR, accused

COVERAGES = (0.5, 0.8, 1.0)
ALPHA = 0.05
"""Probability of calling any level of a calibrated model wrong."""
CONFIDENCE = 0.95
FEW_QUESTIONS = 30
MANY_REPEATS = 50
"""Answers per distinct confidence from which on they may be repeated questions."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class AnswerReport(Keyed[Estimate], Answer):
    """What a model's answers show about its confidences."""

    name: str
    source: str
    """what the confidence is: a stated number, a token's probability, a share of samples"""
    n: int
    """answers with a confidence"""
    abstained: int
    questions: int | None
    estimates: tuple[Estimate, ...]
    levels: ConfidenceLevels
    overall_p: Probability
    """of the total number of right answers, adjusted jointly with the levels"""
    calibrated: bool | None
    """False: clearly not. None: these answers show no miscalibration."""
    verdict: str
    cautions: tuple[str, ...]

    question: ClassVar[str] = "Can the confidences be believed?"

    def sentence(self) -> str:
        """The verdict."""
        return self.verdict

    def results(self) -> dict[str, Estimate]:
        """accuracy, mean_gap, level_error, binned_error (as HLE prints it), selective_risk, sampled_error."""
        return {each.name: each for each in self.estimates}

    def figures(self) -> dict[str, Any]:
        """Answers, abstentions, questions, every estimate by its key, and the p-value of the total."""
        counts = {"n": self.n, "abstained": self.abstained, "questions": self.questions}
        return {**counts, **self.results(), "overall_p": self.overall_p}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per estimate."""
        return rows_by_key(self.results())

    def tables(self) -> tuple[Table, ...]:
        """Estimates, levels, and risk at some coverages."""
        rows = tuple((e.title, e.value, ends(e.interval, "")) for e in self.estimates)
        estimates = Table("Estimates", ("quantity", "value", "95% interval"), rows)
        return (estimates, self._by_level(), self._by_coverage())

    def _by_level(self) -> Table:
        it = self.levels
        counts = [row_count(n) for n in it.n]
        figures = (it.mean_prob.tolist(), it.label_rate.tolist(), *(map(p_cell, p) for p in (it.p_value, it.adjusted)))
        rows = tuple(zip(it.names(), counts, *figures, strict=True))
        note = "p: probability of a share of right answers as far off; adjusted: that any level or the total is"
        return Table("Level by level", ("confidence", "answers", "mean", "right", "p", "adjusted"), rows, note)

    def _by_coverage(self) -> Table:
        curve, cut = (self["selective_risk"].parts[part] for part in ("curve", "thresholds"))
        answered = self.n / (self.n + self.abstained)
        places = np.minimum(np.searchsorted(curve.x, np.array(COVERAGES) - 1e-12), len(curve.x) - 1)
        rows = [(f"{curve.x[at] * answered:.1%}", float(cut.y[at]), float(curve.y[at])) for at in places]
        columns = ("answered", "confidence from", "wrong")
        return Table("If uncertain answers are withheld", columns, tuple(dict.fromkeys(rows)))

    @property
    def heading(self) -> str:
        """Name, answers and the source of the confidences."""
        asked = "" if self.questions is None else f" to {self.questions:,} questions"
        without = f", {self.abstained:,} abstained" if self.abstained else ""
        source = f", confidence: {self.source}" if self.source else ""
        return f"{self.name}: {self.n:,} answers{asked}{without}{source}"


@checked
def assess_answers(
    labels: Any,
    probs: Any = None,
    *,
    groups: Any = None,
    counts: Any = None,
    weights: Any = None,
    n_samples: int | None = None,
    abstentions: Literal["refuse", "count", "drop"] = "refuse",
    ties: Ties = "count",
    seed: Seed = 0,
    name: str = "model",
    source: str = "",
) -> AnswerReport:
    """Can the confidences of a language model be believed?

    Made for few distinct values, repeated prompts and small n.

    Parameters
    ----------
    labels, probs
        Which answers are right, and the model's confidence in each.
    groups
        The question of each answer, if questions were asked several times. Answers to
        one question may then depend on each other in any way: tests and intervals are
        clustered by question.
    counts
        How often each answer occurred; by default once.
    weights
        How much each answer matters, relative to the others; by default all the same.
        Shares of answers are then shares of their weight.
    n_samples
        If a confidence is the share of m samples that agree with the answer, this m:
        `sampled_error` joins the report.
    abstentions
        Answers without a confidence (NaN or None) are refused, unless `"count"` says
        that the model abstained there: they lower the coverage and enter nothing else.
        `"drop"` leaves them out altogether, with a warning of their number.
    ties
        Few answers leave few possible p-values, so that a level can hardly have one as
        small as 0.05: `"count"` is conservative. `"random"` draws where in its step a
        p-value lies, from the data and the `seed`: the rate of false alarms is then
        exact. With `groups` or `weights` it changes nothing.
    seed
        Of these draws.
    name
        Of the model, for the report.
    source
        What the confidence is: it changes results more than any estimator, so it should
        be on record.

    Each level is tested exactly (Blaker's test) against the binomial distribution, or
    the Poisson binomial for a range; with `groups` by Student's test on questions,
    whose spread is never taken below that of independent answers. `adjusted` covers all
    levels and the total: the probability that any of them is as far off, step-down. It
    accounts for the p-values that are possible at a level, so it costs little where
    answers are few; with `groups` it is Holm's. With `weights` the right answers are drawn
    from the confidences, the weights held fixed: p-values are ranks among these draws,
    and `adjusted` is that of the smallest of them, step-down (Westfall and Young 1993).

    Examples
    --------
    >>> from calibrant.verbs.answers import assess_answers
    >>> right = [1] * 60 + [0] * 40 + [1] * 35 + [0] * 15
    >>> report = assess_answers(right, [0.9] * 100 + [0.7] * 50, source="stated")
    >>> print(report.verdict)
    Not calibrated: over-confident at 0.9. Mean confidence 83.3 %, right 63.3 %.
    >>> report.levels.adjusted.round(3).tolist()
    [1.0, 0.0]
    """
    columns = {"labels": labels, "probs": probs, "counts": counts, "weights": weights, "groups": groups}
    predictions, abstained = _answered(columns, abstentions)
    event = predictions.event()
    clusters = None if predictions.groups is None else np.unique(predictions.groups, return_inverse=True)[1].ravel()
    levels, overall = levels_tested(event, clusters, ties, check_seed(seed))
    estimates = _estimates(predictions, clusters, n_samples)
    questions = None if clusters is None else int(clusters.max()) + 1
    found = (estimates, levels, overall, *_verdict(levels, overall, event))
    cautions = _cautions(estimates, event, questions, n_samples)
    if abstentions == "drop" and abstained:
        cautions = (f"answers without a confidence were dropped: {abstained:,}", *cautions)
        abstained = 0
    return AnswerReport(name, source, predictions.n, abstained, questions, *found, cautions)


def _answered(columns: dict[str, Any], abstentions: str) -> tuple[Predictions, int]:
    """The answers that have a confidence, as one yes/no question, and the number of those without."""
    check_choice("abstentions", abstentions, ("refuse", "count", "drop"))
    abstained, probs = 0, columns["probs"]
    if probs is not None and not isinstance(columns["labels"], Predictions | State | str):
        absent = without_confidence(to_numpy(probs, "probs"))
        common_index(**columns)
        if absent.any():
            abstained, columns = _without(absent, columns, abstentions)
    groups = columns.pop("groups")
    predictions = grouped_rows(admit(**columns), groups)
    return as_predictions(plain_event(predictions, "auto"), predictions.groups), abstained


def _without(absent: Bools, columns: dict[str, Any], abstentions: str) -> tuple[int, dict[str, Any]]:
    """How many abstained, and the rows of the others."""
    if abstentions == "refuse":
        found = f"{absent.sum()} are missing, the first in row {absent.argmax()}"
        advice = "Pass abstentions='count' if the model abstained there, or abstentions='drop'"
        raise InputError("probs", "must hold a confidence for every answer", found, advice)
    if absent.all():
        raise InputError("probs", "must hold a confidence for some answer", "all are missing")
    mass, n = check_mass(columns["counts"], columns["weights"], len(absent)), len(to_numpy(columns["labels"], "labels"))
    if n != len(absent):
        raise InputError("labels", "and probs must have as many rows", f"labels has {n}, probs {len(absent)}")
    if columns["groups"] is not None:
        check_groups(columns["groups"], n)
    answered = {name: None if each is None else to_numpy(each, name)[~absent] for name, each in columns.items()}
    return int((absent if mass is None else mass.counts[absent]).sum()), answered


def without_confidence(confidences: Array) -> Bools:
    """Which answers have no confidence: NaN or None."""
    if confidences.dtype.kind not in "fO" or not confidences.size:
        return np.zeros(len(confidences), dtype=bool)
    bad = np.isnan(confidences) if confidences.dtype.kind == "f" else missing(confidences)
    return np.asarray(bad.reshape(len(confidences), -1).any(axis=1))


def _estimates(predictions: Predictions, clusters: Indices | None, n_samples: int | None) -> tuple[Estimate, ...]:
    event = predictions.event()
    p, right = event.probs.astype(np.float64), event.outcomes.astype(np.float64)
    accuracy = _mean("accuracy", "share of right answers", right, event, clusters, Limits(0.0, 1.0))
    if clusters is None and event.weights is None:
        low, high = map(float, wilson(right.mean(), np.asarray(float(event.n)), CONFIDENCE))
        accuracy = replace(accuracy, interval=Interval(low, high, CONFIDENCE, "Wilson"), cautions=())
    return (
        accuracy,
        _mean("mean_gap", "mean confidence minus share of right answers", p - right, event, clusters, gap_limits(p)),
        _level_error(predictions, event, clusters),
        *(() if event.weights is not None else (ece(predictions, compat="hle", view=event.name),)),
        selective_risk(predictions),
        *(() if n_samples is None else (sampled_error(predictions, n_samples=n_samples),)),
    )


def _mean(name: str, title: str, values: Floats, event: Event, clusters: Indices | None, limits: Limits) -> Estimate:
    mean, interval, cautions = clustered_mean(values, clusters, CONFIDENCE, limits, event.weights, event.squares)
    return Estimate(name, title, mean, len(values), interval, cautions=cautions)


def _level_error(predictions: Predictions, event: Event, clusters: Indices | None) -> Estimate:
    """Root of the mean squared gap over levels, from products of answers to different questions."""
    p, level = event.probs.astype(np.float64), level_of_each(event)
    w = np.ones(len(p)) if event.weights is None else event.weights
    independent = np.arange(len(p)) if clusters is None else clusters
    squares, mass = squared_gaps(level, independent, w * (p - event.outcomes), w, int(level.max()) + 1)
    known = ~np.isnan(squares)
    power = float(mass[known] @ squares[known]) / float(mass[known].sum()) if known.any() else 0.0
    lost = int((~known)[level].sum())
    cautions = (f"{lost:g} answers are alone on their level and are left out",) if lost else ()
    values = np.unique(p)
    bins = Edges((-1.0, *values[:-1], 2.0)) if len(values) <= MAX_LEVELS else EqualMass(RANGES)
    interval = None if clusters is not None else binned_error(predictions, bins=bins, norm=2, debiased=True).interval
    value, parts = float(np.sqrt(max(power, 0.0))), {"square": power}
    title = "RMS calibration error over levels, debiased"
    return Estimate("level_error", title, value, len(p), interval, parts=parts, cautions=cautions)


def _cautions(
    estimates: tuple[Estimate, ...], event: Event, questions: int | None, n_samples: int | None
) -> tuple[str, ...]:
    few = questions is not None and questions < FEW_QUESTIONS
    cautions = [f"{questions} questions are few: tests by questions are rough"] if few else []
    cautions += [f"{e.title}: {c}" for e in estimates for c in e.cautions]
    if event.weights is not None:
        cautions.append("the error as HLE prints it has no weights, and is left out")
    if n_samples is not None:
        noise = "their noise alone makes high levels look over-confident and low ones under-confident"
        uncorrected = "the tests of levels do not correct for it, sampled_error does"
        cautions.append(f"confidences are shares of {n_samples} samples, and {noise}: {uncorrected}")
    elif questions is None and len(np.unique(event.probs)) < event.n / MANY_REPEATS:
        cautions.append("answers are taken to be independent: pass groups= if questions were asked several times")
    return tuple(cautions)


def _verdict(levels: ConfidenceLevels, overall: float, event: Event) -> tuple[bool | None, str]:
    p, rate = (np.average(each.astype(np.float64), weights=event.weights) for each in (event.probs, event.outcomes))
    facts = f"Mean confidence {p:.1%}, right {rate:.1%}.".replace("%", " %")
    wrong = levels.adjusted <= ALPHA
    if not wrong.any() and overall > ALPHA:
        return None, f"These {event.n:,} answers show no miscalibration, at any level or in total. {facts}"
    signs, ways = np.sign(levels.mean_prob - levels.label_rate) * wrong, {1: "over-confident", -1: "under-confident"}
    places = {way: levels.stretches(signs == sign) for sign, way in ways.items()}
    words = [f"{way} at {', '.join(names)}" for way, names in places.items() if names]
    words = words or [f"{ways[1 if p > rate else -1]} in total, no single level"]
    start = accused(min(overall, float(levels.adjusted.min())))
    return False, f"{start}: {'perhaps ' * (start != CLEAR)}{'; '.join(words)}. {facts}"
