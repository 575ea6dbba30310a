"""The ranked probability score: for classes in an order, where a near miss is better than a far one."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from calibrant.kernels.sums import device_scores
from calibrant.kernels.sums.score_rows import ranked_distances, squared_misses
from calibrant.methods import method
from calibrant.options import checked
from calibrant.results import Estimate
from calibrant.score.passes import Quick
from calibrant.score.score import Score, passing_on
from calibrant.types import Array, Floats


@method("score", state="moments")
class RankedProbabilityScore(Score):
    """Σ over the K−1 thresholds of (P(Y ≤ k) − [y ≤ k])², in [0, K−1].

    The classes are in the order of the columns. The sum is not divided by K−1. For two
    classes it is (p − y)², half the Brier score.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> score, probs = cal.score.RankedProbabilityScore(), np.array([[0.8, 0.1, 0.1]] * 3)
    >>> score.of_labels(probs, np.array([0, 1, 2])).round(6)
    array([0.05, 0.65, 1.45])
    """

    name, title, infimum = "ranked", "ranked probability score", 0.0
    ordered: ClassVar[bool] = True
    quick: ClassVar[Quick] = Quick(
        labels=ranked_distances,
        event=partial(squared_misses, 1.0),
        question=partial(squared_misses, 1.0),
        tensors=device_scores.ranked,
    )

    def of_labels(self, probs: Array, labels: Array) -> Floats:
        """Squared distances of the cumulative probabilities from the step at the label."""
        apart = np.array(probs[:, :-1].T, dtype=np.float64, order="C")  # one line per class: sums along rows are faster
        np.cumsum(apart, axis=0, out=apart)
        apart -= labels <= np.arange(len(apart))[:, None]
        return np.einsum("ij,ij->j", apart, apart)

    def largest(self, n: int, n_classes: int) -> float:  # noqa: ARG002
        return max(n_classes - 1.0, 1.0)

    def of_classes(self, probs: Array) -> Floats:
        """The same for every class: one more up to class k, and one less from there."""
        below = np.cumsum(probs[:, :-1], axis=1, dtype=np.float64)
        first = ((below - 1) ** 2).sum(axis=1)
        return first[:, None] + np.concatenate([np.zeros((len(probs), 1)), np.cumsum(2 * below - 1, axis=1)], axis=1)

    def of_event(self, probs: Array, outcomes: Array) -> Floats:
        """One threshold: (p − y)²."""
        apart = np.subtract(probs, outcomes, dtype=np.float64)
        apart *= apart
        return apart if outcomes.dtype == np.uint8 else apart + outcomes * (1 - outcomes)

    def expected(self, probs: Array, truth: Array) -> Floats:
        """Σ_k (F_k − G_k)² + G_k(1 − G_k) with F and G the cumulative probabilities."""
        below, true = (np.cumsum(x[..., :-1], axis=-1, dtype=np.float64) for x in map(np.asarray, (probs, truth)))
        score: Floats = ((below - true) ** 2 + true * np.maximum(1 - true, 0)).sum(axis=-1)
        return score


@checked
@passing_on(Score.score)
def ranked_probability_score(labels: Any, probs: Any = None, **options: Any) -> Estimate:
    """How good are the probabilities of ordered classes? In [0, K−1].

    Squared distance of the cumulative probabilities from the label's step, summed over
    the K−1 thresholds between neighbouring columns, not divided by their number.

    Parameters
    ----------
    labels
        Classes, one per row, or a `Predictions`, which carries everything else.
    probs
        Predicted probabilities: one column for an event, or one per class.
    view
        `"canonical"` scores all classes; `"binary"`, `"top"` or `"class NAME"` score
        that yes/no question alone.
    level
        Confidence of the interval.
    cluster
        How rows of a group, `Predictions(..., groups=)`, depend on each other: `"any"` or
        True, in any way, `"same"`, they share one outcome; None or False, not at all. The
        interval is that of whole groups in either case.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ranked_probability_score([0, 2], [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1]]).value, 6)
    0.75
    """
    return RankedProbabilityScore().score(labels, probs, **options)
