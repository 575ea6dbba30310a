"""All classes at once: labels drawn from each row's probabilities, and statistics of every class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import EqualMass
from calibrant.kernels.draws.null_draws import Seeds, draw_classes
from calibrant.kernels.draws.null_sums import class_hits, class_sums, picked_sums
from calibrant.predictions import Event, Mass, Predictions, cluster_kind
from calibrant.problems import InputError
from calibrant.resampling.draw import Statistic
from calibrant.resampling.null import ASSUMED_INDEPENDENT, IMPOSSIBLE, Hypothesis
from calibrant.resampling.rows import Atoms, assumes_independence, refuse_many, refuse_soft
from calibrant.resampling.statistics import bounded_log_odds, collected, extremes, per, shift
from calibrant.types import Floats

Labels = NDArray[np.int32]

CLASS_BINS = 10
"""Bins per class in the class-wise χ²."""

MAX_HELD = 1e8
"""Probabilities of rows that are repeated as often as they weigh: 800 MB."""


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows of all classes in a fixed order, whatever order was given; rows that occurred twice are repeated.

    As a null, it draws the class of every row from its vector of probabilities, rows
    independent.
    """

    probs: Floats
    labels: Labels
    n: int
    assumed_independent: bool = False
    """as in `Atoms`"""
    unit: Floats | None = None
    """the weight of each row, held fixed; None where all are equal"""

    @property
    def observed(self) -> Labels:
        return self.labels

    def draws(self, seeds: Seeds) -> Labels:
        """(R, n) labels."""
        labels = np.empty((len(seeds), len(self.below)), np.int32)
        draw_classes(self.below, seeds, labels)
        return labels

    @cached_property
    def below(self) -> NDArray[np.uint64]:
        """(n, K − 1): 2⁶³ times the cumulative probability of the classes up to each."""
        sums = np.cumsum(self.probs, axis=1)
        shares = sums[:, :-1] / sums[:, -1:]
        # a class of probability 0 after the last one that is not must not catch what rounding leaves
        shares[self.probs[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:] == 0] = 1.0
        return (np.clip(shares, 0.0, 1.0) * 2.0**63).astype(np.uint64)

    def with_labels(self, labels: Labels) -> Predictions:
        """The same rows with drawn labels."""
        found = Predictions.borrowed(labels, self.probs)
        return found if self.unit is None else found.with_mass(Mass(self.unit, self.unit**2))

    @property
    def weights(self) -> Floats:
        return np.ones(len(self.probs)) if self.unit is None else self.unit

    @property
    def hypothesis(self) -> Hypothesis:
        """That classes follow the predicted distributions."""
        impossible = bool((self.probs[np.arange(len(self.probs)), self.labels] == 0).any())
        warnings = (IMPOSSIBLE,) * impossible + (ASSUMED_INDEPENDENT,) * self.assumed_independent
        fixed = "" if self.unit is None else ", weights held fixed"
        text = f"classes drawn from the predicted distributions, rows independent{fixed}"
        return Hypothesis([self], text, (self.probs, self.labels), self.n, {"view": "canonical"}, warnings, impossible)


def class_rows(predictions: Predictions, cluster: Any) -> ClassRows:
    """The rows of several classes, refused where the null would not be known."""
    refuse_soft(predictions)
    if cluster_kind(predictions, cluster) is not None:
        raise InputError("cluster", "needs one event", "the view is of all classes", "Use view='top' or view='class k'")
    probs, labels = predictions.probs.astype(np.float64), predictions.labels.astype(np.int32)
    mass, unit = predictions.mass, np.ones(len(labels))
    if mass is not None:
        refuse_many(mass.n, MAX_HELD / probs.shape[1])
        times = mass.counts.astype(np.int64)
        probs, labels, unit = np.repeat(probs, times, axis=0), np.repeat(labels, times), np.repeat(mass.unit, times)
    mark = np.random.default_rng(0).random(probs.shape[1])  # different rows get different marks
    order = np.lexsort((unit, labels, np.einsum("ij,j->i", probs, mark)))
    fixed = None if mass is None or mass.squares is None else unit[order]
    return ClassRows(probs[order], labels[order], predictions.n, assumes_independence(predictions, cluster), fixed)


def class_scores(rows: ClassRows) -> list[Statistic]:
    """Temperature and Brier score: Σ(t(y) − E t) for t = log p and t = p, over the root of its variance."""
    with np.errstate(divide="ignore"):
        logs = np.where(rows.probs > 0, np.log(rows.probs), 0.0)
    made = []
    for name, title, table in (("temperature", "temperature score", logs), ("brier", "Brier score's z", rows.probs)):
        centred = rows.weights[:, None] * (table - np.einsum("ij,ij->i", rows.probs, table)[:, None])
        variance = float(np.einsum("ij,ij->", rows.probs, centred**2))
        collect = collected(picked_sums, None, -centred / np.sqrt(variance) if variance > 0 else 0 * centred)
        made.append(
            Statistic(name, title, collect, lambda states: np.abs(states[:, 0]), lambda state: extremes(state[0]))
        )
    return made


def class_lines(rows: ClassRows, classes: tuple[Any, ...]) -> list[Statistic]:
    """Level of every class and slope on its log-odds, as in Cox's test: all levels, the worst level, the worst line."""
    p, w = rows.probs, rows.weights[:, None]
    variance = w**2 * p * (1 - p)
    odds = bounded_log_odds(p)
    centred = odds - per((variance * odds).sum(axis=0), variance.sum(axis=0))
    spread = (variance * centred**2).sum(axis=0)
    spread[spread <= 1e-12 * (variance * odds**2).sum(axis=0)] = 0.0  # one prediction has no slope
    factors = [per(np.ones_like(p), np.sqrt(variance.sum(axis=0))), per(centred, np.sqrt(spread))]
    table = w[..., None] * np.stack(factors, axis=2)
    expected = np.einsum("ik,ikj->kj", p, table)

    def collect(labels: Labels) -> Floats:
        sums = np.zeros((len(labels), *expected.shape))
        class_sums(labels, table, sums)
        return (expected - sums).reshape(len(labels), -1)

    def squares(states: Floats) -> Floats:
        return states.reshape(len(states), -1, 2) ** 2

    def level(state: Floats) -> str:
        worst = int(np.argmax(np.abs(state[::2])))
        return shift(state[2 * worst :]).replace("predictions", f"predictions of class {classes[worst]}")

    def line(state: Floats) -> str:
        worst = int(squares(state[None])[0].sum(axis=1).argmax())
        own = state[2 * worst : 2 * worst + 2]
        text = extremes(own[1]) if abs(own[1]) > abs(own[0]) else shift(own)
        return text.replace("predictions", f"predictions of class {classes[worst]}")

    return [
        Statistic("classes", "class frequencies χ²", collect, lambda found: squares(found)[..., 0].sum(axis=1), level),
        Statistic(
            "worst class", "worst class frequency", collect, lambda found: squares(found)[..., 0].max(axis=1), level
        ),
        Statistic(
            "class cox", "worst class-wise Cox χ²", collect, lambda found: squares(found).sum(axis=2).max(axis=1), line
        ),
    ]


def class_bins(rows: ClassRows, classes: tuple[Any, ...]) -> Statistic:
    """Σ over classes and bins of (expected − observed)² / variance."""
    n, k = rows.probs.shape
    slots, expected, variance = np.empty((n, k), np.int64), np.zeros(k * CLASS_BINS), np.zeros(k * CLASS_BINS)
    w = rows.weights
    for c in range(k):
        p = np.ascontiguousarray(rows.probs[:, c])
        event = Event(p, np.zeros(n, np.uint8), rows.unit, "class")
        slots[:, c] = c * CLASS_BINS + EqualMass(CLASS_BINS).index(event)
        expected += np.bincount(slots[:, c], w * p, k * CLASS_BINS)
        variance += np.bincount(slots[:, c], w**2 * p * (1 - p), k * CLASS_BINS)
    scale = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)

    def collect(labels: Labels) -> Floats:
        hits = np.zeros((len(labels), k * CLASS_BINS))
        class_hits(labels, slots, w, hits)
        return expected - hits

    def words(state: Floats) -> str:
        worst = int(np.argmax(state**2 * scale))
        direction = "high" if state[worst] > 0 else "low"
        return f"predictions of class {classes[worst // CLASS_BINS]} are too {direction} for some values"

    name, title = "class bins", "class-wise Hosmer–Lemeshow χ²"
    return Statistic(name, title, collect, lambda states: (states**2 * scale).sum(axis=1), words)


def of_top(rows: ClassRows, make: Callable[[Atoms], Statistic]) -> Statistic:
    """A statistic of the event "the top class is right"."""
    top = rows.probs.argmax(axis=1)
    confidence = rows.probs[np.arange(len(top)), top]
    order = np.argsort(confidence, kind="stable")
    p, first, unit = confidence[order], top[order], rows.weights[order]
    made = make(Atoms.single(p, (first == rows.labels[order]) * 1.0, "top", rows.n, unit))

    def collect(labels: Labels) -> Floats:
        return made.collect(unit * (p - (labels[:, order] == first)))

    def words(state: Floats) -> str:
        return made.words(state).replace("predictions", "top predictions")

    return Statistic(f"top {made.name}", f"top class: {made.title}", collect, made.finish, words)
