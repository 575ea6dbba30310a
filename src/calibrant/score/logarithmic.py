"""The log score: how surprised was the model by the label?"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from calibrant.kernels.logits import log_probabilities
from calibrant.kernels.sums import device_scores
from calibrant.kernels.sums.score_rows import label_surprises, surprises, surprises_in_numpy
from calibrant.methods import method
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.results import Estimate
from calibrant.score.passes import Quick
from calibrant.score.possible import DOUBT
from calibrant.score.score import Score, passing_on
from calibrant.types import Array, Floats

NEAR = 0.95
"""Share of a score from which another one is near it: cells of scores are narrower, and so is rounding."""


@method("score", state="moments")
class LogScore(Score):
    """−ln p_y, in nats.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> round(float(cal.score.LogScore().entropy(np.array([0.5, 0.5]))), 6)
    0.693147
    """

    name, title, infimum = "log", "log score", 0.0
    reads_logits: ClassVar[bool] = True
    limited: ClassVar[bool] = False
    quick: ClassVar[Quick] = Quick(
        labels=label_surprises, event=surprises, question=surprises, tensors=device_scores.surprises
    )

    def of_labels(self, probs: Array, labels: Array) -> Floats:
        """−ln of the probability of the label; infinite if that was 0."""
        with np.errstate(divide="ignore"):
            surprise: Floats = -np.log(probs[np.arange(len(probs)), labels].astype(np.float64))
        return surprise + 0.0  # −0 is 0

    def largest(self, n: int, n_classes: int) -> float:
        """Some of n·K probabilities below e^(−b) comes true with probability n·K·e^(−b) at most."""
        return math.log(n * max(n_classes, 2) / DOUBT)

    def rare_rows(self, predictions: Predictions, view: Any, value: float) -> Array | None:
        """Rows with a probability below e^(−value) or not much above it."""
        rare = math.exp(-NEAR * value)
        if view == "canonical" and not predictions.is_binary:
            return np.asarray((predictions.probs <= rare).any(axis=1))
        p = predictions.event("binary" if view == "canonical" else view).probs
        return (p <= rare) | (p >= 1 - rare)

    def of_classes(self, probs: Array) -> Floats:
        """The same for every class."""
        with np.errstate(divide="ignore"):
            return 0.0 - np.log(probs.astype(np.float64))

    def of_event(self, probs: Array, outcomes: Array) -> Floats:
        """−ln p or −ln(1−p)."""
        if outcomes.dtype != np.uint8:
            return super().of_event(probs.astype(np.float64, copy=False), outcomes)
        surprise = np.empty(len(probs))
        surprises_in_numpy(probs, outcomes, surprise)
        return surprise

    def expected(self, probs: Array, truth: Array) -> Floats:
        """−Σ_k q_k ln p_k, with 0·ln 0 = 0."""
        p, q = np.asarray(probs, dtype=np.float64), np.asarray(truth, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(q > 0, -q * np.log(p), 0.0)
        total: Floats = terms.sum(axis=-1) + 0.0
        return total

    def rows(self, predictions: Predictions, view: Any = "canonical") -> Floats:
        """From logits where there are any: they hold what a probability rounded to 0 has lost."""
        logits = _own_logits(predictions, view)
        if logits is None or predictions.soft:
            return super().rows(predictions, view)
        if logits.ndim == 1:  # ln(1 + e^z) − y·z
            z = np.where(predictions.labels == 1, -logits, logits).astype(np.float64)
            return np.logaddexp(0.0, z)
        return _from_logits(logits, predictions.labels)

    def possible(self, predictions: Predictions, view: Any = "canonical") -> Floats:
        """From logits where there are any."""
        logits = _own_logits(predictions, view)
        if logits is None:
            return super().possible(predictions, view)
        z = logits.astype(np.float64)
        return np.logaddexp(0.0, np.stack([z, -z], axis=1)) if z.ndim == 1 else 0.0 - log_probabilities(z)


def _own_logits(predictions: Predictions, view: Any) -> Array | None:
    """The logits, where they are about the question asked."""
    same = view == "canonical" or (predictions.is_binary and predictions.view(view) == "binary")
    return predictions.logits if same else None


def _from_logits(logits: Array, labels: Array) -> Floats:
    from calibrant.kernels.logits import row_blocks

    out = np.empty(len(logits))
    for rows in row_blocks(*logits.shape):
        z = log_probabilities(logits[rows].astype(np.float64))
        out[rows] = -z[np.arange(len(z)), labels[rows]]
    return out + 0.0


@checked
@passing_on(Score.score)
def log_score(labels: Any, probs: Any = None, **options: Any) -> Estimate:
    """How surprised was the model by the labels? Mean of −ln p(label), in nats.

    Infinite if any label was given probability 0.

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
    >>> round(cal.log_score([1, 0], [0.5, 0.5]).value, 6)
    0.693147
    """
    return LogScore().score(labels, probs, **options)
