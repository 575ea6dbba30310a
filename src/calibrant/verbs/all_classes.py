"""Several classes: is the top class, every class by itself, and the whole predicted distribution calibrated?"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from calibrant.bins import EqualMass
from calibrant.detect.omnibus import is_calibrated
from calibrant.interval import holm
from calibrant.kernels.draws.null_sums import class_hits
from calibrant.predictions import Event, Predictions, StatePredictions, as_predictions
from calibrant.resampling.classes import ClassRows, class_lines, class_rows
from calibrant.resampling.draw import LARGEST, Statistic
from calibrant.resampling.exact import LEVEL, Exact, as_result, drawn_values
from calibrant.resampling.rank import step_down
from calibrant.results import TestResult
from calibrant.state.pooled import Pooled
from calibrant.types import Floats, Indices
from calibrant.verbs.class_findings import NAMED, ClassFindings, findings_of

N_BINS = 5
"""Bins of each class's predictions in the class-wise test."""

MOST_PROBABILITIES = 4_000_000
"""Rows times classes up to which the tests of all classes use every row."""

DRAWN_LABELS, FEWEST_DRAWS, MOST_DRAWS = 2e7, 199, 2999
"""Labels drawn by each test of all classes."""

SHARES = {"top": 0.2, "classwise": 0.4, "canonical": 0.4}
"""How the tests share the rate of false alarms; the last sees errors of the top class too. Where it cannot be run, the
others have the same ratio."""

MOST_APART = 60
"""Classes that are tested one by one where they cannot be drawn together."""

DRAWS_PER_CLASS, FEWER_PER_CLASS, DRAWN_APART = 200, 50, 3e8
"""Draws of each such test for every class, as its p-value is multiplied by their number; fewer where rows are so many
that more labels would be drawn in all."""

TITLES = {"top": "top class", "classwise": "class by class", "canonical": "all classes together"}


def judged_classes(predictions: Predictions, top: TestResult) -> tuple[TestResult, ClassFindings, tuple[str, ...]]:
    """One p-value of three tests, what is wrong with which class, and warnings.

    Parameters
    ----------
    predictions
        Rows of several classes.
    top
        The test of the top class.
    """
    step, given_0 = -(-len(predictions.labels) * predictions.n_classes // MOST_PROBABILITIES), _given_0(predictions)
    used = predictions
    if step > 1:  # rows that refute the model stay: a calibrated one has none
        used = predictions.rows(np.union1d(np.arange(0, len(predictions.labels), step), given_0))
    cautions: tuple[str, ...] = ()
    if used is not predictions:
        cautions = (f"the tests of all classes use {used.n:,} of the {predictions.n:,} rows, one in {step}",)
    draws = int(np.clip(DRAWN_LABELS / used.n, FEWEST_DRAWS, MOST_DRAWS))
    test, scores, adjusted = three_tests(used, top, draws)
    least = test.parts["classwise"].least_p
    refuted = np.isin(np.arange(predictions.n_classes), predictions.labels[given_0])
    found = findings_of(lambda c: class_event(predictions, c), predictions.classes, scores, adjusted, least, refuted)
    return test, replace(found, alike=_alike(used) if found.n_wrong else False), cautions


def _given_0(predictions: Predictions) -> Indices:
    """The rows whose class was given probability 0."""
    at = np.arange(len(predictions.labels))
    return np.flatnonzero(predictions.probs[at, predictions.labels] == 0)


def three_tests(rows: Predictions, top: TestResult, n_draws: int) -> tuple[TestResult, Floats, Floats]:
    """The tests of the top class, of every class and of the whole distribution as one; each class's score and p-value.

    Parameters
    ----------
    rows
        Rows of several classes.
    top
        The test of the top class.
    n_draws
        Null draws of the others.
    """
    canonical = is_calibrated(rows, view="canonical", n_draws=n_draws, ties="count", cluster=False)
    classwise, scores, adjusted = class_test(class_rows(rows, False), rows.classes, Exact(n_draws, "count"))
    test = _joined({"top": top, "classwise": classwise, "canonical": canonical}, top.n)
    return test, scores, _adjusted_again(test, adjusted)


def class_event(predictions: Predictions, c: int) -> Event:
    """The yes/no question of a class; of a state, its pooled rows, or the means of its cells."""
    view = f"class {predictions.classes[c]}"
    if not isinstance(predictions, StatePredictions) or view in predictions.state.views:
        return predictions.event(view)
    state = predictions.state
    assert state.grid is not None
    sums = state.grid.sums[c]
    weight, probs, _, hits = sums[sums[:, 0] > 0].T
    pooled = Pooled(np.clip(probs / weight, 0.0, 1.0), weight, np.minimum(hits, weight))
    values, outcomes, weights = pooled.rows()
    return Event(values, outcomes, weights, view, {"pooled": pooled}, state.n)


def judged_apart(
    predictions: Predictions, top: TestResult, cluster: Any
) -> tuple[TestResult, ClassFindings | None, tuple[str, ...]]:
    """The same where no whole distributions can be drawn, from a state or with clusters: each class is tested by itself.

    The p-values are multiplied by the number of classes (Holm).

    Parameters
    ----------
    predictions
        Several classes: rows with groups, or a state.
    top
        The test of the top class.
    cluster
        As in `is_calibrated`.
    """
    k = predictions.n_classes
    of_state = isinstance(predictions, StatePredictions)
    why = "a state holds no rows" if of_state else "its test takes rows as independent"
    if k > MOST_APART:
        said = f"the verdict is about the top class only: {k:,} classes are too many to be tested one by one, and of"
        return top, None, (f"{said} the whole distribution {why}",)
    events = [class_event(predictions, c) for c in range(k)]
    classwise, scores, adjusted = tested_apart(predictions, events, cluster)
    test = _joined({"top": top, "classwise": classwise}, predictions.n)
    found = findings_of(
        events.__getitem__, predictions.classes, scores, _adjusted_again(test, adjusted), classwise.least_p
    )
    cautions = [f"the whole distribution was not tested: {why}"]
    if isinstance(predictions, StatePredictions) and not views_of(predictions) <= set(predictions.state.views):
        cautions.append("classes are tested from sums in cells, as if predictions in a cell were equal")
    return test, found, tuple(cautions)


def tested_apart(predictions: Predictions, events: list[Event], cluster: Any) -> tuple[TestResult, Floats, Floats]:
    """Every class tested by itself, as one result (Holm), with each class's score and adjusted p-value.

    Parameters
    ----------
    predictions
        Of several classes, or of several labels.
    events
        The yes/no questions of the classes.
    cluster
        As in `is_calibrated`.
    """
    k = len(events)
    most = DRAWN_APART / sum(len(event.probs) for event in events)
    draws = int(np.clip(most, max(FEWEST_DRAWS, FEWER_PER_CLASS * k), DRAWS_PER_CLASS * k))
    each = [
        is_calibrated(as_predictions(event, predictions.groups), n_draws=draws, ties="count", cluster=cluster)
        for event in events
    ]
    own, adjusted = np.array([one.p_value for one in each]), np.array(holm([one.p_value for one in each]))
    scores = -own + 1e-6 * np.array([_distance(event) for event in events])  # many share the smallest p-value
    settings = {"view": "classwise", "n_draws": max(1, (draws + 1) // k - 1)}
    null = f"each class tested by itself; p-values multiplied by {k}"
    outcome = ("classwise", "class by class", float(own.min()), float(adjusted.min()))
    found = wrong_classes(predictions.classes, adjusted, scores)
    return TestResult(*outcome, predictions.n, null, settings, {}, each[0].cautions, found), scores, adjusted


def views_of(predictions: Predictions) -> set[str]:
    """The questions of all classes."""
    return {f"class {name}" for name in predictions.classes}


def _distance(event: Event) -> float:
    """How far the mean prediction is from the rate, in standard errors, from 0 to 1."""
    pooled = event.pooled
    variance = float((pooled.spread * pooled.values * (1 - pooled.values)).sum())
    z = abs(float(pooled.residual.sum())) / max(variance, 1e-300) ** 0.5
    return z / (1 + z)


def _alike(rows: Predictions) -> bool:
    """Does one temperature leave no class with a clearly wrong level or slope?"""
    from calibrant.maps.temperature import Temperature

    left = class_rows(Temperature().fit(rows).apply(rows), False)
    states = class_lines(left, rows.classes)[0].collect(left.labels[None])
    return bool(np.abs(states).max() <= NormalDist().inv_cdf(1 - LEVEL / (4 * rows.n_classes)))


def _adjusted_again(test: TestResult, adjusted: Floats) -> Floats:
    """The p-values of classes, as much larger as that of all classes is for the other tests."""
    classwise, top = test.parts["classwise"], test.parts["top"]
    return np.clip(adjusted * (2 if classwise.p_value <= top.p_value else 1), classwise.parts["adjusted"], 1.0)


def _joined(found: dict[str, TestResult], n: int) -> TestResult:
    """The tests as one; a calibrated distribution implies calibrated classes and a calibrated top class."""
    shares = {name: SHARES[name] / sum(SHARES[each] for each in found) for name in found}
    p = min(1.0, *(each.p_value / shares[name] for name, each in found.items()))
    narrower = ("top", "classwise")
    adjusted = dict(zip(narrower, holm([found[name].p_value for name in narrower]), strict=True)) | {"canonical": p}
    parts: dict[str, Any] = {
        name: replace(
            each,
            title=TITLES[name],
            parts={**each.parts, "adjusted": max(p, adjusted[name])},
            finding=each.finding.split("; ")[0],
        )
        for name, each in found.items()
    }
    fired = [each.finding for each in parts.values() if each.parts["adjusted"] <= LEVEL and each.finding]
    finding = "; ".join(dict.fromkeys(fired)) or "no sign of miscalibration"
    smallest = min(each.p_value for each in found.values())
    # draws of one test whose smallest p-value is no smaller than the smallest that is possible here
    draws = max(int(max((each.settings["n_draws"] + 1) * shares[name] for name, each in found.items())) - 1, 1)
    many = {2: "two", 3: "three"}[len(found)]
    settings, null = {"view": "all", "n_draws": draws}, f"{many} tests, which share the rate of false alarms"
    cautions = tuple(dict.fromkeys(caution for each in found.values() for caution in each.cautions))
    return TestResult("is_calibrated", f"all {many}", smallest, p, n, null, settings, parts, cautions, finding)


def class_test(rows: ClassRows, classes: tuple[Any, ...], exact: Exact) -> tuple[TestResult, Floats, Floats]:
    """Is every class calibrated? Labels are drawn from the predicted distributions, and the worst class is ranked.

    Parameters
    ----------
    rows
        Rows of all classes.
    classes
        Their names.
    exact
        The number of draws.

    Three statistics look at a class: its total, its bins, and the slope of its log-odds. Each
    is measured in its own null's spread, and the largest is the class's score. Behind the
    result are the scores and each class's p-value, adjusted for all classes (step-down).
    """
    hypothesis = rows.hypothesis
    (found,), _ = drawn_values(hypothesis, class_statistics(rows, classes), exact)
    scores = _class_scores(found.values)
    adjusted, observed = step_down(scores, 0.95).adjusted, scores[0]
    p = 0.0 if hypothesis.impossible else float(adjusted.min())
    outcome = ("classwise", "class by class", float(observed.max()), p)
    finding = wrong_classes(classes, adjusted, observed)
    return as_result(hypothesis, exact, outcome, {}, finding), observed, adjusted


def wrong_classes(classes: tuple[Any, ...], adjusted: Floats, scores: Floats) -> str:
    """The classes whose p-value is small, the largest scores first."""
    wrong = [str(classes[c]) for c in np.argsort(-scores, kind="stable") if adjusted[c] <= LEVEL]
    return f"class {', '.join(wrong[:NAMED])}{' and others' * (len(wrong) > NAMED)}" if wrong else ""


def class_statistics(rows: ClassRows, classes: tuple[Any, ...]) -> list[Statistic]:
    """The statistics of every class: first its bins and total, then its slope."""
    return [*_bin_scores(rows), *_slope_scores(rows, classes)]


def _class_scores(values: Floats) -> Floats:
    """The score of each class, from the values of its statistics; row 0 is observed."""
    return np.asarray(np.maximum.reduce(np.split(_spreads(values), 2, axis=1)))


def class_p_value(values: Floats) -> float:
    """The p-value of the worst class, from the values of `class_statistics`; row 0 is observed."""
    return float(step_down(_class_scores(values), 0.95).adjusted.min())


def _spreads(values: Floats) -> Floats:
    """Each column's distance from its median, in units of that of its 99th percentile: rare classes have long tails."""
    middle, far = np.quantile(values, (0.5, 0.99), axis=0)
    scale = np.where(far > middle, far - middle, 1.0)
    return np.minimum((values - middle) / scale, LARGEST)


def _slope_scores(rows: ClassRows, classes: tuple[Any, ...]) -> list[Statistic]:
    """One statistic per class, of the slope of its log-odds."""
    collect = class_lines(rows, classes)[0].collect  # level and slope of each class in turn

    def of_class(c: int) -> Statistic:
        return Statistic(
            f"slope {c}", f"slope of class {c}", collect, lambda states: _normal(states[:, 2 * c + 1] ** 2, 1)
        )

    return [of_class(c) for c in range(rows.probs.shape[1])]


def _bin_scores(rows: ClassRows) -> list[Statistic]:
    """One statistic per class, of the hits in its bins and in all."""
    n, k = rows.probs.shape
    w, size = rows.weights, k * N_BINS
    slots, sums = np.empty((n, k), np.int64), np.zeros((3, size))
    for c in range(k):
        p = np.ascontiguousarray(rows.probs[:, c])
        slots[:, c] = c * N_BINS + EqualMass(N_BINS).index(Event(p, np.zeros(n, np.uint8), rows.unit, "class"))
        for row, each in enumerate((w, w * p, w**2 * p * (1 - p))):
            sums[row] += np.bincount(slots[:, c], each, size)

    def collect(labels: Any) -> Floats:
        hits = np.zeros((len(labels), size))
        class_hits(labels, slots, w, hits)
        return hits

    def of_class(c: int) -> Statistic:
        mine = slice(c * N_BINS, (c + 1) * N_BINS)
        known = sums[:, mine]
        whole = known.sum(axis=1, keepdims=True)

        def finish(hits: Floats) -> Floats:
            each, total = _deviance(hits[:, mine], *known), _deviance(hits[:, mine].sum(axis=1, keepdims=True), *whole)
            return np.maximum(_normal(each.sum(axis=1), N_BINS), _normal(total[:, 0], 1))

        return Statistic(f"class {c}", f"class {c}", collect, finish)

    return [of_class(c) for c in range(k)]


def _deviance(hits: Floats, rows: Floats, expected: Floats, variance: Floats) -> Floats:
    """About (hits − expected)² / variance, with the tail of a Poisson count of hits or misses, whichever are rarer."""
    misses = 2 * expected > rows
    seen, mean = np.where(misses, rows - hits, hits), np.where(misses, rows - expected, expected)
    seen = np.maximum(seen, 0.0)  # rounding of weighted sums
    with np.errstate(divide="ignore", invalid="ignore"):
        deviance = np.where(seen > 0, seen * np.log(seen / mean), 0.0) - (seen - mean)
        found = 2 * np.maximum(deviance, 0.0) * mean / variance
    impossible = (variance <= 0) & (np.abs(seen - mean) > 1e-9 * np.maximum(rows, 1.0))
    return np.where(variance > 0, found, np.where(impossible, np.inf, 0.0))


def _normal(square: Floats, degrees: int) -> Floats:
    """A χ² as a standard normal number (Wilson and Hilferty), so that one and several degrees compare."""
    part = 2 / (9 * degrees)
    return np.asarray(((square / degrees) ** (1 / 3) - (1 - part)) / part**0.5)
