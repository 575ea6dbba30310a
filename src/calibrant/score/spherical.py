"""The spherical score: the angle between predicted probabilities and label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calibrant.kernels.sums import device_scores
from calibrant.kernels.sums.score_rows import angles, label_angles
from calibrant.methods import method
from calibrant.options import checked
from calibrant.results import Estimate
from calibrant.score.passes import Quick
from calibrant.score.score import Score, passing_on
from calibrant.types import Array, Floats


@method("score", state="moments")
class SphericalScore(Score):
    """1 − p_y / ‖p‖₂, in [0, 1].

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> round(float(cal.score.SphericalScore().entropy(np.array([0.5, 0.5]))), 6)
    0.292893
    """

    name, title, infimum = "spherical", "spherical score", 0.0
    quick: ClassVar[Quick] = Quick(labels=label_angles, event=angles, question=angles, tensors=device_scores.angles)

    def of_labels(self, probs: Array, labels: Array) -> Floats:
        """With r = ‖p‖₂, (r² − p_y²) / (r(r + p_y)), so that little is lost near a certain and right answer."""
        p_y = probs[np.arange(len(probs)), labels].astype(np.float64)
        squares = np.einsum("ij,ij->i", probs, probs, dtype=np.float64)
        return _from_squares(p_y, np.maximum(squares - p_y**2, 0))

    def largest(self, n: int, n_classes: int) -> float:  # noqa: ARG002
        return 1.0

    def of_classes(self, probs: Array) -> Floats:
        """The same for every class."""
        return 1 - probs / np.sqrt(np.einsum("ij,ij->i", probs, probs, dtype=np.float64))[:, None]

    def of_event(self, probs: Array, outcomes: Array) -> Floats:
        """The same for the pair (1−p, p)."""
        if outcomes.dtype != np.uint8:
            return super().of_event(probs.astype(np.float64), outcomes)
        other = np.abs(np.subtract(probs, outcomes, dtype=np.float64))
        return _from_squares(1 - other, other**2)

    def expected(self, probs: Array, truth: Array) -> Floats:
        """1 − ⟨p, q⟩ / ‖p‖₂."""
        p, q = np.asarray(probs, dtype=np.float64), np.asarray(truth, dtype=np.float64)
        score: Floats = 1 - (p * q).sum(axis=-1) / np.sqrt((p * p).sum(axis=-1))
        return np.maximum(score, 0)  # rounding


def _from_squares(p_y: Floats, rest: Floats) -> Floats:
    """1 − p_y/‖p‖₂ from p_y and the sum of the other squares."""
    norm = np.sqrt(p_y**2 + rest)
    return rest / (norm * (norm + p_y))


@checked
@passing_on(Score.score)
def spherical_score(labels: Any, probs: Any = None, **options: Any) -> Estimate:
    """How far from the label do the probabilities point? Mean of 1 − p(label)/‖p‖₂, in [0, 1].

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
    >>> round(cal.spherical_score([1, 0], [0.5, 0.5]).value, 6)
    0.292893
    """
    return SphericalScore().score(labels, probs, **options)
