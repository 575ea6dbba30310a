"""What all scores share: of classes, of forecasts of a number, and of pairs of rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from calibrant.types import Floats


class Named(ABC):
    """A score with a name and a title; a class without its own is called by its class name."""

    name: ClassVar[str]
    title: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__name__ in ("Rule", "Score", "ForecastScore", "UScore"):
            return  # a kind of score, not a score
        if not hasattr(cls, "name"):
            cls.name = cls.__name__
        if not hasattr(cls, "title"):
            cls.title = cls.name

    def describe(self) -> dict[str, Any]:
        """Options, for the result's settings."""
        return {}


class Rule(Named):
    """A proper scoring rule S(P, y), a loss. With s(P, Q) the score expected when Y ~ Q: entropy g(Q) = s(Q, Q)."""

    infimum: ClassVar[float] = -math.inf
    """smallest entropy of any distribution: the score of a perfect, certain model; −∞ where there is none"""
    rooted: ClassVar[bool] = False
    """is its root a distance, in the unit of the probabilities?"""

    @abstractmethod
    def expected(self, predicted: Any, truth: Any) -> Floats:
        """s(P, Q), row by row."""

    def entropy(self, truth: Any) -> Floats:
        """g(Q): the score of the truth itself."""
        return self.expected(truth, truth)

    def divergence(self, predicted: Any, truth: Any) -> Floats:
        """d(P, Q): the cost of predicting P when Q is true; 0 when they agree."""
        return self.expected(predicted, truth) - self.entropy(truth)

    @abstractmethod
    def rows(self, predicted: Any) -> Floats:
        """The score of each row."""
