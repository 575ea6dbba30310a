"""How much each row counts: `counts` are rows repeated, `weights` say how much a row matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.inputs import check_weights, refuse
from calibrant.problems import InputError
from calibrant.types import Array, Floats, Indices

MAX_COUNTED = 1e15
"""Rows that counts may stand for: above this, float64 cannot resolve one more row."""


@dataclass(frozen=True, slots=True, eq=False)
class Mass:
    """How much each row counts, in rows.

    Weights are scaled so that they sum to Kish's effective number of rows,
    (Σw)² / Σw². Their own scale is thus lost, and whatever depends on a number of rows
    sees the effective one.
    """

    weights: Floats
    """counts times scaled weights"""
    squares: Floats | None = None
    """counts times squares of the scaled weights, for variances; None where each row counts as itself"""

    def rows(self, chosen: Any) -> Mass:
        """That of some rows; weights have the scale of these rows alone."""
        weights = self.weights[chosen]
        if self.squares is None:
            return Mass(weights)
        squares = self.squares[chosen]
        scale = float(weights.sum()) / (float(squares.sum()) or 1.0)
        if abs(scale - 1) <= 1e-12 or not weights.any():  # all rows in another order, or none that count
            return Mass(weights, squares)
        weights, squares = weights * scale, squares * scale**2
        unit = squares[weights > 0] / weights[weights > 0]
        if np.ptp(unit) <= 1e-12 * unit.max():  # equal weights tell nothing
            return Mass(np.round(weights / np.where(weights > 0, unit[0], 1.0)))
        return Mass(weights, squares)

    @property
    def counts(self) -> Floats:
        """How many rows each row stands for; 0 for those of weight 0."""
        if self.squares is None:
            return self.weights
        squares = np.where(self.squares > 0, self.squares, 1.0)
        return np.round(self.weights * (self.weights / squares))

    @property
    def unit(self) -> Floats:
        """The weight of each of these."""
        return np.ones(len(self.weights)) if self.squares is None else self.weights / np.maximum(self.counts, 1.0)

    def single(self, most: float = 1e8) -> tuple[Indices, Mass]:
        """The row of each copy, and the mass of the copies, where methods need them one by one.

        Parameters
        ----------
        most
            More copies than these are refused.
        """
        if self.n > most:
            raise InputError("counts", f"must stand for at most {most:.3g} rows here", f"they stand for {self.n:.3g}")
        at = np.repeat(np.arange(len(self.weights)), self.counts.astype(np.intp))
        unit = self.unit[at]
        return at, Mass(unit, None if self.squares is None else unit**2)

    @property
    def n(self) -> int:
        """Number of rows, repeated ones included and those of weight 0 left out."""
        return int(self.counts.sum())


class Weighed:
    """What predictions and events know of their rows' counts and weights."""

    __slots__ = ()

    if TYPE_CHECKING:
        weights: Array | None
        squares: Array | None

    @property
    def mass(self) -> Mass | None:
        """How much each row counts; None where each counts once."""
        return None if self.weights is None else Mass(self.weights, self.squares)

    @property
    def spread(self) -> Array | None:
        """What multiplies a row's variance in that of a sum: squared weights, or the counts themselves."""
        return self.weights if self.squares is None else self.squares


def check_mass(counts: Any, weights: Any, n: int) -> Mass | None:
    """Counts and weights, checked; None where every row counts once."""
    if counts is None and weights is None:
        return None
    repeats = np.ones(n) if counts is None else _check_counts(counts, n)
    if weights is None:
        return None if counts is None else Mass(repeats)
    given = check_weights(weights, n)
    w = given / given.max()
    far = "must not differ by more than a factor of 1e100"
    refuse((w > 0) & (w < 1e-100), given, "weights", far, "Give rows that do not matter a weight of 0")
    counted = (w > 0) & (repeats > 0)
    if not counted.any():
        raise InputError("weights", "must not all be zero", "every row that counts has weight 0")
    if w[counted].min() == w[counted].max():  # equal weights tell nothing, whatever they are
        return None if counts is None and counted.all() else Mass(repeats * counted)
    mass = repeats * w
    scale = float(mass.sum()) / float((mass * w).sum())
    return Mass(mass * scale, mass * w * scale**2)


def _check_counts(counts: Any, n: int) -> Floats:
    """One whole number per row: how often it occurred."""
    found: Floats = check_weights(counts, n, "counts")
    advice = "Pass weights= for numbers that say how much each row matters"
    refuse(found != np.floor(found), found, "counts", "must be whole numbers of rows", advice)
    with np.errstate(over="ignore"):
        total = float(found.sum())
    if total > MAX_COUNTED:
        raise InputError("counts", f"must sum to at most {MAX_COUNTED:.0e}", f"they sum to {total:.6g}", advice)
    return found
