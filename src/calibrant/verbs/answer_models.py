"""Answers of several language models: which confidences are the better ones?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.arrays import common_index, to_numpy
from calibrant.estimate.selective import clustered_mean, plain_event
from calibrant.inputs import check_groups, check_level, check_no_missing
from calibrant.interval import Limits
from calibrant.options import checked
from calibrant.predictions import admit
from calibrant.predictions.labels import check_names_event
from calibrant.problems import InputError
from calibrant.results import Answer, Estimate, Interval, Record, Table, ends, kind, number
from calibrant.results.constraints import Probability
from calibrant.types import Floats
from calibrant.verbs.answers import AnswerReport, assess_answers, without_confidence

QUANTITIES: dict[str, tuple[str, Limits]] = {
    "accuracy": ("share of right answers", Limits(-1.0, 1.0)),
    "mean_gap": ("mean confidence minus share of right answers", Limits(-2.0, 2.0)),
    "brier": ("Brier score of the confidences", Limits(-2.0, 2.0)),
}
"""What is compared, and between what its difference of one question lies."""
FEW_QUESTIONS = 30


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ModelPair(Record):
    """Two models: the first less the second."""

    first: str
    second: str
    questions: int | None
    """that both answered; None where answers are not paired"""
    differences: tuple[Estimate, ...]

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.first} − {self.second}"

    def of(self, name: str) -> Estimate:
        """The difference in one quantity."""
        return next(each for each in self.differences if each.name == name)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class AnswerComparison(Answer):
    """What the answers of several models show about their confidences."""

    models: Mapping[str, AnswerReport]
    pairs: tuple[ModelPair, ...]
    level: Probability
    method: str
    """how differences are formed, and how their intervals allow for the number of them"""
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Which model's confidences are better?"

    def __getitem__(self, name: str) -> AnswerReport:
        return self.models[name]

    @property
    def heading(self) -> str:
        """Models and answers."""
        return f"{len(self.models)} models, {sum(each.n for each in self.models.values()):,} answers"

    def sentence(self) -> str:
        """The pairs that clearly differ in Brier score, or in confidence beyond accuracy."""
        words = []
        for pair in self.pairs:
            score, gap = pair.of("brier"), pair.of("mean_gap")
            if _is_clear(score):
                best, other = (pair.first, pair.second) if score.value < 0 else (pair.second, pair.first)
                apart = f"Brier score lower by {number(abs(score.value))}"
                words.append(f"The confidences of {best} are better than those of {other} ({apart}).")
            elif _is_clear(gap):
                more, less = (pair.first, pair.second) if gap.value > 0 else (pair.second, pair.first)
                apart = f"by {number(abs(gap.value))}"
                words.append(f"{more} is more confident for its accuracy than {less} ({apart}).")
        return " ".join(words) or "No two models clearly differ in the quality of their confidences."

    def figures(self) -> dict[str, Any]:
        """The estimates of each model, and the differences of each pair."""
        models = {f"{name}/{key}": value for name, each in self.models.items() for key, value in each.figures().items()}
        pairs = {f"{pair.name}/{each.name}": each for pair in self.pairs for each in pair.differences}
        return models | pairs

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per model and estimate."""
        return [{"model": name, **row} for name, each in self.models.items() for row in each.rows_of_frame()]

    def tables(self) -> tuple[Table, ...]:
        """The models side by side, then every pair."""
        return (self._side_by_side(), self._pairwise())

    def _side_by_side(self) -> Table:
        rows = []
        for name, each in self.models.items():
            found = [each[key] for key in ("accuracy", "mean_gap", "level_error")]
            counts = (f"{each.n:,}", f"{each.abstained:,}")
            rows.append((name, *counts, *(estimate.value for estimate in found), _finding(each)))
        columns = ("model", "answers", "abstained", "right", "confidence − right", "level error", "finding")
        return Table("Model by model", columns, tuple(rows), "Each model's finding is its own, at 5 % false alarms.")

    def _pairwise(self) -> Table:
        rows = [
            (pair.name, QUANTITIES[each.name][0], each.value, ends(each.interval), _verdict(each, pair))
            for pair in self.pairs
            for each in pair.differences
        ]
        columns = ("pair", "quantity", "difference", f"{self.level:.0%} simultaneous interval", "finding")
        return Table("Pair by pair", columns, tuple(rows), self.method)


def _is_clear(found: Estimate) -> bool:
    return found.interval is not None and 0 not in found.interval


def _finding(report: AnswerReport) -> str:
    return "no miscalibration shown" if report.calibrated is None else report.verdict.split(". ")[0]


def _verdict(found: Estimate, pair: ModelPair) -> str:
    if not _is_clear(found):
        return "no clear difference"
    more = pair.first if found.value > 0 else pair.second
    less = pair.second if found.value > 0 else pair.first
    return {
        "accuracy": f"{more} is right more often",
        "mean_gap": f"{more} is more confident for its accuracy",
        "brier": f"{less} has the better confidences",
    }[found.name]


@checked
def compare_answers(
    labels: Any,
    probs: Any = None,
    models: Any = None,
    *,
    groups: Any = None,
    abstentions: Literal["refuse", "count", "drop"] = "refuse",
    level: float = 0.95,
    source: str = "",
) -> AnswerComparison:
    """Which of several language models has the better confidences?

    Each model is assessed as by `assess_answers`; then every pair is compared in three
    quantities: accuracy, mean confidence minus accuracy, and the Brier score of the
    confidences, a proper score. With `groups` the answers of two models to a question are
    paired: the difference is the mean over questions that both answered, each counting
    once, and its interval is that of a mean. Without, answers are taken as independent,
    and the interval combines those of the two models (Zou and Donner 2008). Intervals are
    simultaneous: Bonferroni over all pairs and quantities.

    Parameters
    ----------
    labels, probs
        Which answers are right, and the model's confidence in each.
    models
        The model that gave each answer; at least two.
    groups
        The question of each answer: pass it whenever models answered the same questions.
    abstentions
        What is done with answers without a confidence (NaN or None), as in
        `assess_answers`; they enter no difference.
    level
        Confidence that all intervals of differences hold at once.
    source
        What the confidence is, for the report.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> models, questions = np.repeat(["a", "b"], 500), np.tile(np.arange(500), 2)
    >>> confidence = np.full(1000, 0.8)
    >>> right = rng.random(1000) < np.where(models == "a", 0.8, 0.6)
    >>> found = cal.compare_answers(right, confidence, models, groups=questions)
    >>> print(found.sentence())
    The confidences of a are better than those of b (Brier score lower by 0.2040).
    >>> len(found.pairs), found.pairs[0].questions
    (1, 500)
    """
    check_level(level)
    columns = {"labels": labels, "probs": probs, "models": models, "groups": groups}
    if probs is None or models is None:
        raise InputError("models" if models is None else "probs", "must be given", "there is none")
    common_index(**columns)
    plain = {name: to_numpy(columns[name], name) for name in ("labels", "probs")}
    check_names_event(getattr(probs, "name", None), (0, 1), "probs")
    n = len(models) if plain["labels"].ndim == 0 else len(plain["labels"])
    for name, values in plain.items():
        if values.ndim == 0 or len(values) != n or (name == "probs" and values.ndim > 1):
            found = f"its shape is {values.shape}, there are {n} labels"
            raise InputError(name, "must hold a value per answer", found)
    named = _names(models, n)
    questions = None if groups is None else check_groups(groups, len(named))
    each = {name: named == name for name in dict.fromkeys(named.tolist())}
    if len(each) < 2:
        raise InputError("models", "must name at least two models", f"it names {next(iter(each), 'none')!r} only")
    reports, answers = {}, {}
    for name, rows in each.items():
        own = {column: values[rows] for column, values in plain.items()}
        asked = None if questions is None else questions[rows]
        reports[name] = assess_answers(
            **own, groups=_repeated(asked), abstentions=abstentions, name=name, source=source
        )
        answers[name] = _measured(own["labels"], own["probs"], asked)
    m = len(QUANTITIES) * len(each) * (len(each) - 1) // 2
    own_level = 1 - (1 - level) / m
    pairs = tuple(_pair(a, b, answers[a], answers[b], own_level) for a, b in combinations(answers, 2))
    formed = "unpaired: pass groups= to pair them" if questions is None else "paired by question"
    method = f"Answers are {formed}; intervals hold at once for {m} differences (Bonferroni)."
    return AnswerComparison(reports, pairs, level, method, _cautions(reports, pairs))


def _names(models: Any, n: int) -> Any:
    """The models as texts, one per row."""
    named = to_numpy(models, "models")
    if named.shape != (n,):
        raise InputError("models", "must name a model per answer", f"its shape is {named.shape}, there are {n} answers")
    check_no_missing(named.astype(object), "models")
    return np.array([str(name) for name in named.tolist()], dtype=object)


def _repeated(questions: Any) -> Any:
    """The questions, unless each was asked once: then answers are as good as independent."""
    return None if questions is None or len(set(questions.tolist())) == len(questions) else questions


@dataclass(frozen=True)
class _Measured:
    """The quantities of one model's answers, row by row, and their questions."""

    values: dict[str, Floats]
    questions: Any

    def by_question(self) -> tuple[Any, dict[str, Floats]]:
        """The distinct questions and the means of each quantity over the answers to them."""
        asked, index, count = np.unique(self.questions, return_inverse=True, return_counts=True)
        return asked, {name: np.bincount(index.ravel(), each) / count for name, each in self.values.items()}


def _measured(labels: Any, probs: Any, questions: Any) -> _Measured:
    known = ~without_confidence(probs)
    event = plain_event(admit(labels[known], probs[known]), "auto")
    p, right = event.probs.astype(np.float64), event.outcomes.astype(np.float64)
    values = {"accuracy": right, "mean_gap": p - right, "brier": 2 * (p - right) ** 2}
    return _Measured(values, None if questions is None else questions[known])


def _pair(first: str, second: str, a: _Measured, b: _Measured, level: float) -> ModelPair:
    if a.questions is None:
        return ModelPair(first, second, None, tuple(_unpaired(name, a, b, level) for name in QUANTITIES))
    (asked, own), (again, other) = a.by_question(), b.by_question()
    both, of_a, of_b = np.intersect1d(asked, again, assume_unique=True, return_indices=True)
    if not len(both):
        raise InputError(
            "groups", "must hold questions that both models answered", f"{first!r} and {second!r} share none"
        )
    found = []
    for name, (title, limits) in QUANTITIES.items():
        mean, interval, cautions = clustered_mean(own[name][of_a] - other[name][of_b], None, level, limits)
        found.append(Estimate(name, title, mean, len(both), interval, cautions=cautions))
    return ModelPair(first, second, len(both), tuple(found))


def _unpaired(name: str, a: _Measured, b: _Measured, level: float) -> Estimate:
    """The difference of two independent means, with the interval that combines theirs (MOVER)."""
    title, limits = QUANTITIES[name]
    own = Limits(0.0 if name != "mean_gap" else -1.0, limits.upper if name == "brier" else 1.0)
    (x, of_x, warned), (y, of_y, also) = (clustered_mean(each.values[name], None, level, own) for each in (a, b))
    cautions = tuple(dict.fromkeys((*warned, *also)))
    if of_x is None or of_y is None:
        return Estimate(name, title, x - y, len(a.values[name]), None, cautions=cautions)
    low = x - y - np.hypot(x - of_x.low, of_y.high - y)
    high = x - y + np.hypot(of_x.high - x, y - of_y.low)
    interval = Interval(float(low), float(high), level, "independent means, combined")
    return Estimate(name, title, x - y, len(a.values[name]) + len(b.values[name]), interval, cautions=cautions)


def _cautions(reports: Mapping[str, AnswerReport], pairs: tuple[ModelPair, ...]) -> tuple[str, ...]:
    cautions = [f"{name}: {caution}" for name, each in reports.items() for caution in each.cautions]
    shared = [pair.questions for pair in pairs if pair.questions is not None]
    if shared and min(shared) < FEW_QUESTIONS:
        cautions.append(f"{min(shared)} common questions are few: intervals of differences are rough")
    if len(set(shared)) > 1:
        cautions.append("pairs share different questions: differences of different pairs do not add up")
    cautions += [
        f"{pair.name}, {each.title}: {c}" for pair in pairs for each in pair.differences for c in each.cautions
    ]
    return tuple(cautions)
