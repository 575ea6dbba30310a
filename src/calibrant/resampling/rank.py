"""p-values from null draws: the rank of what was observed among what chance shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.types import Floats

Ties = Literal["random", "count"]

CLOSE = 1e-9
"""Values closer than this, relative to their own size and to that of most, are equal: the same sum in another order."""


def rank_p_value(values: Floats, ties: Ties, coin: float) -> float:
    """(1 + #{drawn ≥ observed}) / (M + 1), where `values` holds the observed value and M drawn ones.

    With `random`, the observed value takes a place drawn among its ties by `coin`.

    Under the null all places are equally likely. Counting every tie against the model
    (`count`) is valid too, but has less power where ties are many.
    """
    margin = CLOSE * (_usual_size(np.sort(values)) + abs(float(values[0])))
    above = int(np.count_nonzero(values[1:] > values[0] + margin))
    equal = int(np.count_nonzero(values[1:] >= values[0] - margin)) - above
    return (1 + above + (equal if ties == "count" else int(coin * (equal + 1)))) / len(values)


def _usual_size(ordered: Floats) -> float:
    """The larger of the two quartiles, in absolute value."""
    quarter = len(ordered) // 4
    return max(abs(float(ordered[quarter])), abs(float(ordered[-1 - quarter])))


@dataclass(frozen=True, slots=True)
class JointRank:
    """Several statistics ranked jointly, by their joint null distribution."""

    p_value: float
    smallest: float
    """smallest p-value of any statistic alone"""
    each: tuple[float, ...]
    """p-value of each statistic alone"""
    adjusted: tuple[float, ...]
    """p-values adjusted for all statistics: acting on those up to α makes any mistake with probability at most α"""


def joint_rank(values: Floats, ties: Ties, coin: float, weights: Sequence[float] = (1.0,)) -> JointRank:
    """One exact p-value for the columns of `(1 + M, S)`: every draw is ranked as if it had been observed.

    What is ranked is the harmonic mean of a draw's p-values, with `weights` if given. Like
    their minimum it is ruled by the smallest ones, but several statistics that agree count
    for more than one alone. The adjusted p-values are those of the minimum.
    """
    total = len(values)
    ranks = np.stack([counted_ranks(column) for column in values.T], axis=1)
    p_value = rank_p_value((np.asarray(weights) / ranks).sum(axis=1), ties, coin)
    adjusted = np.searchsorted(np.sort(ranks.min(axis=1)), ranks[0], side="right") / total
    each = ranks[0] / total
    return JointRank(p_value, float(each.min()), tuple(each.tolist()), tuple(adjusted.tolist()))


def counted_ranks(values: Floats) -> Floats:
    """How many of the values are at least as large as each."""
    ordered = np.sort(values)
    below = values - CLOSE * (_usual_size(ordered) + np.abs(values))
    return (len(values) - np.searchsorted(ordered, below, side="left")).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class StepDown:
    """Adjusted p-values, and the score from which each hypothesis is rejected after those above it."""

    adjusted: Floats
    needed: Floats
    critical: float
    """largest score, exceeded under the null with probability 1 − `level`"""


def step_down(scores: Floats, level: float) -> StepDown:
    """The columns of `(1 + M, S)`, row 0 observed, adjusted for each other (Westfall and Young 1993).

    A score is compared with the largest one of itself and of those with a smaller
    observed score: once the largest is rejected, it no longer stands in the way of the
    next. Acting on p-values up to α makes any mistake with probability at most α,
    whichever hypotheses are really false.
    """
    order = np.argsort(-scores[0], kind="stable")
    largest = np.full(len(scores), -np.inf)
    adjusted, needed = np.empty(len(order)), np.empty(len(order))
    place = _critical_place(len(scores), level)
    for s in order[::-1]:
        largest = np.maximum(largest, scores[:, s])
        adjusted[s] = (largest >= scores[0, s] * (1 - CLOSE)).mean()
        needed[s] = np.partition(largest, place)[place]
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return StepDown(adjusted, needed, float(needed[order[0]]))


def critical_score(scores: Floats, level: float) -> float:
    """The score that the largest column exceeds with probability 1 − `level`, counted over all rows."""
    place = _critical_place(len(scores), level)
    return float(np.partition(scores.max(axis=1), place)[place])


def _critical_place(total: int, level: float) -> int:
    """Where it lies in the order of `total` scores."""
    return min(math.ceil((level - CLOSE) * total), total - 1)
