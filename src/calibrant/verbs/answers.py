"""A language model's answers and how sure it said it was: are its confidences to be believed?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.arrays import to_numpy
from calibrant.bins import Edges, EqualMass
from calibrant.estimate.binned import binned_error, ece
from calibrant.estimate.sampled import sampled_error
from calibrant.estimate.selective import selective_risk
from calibrant.inputs import check_choice, check_count, check_groups
from calibrant.interval import Limits, cluster_mean, gap_limits, mean_with_interval, two_sided, wilson
from calibrant.kernels.draws.hit_law import ROUNDING, added_laws, hit_law
from calibrant.kernels.draws.hit_law import two_sided as exact_two_sided
from calibrant.kernels.pairs.level_pairs import squared_gaps
from calibrant.predictions import Event, Predictions, admit
from calibrant.problems import InputError
from calibrant.resampling.draw import content_seed
from calibrant.resampling.rank import Ties
from calibrant.results import Estimate, Interval, Record, Table, kind, number

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]

MOST_LEVELS = 21
"""Distinct confidences up to which each is a level of its own: words, or percentages in steps of five. More are put in ten ranges."""
RANGES = 10
COVERAGES = (0.5, 0.8, 1.0)
LEVEL = 0.05
"""Chance of calling any level wrong in a calibrated model."""
CONFIDENCE = 0.95
FEW_QUESTIONS = 30
MANY_ANSWERS, UNDECIDED = 10_000, 0.5
"""From so many answers on, chances above this are not worth computing exactly: they are at most a sum."""
TINY = 1e-300
SUBTRACTED = 1e-9
"""From this on the chance of any claim is 1 − that of none; smaller ones would be lost in rounding, and are added up instead."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceLevels(Record):
    """Level by level: what was said, how often it was right, and how often chance alone goes as far."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """smallest and largest confidence of the level: the same if it is one value"""
    n: NDArray[np.float64]
    mean_prob: NDArray[np.float64]
    label_rate: NDArray[np.float64]
    p_value: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    """for having looked at all levels and all answers together"""

    def __post_init__(self) -> None:
        self._hold("low", "high", "n", "mean_prob", "label_rate", "p_value", "adjusted")

    def __len__(self) -> int:
        return len(self.n)

    def names(self) -> list[str]:
        """Each level as people say it."""
        ends = zip(self.low, self.high, strict=True)
        return [f"{low:g}" if low == high else f"{low:.3g} – {high:.3g}" for low, high in ends]

    def __repr__(self) -> str:
        return f"ConfidenceLevels({len(self)} levels)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class AnswerReport(Record):
    """What can be said of a model's answers and confidences."""

    name: str
    source: str
    """what the confidence is: a stated number, a token's probability, a share of samples"""
    n: int
    """answers with a confidence"""
    abstained: int
    questions: int | None
    estimates: tuple[Estimate, ...]
    levels: ConfidenceLevels
    overall_p: float
    """of the number of right answers, adjusted together with the levels"""
    calibrated: bool | None
    """False: clearly not. None: these answers do not show an error."""
    verdict: str
    cautions: tuple[str, ...]

    question: ClassVar[str] = "Can the confidences be believed?"

    def sentence(self) -> str:
        """The verdict."""
        return self.verdict

    def __getitem__(self, name: str) -> Estimate:
        """An estimate by its name: accuracy, mean_gap, level_error, binned_error (as HLE prints it), selective_risk, sampled_error."""
        for estimate in self.estimates:
            if name in (estimate.name, estimate.title):
                return estimate
        raise KeyError(f"{name!r}; there are {', '.join(e.name for e in self.estimates)}")

    def tables(self) -> tuple[Table, ...]:
        """Estimates, levels, and risk at some coverages."""
        return (self._measured(), self._by_level(), self._by_coverage())

    def _measured(self) -> Table:
        rows = []
        for e in self.estimates:
            interval = "" if e.interval is None else f"{number(e.interval.low)} … {number(e.interval.high)}"
            rows.append((e.title, e.value, interval))
        return Table("Measured", ("quantity", "value", "95% interval"), tuple(rows))

    def _by_level(self) -> Table:
        it = self.levels
        rows = tuple(
            (name, f"{it.n[i]:,.6g}", float(it.mean_prob[i]), float(it.label_rate[i]), float(it.p_value[i]), float(it.adjusted[i]))
            for i, name in enumerate(it.names())
        )  # fmt: skip
        note = "p: chance of a share of right answers as far off; adjusted: that any level or the total is"
        return Table("Level by level", ("confidence", "answers", "said", "right", "p", "adjusted"), rows, note)

    def _by_coverage(self) -> Table:
        found = self["selective_risk"]
        curve, cut = found.parts["curve"], found.parts["thresholds"]
        answered = self.n / (self.n + self.abstained)
        rows = []
        for share in COVERAGES:
            at = min(int(np.searchsorted(curve.x, share - 1e-12)), len(curve.x) - 1)
            rows.append((f"{curve.x[at] * answered:.1%}", float(cut.y[at]), float(curve.y[at])))
        return Table(
            "If unsure answers are kept back", ("answered", "confidence from", "wrong"), tuple(dict.fromkeys(rows))
        )

    def __repr__(self) -> str:
        tables = [text for table in self.tables() for text in ("", table.to_text())]
        return "\n".join([*self._head(), *tables, "", *(f"caution: {c}" for c in self.cautions)]).rstrip()

    def _head(self) -> list[str]:
        asked = "" if self.questions is None else f" to {self.questions:,} questions"
        kept = f", {self.abstained:,} abstained" if self.abstained else ""
        source = f", confidence: {self.source}" if self.source else ""
        return [f"{self.name}: {self.n:,} answers{asked}{kept}{source}", self.verdict]

    def _repr_html_(self) -> str:
        head, verdict = map(escape, self._head())
        items = "".join(f"<li>{escape(text)}</li>" for text in self.cautions)
        return f"<h4>{head}</h4><p>{verdict}</p>{''.join(t.to_html() for t in self.tables())}<ul>{items}</ul>"


def assess_answers(
    labels: Any,
    probs: Any = None,
    *,
    groups: Any = None,
    samples: int | None = None,
    abstentions: Literal["refuse", "count"] = "refuse",
    ties: Ties = "count",
    seed: int = 0,
    name: str = "model",
    source: str = "",
) -> AnswerReport:
    """Can the confidences of a language model be believed? Made for few distinct values, repeated prompts and small n.

    Parameters
    ----------
    labels, probs
        Which answers are right, and how sure the model said it was.
    groups
        The question of each answer, if questions were asked several times. Answers to one question may then depend on each other in any
        way: tests and intervals are those of whole questions.
    samples
        If a confidence is the share of m samples that agree with the answer, this m: `sampled_error` joins the report.
    abstentions
        Answers without a confidence (NaN or None) are refused, unless `"count"` says that the model abstained there: they lower the
        coverage and are in nothing else.
    ties
        Few answers leave few p-values to choose from, so that a level can hardly have one as small as 0.05: `"count"` errs on the
        safe side. `"random"` draws where in its step a p-value lies, by a coin made of the data and the `seed`: false alarms are
        then as many as promised, not fewer. For questions asked several times it changes nothing.
    source
        What the confidence is: it moves results more than any estimator, so it should be on record.

    Each level is tested exactly (Blaker's test), against the binomial law, or that of different probabilities for a range; with `groups` by Student's test
    on questions, whose spread is never taken below that of independent answers. `adjusted` covers all levels and the total: the chance that
    any of them comes as far off, step-down. It knows which p-values a level can have at all, so it costs little where answers are few; with
    `groups` it is Holm's.

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
    predictions, abstained = _answered(labels, probs, groups, abstentions)
    event = predictions.event()
    p, right = event.probs.astype(np.float64), event.outcomes.astype(np.float64)
    clusters = None if predictions.groups is None else np.unique(predictions.groups, return_inverse=True)[1].ravel()
    level = _levels(event)
    found, overall = levels_tested(event, clusters, ties, seed)
    estimates = [
        _accuracy(right, clusters),
        _mean("mean_gap", "mean confidence minus share of right answers", p - right, clusters, gap_limits(p)),
        _level_error(predictions, right, level, clusters),
        ece(predictions, compat="hle", view=event.name),
        selective_risk(predictions),
    ]
    if samples is not None:
        estimates.append(sampled_error(predictions, samples=samples))
    calibrated, verdict = _verdict(found, overall, estimates[1], float(p.mean()), float(right.mean()))
    questions = None if clusters is None else int(clusters.max()) + 1
    cautions = [f"{e.title}: {c}" for e in estimates for c in e.cautions]
    if questions is not None and questions < FEW_QUESTIONS:
        cautions.insert(0, f"{questions} questions are few: tests by questions are rough")
    if samples is not None:
        cautions.append(
            f"confidences are shares of {samples} samples, and their noise alone makes high levels look over-confident and low ones "
            "under-confident: levels are judged as they were said, sampled_error has that taken out"
        )
    if samples is None and clusters is None and len(np.unique(p)) < len(p) / 50:
        cautions.append("answers are taken as independent: pass groups= if questions were asked several times")
    return AnswerReport(
        name,
        source,
        predictions.n,
        abstained,
        questions,
        tuple(estimates),
        found,
        overall,
        calibrated,
        verdict,
        tuple(cautions),
    )


def _answered(labels: Any, probs: Any, groups: Any, abstentions: str) -> tuple[Predictions, int]:
    """The answers that have a confidence, as one yes/no question, and how many have none."""
    check_choice("abstentions", abstentions, ("refuse", "count"))
    if probs is None and not isinstance(labels, Predictions):
        raise InputError("probs", "is required", "only labels were given", "Pass (labels, probs) or a Predictions")
    abstained = 0
    if probs is not None and not isinstance(labels, Predictions | str):
        missing = _missing(to_numpy(probs, "probs"))
        abstained = int(missing.sum())
        labels, probs, groups = _without(missing, labels, probs, groups, abstentions)
    predictions = admit(labels, probs)
    event = predictions.event()
    if predictions.weights is not None or not event.hard:
        raise InputError("labels", "must be plain answers", "they have weights, or are soft", "Give one row an answer")
    return Predictions(event.outcomes, event.probs, groups=predictions.groups if groups is None else groups), abstained


def _without(
    missing: NDArray[np.bool_], labels: Any, probs: Any, groups: Any, abstentions: str
) -> tuple[Any, Any, Any]:
    if not missing.any():
        return labels, probs, groups
    if abstentions == "refuse":
        raise InputError(
            "probs",
            "must hold a confidence for every answer",
            f"{int(missing.sum())} are missing, the first in row {int(np.argmax(missing))}",
            "Pass abstentions='count' if the model abstained there",
        )
    if missing.all():
        raise InputError("probs", "must hold a confidence for some answer", "all are missing")
    happened = to_numpy(labels, "labels")
    if len(happened) != len(missing):
        raise InputError(
            "labels", "and probs must have as many rows", f"labels has {len(happened)}, probs {len(missing)}"
        )
    asked = None if groups is None else check_groups(groups, len(missing))[~missing]
    return happened[~missing], to_numpy(probs, "probs")[~missing], asked


def _missing(said: NDArray[Any]) -> NDArray[np.bool_]:
    if said.dtype.kind == "f":
        return np.isnan(said) if said.ndim == 1 else np.isnan(said).any(axis=1)
    if said.dtype.kind != "O" or said.ndim != 1:
        return np.zeros(len(said), dtype=bool)
    return np.array([v is None or v != v or type(v).__name__ == "NAType" for v in said])  # noqa: PLR0124  (NaN is not itself)


def _levels(event: Event) -> Ids:
    """The level of each answer: its confidence, or one of ten ranges if there are many."""
    values, at = np.unique(event.probs, return_inverse=True)
    if len(values) <= MOST_LEVELS:
        return at.ravel()
    return np.unique(EqualMass(RANGES).index(event), return_inverse=True)[1].ravel()


@dataclass(frozen=True, slots=True, eq=False)
class _Claim:
    """The p-value of a number of right answers."""

    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class _ExactClaim(_Claim):
    """And all that it could have been, for each number of right answers."""

    law: Floats
    values: Floats
    steps: Floats | None = None
    """if p-values are drawn: how far below `values` they may lie"""

    @classmethod
    def of(cls, p: Floats, right: Floats, coin: float | None) -> _ExactClaim:
        law, count = hit_law(p), int(right.sum())
        values, steps = exact_two_sided(law)
        if coin is None or steps[count] >= 1 - ROUNDING:  # what could not have been another says nothing
            return cls(float(values[count]), law, values)
        return cls(max(float(values[count] - coin * steps[count]), 0.0), law, values, np.maximum(steps, TINY))

    def above(self, x: float) -> Floats:
        """The share of each number's p-values that are larger than x."""
        if self.steps is None:
            return (self.values > x * (1 + ROUNDING)).astype(np.float64)
        return np.clip((self.values - x) / self.steps, 0, 1)

    def chance(self, at_most: float) -> float:
        """How often is it as small under calibration?"""
        return min(float(self.law @ (1 - self.above(at_most))), 1.0)


def levels_tested(
    event: Event, clusters: Ids | None = None, ties: Ties = "count", seed: int = 0
) -> tuple[ConfidenceLevels, float]:
    """Every level with its test, and the adjusted p-value of the total."""
    check_choice("ties", ties, ("count", "random"))
    p, right, level = event.probs.astype(np.float64), event.outcomes.astype(np.float64), _levels(event)
    order = np.lexsort((right, p))  # the same answers give the same report, in any order
    made, _ = content_seed(check_count(seed, "seed", 0), p[order], right[order])
    coins = None if ties == "count" else np.random.default_rng(made).random(int(level.max()) + 2)
    columns: list[tuple[float, ...]] = []
    claims: list[_Claim] = []
    for k in range(int(level.max()) + 1):
        rows = level == k
        said, rate = p[rows], right[rows].mean()
        coin = None if coins is None else float(coins[k])
        claims.append(_claim(said, right[rows], None if clusters is None else clusters[rows], coin))
        columns.append((said.min(), said.max(), rows.sum(), said.mean(), rate))
    claims.append(_claim(p, right, clusters, None if coins is None else float(coins[-1])))
    low, high, n, mean, rate = (np.array(column, dtype=np.float64) for column in zip(*columns, strict=True))
    *each, overall = _adjusted(claims)
    chance = np.array([claim.p_value for claim in claims[:-1]])
    return ConfidenceLevels(low, high, n, mean, rate, chance, np.array(each)), overall


def _claim(p: Floats, right: Floats, clusters: Ids | None, coin: float | None) -> _Claim:
    """Of the number of right answers: exact for independent answers, by Student's test on questions otherwise."""
    if clusters is None:
        return _ExactClaim.of(p, right, coin)
    if (((p == 0) & (right == 1)) | ((p == 1) & (right == 0))).any():
        return _Claim(0.0)  # what was said to be impossible came
    found = cluster_mean(right - p, None, clusters)
    if found.error is None:
        return _Claim(1.0)  # one question says nothing
    alone = float(np.sqrt((p * (1 - p)).sum())) / len(p)
    return _Claim(two_sided(found.mean, max(found.error, alone), found.degrees))


def _adjusted(claims: list[_Claim]) -> list[float]:
    """Step-down: the chance that any claim not yet settled is as small. The last claim is the total, the others are levels."""
    if len(claims) == 2:
        return [claims[0].p_value] * 2  # the total is the level
    order = np.argsort([claim.p_value for claim in claims], kind="stable")
    adjusted, highest = [0.0] * len(claims), 0.0
    for i, k in enumerate(order):
        highest = max(highest, min(_chance_of_any(claims, set(order[i:].tolist()), claims[k].p_value), 1.0))
        adjusted[k] = highest
    return adjusted


def _chance_of_any(claims: list[_Claim], open_claims: set[int], x: float) -> float:
    """That some open claim is as small as x: exact for independent answers, else at most the sum."""
    exact = [claim for claim in claims if isinstance(claim, _ExactClaim)]
    if len(exact) < len(claims):
        return x * len(open_claims)
    *levels, total = exact
    found = _any_of([claim.chance(x) for k, claim in enumerate(levels) if k in open_claims])
    if len(levels) not in open_claims:
        return found
    most = found + total.chance(x)
    if most < SUBTRACTED or (most > UNDECIDED and len(total.law) > MANY_ANSWERS):
        return most
    quiet = [claim.law * claim.above(x) if k in open_claims else claim.law for k, claim in enumerate(levels)]
    return max(1 - float(added_laws(quiet) @ total.above(x)), found)


def _any_of(chances: list[float]) -> float:
    """1 − Π(1 − c), also where every c is tiny."""
    return 1.0 if 1.0 in chances else -math.expm1(sum(math.log1p(-c) for c in chances))


def _accuracy(right: Floats, clusters: Ids | None) -> Estimate:
    if clusters is not None:
        return _mean("accuracy", "share of right answers", right, clusters, Limits(0.0, 1.0))
    low, high = wilson(np.array([right.mean()]), np.array([float(len(right))]), CONFIDENCE)
    interval = Interval(float(low[0]), float(high[0]), CONFIDENCE, "Wilson")
    return Estimate("accuracy", "share of right answers", right.mean(), len(right), interval)


def _mean(name: str, title: str, values: Floats, clusters: Ids | None, limits: Limits) -> Estimate:
    if clusters is None:
        mean, interval, cautions = mean_with_interval(values, None, CONFIDENCE, limits)
    else:
        found = cluster_mean(values, None, clusters)
        mean, (interval, cautions) = found.mean, found.interval(CONFIDENCE)
    return Estimate(name, title, mean, len(values), interval, cautions=cautions)


def _level_error(predictions: Predictions, right: Floats, level: Ids, clusters: Ids | None) -> Estimate:
    """Root of the mean squared gap over levels, from products of different answers, or of answers to different questions."""
    p = predictions.probs.astype(np.float64)
    apart = np.arange(len(p)) if clusters is None else clusters
    squares, mass = squared_gaps(level, apart, p - right, np.ones(len(p)), int(level.max()) + 1)
    known = ~np.isnan(squares)
    lost = float(mass[~known].sum())
    power = float(mass[known] @ squares[known]) / float(mass[known].sum()) if known.any() else 0.0
    told = (f"{lost:g} answers are alone on their level and are left out",) if lost else ()
    values = np.unique(p)
    bins = Edges((-1.0, *values[:-1], 2.0)) if len(values) <= MOST_LEVELS else EqualMass(RANGES)
    interval = None if clusters is not None else binned_error(predictions, bins=bins, norm=2, debiased=True).interval
    title = "RMS calibration error over levels, noise taken out"
    value = float(np.sqrt(max(power, 0.0)))
    return Estimate("level_error", title, value, len(p), interval, parts={"square": power}, cautions=told)


def _verdict(
    levels: ConfidenceLevels, overall: float, gap: Estimate, said: float, rate: float
) -> tuple[bool | None, str]:
    facts = f"Mean confidence {said:.1%}, right {rate:.1%}.".replace("%", " %")
    wrong = levels.adjusted <= LEVEL
    if not wrong.any() and overall > LEVEL:
        return None, f"No miscalibration to be seen in {gap.n:,} answers. {facts}"
    words = []
    for way, sign in (("over-confident", 1), ("under-confident", -1)):
        here = wrong & (np.sign(levels.mean_prob - levels.label_rate) == sign)
        named = [name for name, bad in zip(levels.names(), here, strict=True) if bad]
        if named:
            words.append(f"{way} at {', '.join(named)}")
    if not words:
        words.append(("over-confident" if gap.value > 0 else "under-confident") + " on the whole, no level by itself")
    return False, f"Not calibrated: {'; '.join(words)}. {facts}"
