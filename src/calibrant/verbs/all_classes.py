"""Several classes: is the top class, every class by itself, and the whole predicted distribution calibrated?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from calibrant.bins import EqualMass
from calibrant.detect.omnibus import is_calibrated
from calibrant.infer import calibration_error_interval
from calibrant.interval import holm
from calibrant.kernels.draws.null_sums import class_hits
from calibrant.predictions import Event, Predictions
from calibrant.resampling.classes import ClassRows, class_lines, class_rows
from calibrant.resampling.draw import LARGEST, Statistic
from calibrant.resampling.exact import LEVEL, Exact, as_result, drawn_values
from calibrant.resampling.rank import step_down
from calibrant.results import Framed, Record, Table, TestResult, kind, p_cell
from calibrant.results.constraints import Shape, Within
from calibrant.types import Floats
from calibrant.verbs.faults import fault_of

N_BINS = 5
"""Bins of each class's predictions in the class-wise test."""

MOST_PROBABILITIES = 4_000_000
"""Rows times classes up to which the tests of all classes use every row."""

DRAWN_LABELS, FEWEST_DRAWS, MOST_DRAWS = 2e7, 199, 2999
"""Labels drawn by each test of all classes."""

SHOWN, NAMED = 10, 3
"""Classes in the table, and in the verdict."""

SHARES = {"top": 0.2, "classwise": 0.4, "canonical": 0.4}
"""How the tests share the rate of false alarms; the last sees errors of the top class too."""

TITLES = {"top": "top class", "classwise": "class by class", "canonical": "all classes together"}


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ClassFindings(Framed, Record):
    """The classes that are most clearly wrong, first those, with p-values and intervals that hold for all classes."""

    classes: tuple[Any, ...]
    mean_prob: Annotated[Floats, Shape("classes"), Within(0, 1)]
    label_rate: Annotated[Floats, Shape("classes"), Within(0, 1)]
    low: Annotated[Floats, Shape("classes"), Within(0, 1)]
    """ends of the interval of each class's calibration error"""
    high: Annotated[Floats, Shape("classes"), Within(0, 1)]
    adjusted: Annotated[Floats, Shape("classes"), Within(0, 1)]
    """p-value of each class, adjusted for all classes"""
    findings: Annotated[tuple[str, ...], Shape("classes")]
    """how a class at fault is predicted; empty for the others"""
    n_classes: int
    """of all classes; those not listed here are no worse"""
    n_wrong: int
    """classes at fault"""
    least: float = 0.0
    """the smallest p-value that so many draws can give"""

    def named(self, how: bool) -> str:
        """The classes at fault.

        Parameters
        ----------
        how
            Say of each what is wrong with it.
        """
        wrong = [
            f"{c} ({text})" if how else f"{c}" for c, text in zip(self.classes, self.findings, strict=True) if text
        ]
        named, left = ", ".join(wrong[:NAMED]), self.n_wrong - len(wrong[:NAMED])
        if left and self.n_wrong == self.n_classes:
            return f"all {self.n_classes:,} classes, most clearly {named}"
        more = f" and {left:,} more of {self.n_classes:,}" if left else ""
        return f"class{'es' * (self.n_wrong > 1)} {named}{more}" if named else ""

    def table(self) -> Table:
        """A row per class."""
        columns = ("class", "mean", "observed", "95% interval of the error", "p, adjusted", "finding")
        ends = [f"{low:.4f} … {high:.4f}" for low, high in zip(self.low, self.high, strict=True)]
        p = [p_cell(each, self.least) for each in self.adjusted.tolist()]
        means = (self.mean_prob.tolist(), self.label_rate.tolist())
        rows = tuple(zip(map(str, self.classes), *means, ends, p, self.findings, strict=True))
        left = self.n_classes - len(self.classes)
        more = f" {left:,} more classes are no worse." if left else ""
        return Table("Class by class", columns, rows, f"Intervals and p-values hold for all classes at once.{more}")


def judged_classes(predictions: Predictions, top: TestResult) -> tuple[TestResult, ClassFindings, tuple[str, ...]]:
    """One p-value of three tests, what is wrong with which class, and warnings.

    Parameters
    ----------
    predictions
        Rows of several classes.
    top
        The test of the top class.
    """
    step = -(-len(predictions.labels) * predictions.n_classes // MOST_PROBABILITIES)
    used = predictions if step <= 1 else predictions.rows(slice(None, None, step))
    cautions: tuple[str, ...] = ()
    if used is not predictions:
        cautions = (f"the tests of all classes use {used.n:,} of the {predictions.n:,} rows, one in {step}",)
    draws = int(np.clip(DRAWN_LABELS / used.n, FEWEST_DRAWS, MOST_DRAWS))
    canonical = is_calibrated(used, view="canonical", n_draws=draws, ties="count", cluster=False)
    classwise, scores, adjusted = class_test(class_rows(used, False), used.classes, Exact(draws, "count"))
    test = _joined({"top": top, "classwise": classwise, "canonical": canonical}, predictions.n)
    # as much larger as the p-value of all classes is for the two other tests
    final = test.parts["classwise"].parts["adjusted"]
    adjusted = np.clip(adjusted * (2 if classwise.p_value <= top.p_value else 1), final, 1.0)
    return test, _findings(predictions, scores, adjusted, classwise.least_p), cautions


def _joined(found: dict[str, TestResult], n: int) -> TestResult:
    """The three tests as one; a calibrated distribution implies calibrated classes and a calibrated top class."""
    p = min(1.0, *(each.p_value / SHARES[name] for name, each in found.items()))
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
    # draws of one test that would give a p-value as small as the smallest that is possible here
    draws = int(min(each.settings["n_draws"] for each in found.values()) * max(SHARES.values()))
    settings, null = {"view": "all", "n_draws": draws}, "three exact tests, which share the rate of false alarms"
    cautions = tuple(dict.fromkeys(caution for each in found.values() for caution in each.cautions))
    return TestResult("is_calibrated", "all three", smallest, p, n, null, settings, parts, cautions, finding)


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
    (found,), _ = drawn_values(hypothesis, [*_bin_scores(rows), *_slope_scores(rows, classes)], exact)
    scores = np.maximum.reduce(np.split(_spreads(found.values), 2, axis=1))
    adjusted, observed = step_down(scores, 0.95).adjusted, scores[0]
    least = float(adjusted.min())
    wrong = [str(classes[c]) for c in np.argsort(-observed, kind="stable") if adjusted[c] <= LEVEL]
    finding = f"class {', '.join(wrong[:NAMED])}{' and others' * (len(wrong) > NAMED)}" if wrong else ""
    outcome = ("classwise", "class by class", float(observed.max()), least)
    return as_result(hypothesis, exact, outcome, {}, finding), observed, adjusted


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


def _findings(predictions: Predictions, scores: Floats, adjusted: Floats, least: float) -> ClassFindings:
    """The classes with the largest scores, with interval and words."""
    order = np.argsort(-scores, kind="stable")[:SHOWN].tolist()
    wrong, k = int((adjusted <= LEVEL).sum()), predictions.n_classes
    means, rates, ends, words = [], [], [], []
    for c in order:
        view = f"class {predictions.classes[c]}"
        event = predictions.event(view)
        means.append(float(np.average(event.probs.astype(np.float64), weights=event.weights)))
        rates.append(float(np.average(event.outcomes, weights=event.weights)))
        interval = calibration_error_interval(predictions, view=view, level=1 - 0.05 / k)
        ends.append((interval.low, interval.high))
        words.append(
            (fault_of(event).words.removeprefix("predicts ") or "wrong in places") if adjusted[c] <= LEVEL else ""
        )
    low, high = np.array(ends).T
    names = tuple(predictions.classes[c] for c in order)
    found = (names, np.array(means), np.array(rates), low, high, adjusted[order], tuple(words), k, wrong)
    return ClassFindings(*found, least)
