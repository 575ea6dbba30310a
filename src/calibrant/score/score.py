"""What every proper score can do. S(P, y) is a loss: lower is better."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Concatenate, ParamSpec

import numpy as np

from calibrant.inputs import check_level
from calibrant.interval import ClusterMean, LimitedMean, Moments, cluster_mean
from calibrant.interval.mean import mean_of
from calibrant.methods import methods
from calibrant.predictions import (
    DevicePredictions,
    Event,
    Predictions,
    StatePredictions,
    admit,
    cluster_kind,
    event_of_rows,
    few_plain_rows,
)
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.results.later import NONE, Later, LaterFields
from calibrant.score.passes import Quick, score_moments
from calibrant.score.possible import limited_mean, possible_mean
from calibrant.score.rule import Rule
from calibrant.types import Array, Cluster, Floats

P = ParamSpec("P")

LATER_UP_TO = 1 << 14
"""Predicted numbers up to which the interval of a score waits until it is read."""


class Score(Rule):
    """A proper score for classes: define `expected`, and everything else follows.

    Define `of_labels` too if it has a shorter formula. With s(P, Q) the score expected
    when Y ~ Q: entropy g(Q) = s(Q, Q), divergence d(P, Q) = s(P, Q) − g(Q) ≥ 0. The
    calibration error of a score is the mean of d(f, P(Y | f)), what it costs not to
    predict P(Y | f).

    A score of your own is one small class. `name` and `title` are how it is called,
    `infimum` is needed for `upper_bound`:

    Examples
    --------
    >>> import calibrant as cal
    >>> class Cubic(cal.extend.Score):
    ...     title, infimum = "cubic score", 0.0
    ...     def expected(self, probs, truth):
    ...         return 1 + (2 * probs**3 - 3 * truth * probs**2).sum(axis=-1)
    >>> round(Cubic().score([1, 0], [0.8, 0.4]).value, 6)
    0.3
    >>> cal.decompose([1, 0, 1, 0], [0.8, 0.4, 0.4, 0.1], score=Cubic())
    Cubic score 0.4275 = miscalibration 0.0525 − discrimination 0.3750 + uncertainty 0.7500, by isotonic on the same rows.
    """

    ordered: ClassVar[bool] = False
    """do the classes have an order that matters?"""
    reads_logits: ClassVar[bool] = False
    limited: ClassVar[bool] = True
    """does the largest possible score of a row bound the mean usefully?"""
    quick: ClassVar[Quick | None] = None
    """compiled loops for many rows; a subclass may change the formula, so it inherits neither them nor `of_classes`"""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "quick" not in vars(cls):
            cls.quick = None
        if {"of_labels", "expected"} & set(vars(cls)):
            for name in {"of_classes", "largest", "rare_rows"} - set(vars(cls)):
                setattr(cls, name, getattr(Score, name))

    @abstractmethod
    def expected(self, probs: Array, truth: Array) -> Floats:
        """s(P, Q) for rows of probabilities and of true distributions, both `(n, K)`."""

    def of_labels(self, probs: Array, labels: Array) -> Floats:
        """S(P_i, y_i) for rows of class probabilities `(n, K)` and class indices `(n,)`."""
        return self.expected(probs, np.eye(probs.shape[1])[labels])

    def of_event(self, probs: Array, outcomes: Array) -> Floats:
        """The score of a yes/no question as a problem of two classes."""
        pair = np.stack([1 - probs, probs], axis=1)
        if outcomes.dtype == np.uint8:
            return self.of_labels(pair, outcomes)
        return self.expected(pair, np.stack([1 - outcomes, outcomes], axis=1))

    def rows(self, predictions: Predictions, view: Any = "canonical") -> Floats:
        """The score of each row: of all classes, or of a view's yes/no question."""
        if view != "canonical":
            return self.of_question(predictions.event(view))
        if predictions.is_binary:
            return self.of_event(predictions.probs, predictions.labels)
        if self.quick is not None and isinstance(predictions, DevicePredictions):
            return predictions.scored(self.quick.tensors)
        if predictions.soft:
            return self.expected(predictions.probs, predictions.labels)
        return self.of_labels(np.ascontiguousarray(predictions.probs), predictions.labels)

    def of_question(self, event: Event) -> Floats:
        """The score of a view's yes/no question."""
        return self.of_event(event.probs, event.outcomes)

    def of_classes(self, probs: Array) -> Floats:
        """S(P_i, k) for every class k, `(n, K)`."""
        n, k = probs.shape
        return np.stack([self.of_labels(probs, np.full(n, label)) for label in range(k)], axis=1)

    def possible(self, predictions: Predictions, view: Any = "canonical") -> Floats:
        """The score of each row for every possible outcome: `(n, K)`, or `(n, 2)` for a yes/no question."""
        if view == "canonical" and not predictions.is_binary:
            return self.of_classes(np.ascontiguousarray(predictions.probs))
        asked = predictions.event("binary" if view == "canonical" else view)
        ends = [np.full(len(asked.probs), outcome, dtype=np.uint8) for outcome in (0, 1)]
        if view == "canonical":
            return np.stack([self.of_event(asked.probs, end) for end in ends]).T
        return np.stack([self.of_question(replace(asked, outcomes=end)) for end in ends]).T

    def moments(self, predictions: Predictions, view: Any = "canonical") -> Moments | LimitedMean:
        """Mean and spread of the rows' scores in one pass over blocks; for few rows also the limits of what was possible."""
        if isinstance(predictions, StatePredictions) and view == "canonical":
            held = predictions.state.scores
            if self.name not in held:
                known = ", ".join(map(repr, held))
                raise InputError("score", f"must be one of {known} for this state", f"it is {self.name!r}")
            return limited_mean(self, predictions, held[self.name].moments, held[self.name].mean)
        seen = score_moments(self, predictions, view)
        return limited_mean(self, predictions, seen, lambda: possible_mean(self, predictions, view, seen))

    def largest(self, n: int, n_classes: int) -> float:  # noqa: ARG002
        """A bound on the scores of n rows, exceeded with negligible probability; infinite if none is known."""
        return np.inf

    def rare_rows(self, predictions: Predictions, view: Any, value: float) -> Array | None:  # noqa: ARG002
        """Rows (a mask) outside of which no possible score is near a value or above it; None if not known quickly."""
        return None

    def score(
        self,
        labels: Any,
        probs: Any = None,
        *,
        view: Any = "canonical",
        level: float = 0.95,
        cluster: bool | Cluster | None = None,
        counts: Any = None,
        weights: Any = None,
    ) -> Estimate:
        """The mean score with its interval.

        Parameters
        ----------
        labels
            Classes, one per row, or a `Predictions`, which carries everything else.
        probs
            Predicted probabilities: one column for an event, or one per class.
        view
            `"canonical"` scores all classes; `"binary"`, `"top"` or `"class NAME"`
            score that yes/no question alone.
        level
            Confidence of the interval.
        cluster
            How rows of a group, `Predictions(..., groups=)`, depend on each other:
            `"any"` or True, in any way, `"same"`, they share one outcome; None or
            False, not at all. The interval is that of whole groups in either case.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        fill = self.quick.of_few(view) if self.quick is not None and cluster is None else None
        if fill is not None and (rows := few_plain_rows(labels, probs, counts, weights)) is not None:
            fill(rows[1], rows[0], scores := np.empty(len(rows[0])))
            if math.isfinite(mean := mean_of(scores, None)):
                name = "canonical" if view == "canonical" else "binary"
                later = _Waiting(self, name, level, lambda: self.moments(event_of_rows(*rows), view))
                return later.estimate(mean, len(scores))
        predictions = admit(labels, probs, counts=counts, weights=weights)
        return self._of_predictions(predictions, view, level, cluster, predictions is not labels)

    def _of_predictions(self, predictions: Predictions, view: Any, level: float, cluster: Any, lent: bool) -> Estimate:
        name = "canonical" if view == "canonical" else predictions.view(view)
        found: Moments | LimitedMean | ClusterMean
        if self.quick is not None and (cluster is None or cluster is False) and self._few_rows(predictions):
            mean = mean_of(self.rows(predictions, name), predictions.weights, predictions.squares)
            if math.isfinite(mean):
                kept = predictions.copied() if lent else predictions
                return _Waiting(self, name, level, lambda: self.moments(kept, view)).estimate(mean, predictions.n)
        found = moments = self.moments(predictions, view)
        if type(found) is Moments and cluster is None and math.isfinite(found.mean):
            return _Waiting(self, name, level, lambda: moments).estimate(found.mean, predictions.n)
        if cluster_kind(predictions, cluster) and predictions.groups is not None and np.isfinite(found.mean):
            found = cluster_mean(self.rows(predictions, view), predictions.weights, predictions.groups)
        interval, cautions = found.interval(level)
        if np.isinf(found.mean):
            rowless = isinstance(predictions, StatePredictions)
            which = "a row" if rowless else f"row {first_infinite(self.rows(predictions, view), predictions.weights)}"
            cautions = (f"infinite: {which} gives probability 0 to its label",)
        described: Any = Later(lambda: {"view": name, "score": self.name})
        return Estimate(
            f"{self.name}_score", self.title, found.mean, predictions.n, interval, None, described, NONE, cautions
        )

    @staticmethod
    def _few_rows(predictions: Predictions) -> bool:
        """Are there so few rows that the interval takes far longer than the mean?"""
        return not isinstance(predictions, StatePredictions) and math.prod(predictions.shape) <= LATER_UP_TO


class _Waiting(LaterFields):
    """The fields of a mean score that wait until they are read, as they take far longer than the mean."""

    def __init__(self, score: Score, view: str, level: float, found: Callable[[], Moments | LimitedMean]) -> None:
        self.score, self.view, self.level, self.found = score, view, check_level(level), found

    def estimate(self, mean: float, n: int) -> Estimate:
        return Estimate(f"{self.score.name}_score", self.score.title, mean, n, self, None, self, NONE, self)

    @cached_property
    def both(self) -> tuple[Any, tuple[str, ...]]:
        return self.found().interval(self.level)

    def interval(self) -> Any:
        return self.both[0]

    def cautions(self) -> tuple[str, ...]:
        return self.both[1]

    def settings(self) -> dict[str, Any]:
        return {"view": self.view, "score": self.score.name}


def passing_on(
    method: Callable[Concatenate[Any, P], Estimate],
) -> Callable[[Callable[..., Estimate]], Callable[P, Estimate]]:
    """Give a function the signature of the method that it passes its arguments on to."""
    signature = inspect.signature(method)
    _, *parameters = signature.parameters.values()

    def signed(function: Any) -> Any:
        function.__signature__ = signature.replace(parameters=parameters)
        return function

    return signed


def first_infinite(rows: Floats, weights: Array | None) -> int | None:
    """The first row of some weight whose score is infinite."""
    infinite = np.isinf(rows) if weights is None else np.isinf(rows) & (weights > 0)
    return int(np.argmax(infinite)) if infinite.any() else None


def check_score(score: Any) -> Score:
    """A score by its name or as itself."""
    if isinstance(score, Score):
        return score
    known = methods("score")
    if isinstance(score, str) and score in known:
        found: Score = known[score].function()
        return found
    raise InputError("score", f"must be one of {', '.join(map(repr, known))}, or a Score", f"it is {score!r}")
