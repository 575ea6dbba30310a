"""Are multi-label predictions calibrated? Each label is a question of its own, and the verdict names those at fault."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from calibrant.bins import EqualMass, EqualWidth
from calibrant.estimate.binned import binned_error
from calibrant.estimate.cumulative import ks_error
from calibrant.predictions import MultilabelPredictions, Predictions
from calibrant.results import Estimate, TestResult, number, p_words
from calibrant.verbs.all_classes import FEWER_PER_CLASS, tested_apart
from calibrant.verbs.class_findings import ClassFindings, findings_of
from calibrant.verbs.curves import binned_curve
from calibrant.verbs.diagnose import ALARMS, Diagnosis, Measure, cautions_of, diagnose, measured, row_cautions
from calibrant.verbs.verdicts import MORE_ROWS, NEVER_ZERO, NO_ERROR_SEEN, accused, is_weak

MOST_DRAWN = 1e9
"""Labels drawn by the tests of all labels; of more rows, one in so many is used."""

OF_LABELS: tuple[Measure, ...] = (
    partial(binned_error, bins=EqualWidth(15)),
    partial(binned_error, bins=EqualMass(15), debiased=True),
    partial(binned_error, bins=EqualMass(15), norm=2, debiased=True),
    partial(ks_error, average="mean"),
)
"""What a diagnosis measures of multi-label predictions, each label by itself."""

REPAIR = (
    "Fit a map for each label on validation data (recalibrate does, by default with auto, and divides by no sum) and "
    "judge it on other data, label by label: compare(before.label(NAME), after.label(NAME))."
)


def diagnose_labels(
    predictions: MultilabelPredictions, view: Any, cluster: Any, name: str, measures: Iterable[Any]
) -> Diagnosis:
    """The diagnosis of all labels, or of the one that the view names.

    Parameters
    ----------
    predictions
        Multi-label predictions.
    view, cluster, name, measures
        As in `diagnose`.
    """
    chosen = predictions.view(view)
    if chosen != "classwise":
        one = predictions.label(chosen[6:])
        return diagnose(one, cluster=cluster, name=f"{name}, {chosen}", measures=measures)
    estimates = [measure(predictions, view="classwise") for measure in OF_LABELS]
    estimates += measured(measures, predictions, "estimator", view="classwise")
    test, classes, cautions = _judged(predictions, cluster)
    shown = predictions.event(("class", classes.classes[0]))  # the label that is most clearly wrong
    bins = EqualMass(15).collect(shown).table()
    calibrated, impossible = (False if test.rejects(ALARMS) else None), _impossible(predictions)
    return Diagnosis(
        name=name,
        n=predictions.n,
        view=chosen,
        n_classes=predictions.n_classes,
        estimates=tuple(estimates),
        curve=binned_curve(bins),
        bins=bins,
        calibrated=calibrated,
        verdict=f"{_finding(calibrated, impossible, predictions, test, classes)}. {_numbers(estimates[0], test)}",
        advice=_advice(calibrated, impossible, test),
        cautions=(*row_cautions(predictions, test), *cautions, *cautions_of(estimates)),
        test=test,
        classes=classes,
    )


def _judged(predictions: MultilabelPredictions, cluster: Any) -> tuple[TestResult, ClassFindings, tuple[str, ...]]:
    """Each label tested by itself, what is wrong with which, and warnings."""
    cost = FEWER_PER_CLASS * predictions.n_classes * predictions.probs.size
    step, cautions = int(-(-cost // MOST_DRAWN)), tuple[str, ...]()
    used: Predictions = predictions
    if step > 1:
        used = predictions.rows(slice(None, None, step))
        cautions = (f"the tests of all labels use {used.n:,} of the {predictions.n:,} rows, one in {step}",)
    test, scores, adjusted = tested_apart(used, list(used.class_events()), cluster)
    events = list(predictions.class_events())
    return test, findings_of(events.__getitem__, predictions.classes, scores, adjusted, test.least_p), cautions


def _impossible(predictions: MultilabelPredictions) -> str:
    """Outcomes that were given probability 0, and the first of them; empty if there are none."""
    p, y = predictions.probs, predictions.observed
    never = ((p == 0) & (y == 1)) | ((p == 1) & (y == 0))
    if predictions.weights is not None:
        never &= (predictions.weights > 0)[:, None]
    if not never.any():
        return ""
    row, k = (int(i) for i in np.unravel_index(int(np.argmax(never)), never.shape))
    first = f"row {row} (counted from 0), class {predictions.classes[k]}: predicted {p[row, k]:g}, observed {y[row, k]}"
    many = int(never.sum())
    return f"{many:,} outcome{'s' * (many != 1)} given probability 0, the first in {first}"


def _finding(
    calibrated: bool | None, impossible: str, predictions: MultilabelPredictions, test: TestResult, found: ClassFindings
) -> str:
    if calibrated is None:
        told = f"No miscalibration to be seen in {predictions.n:,} rows: not of any of the {found.n_classes:,} labels"
        return f"{told}, but {impossible}" if impossible else told
    ways = "; ".join(filter(None, (impossible, f"wrong for {found.named(how=True)}")))
    return f"{accused(test.p_value, test.least_p)}: {ways}"


def _numbers(ece: Estimate, test: TestResult) -> str:
    label, worst = ece.parts["classes"].worst(1)[0][:2]
    floor = "" if ece.noise_floor is None else f", where a calibrated model would show about {number(ece.noise_floor)}"
    tested = f"exact tests of each label, adjusted for their number, {p_words(test.p_value, test.least_p)}"
    return f"Class-wise ECE {number(ece.value)}{floor}; largest for class {label} ({number(worst)}); {tested}."


def _advice(calibrated: bool | None, impossible: str, test: TestResult) -> tuple[str, ...]:
    if calibrated is None and not impossible:
        return (NO_ERROR_SEEN,)
    weak = calibrated is False and is_weak(test.p_value, test.least_p)
    return (*[NEVER_ZERO] * bool(impossible), *[MORE_ROWS] * weak, REPAIR)
