"""Is it calibrated, and how sure are we?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from calibrant import methods
from calibrant.bins import EqualMass, EqualWidth
from calibrant.detect.omnibus import is_calibrated
from calibrant.estimate.binned import binned_error
from calibrant.estimate.canonical import canonical_with_noise, several_rows
from calibrant.estimate.cumulative import ks_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.estimate.posterior import posterior_error
from calibrant.estimate.score_bound import root_brier
from calibrant.estimate.smooth import smooth_error
from calibrant.estimate.sweep import sweep_error
from calibrant.forecasts import Forecasts
from calibrant.options import checked
from calibrant.predictions import MultilabelPredictions, Predictions, StatePredictions, admit, cluster_kind
from calibrant.problems import InputError
from calibrant.resampling.null import ASSUMED_INDEPENDENT
from calibrant.results import (
    Answer,
    Estimate,
    Keyed,
    TestResult,
    estimate_table,
    keyed,
    kind,
    looked_up,
    rows_by_key,
)
from calibrant.results.tables import BinTable, Curve, Table, bin_rows
from calibrant.score import brier_score, log_score
from calibrant.state.state import State
from calibrant.types import Cluster
from calibrant.verbs.all_classes import judged_apart, judged_classes
from calibrant.verbs.class_findings import ClassFindings
from calibrant.verbs.curves import binned_curve
from calibrant.verbs.faults import Fault, fault_of
from calibrant.verbs.verdicts import Found, impossible_words

if TYPE_CHECKING:
    from calibrant.verbs.diagnose_regression import ForecastDiagnosis

ALARMS = 0.05
"""How often a calibrated model may be called miscalibrated; tests/truth measures it."""

MANY_SDS = 2.0
"""For labels that are shares, which no test takes: ECE this many standard deviations above its noise floor is
miscalibrated."""

ROUNDING = 1e-12
"""An excess below this is arithmetic, not evidence."""

FEW_ROWS = 200
"""Below this even a large error is hard to detect; the diagnosis warns of it."""

DRAWN_LABELS, FEWEST_DRAWS, MOST_DRAWS = 4e7, 99, 2999
"""Labels drawn in all; the p-value is exact with any number of draws, and finer with more."""

WIDER = ("classwise/ece", "canonical_ce")
"""Keys of the estimates of all classes that the verdict gives beside the ECE of the top class."""

Measure = Callable[..., Estimate]

OF_THE_VIEW: tuple[Measure, ...] = (
    posterior_error,
    partial(posterior_error, norm=2),
    partial(binned_error, bins=EqualWidth(15)),
    partial(binned_error, bins=EqualMass(15), debiased=True),
    partial(binned_error, bins=EqualMass(15), norm=2, debiased=True),
    partial(binned_error, bins=EqualMass(15), norm="max"),
    sweep_error,
    smooth_error,
    ks_error,
    mean_gap,
)
"""What a diagnosis measures for its view; a new estimator joins by one line."""

OF_ALL_CLASSES: tuple[Measure, ...] = (brier_score, log_score, root_brier)
"""What a diagnosis measures of the predicted distribution over all classes."""

PER_CLASS: tuple[Measure, ...] = (partial(binned_error, bins=EqualWidth(15), view="classwise", average="mean"),)
"""What a diagnosis adds when there are several columns."""

OF_ROWS: tuple[Measure, ...] = (canonical_with_noise,)
"""What it adds to that where there are rows."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Keyed[Estimate], Answer):
    """The answer to "is it calibrated?": estimates, their curve, warnings, and what to do."""

    name: str
    n: int
    view: str
    n_classes: int
    estimates: tuple[Estimate, ...]
    curve: Curve
    bins: BinTable
    calibrated: bool | None
    """False: clearly not. None: these data do not show an error."""
    verdict: str
    advice: tuple[str, ...]
    cautions: tuple[str, ...]
    test: TestResult | None = None
    """could a calibrated model have made these predictions? Exact; None where labels are shares"""
    classes: ClassFindings | None = None
    """the classes that are most clearly wrong, where all of them were tested"""

    question: ClassVar[str] = "Is it calibrated?"
    printed_tables: ClassVar[int | None] = 1

    summary_keys: ClassVar[tuple[str, ...]] = ("n", "calibration_error", "ece", "mean_gap", "test")

    def results(self) -> dict[str, Estimate]:
        """The estimates by key: the title up to a comma or bracket, in lower case; `classwise/ece` where `ece` is taken."""
        return keyed(self.estimates)

    def figures(self) -> dict[str, Any]:
        """Rows, classes, every estimate by its key, and the test."""
        return {"n": self.n, "n_classes": self.n_classes, **self.results(), "test": self.test}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per estimate."""
        return rows_by_key(self.results())

    @property
    def heading(self) -> str:
        """Name, rows and view."""
        return f"{self.name}: {self.n:,} rows, view: {self.view}"

    @property
    def about(self) -> str:
        """Of multi-label predictions, the label whose bins and curve these are: the one that is most clearly wrong."""
        return f", class {self.classes.classes[0]}" if self.view == "classwise" and self.classes else ""

    def sentence(self) -> str:
        """The verdict."""
        return self.verdict

    def tables(self) -> tuple[Table, ...]:
        """Estimates, tests, classes and bins."""
        tests = () if self.test is None else self.test.tables()
        tests += () if self.classes is None else (self.classes.table(),)
        return (estimate_table(self.estimates), *tests, bin_rows(self.bins, self.curve, self.about))


@overload
def diagnose(labels: Forecasts, *, name: str = "model", measures: Iterable[Any] = ()) -> ForecastDiagnosis: ...
@overload
def diagnose(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    cluster: bool | Cluster | None = None,
    name: str = "model",
    measures: Iterable[Any] = (),
    counts: Any = None,
    weights: Any = None,
) -> Diagnosis: ...
@checked
def diagnose(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    cluster: bool | Cluster | None = None,
    name: str = "model",
    measures: Iterable[Any] = (),
    counts: Any = None,
    weights: Any = None,
) -> Diagnosis | ForecastDiagnosis:
    """Is the model calibrated, how far off is it, and how much of that is noise?

    `calibrated` is False for at most 5 % of calibrated models: the test is exact. None
    is no proof of calibration; `plan` says which errors the rows could have shown. Of
    several classes, three exact tests share these 5 %: of the top class, of every class
    by itself, and of the whole distribution. The verdict names the classes at fault. Of
    `Predictions.from_multilabel` each label is tested by itself (Holm).

    Parameters
    ----------
    labels
        The outcomes; or a `Predictions`, which carries everything; or forecasts of a
        real number, such as `Predictions.from_gaussian` gives.
    probs
        Predicted probabilities: one column for an event, or one column per class.
    view
        Which question: `"binary"`, `"top"` or `"class k"`. `"auto"` is the event of one
        column; of several columns the top class, with a verdict on all classes.
    cluster
        How rows of a group depend on each other, for the test: as in `is_calibrated`.
    name
        What to call the model in the answer.
    measures
        Further estimators, by name or as functions, added to the table of estimates.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> found = cal.diagnose(test, name="digits")
    >>> found.calibrated
    False
    >>> print(found.verdict.split(". ")[0])
    Not calibrated: over-confident; wrong for all 10 classes, most clearly 8, 9, 1
    >>> cal.diagnose(test, measures=["MMCE"])["mmce"].settings["view"]
    'top'
    """
    if isinstance(labels, Forecasts):
        return _of_forecasts(labels, (probs, counts, weights), view, cluster, name, measures)
    predictions = admit(labels, probs, counts=counts, weights=weights)
    if isinstance(predictions, MultilabelPredictions):
        from calibrant.verbs.diagnose_labels import diagnose_labels

        return diagnose_labels(predictions, view, cluster, name, measures)
    chosen = predictions.view(view)
    if chosen == "classwise":
        raise InputError(
            "view",
            "must be one question for a diagnosis",
            "'classwise' is many questions",
            "Use 'top' or 'class k'; class-wise errors are in the table",
        )
    estimates = _estimates(predictions, chosen, measures)
    whole = view == "auto" and not predictions.is_binary
    test, classes, cautions = _tested(predictions, chosen, cluster, whole)
    by_key = keyed(estimates)
    bins = next(e for e in estimates if "equal-mass" in str(e.settings.get("bins"))).parts["bins"]
    found = _found(predictions, chosen, by_key, test, classes, not isinstance(labels, State))
    return Diagnosis(
        name=name,
        n=predictions.n,
        view=chosen,
        n_classes=predictions.n_classes,
        estimates=tuple(estimates),
        curve=binned_curve(bins),
        bins=bins,
        calibrated=found.calibrated,
        verdict=found.verdict(),
        advice=found.advice(),
        cautions=(*row_cautions(predictions, test), *cautions, *cautions_of(estimates)),
        test=test,
        classes=classes,
    )


def _found(
    predictions: Predictions,
    view: str,
    by_key: dict[str, Estimate],
    test: TestResult | None,
    classes: ClassFindings | None,
    has_rows: bool,
) -> Found:
    """What the verdict is made of."""
    event = predictions.event(view)
    error, ece, gap, log = (looked_up(key, by_key) for key in ("calibration_error", "ece", "mean_gap", "log_score"))
    impossible = impossible_words(predictions, log, has_rows)
    calibrated = None if _seems_calibrated(ece, test) and not (impossible and test is None) else False
    confidence = view == "top" or predictions.is_confidence
    return Found(
        n=predictions.n,
        view=view,
        confidence=confidence,
        mean=float(np.average(event.probs.astype(np.float64), weights=event.weights)),
        error=error,
        ece=ece,
        gap=gap,
        wider=tuple(by_key[key] for key in WIDER if key in by_key),
        test=test,
        calibrated=calibrated,
        fault=Fault("unclear", "") if calibrated is None else fault_of(event, confidence),
        impossible=impossible,
        classes=classes,
    )


def _estimates(predictions: Predictions, view: str, measures: Iterable[Any]) -> list[Estimate]:
    """What every diagnosis measures, then the `measures` that were asked for."""
    estimates = [measure(predictions, view=view) for measure in OF_THE_VIEW]
    estimates += [measure(predictions) for measure in OF_ALL_CLASSES]
    if not predictions.is_binary:
        estimates += [measure(predictions) for measure in PER_CLASS]
        has_rows = not isinstance(predictions, StatePredictions) and several_rows(predictions)
        estimates += [measure(predictions) for measure in OF_ROWS if has_rows]
    return estimates + measured(measures, predictions, "estimator", view=view)


def measured(measures: Iterable[Any], data: Any, of_kind: methods.Kind, **options: Any) -> list[Estimate]:
    """The estimates of further estimators.

    Parameters
    ----------
    measures
        Names of registered estimators, or functions of predictions that return an `Estimate`.
    data
        The predictions or forecasts.
    of_kind
        The kind of method that names stand for.
    **options
        Passed to the functions that take them.
    """
    found = []
    for each in (measures,) if isinstance(measures, str) or callable(measures) else measures:
        function = _function_of(each, of_kind) if isinstance(each, str) else each
        if not callable(function) or isinstance(function, type):
            raise InputError("measures", "must hold names of estimators or functions", f"it holds {each!r}")
        taken = signature(function).parameters
        estimate = function(data, **{name: value for name, value in options.items() if name in taken})
        if not isinstance(estimate, Estimate):
            what = getattr(function, "__name__", repr(function))
            raise InputError("measures", "must return an Estimate", f"{what} returns a {type(estimate).__name__}")
        found.append(estimate)
    return found


def _function_of(name: str, of_kind: methods.Kind) -> Measure:
    known = methods.find_measure(name) if of_kind == "estimator" else methods.find(of_kind, name)
    if known is None:
        names = ", ".join(map(repr, methods.methods(of_kind)))
        raise InputError("measures", f"must be functions or among {names}", f"{name!r} is not")
    return known.function


def _of_forecasts(
    forecasts: Forecasts, beside: tuple[Any, ...], view: Any, cluster: Any, name: str, measures: Iterable[Any]
) -> ForecastDiagnosis:
    from calibrant.verbs.diagnose_regression import diagnose_forecasts

    if any(each is not None for each in beside) or view != "auto":
        alone = "are forecasts, which have no views and carry their own data"
        raise InputError("labels", alone, advice="Pass them alone")
    if cluster is not None and cluster is not False:
        raise InputError("cluster", "cannot be used for forecasts", f"it is {cluster!r}")
    return diagnose_forecasts(forecasts, name=name, measures=measures)


def _tested(
    predictions: Predictions, view: str, cluster: Any, whole: bool
) -> tuple[TestResult | None, ClassFindings | None, tuple[str, ...]]:
    """The exact test with as many draws as a diagnosis has time for, of all classes where that is asked and possible.

    Ties never count for an alarm.
    """
    clustered = cluster_kind(predictions, cluster) is not None
    if predictions.soft:
        return None, None, ()
    event = predictions.event(view)
    drawn = len(event.pooled) if not clustered and event.squares is None else predictions.n
    draws = int(np.clip(DRAWN_LABELS / drawn, FEWEST_DRAWS, MOST_DRAWS))
    found = is_calibrated(predictions, view=view, n_draws=draws, ties="count", cluster=cluster)
    if not whole:
        return found, None, ()
    if clustered or isinstance(predictions, StatePredictions):
        return judged_apart(predictions, found, cluster)
    return judged_classes(predictions, found)


def _seems_calibrated(ece: Estimate, test: TestResult | None) -> bool:
    if test is not None:
        return not test.rejects(ALARMS)
    excess, sd = ece.value - (ece.noise_floor or 0.0), ece.parts["noise_sd"]
    one_row = 0.5 / float(ece.parts["bins"].rows.sum())  # ECE moves in steps of a row
    return not (excess > MANY_SDS * sd + one_row and excess > ROUNDING)


def row_cautions(predictions: Predictions, test: TestResult | None) -> tuple[str, ...]:
    """Warnings about the number of rows and how they depend."""
    few = f"{predictions.n} rows are few: an error of a few points cannot be distinguished from noise"
    found = [few] if predictions.n < FEW_ROWS else []
    if test is not None and "cluster" in test.settings:
        found.append("cluster is for the test: intervals of calibration errors take rows as independent")
    found += [ASSUMED_INDEPENDENT] if test is not None and ASSUMED_INDEPENDENT in test.cautions else []
    return tuple(found)


def cautions_of(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    """Each warning once, after the title of the first estimate that has it."""
    first: dict[str, str] = {}
    for estimate in estimates:
        for caution in estimate.cautions:
            first.setdefault(caution, estimate.title)
    return tuple(f"{title}: {caution}" for caution, title in first.items())
