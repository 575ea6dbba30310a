"""What proper scores of every kind share: scores of classes, and of forecasts of a number."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray


class Rule(ABC):
    """A proper scoring rule S(P, y), a loss. With s(P, Q) the score expected when Y ~ Q: entropy g(Q) = s(Q, Q)."""

    name: ClassVar[str]
    title: ClassVar[str]
    infimum: ClassVar[float] = -math.inf
    """smallest entropy of any distribution: what a perfect, certain model scores; −∞ where there is none"""
    rooted: ClassVar[bool] = False
    """is its root a distance, in the unit of the probabilities?"""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Rule in cls.__bases__:
            return  # a kind of score, not a score
        if not hasattr(cls, "name"):
            cls.name = cls.__name__
        if not hasattr(cls, "title"):
            cls.title = cls.name

    @abstractmethod
    def expected(self, said: Any, truth: Any) -> NDArray[np.float64]:
        """s(P, Q), row by row."""

    def entropy(self, truth: Any) -> NDArray[np.float64]:
        """g(Q): what the truth itself scores."""
        return self.expected(truth, truth)

    def divergence(self, said: Any, truth: Any) -> NDArray[np.float64]:
        """d(P, Q): what saying P costs when Q is true; 0 when they agree."""
        return self.expected(said, truth) - self.entropy(truth)

    @abstractmethod
    def rows(self, said: Any) -> NDArray[np.float64]:
        """The score of each row."""
