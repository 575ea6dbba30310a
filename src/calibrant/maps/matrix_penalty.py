"""The penalties of a matrix: as given, or chosen by cross-validation; and whether the fit is too large."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.kernels.fit.softmax_regression import Data, Linear, curvature_of, few_rows, fit, loss, minutes
from calibrant.maps.folds import MANY_NUMBERS, in_folds, judged_of, n_numbers, n_units
from calibrant.predictions import Predictions
from calibrant.problems import InputError

STEADY = 1e-9
"""Penalty that keeps the equations solvable; it moves fits by less than their rounding."""

STRENGTHS = tuple(10.0**power for power in range(0, -7, -1))
"""Penalties that cross-validation tries, strongest first."""

MOST_CLASSES = 4000
"""Classes up to which the search for a matrix, which keeps 64 of its size, needs less than 9 GB."""

ROUGH_GAIN, ROUGH_PASSES = 1e-6, 8
"""A step that gains less than this share of the loss ends the search for a penalty on some folds, after about so many
passes in float32: penalties differ by more."""

MOST_NARROW = 1e15
"""Features below this can be multiplied in float32."""

LONG = 2.0
"""Minutes from which a fit is announced."""


def check_size(predictions: Predictions, n_trials: int = 0) -> None:
    """Refuse a matrix that is too large for the memory; warn where its fit takes minutes."""
    n, k = len(predictions.labels), predictions.n_classes  # rows that are counted are fitted once
    if k > MOST_CLASSES and not few_rows(n, k, diagonal=False):
        needed = f"it has {k}, and the search would need {64 * 8 * k * k / 1e9:.0f} GB"
        advice = "Use StructuredVector() or Temperature()"
        raise InputError("probs", f"must have at most {MOST_CLASSES} columns for a full matrix", needed, advice)
    time = minutes(n, k) + n_trials * minutes(min(n, max(MOST_ROWS, ROWS_PER_CLASS * k)), k, ROUGH_PASSES)
    if time > LONG:
        fits = f"{n_trials} rough fits and one" if n_trials else "one fit"
        text = f"a matrix of {k} classes from {n} rows takes {fits} of {k * (k + 1)} parameters, about {time:.0f} min"
        shorter = "a given strength= and intercept= takes one fit, StructuredVector() seconds"
        warnings.warn(f"{text}; {shorter}", RuntimeWarning, stacklevel=4)


def factors_of(k: int, penalty: str | None, strength: float, intercept: float) -> Linear:
    """The penalty of each parameter."""
    diagonal, rest, bias = {
        None: (0.0, 0.0, 0.0),
        "l2": (strength, strength, strength),
        "odir": (0.0, strength, intercept),
    }[penalty]
    weight = np.where(np.eye(k) > 0, max(diagonal, STEADY), max(rest, STEADY))
    return Linear(weight, np.full(k, max(bias, STEADY)))


def centre_of(start: Linear, penalty: str | None) -> Linear:
    """Penalties shrink towards 0; parameters without penalty are held at the start of the search."""
    if penalty == "l2":
        return Linear(np.zeros_like(start.weight), np.zeros_like(start.bias))
    return start


Share = Callable[[Predictions], float]
"""The part of the outcomes of some rows that is read as predicted."""


def strengths_of(
    predictions: Predictions, how: Any, share: Share, problem: Callable[[Predictions], tuple[Data, Linear]]
) -> tuple[float, float, tuple[str, ...]]:
    """Penalties as the recipe `how` gives them, or chosen: first both equal, then that of the intercept alone."""
    wanted = [how.strength] * (how.penalty is not None) + [how.intercept] * (how.penalty == "odir")
    if "cv" not in wanted:
        strength, intercept = (0.0 if v == "cv" else float(v) for v in (how.strength, how.intercept))
        return strength, intercept, ()
    rows = _some(predictions)
    if n_units(rows) < 2 * how.n_folds:
        return STRENGTHS[0], STRENGTHS[0], (f"too few rows to choose a penalty; it is {STRENGTHS[0]:g}",)
    trials = _Folds(rows, how, share, problem)
    if how.penalty == "l2":
        return (trials.best([(s, s) for s in STRENGTHS])[0], 0.0, ())
    strengths = STRENGTHS if how.strength == "cv" else (float(how.strength),)
    first = trials.best([(s, s if how.intercept == "cv" else float(how.intercept)) for s in strengths])
    if how.intercept != "cv":
        return (*first, ())
    return (*trials.best([(first[0], i) for i in STRENGTHS]), ())


MOST_SHARES = 1000
"""Parts into which counted rows are split at most: counts may stand for any number of rows."""

MOST_ROWS, ROWS_PER_CLASS = 20_000, 200
"""Rows, or rows per class if that is more, that a penalty is chosen on; on few rows it is rather
too strong than too weak."""


def _some(rows: Predictions) -> Predictions:
    """Rows to choose a penalty on: all, or one fold of many."""
    shares = min(rows.n // max(MOST_ROWS, ROWS_PER_CLASS * rows.n_classes), n_units(rows), MOST_SHARES)
    if shares < 2:
        return rows
    rows, masks = in_folds(rows, shares)
    return rows.rows(masks[0])


class _Folds:
    """Held-out losses of penalties, each fold's search starting where its last one ended."""

    def __init__(
        self, rows: Predictions, how: Any, share: Share, problem: Callable[[Predictions], tuple[Data, Linear]]
    ) -> None:
        self.penalty, self.k = how.penalty, rows.n_classes
        judged = judged_of(rows, how.n_folds) if n_numbers(rows) >= MANY_NUMBERS else how.n_folds
        rows, masks = in_folds(rows, how.n_folds)
        data, start = problem(rows)
        self.curvature = None if few_rows(len(data.x), self.k, diagonal=False) else curvature_of(data, start)
        self.share = share(rows)
        data = data.narrowed() if np.abs(data.x).max() < MOST_NARROW else data
        self.parts = [
            (data.rows(~held_out), data.rows(held_out), data.weights[held_out].sum()) for held_out in masks[:judged]
        ]
        self.starts = [start] * len(self.parts)
        self.centre = centre_of(start, how.penalty)
        self.seen: dict[tuple[float, float], float] = {}

    def best(self, candidates: list[tuple[float, float]]) -> tuple[float, float]:
        """The candidate of lowest held-out loss; the stronger of two equal ones.

        Strongest first, and no further after two in a row that are worse than the best so far.
        """
        tried: list[tuple[float, float]] = []
        for candidate in candidates:
            if candidate not in self.seen:
                self.seen[candidate] = self._loss(*candidate)
            tried.append(candidate)
            least = min(tried, key=self.seen.__getitem__)
            if len(tried) - tried.index(least) > 2:
                break
        return least

    def _loss(self, strength: float, intercept: float) -> float:
        total, factors = 0.0, factors_of(self.k, self.penalty, strength, intercept)
        scale = None if self.curvature is None else self.curvature.scales(factors)
        for f, (train, test, share) in enumerate(self.parts):
            found = fit(train, self.starts[f], self.centre, factors, self.share, scale=scale, gain=ROUGH_GAIN)
            self.starts[f] = found.at
            total += share * loss(test, found.at)
        return total
