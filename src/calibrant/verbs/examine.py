"""Everything that a report says about predictions: the diagnosis, and the answers that belong beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from calibrant.forecasts import Forecasts
from calibrant.maps import recipe_of
from calibrant.maps.auto import FEW, FEWEST, candidates_for
from calibrant.maps.folds import in_folds, n_units
from calibrant.options import checked
from calibrant.predictions import MultilabelPredictions, Predictions, StatePredictions, admit
from calibrant.problems import InputError
from calibrant.results import Answer, Table, kind
from calibrant.types import Cluster
from calibrant.verbs.answers import AnswerReport, assess_answers
from calibrant.verbs.auditing.audit import audit
from calibrant.verbs.auditing.audited import Audit
from calibrant.verbs.classes import Classes, classes_of
from calibrant.verbs.clinical import ClinicalReport, clinical
from calibrant.verbs.compare import compare
from calibrant.verbs.comparison import Comparisons
from calibrant.verbs.diagnose import Diagnosis, diagnose
from calibrant.verbs.diagnose_regression import ForecastDiagnosis
from calibrant.verbs.origin import Origin, origin_of
from calibrant.verbs.planning.plan import Plan, plan
from calibrant.verbs.trust import Trust, trust
from calibrant.verbs.where import Where, where

N_FOLDS = 5
"""Of the held-out trial of repairs."""

MOST_TRIED, MOST_PER_CLASS, MOST_PLANNED = 500_000, 50_000, 2_000_000
"""Probabilities, rows × classes, up to which repairs are tried by default, those with numbers for each class among them,
and up to which rows are planned: a report on 10 000 × 10 takes seconds."""

QUICK = {"one event": ("temperature", "platt", "beta", "isotonic"), "several classes": ("temperature",)}
PER_CLASS = "structured_vector"
"""Repairs that take little time."""

MOST_GROUPS, FEWEST_ROWS = 30, 30
"""Groups that are looked at one by one; of more, or of fewer rows each, groups are taken for clusters."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Examination(Answer):
    """A diagnosis with everything beside it, in the order of a report."""

    diagnosis: Diagnosis | ForecastDiagnosis
    answers: tuple[Answer, ...]
    left_out: tuple[str, ...]
    """what was not computed, why, and how to get it"""
    origin: Origin

    question: ClassVar[str] = "Is it calibrated, and what follows?"
    printed_tables: ClassVar[int | None] = 1

    @property
    def cautions(self) -> tuple[str, ...]:
        """Those of the diagnosis; each of the other answers has its own."""
        return self.diagnosis.cautions

    @property
    def advice(self) -> tuple[str, ...]:
        """Of the diagnosis."""
        return self.diagnosis.advice

    @property
    def heading(self) -> str:
        """That of the diagnosis."""
        return self.diagnosis.heading

    def figures(self) -> dict[str, Any]:
        """Those of the diagnosis."""
        return dict(self.diagnosis.figures())

    def sentence(self) -> str:
        """The verdict, and what each of the other answers says."""
        return "\n".join([self.diagnosis.sentence(), *(f"{each.question} {each.sentence()}" for each in self.answers)])

    def tables(self) -> tuple[Table, ...]:
        """Those of the diagnosis and of all answers."""
        return (*self.diagnosis.tables(), *(table for each in self.answers for table in each.tables()))


@checked
def examine(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    cluster: bool | Cluster | None = None,
    name: str = "model",
    full: bool = False,
    measures: Iterable[Any] = (),
    answers: Iterable[Any] = (),
    counts: Any = None,
    weights: Any = None,
) -> Examination:
    """Is the model calibrated, and everything that follows: what a report shows.

    The diagnosis; every class; where it is wrong; its groups; what recalibration would
    gain, on held-out rows; which error so many rows can show; for a binary event the
    numbers of a clinical validation; for stated confidences the levels one by one.
    `examine(test).save("report.html")` writes it as one page.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, forecasts of a
        real number, or a state from `collect`.
    view
        As in `diagnose`.
    cluster
        How rows of a group depend on each other, for the tests: as in `is_calibrated`.
    name
        What to call the model.
    full
        Also compute what takes long: all candidates of `recalibrate`, the simulated plan,
        and `trust`. Otherwise `left_out` names what was not computed.
    measures
        Further estimators of the diagnosis, by name or as functions.
    answers
        Answers about the same predictions that exist already; those of the same kind are
        not computed again.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> found = cal.examine(test, name="digits")
    >>> found.diagnosis.calibrated
    False
    >>> [type(each).__name__ for each in found.answers]
    ['Classes', 'Where', 'Comparisons', 'Plan']
    """
    if isinstance(answers, str):
        raise InputError("answers", "must be answers of verbs, tests or estimators", f"it is {answers!r}")
    given = tuple(answers)
    for each in given:
        if not isinstance(each, Answer):
            raise InputError(
                "answers", "must be answers of verbs, tests or estimators", f"there is a {type(each).__name__}"
            )
    forecasts = isinstance(labels, Forecasts)
    predictions = labels if forecasts else admit(labels, probs, counts=counts, weights=weights)
    asked = {} if forecasts else {"view": view, "cluster": cluster}
    found: Any = diagnose(predictions, name=name, measures=measures, **asked)
    settings: dict[str, Any] = {
        "seed": "0, or the content of the rows",
        "view": getattr(found, "view", ""),
        "full": full or "",
    }
    origin = origin_of(predictions, **settings)
    if forecasts or isinstance(predictions, StatePredictions | MultilabelPredictions):
        return Examination(found, given, (), origin)
    parts = _Parts(predictions, found, view, cluster, full)
    made = parts.answers({type(each): each for each in given})
    ready = {id(each) for each in made}
    return Examination(
        found, (*made, *(each for each in given if id(each) not in ready)), tuple(parts.left_out), origin
    )


class _Parts:
    """The answers beside a diagnosis, those that would take long only on request."""

    def __init__(self, predictions: Predictions, found: Diagnosis, view: Any, cluster: Any, full: bool) -> None:
        self.predictions, self.found, self.view, self.cluster, self.full = predictions, found, view, cluster, full
        self.numbers = predictions.n * (1 if predictions.is_binary else predictions.n_classes)
        self.left_out: list[str] = []

    def answers(self, given: dict[type, Answer]) -> tuple[Answer, ...]:
        """In the order of a report; what is given is not made again, what the data do not allow is left out."""
        makers: dict[type, Callable[[], Answer | None]] = {
            Trust: self._trust,
            Classes: self._classes,
            Where: lambda: where(self.predictions, view=self.found.view, cluster=self.cluster),
            Audit: self._groups,
            Comparisons: self._repairs,
            Plan: self._plan,
            ClinicalReport: self._clinical,
            AnswerReport: self._confidences,
        }
        made = []
        for of, maker in makers.items():
            try:
                answer = given.get(of) or maker()
            except InputError as error:
                self.left_out.append(f"{of.__name__}: {error}")
                continue
            made += [] if answer is None else [answer]
        return tuple(made)

    def _trust(self) -> Answer | None:
        if self.full:
            return trust(self.predictions, view=self.found.view)
        self.left_out.append(
            "Which estimator to believe at this size was not simulated: calibrant trust FILE --report, or examine(…, full=True)."
        )
        return None

    def _classes(self) -> Answer | None:
        table = self.found.results().get("classwise/ece")
        return None if table is None else classes_of(self.predictions, table.parts["classes"], self.found.classes)

    def _groups(self) -> Answer | None:
        groups = self.predictions.groups
        if groups is None or self.predictions.soft:
            return None
        names, rows = np.unique(groups, return_counts=True)
        if not 1 < len(names) <= MOST_GROUPS or rows.min() < FEWEST_ROWS:
            self.left_out.append(
                f"The {len(names):,} groups are not looked at one by one: there are too many of them, or some hold fewer than "
                f"{FEWEST_ROWS} rows. Segments of other columns: calibrant audit FILE --by NAMES --report."
            )
            return None
        return audit(self.predictions, groups=groups, view=self.found.view)

    def _repairs(self) -> Answer | None:
        rows = self.predictions
        if rows.groups is not None and not self.cluster:  # segments, not clusters: they need not stay in one fold
            rows = copy(rows)
            rows.groups = None
        if rows.soft or n_units(rows) < (FEW if rows.is_binary else FEWEST):
            self.left_out.append("Repairs were not tried: rows, or groups, are too few to judge one by the others.")
            return None
        more = "calibrant recalibrate VALIDATION_FILE -o map.json tries them all"
        if self.numbers > MOST_TRIED and not self.full:
            self.left_out.append(f"Repairs were not tried, as there are {self.numbers:,} probabilities: {more}.")
            return None
        names: Iterable[Any] = QUICK["one event" if self.predictions.is_binary else "several classes"]
        if self.full:
            suited = candidates_for(self.predictions, alone=True)
            names = [each for each in suited if isinstance(each, str) and each != "identity"]
        elif self.numbers <= MOST_PER_CLASS and not self.predictions.is_binary:
            names = (*names, PER_CLASS)
        if not self.full:
            self.left_out.append(f"Only the quick repairs were tried: {more}, and so does examine(…, full=True).")
        return held_out_repairs(rows, names, self.cluster)

    def _plan(self) -> Answer | None:
        if self.predictions.soft or (self.numbers > MOST_PLANNED and not self.full):
            self.left_out.append(f"Rows were not planned: calibrant plan FILE --n {self.predictions.n} does.")
            return None
        if self.full:
            return plan(n=self.predictions.n, predictions=self.predictions, view=self.view)
        return plan(n=self.predictions.n, predictions=self.predictions, view=self.found.view, statistic="binned")

    def _clinical(self) -> Answer | None:
        asked = self.predictions.is_binary and not self.predictions.is_confidence and not self.predictions.soft
        return clinical(self.predictions, view=self.found.view, name=self.found.name) if asked else None

    def _confidences(self) -> Answer | None:
        stated = self.predictions.is_confidence and not self.predictions.soft
        return assess_answers(self.predictions, name=self.found.name) if stated else None


def held_out_repairs(predictions: Predictions, methods: Iterable[Any], cluster: Any = None) -> Comparisons:
    """What each map would gain, on rows that it was not fitted on.

    Parameters
    ----------
    predictions
        All rows: each fold is recalibrated by maps fitted on the others.
    methods
        Names or recipes of maps.
    cluster
        As in `compare`.
    """
    rows, masks = in_folds(predictions, N_FOLDS)
    after = {}
    for method in methods:
        probs = np.empty(np.shape(rows.probs))
        for held in masks:
            probs[held] = recipe_of(method).fit(rows.rows(~held)).apply(rows.rows(held)).probs
        after[str(method)] = rows.with_probs(probs)
    found = compare(rows, after, method=None, cluster=cluster)
    how = f"{N_FOLDS}-fold cross-validation: each map is judged on rows that it was not fitted on"
    return replace(found, method=f"{how}. {found.method}")
