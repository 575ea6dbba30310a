"""What every proper score can do. S(P, y) is a loss: lower is better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrant.interval import mean_with_interval
from calibrant.predictions import Event, Predictions, admit
from calibrant.problems import InputError
from calibrant.results import Estimate


class Score(ABC):
    """A proper score for classes: give `expected` and `of_labels`, and everything else follows.

    With s(P, Q) the score expected when Y ~ Q: entropy g(Q) = s(Q, Q), divergence d(P, Q) = s(P, Q) − g(Q) ≥ 0.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    infimum: ClassVar[float]
    """smallest entropy of any distribution: what a perfect, certain model scores"""

    @abstractmethod
    def of_labels(self, probs: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
        """S(P_i, y_i) for rows of class probabilities `(n, K)` and class indices `(n,)`."""

    @abstractmethod
    def expected(self, probs: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.float64]:
        """s(P, Q) for rows of probabilities and of true distributions, both `(n, K)`."""

    def of_event(self, probs: NDArray[Any], outcomes: NDArray[Any]) -> NDArray[np.float64]:
        """The score of a yes/no question as a problem of two classes."""
        pair = np.stack([1 - probs, probs], axis=1)
        if outcomes.dtype == np.uint8:
            return self.of_labels(pair, outcomes)
        return self.expected(pair, np.stack([1 - outcomes, outcomes], axis=1))

    def entropy(self, truth: NDArray[Any]) -> NDArray[np.float64]:
        """g(Q): what the truth itself scores."""
        return self.expected(truth, truth)

    def divergence(self, probs: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.float64]:
        """d(P, Q): what saying P costs when Q is true; 0 when they agree."""
        return self.expected(probs, truth) - self.entropy(truth)

    def rows(self, predictions: Predictions, view: Any = "canonical") -> NDArray[np.float64]:
        """The score of each row: of the whole distribution, or of a view's yes/no question."""
        if view != "canonical":
            return self.of_question(predictions.event(view))
        if predictions.is_binary:
            return self.of_event(predictions.probs, predictions.labels)
        if predictions.soft:
            return self.expected(predictions.probs, predictions.labels)
        return self.of_labels(predictions.probs, predictions.labels)

    def of_question(self, event: Event) -> NDArray[np.float64]:
        """The score of a view's yes/no question."""
        return self.of_event(event.probs, event.outcomes)

    def score(
        self, labels: Any, probs: Any = None, *, view: Any = "canonical", level: float = 0.95, weights: Any = None
    ) -> Estimate:
        """The mean score with its interval."""
        predictions = admit(labels, probs, weights=weights)
        rows = self.rows(predictions, view)
        value, interval, cautions = mean_with_interval(rows, predictions.weights, level)
        if np.isinf(value):
            first = first_infinite(rows, predictions.weights)
            cautions = (f"infinite: row {first} gives probability 0 to what happened",)
        name = "canonical" if view == "canonical" else predictions.view(view)
        described = {"view": name, "score": self.name}
        return Estimate(
            f"{self.name}_score", self.title, value, predictions.n, interval, settings=described, cautions=cautions
        )


def first_infinite(rows: NDArray[np.float64], weights: NDArray[Any] | None) -> int | None:
    """The first row of some weight whose score is infinite."""
    infinite = np.isinf(rows) if weights is None else np.isinf(rows) & (weights > 0)
    return int(np.argmax(infinite)) if infinite.any() else None


def check_score(score: Any) -> Score:
    """A score by its name or as itself."""
    from calibrant.score import SCORES

    if isinstance(score, Score):
        return score
    if isinstance(score, str) and score in SCORES:
        return SCORES[score]
    raise InputError("score", f"must be one of {', '.join(map(repr, SCORES))}, or a Score", f"it is {score!r}")
