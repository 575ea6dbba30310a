"""Tests of a model's confidences, level by level and in total, adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from calibrant.bins import EqualMass
from calibrant.inputs import check_choice
from calibrant.interval import cluster_mean, two_sided
from calibrant.kernels.draws.laws import ROUNDING, added_laws, hit_law
from calibrant.kernels.draws.laws import two_sided as exact_two_sided
from calibrant.predictions import Event
from calibrant.resampling.draw import LARGEST, Statistic, content_seed
from calibrant.resampling.exact import LEVEL, Exact, drawn_values
from calibrant.resampling.null import hypothesis_of
from calibrant.resampling.rank import Ties, counted_ranks, step_down
from calibrant.resampling.rows import single_rows
from calibrant.resampling.statistics import between, bin_variances
from calibrant.results import Framed, Record, kind
from calibrant.results.constraints import Shape, Within
from calibrant.types import Bools, Floats, Indices

MAX_LEVELS = 21
"""Distinct confidences up to which each is a level of its own: words, or percentages in steps of five."""
RANGES = 10
"""Levels into which more distinct confidences are binned."""
MANY_ANSWERS, UNDECIDED = 10_000, 0.5
"""From so many answers on, adjusted p-values above this are not computed exactly but bounded by a sum."""
TINY = 1e-300
SUBTRACTED = 1e-9
"""From this on the probability of any small p-value is 1 − that of none; smaller ones are summed, not to be lost in rounding."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceLevels(Framed, Record):
    """Level by level: mean confidence, share of right answers, and p-values."""

    low: Annotated[Floats, Shape()]
    high: Annotated[Floats, Shape("low")]
    """smallest and largest confidence of the level: the same if it is one value"""
    n: Annotated[Floats, Shape("low")]
    mean_prob: Annotated[Floats, Shape("low")]
    label_rate: Annotated[Floats, Shape("low")]
    p_value: Annotated[Floats, Shape("low"), Within(0, 1)]
    adjusted: Annotated[Floats, Shape("low"), Within(0, 1)]
    """p-values adjusted for testing all levels and the total"""

    def __len__(self) -> int:
        return len(self.n)

    def names(self) -> list[str]:
        """Each level as a value or a range."""
        ends = zip(self.low, self.high, strict=True)
        return [f"{low:g}" if low == high else f"{low:.3g} – {high:.3g}" for low, high in ends]

    def stretches(self, chosen: Bools) -> list[str]:
        """Names of some levels; three and more neighbouring ranges are one.

        Parameters
        ----------
        chosen
            Which levels.
        """
        names, found, k = self.names(), [], 0
        while k < len(self):
            end = k
            while end < len(self) and chosen[end]:
                end += 1
            ranges = end > k + 2 and bool((self.low[k:end] < self.high[k:end]).all())
            found += [f"{self.low[k]:.3g} – {self.high[end - 1]:.3g}"] if ranges else names[k:end]
            k = end + 1
        return found

    def __repr__(self) -> str:
        return f"ConfidenceLevels({len(self)} levels)"


def level_of_each(event: Event) -> Indices:
    """The level of each answer: its confidence, or one of ten ranges if there are many."""
    values, at = np.unique(event.probs, return_inverse=True)
    if len(values) > MAX_LEVELS:
        at = np.unique(EqualMass(RANGES).index(event), return_inverse=True)[1]
    return at.ravel()


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """The p-value of a number of right answers."""

    p_value: float
    law: Floats = ()  # type: ignore[assignment]
    """of an exact test: the probability of each number of right answers"""
    values: Floats = ()  # type: ignore[assignment]
    """and the p-value of each"""
    steps: Floats | None = None
    """if ties are broken at random: how far below `values` the p-values may lie"""

    @classmethod
    def exact(cls, p: Floats, right: Floats, uniform: float | None) -> _Test:
        law, count = hit_law(p), int(right.sum())
        values, steps = exact_two_sided(law)
        if uniform is None or steps[count] >= 1 - ROUNDING:  # only one number is possible: its p-value stays 1
            return cls(float(values[count]), law, values)
        return cls(max(float(values[count] - uniform * steps[count]), 0.0), law, values, np.maximum(steps, TINY))

    def above(self, x: float) -> Floats:
        """The share of each number's p-values that are larger than x."""
        if self.steps is None:
            return (self.values > x * (1 + ROUNDING)).astype(np.float64)
        return np.clip((self.values - x) / self.steps, 0, 1)

    def chance(self, at_most: float) -> float:
        """The probability of such a small p-value under calibration."""
        return min(float(self.law @ (1 - self.above(at_most))), 1.0)


def levels_tested(
    event: Event, clusters: Indices | None = None, ties: Ties = "count", seed: int = 0
) -> tuple[ConfidenceLevels, float]:
    """Every level with its test, and the adjusted p-value of the total.

    Parameters
    ----------
    event
        Confidences and whether each answer is right.
    clusters
        The question of each answer, numbered from 0.
    ties
        `"count"`: conservative p-values. `"random"`: drawn within their step, so that
        the rate of false alarms is exact.
    seed
        Of these draws.
    """
    check_choice("ties", ties, ("count", "random"))
    p, right, level = event.probs.astype(np.float64), event.outcomes.astype(np.float64), level_of_each(event)
    each = [level == k for k in range(int(level.max()) + 1)]
    if event.weights is None or clusters is not None:
        p_values, (*adjusted, overall) = _one_by_one(event, [*each, np.full(len(p), True)], clusters, ties, seed)
    else:
        p_values, (*adjusted, overall) = _on_draws(event, level, seed)
    w = np.ones(len(p)) if event.weights is None else event.weights
    columns = [
        (p[k].min(), p[k].max(), k.sum(), np.average(p[k], weights=w[k]), np.average(right[k], weights=w[k]))
        for k in each
    ]
    found = (*zip(*columns, strict=True), p_values[:-1], adjusted)
    return ConfidenceLevels(*(np.array(column, dtype=np.float64) for column in found)), overall


def _one_by_one(
    event: Event, levels: list[Bools], clusters: Indices | None, ties: Ties, seed: int
) -> tuple[list[float], list[float]]:
    """p-values of every level and the total, each by its own law; and adjusted."""
    p, right = event.probs.astype(np.float64), event.outcomes.astype(np.float64)
    order = np.lexsort((right, p))  # the seed must not depend on the order of the answers
    made, _ = content_seed(seed, p[order], right[order])
    n = len(levels)
    uniforms = [None] * n if ties == "count" else np.random.default_rng(made).random(n).tolist()
    tests = []
    for rows, uniform in zip(levels, uniforms, strict=True):
        cluster, w = (None if each is None else each[rows] for each in (clusters, event.weights))
        tests.append(_tested(p[rows], right[rows], cluster, uniform, w))
    return [test.p_value for test in tests], _adjusted(tests)


def _on_draws(event: Event, level: Indices, seed: int) -> tuple[list[float], list[float]]:
    """The same with weights: all levels and the total on the same draws, the weights held fixed."""
    atoms, order = single_rows(event, slice(None), None, None)
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(level[order])) + 1, [len(order)]]).astype(np.intp)
    variance, sums = bin_variances(atoms, cuts), between(cuts)
    exact = Exact(None, "count", seed).sized(len(order))

    def of(rows: slice) -> Callable[[Floats], Floats]:
        scale = float(np.sqrt(variance[rows].sum()))

        def standardised(states: Floats) -> Floats:
            error = np.abs(states[:, rows].sum(axis=1))
            # without variance, an error is an outcome of predicted probability 0
            return error / scale if scale > 0 else np.where(error != 0, LARGEST, 0.0)

        return standardised

    parts = [*(slice(k, k + 1) for k in range(len(variance))), slice(None)]
    each = [Statistic(f"part {k}", "", sums, of(rows)) for k, rows in enumerate(parts)]
    (found,), _ = drawn_values(hypothesis_of(atoms), each, exact)
    ranks = np.stack([counted_ranks(column) for column in found.values.T], axis=1)
    return (ranks[0] / len(ranks)).tolist(), step_down(1 / ranks, LEVEL).adjusted.tolist()


def _tested(p: Floats, right: Floats, clusters: Indices | None, uniform: float | None, weights: Any = None) -> _Test:
    """The number of right answers: exact for independent answers, by Student's test on questions otherwise."""
    if clusters is None:
        return _Test.exact(p, right, uniform)
    if (((p == 0) & (right == 1)) | ((p == 1) & (right == 0))).any():
        return _Test(0.0)  # an outcome of predicted probability 0 occurred
    found = cluster_mean(right - p, weights, clusters)
    if found.error is None:
        return _Test(1.0)  # one question has no spread
    w = np.ones(len(p)) if weights is None else weights
    independent = float(np.sqrt((w**2 * p * (1 - p)).sum())) / float(w.sum())
    return _Test(two_sided(found.mean, max(found.error, independent), found.degrees))


def _adjusted(tests: list[_Test]) -> list[float]:
    """Step-down: the probability that any p-value not yet rejected is as small; the total is last."""
    if len(tests) == 2:
        return [tests[0].p_value] * 2  # the total is the level
    order = np.argsort([test.p_value for test in tests], kind="stable")
    adjusted, highest = [0.0] * len(tests), 0.0
    for i, k in enumerate(order):
        highest = max(highest, min(_chance_of_any(tests, set(order[i:].tolist()), tests[k].p_value), 1.0))
        adjusted[k] = highest
    return adjusted


def _chance_of_any(tests: list[_Test], left: set[int], x: float) -> float:
    """That some of the tests left has a p-value as small as x: exact for independent answers, else at most the sum."""
    *levels, total = tests
    if not len(total.law):
        return x * len(left)
    chances = [test.chance(x) for k, test in enumerate(levels) if k in left]
    any_level = 1.0 if 1.0 in chances else -math.expm1(sum(math.log1p(-c) for c in chances))  # 1 − Π(1 − c)
    if len(levels) not in left:
        return any_level
    bound = any_level + total.chance(x)
    if bound < SUBTRACTED or (bound > UNDECIDED and len(total.law) > MANY_ANSWERS):
        return bound
    # Numbers of right answers per level that give no small p-value, summed to the law of the total.
    quiet = [test.law * test.above(x) if k in left else test.law for k, test in enumerate(levels)]
    return max(1 - float(added_laws(quiet) @ total.above(x)), any_level)
