"""The whole vector of probabilities: classes drawn from it, and statistics that look at all classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import EqualMass
from calibrant.kernels.draws.null_draws import Seeds, draw_classes, replicate_seeds
from calibrant.kernels.draws.null_sums import class_hits, picked_sums
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.resampling.draw import BLOCK_ERRORS, LARGEST, Statistic, content_seed
from calibrant.resampling.exact import Plan, null_parts, planned
from calibrant.resampling.null import IMPOSSIBLE, UNSAID
from calibrant.resampling.rank import rank_p_value
from calibrant.resampling.rows import Atoms, cluster_kind, refuse_many, refuse_soft, unsaid_groups
from calibrant.results import TestResult

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]

CLASS_BINS = 10
"""Bins of each class in the class-wise χ²."""

MOST_HELD = 1e8
"""Probabilities of rows that stand as often as they weigh: 800 MB."""

NULL = "classes drawn from the whole vector, rows independent"


@dataclass(frozen=True, slots=True, eq=False)
class WholeRows:
    """Rows in an order of their own, so that the order they came in does not matter; rows of weight 2 stand twice."""

    probs: Floats
    labels: Labels
    n: int
    unsaid: bool = False
    """as in `Atoms`"""

    @property
    def seed_arrays(self) -> tuple[Floats, Labels]:
        return self.probs, self.labels

    def below(self) -> NDArray[np.uint64]:
        """(n, K − 1): 2⁶³ times the probability of the classes up to each."""
        sums = np.cumsum(self.probs, axis=1)
        shares = sums[:, :-1] / sums[:, -1:]
        # a class of probability 0 after the last one that is not must not catch what rounding leaves
        shares[self.probs[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:] == 0] = 1.0
        return (np.clip(shares, 0.0, 1.0) * 2.0**63).astype(np.uint64)

    @property
    def impossible(self) -> int:
        """Rows whose class was given probability 0."""
        return int((self.probs[np.arange(len(self.probs)), self.labels] == 0).sum())


def whole_rows(predictions: Predictions, cluster: Any) -> WholeRows:
    """The rows of several classes, refused where the null would not be known."""
    refuse_soft(predictions)
    if cluster_kind(predictions, cluster) is not None:
        raise InputError("cluster", "needs one event", "the view is of all classes", "Use view='top' or view='class k'")
    probs, labels = predictions.probs.astype(np.float64), predictions.labels.astype(np.int32)
    if predictions.weights is not None:
        weights = predictions.weights
        if (weights != np.floor(weights)).any():
            raise InputError(
                "weights", "must be whole numbers for a test of all classes", advice="Use view='top' or view='class k'"
            )
        refuse_many(float(weights.sum()), MOST_HELD / probs.shape[1])
        times = weights.astype(np.int64)
        probs, labels = np.repeat(probs, times, axis=0), np.repeat(labels, times)
    mark = np.random.default_rng(0).random(probs.shape[1])  # rows that differ get different marks
    order = np.lexsort((labels, np.einsum("ij,j->i", probs, mark)))
    return WholeRows(probs[order], labels[order], predictions.n, unsaid_groups(predictions, cluster))


def drawn_labels(below: NDArray[np.uint64], seeds: Seeds) -> Labels:
    """(R, n)."""
    labels = np.empty((len(seeds), len(below)), np.int32)
    draw_classes(below, seeds, labels)
    return labels


def whole_test(
    predictions: Predictions,
    name: str,
    title: str,
    value: Callable[[Predictions], float],
    described: dict[str, Any],
    cluster: Any,
    asked: tuple[Any, Any, Any],
) -> TestResult:
    """Any statistic of all classes, called on every draw; `asked` is (n_draws, ties, seed)."""
    rows = whole_rows(predictions, cluster)
    plan = planned(*asked, None, rows.probs.size, fast=False)
    made, coin = content_seed(plan.seed, *rows.seed_arrays)
    below, seeds = rows.below(), replicate_seeds(made, plan.n_draws)
    drawn = (drawn_labels(below, seeds[m : m + 1])[0] for m in range(plan.n_draws))
    values = np.array([value(Predictions(labels, rows.probs)) for labels in chain([rows.labels], drawn)])
    p_value = rank_p_value(values, plan.ties, coin)
    null, settings = f"{NULL}; {plan.n_draws:,} draws", {"method": "exact"} | described | plan.settings
    return TestResult(name, title, values[0], p_value, rows.n, null, settings, null_parts(values, coin), cautions(rows))


def cautions(rows: WholeRows) -> tuple[str, ...]:
    """Of the whole vector."""
    return ((IMPOSSIBLE,) if rows.impossible else ()) + ((UNSAID,) if rows.unsaid else ())


@dataclass(frozen=True, slots=True, eq=False)
class LabelStatistic:
    """A statistic of the classes: `collect` takes labels, `(R, n)`."""

    name: str
    title: str
    collect: Callable[[Labels], Floats]
    finish: Callable[[Floats], Floats]
    words: Callable[[Floats], str]


def drawn_whole(rows: WholeRows, statistics: list[LabelStatistic], plan: Plan) -> tuple[Floats, list[Floats], float]:
    """Values, `(1 + M, S)`, states of the observed, and a coin."""
    made, coin = content_seed(plan.seed, *rows.seed_arrays)
    below, seeds = rows.below(), replicate_seeds(made, plan.n_draws)
    collects = list(dict.fromkeys(statistic.collect for statistic in statistics))

    def part(block: slice) -> list[Floats]:
        labels = drawn_labels(below, seeds[block])
        return [collect(labels) for collect in collects]

    first = [collect(rows.labels[None]) for collect in collects]
    parts = [first, *over_blocks(plan.n_draws, part, max(1, BLOCK_ERRORS // len(below)))]
    states = {c: np.concatenate([part[i] for part in parts]) for i, c in enumerate(collects)}
    with np.errstate(over="ignore"):
        values = np.stack([statistic.finish(states[statistic.collect]) for statistic in statistics], axis=1)
    return np.minimum(values, LARGEST), [states[statistic.collect][0] for statistic in statistics], coin


def class_scores(rows: WholeRows) -> list[LabelStatistic]:
    """Temperature and Brier score: Σ(t(y) − E t) for t = log p and for t = p, over the root of its variance."""
    found = []
    with np.errstate(divide="ignore"):
        logs = np.where(rows.probs > 0, np.log(rows.probs), 0.0)
    for name, title, table in (("temperature", "temperature score", logs), ("brier", "Brier score's z", rows.probs)):
        mean = np.einsum("ij,ij->i", rows.probs, table)
        centred = table - mean[:, None]
        variance = float(np.einsum("ij,ij->", rows.probs, centred**2))
        found.append(_score(name, title, -centred / np.sqrt(variance) if variance > 0 else 0 * centred))
    return found


def _score(name: str, title: str, table: Floats) -> LabelStatistic:
    def collect(labels: Labels) -> Floats:
        sums = np.empty((len(labels), 1))
        picked_sums(labels, table, sums[:, 0])
        return sums

    def words(state: Floats) -> str:
        extreme = "too extreme (over-confident)" if state[0] > 0 else "not extreme enough (under-confident)"
        return f"predictions are {extreme}"

    return LabelStatistic(name, title, collect, lambda states: np.abs(states[:, 0]), words)


def class_bins(rows: WholeRows, n_bins: int, classes: tuple[Any, ...]) -> LabelStatistic:
    """Σ over classes and bins of (expected − happened)² / variance; with one bin a class, the frequencies of the classes."""
    n, k = rows.probs.shape
    slots, expected, variance = np.empty((n, k), np.int64), np.zeros(k * n_bins), np.zeros(k * n_bins)
    for c in range(k):
        p = np.ascontiguousarray(rows.probs[:, c])
        slots[:, c] = c * n_bins + EqualMass(n_bins).index(Event(p, np.zeros(n, np.uint8), None, "class"))
        expected += np.bincount(slots[:, c], p, k * n_bins)
        variance += np.bincount(slots[:, c], p * (1 - p), k * n_bins)
    scale = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)

    def collect(labels: Labels) -> Floats:
        hits = np.zeros((len(labels), k * n_bins))
        class_hits(labels, slots, hits)
        return expected - hits

    def words(state: Floats) -> str:
        worst = int(np.argmax(state**2 * scale))
        way = "high" if state[worst] > 0 else "low"
        return f"predictions of class {classes[worst // n_bins]} are too {way}" + (
            " on average" if n_bins == 1 else " for some values"
        )

    name, title = (
        ("classes", "class frequencies χ²") if n_bins == 1 else ("class bins", "class-wise Hosmer–Lemeshow χ²")
    )
    return LabelStatistic(name, title, collect, lambda states: (states**2 * scale).sum(axis=1), words)


def of_top(rows: WholeRows, make: Callable[[Atoms], Statistic]) -> LabelStatistic:
    """A statistic of the event "the top class is right"."""
    top = rows.probs.argmax(axis=1)
    said = rows.probs[np.arange(len(top)), top]
    order = np.argsort(said, kind="stable")
    p, first = said[order], top[order]
    ones = np.ones(len(p))
    atoms = Atoms(p, ones, ones.astype(np.int64), (first == rows.labels[order]) * 1.0, None, "top", rows.n)
    made = make(atoms)

    def collect(labels: Labels) -> Floats:
        return made.collect(p - (labels[:, order] == first))

    def words(state: Floats) -> str:
        return made.words(state).replace("predictions", "top predictions")

    return LabelStatistic(f"top {made.name}", f"top class: {made.title}", collect, made.finish, words)
