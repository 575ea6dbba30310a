"""The Brier score: squared distance between predicted probabilities and labels."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from calibrant.kernels.sums import device_scores
from calibrant.kernels.sums.score_rows import squared_distances, squared_misses, squares
from calibrant.methods import method
from calibrant.options import checked
from calibrant.predictions import Event
from calibrant.results import Estimate
from calibrant.score.passes import Quick
from calibrant.score.score import Score, passing_on
from calibrant.types import Array, Floats


@method("score", state="moments")
class BrierScore(Score):
    """Σ_k (p_k − [y = k])², in [0, 2].

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> round(float(cal.score.BrierScore().divergence(np.array([0.5, 0.5]), np.array([0.8, 0.2]))), 6)
    0.18
    """

    name, title, infimum = "brier", "Brier score", 0.0
    rooted: ClassVar[bool] = True
    quick: ClassVar[Quick] = Quick(
        labels=squared_distances,
        event=partial(squared_misses, 2.0),
        question=partial(squared_misses, 1.0),
        tensors=device_scores.squared,
    )

    def of_labels(self, probs: Array, labels: Array) -> Floats:
        """Σ_k p_k² − 2 p_y + 1, as the sum over the other classes plus (1 − p_y)² so that nothing cancels."""
        p_y = probs[np.arange(len(probs)), labels].astype(np.float64)
        squares = np.einsum("ij,ij->i", probs, probs, dtype=np.float64)
        return np.maximum(squares - p_y**2, 0) + (1 - p_y) ** 2

    def largest(self, n: int, n_classes: int) -> float:  # noqa: ARG002
        return 2.0

    def of_classes(self, probs: Array) -> Floats:
        """The same for every class."""
        squares = np.einsum("ij,ij->i", probs, probs, dtype=np.float64)
        found: Floats = np.multiply(probs, -2.0, dtype=np.float64)
        found += squares[:, None] + 1
        return found

    def of_event(self, probs: Array, outcomes: Array) -> Floats:
        """Both classes count: twice (p − y)²."""
        if outcomes.dtype == np.uint8:
            return _squares(2.0, probs, outcomes)
        return super().of_event(probs.astype(np.float64), outcomes)

    def of_question(self, event: Event) -> Floats:
        """A single question counts once: (p − y)², as for scikit-learn's binary score."""
        return _squares(1.0, event.probs, event.outcomes) if event.hard else super().of_question(event) / 2

    def expected(self, probs: Array, truth: Array) -> Floats:
        """Σ_k (p_k − q_k)² + 1 − Σ_k q_k²."""
        distance = ((probs.astype(np.float64) - truth) ** 2).sum(axis=-1)
        entropy: Floats = distance + 1 - (np.asarray(truth, dtype=np.float64) ** 2).sum(axis=-1)
        return entropy


def _squares(times: float, probs: Array, outcomes: Array) -> Floats:
    squares(times, probs, outcomes, found := np.empty(len(probs)))
    return found


@checked
@passing_on(Score.score)
def brier_score(labels: Any, probs: Any = None, **options: Any) -> Estimate:
    """How good are the probabilities? Mean squared distance from the labels, in [0, 2].

    It is summed over the classes. For a binary event both classes count, so that one
    column and two columns agree; `view="binary"` counts the event alone, (p − y)², as
    scikit-learn's `brier_score_loss` does.

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
    >>> round(cal.brier_score([1, 0], [0.8, 0.4]).value, 6)
    0.2
    >>> round(cal.brier_score([1, 0], [0.8, 0.4], view="binary").value, 6)
    0.1
    """
    return BrierScore().score(labels, probs, **options)
