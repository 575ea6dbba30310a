"""The sums of a proper score over rows: mean and spread, mergeable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from calibrant.problems import MapError
from calibrant.results import Record, kind


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ScoreSums(Record):
    """Of the scores s of some rows: their weight Σw, mean and sum of squares Σw(s − s̄)²."""

    every_field_needed: ClassVar[bool] = True

    rows: int
    weight: float
    mean: float
    squares: float

    def __post_init__(self) -> None:
        if not (self.rows >= 1 and 0 < self.weight < math.inf and self.squares >= 0 and not math.isnan(self.mean)):
            raise MapError("the saved sums of a score are damaged")

    def merge(self, other: ScoreSums) -> ScoreSums:
        """The sums of both sets of rows (Chan, Golub & LeVeque)."""
        weight = self.weight + other.weight
        apart = other.mean - self.mean
        if not math.isfinite(apart):  # an infinite score stays infinite
            return ScoreSums(self.rows + other.rows, weight, max(self.mean, other.mean), math.inf)
        mean = (self.weight * self.mean + other.weight * other.mean) / weight
        squares = self.squares + other.squares + apart**2 * self.weight * other.weight / weight
        return ScoreSums(self.rows + other.rows, weight, mean, squares)
