"""Plans for several classes: distributions like those given, classes that follow them less surely, and the tests of `diagnose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.detect.omnibus import class_components, components
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.resampling.classes import ClassRows
from calibrant.resampling.draw import Statistic, drawn, values_of
from calibrant.resampling.null import nulls_of
from calibrant.resampling.rank import Ties, joint_rank
from calibrant.resampling.rows import Atoms
from calibrant.results import number
from calibrant.types import Bools, Floats, Indices
from calibrant.verbs.all_classes import SHARES, class_p_value, class_statistics

STRETCHES = 50
"""Stretches of the confidence over which the true rate of the top class is averaged."""

STEPS = 60
"""Halvings in the search for the power."""


@dataclass(frozen=True, slots=True)
class Flattened:
    """The true distribution: a power of the predicted one."""

    power: float

    def describe(self) -> str:
        """In words."""
        return f"p^{number(self.power)}, normalised over the classes,"


@dataclass(frozen=True, slots=True, eq=False)
class ClassWorld:
    """Predicted distributions, and classes drawn from a power of them: below 1 the predictions are over-confident."""

    probs: Floats
    weights: Floats
    """shares of the rows"""
    calibration: Flattened = Flattened(1.0)

    @classmethod
    def like(cls, predictions: Predictions) -> ClassWorld:
        """The world of rows like these, calibrated.

        Parameters
        ----------
        predictions
            Rows of several classes.
        """
        weights = np.ones(len(predictions.labels)) if predictions.weights is None else predictions.weights
        kept = weights > 0
        return cls(predictions.probs.astype(np.float64)[kept], weights[kept] / weights.sum())

    @property
    def truth(self) -> Floats:
        """The true distribution of each row."""
        found = np.where(self.probs > 0, self.probs, 0.0) ** self.calibration.power * (self.probs > 0)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def true_error(self, norm: int) -> float:
        """The calibration error of the top class.

        Parameters
        ----------
        norm
            1 for the mean absolute error, 2 for the root mean square.
        """
        at = np.arange(len(self.probs)), self.probs.argmax(axis=1)
        away, order = self.truth[at] - self.probs[at], np.argsort(self.probs[at], kind="stable")
        weights = self.weights[order]
        stretch = np.minimum((STRETCHES * (np.cumsum(weights) - weights)).astype(int), STRETCHES - 1)
        total = np.bincount(stretch, weights, STRETCHES)
        mean = np.bincount(stretch, weights * away[order], STRETCHES) / np.where(total > 0, total, 1.0)
        return float((total @ np.abs(mean) ** norm) ** (1 / norm))

    def with_power(self, power: float) -> ClassWorld:
        """The same predictions, with classes drawn from this power of them."""
        return replace(self, calibration=Flattened(power))

    def largest_error(self, norm: int) -> float:
        """That of classes that do not depend on the predictions."""
        return self.with_power(0.0).true_error(norm)

    def with_error(self, error: float, norm: int) -> ClassWorld:
        """The over-confident world with this error of the top class.

        Parameters
        ----------
        error
            Of the top class.
        norm
            As in `true_error`.
        """
        most = self.largest_error(norm)
        if error > most:
            least = f"must be at most {most:.4g}, which over-confident predictions like these can have"
            raise InputError("error", least, f"it is {error:.4g}")
        low, high = 0.0, 1.0
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.with_power(middle).true_error(norm) > error else (low, middle)
        return self.with_power((low + high) / 2)

    def describe(self) -> str:
        """In words."""
        n, k = self.probs.shape
        return f"{n:,} distributions over {k} classes, the true one being {self.calibration.describe()[:-1]}"

    def drawn_rows(self, n: int, rng: np.random.Generator) -> Indices:
        """Which rows a data set holds."""
        return np.asarray(rng.choice(len(self.probs), n, p=self.weights))

    def sample(self, n: int, rng: np.random.Generator) -> Predictions:
        """One data set.

        Parameters
        ----------
        n
            Number of rows.
        rng
            The generator.
        """
        rows = self.drawn_rows(n, rng)
        return Predictions(drawn_classes(self.truth[rows], rng), self.probs[rows], classes=range(self.probs.shape[1]))


def drawn_classes(truth: Floats, rng: np.random.Generator) -> Indices:
    """A class per row."""
    below = np.cumsum(truth, axis=1)[:, :-1]
    return np.asarray((below <= rng.random((len(truth), 1))).sum(axis=1))


def p_values_of_classes(world: ClassWorld, n: int, count: int, n_draws: int, rng: np.random.Generator) -> Floats:
    """p-values of the three tests of `diagnose` as one, on data sets of a world that share their predictions.

    Parameters
    ----------
    world
        The world.
    n
        Rows of a data set.
    count
        Number of data sets.
    n_draws
        Null draws, which the data sets share.
    rng
        The generator.
    """
    rows = world.drawn_rows(n, rng)
    probs, truth = world.probs[rows], world.truth[rows]
    labels: Any = np.stack([drawn_classes(truth, rng) for _ in range(count)]).astype(np.int32)
    names, held = tuple(range(probs.shape[1])), ClassRows(probs, labels[0], n)
    top = probs.argmax(axis=1)
    found = {
        "top": top_p_values(probs[np.arange(n), top], labels == top, n_draws, rng),
        "canonical": class_p_values(held, class_components(held, names), labels, n_draws, rng, counted_rank),
        "classwise": class_p_values(held, class_statistics(held, names), labels, n_draws, rng, class_p_value),
    }
    return np.minimum.reduce([p / SHARES[name] for name, p in found.items()])


def top_p_values(predicted: Floats, right: Bools, n_draws: int, rng: np.random.Generator) -> Floats:
    """p-values of `is_calibrated` on the top class of data sets with the same predictions.

    Parameters
    ----------
    predicted
        The confidence of each row.
    right
        Was the top class right, `(data sets, rows)`?
    n_draws
        Null draws, which the data sets share.
    rng
        The generator.
    """
    p, at, rows = np.unique(predicted, return_inverse=True, return_counts=True)
    hits = np.stack([np.bincount(at, each, len(p)) for each in right])
    return event_p_values(p, rows, hits, n_draws, rng, "count")


def event_p_values(
    p: Floats, rows: Indices, hits: Any, n_draws: int, rng: np.random.Generator, ties: Ties, seed: int | None = None
) -> Floats:
    """p-values of `is_calibrated` on data sets of one event that share their predictions.

    Parameters
    ----------
    p
        Distinct predictions.
    rows
        Rows of each.
    hits
        Hits of each, `(data sets, predictions)`.
    n_draws
        Null draws, which the data sets share.
    rng
        The generator.
    ties
        As in `Exact`.
    seed
        Of the null draws; by default from the generator.
    """
    seed = int(rng.integers(2**63)) if seed is None else seed
    atoms = Atoms(p, np.ones(len(p)), rows, np.zeros(len(p)), None, "binary", int(rows.sum()))
    statistics = components(atoms)
    null = drawn(nulls_of(atoms)[0], statistics, n_draws, seed).values[1:]
    impossible = (((p == 0) & (hits > 0)) | ((p == 1) & (hits < rows))).any(axis=1)
    values = values_of(statistics, rows * p - hits)
    weights = [statistic.weight for statistic in statistics]
    ranks = [joint_rank(np.vstack([each, null]), ties, rng.random(), weights).p_value for each in values]
    return np.where(impossible, 0.0, ranks)


def class_p_values(
    rows: ClassRows,
    statistics: Sequence[Statistic],
    labels: Any,
    n_draws: int,
    rng: np.random.Generator,
    p_value: Callable[[Floats], float],
) -> Floats:
    """p-values of a test of all classes on data sets that share their predictions.

    Parameters
    ----------
    rows
        The predictions.
    statistics
        What the test computes.
    labels
        Classes, `(data sets, rows)`.
    n_draws
        Null draws, which the data sets share.
    rng
        The generator.
    p_value
        The p-value of values of the statistics, of which row 0 is observed.
    """
    null: Any = drawn(rows, statistics, n_draws, int(rng.integers(2**63))).values[1:]
    return np.array([p_value(np.vstack([each, null])) for each in values_of(statistics, labels)])


def counted_rank(values: Floats) -> float:
    """The joint p-value of several statistics, with every tie counted; row 0 is observed."""
    return joint_rank(values, "count", 0.5).p_value
