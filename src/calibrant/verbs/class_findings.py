"""The classes that are most clearly wrong, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from calibrant.infer import calibration_error_interval
from calibrant.predictions import Event, as_predictions
from calibrant.resampling.exact import LEVEL
from calibrant.results import Framed, Record, Table, kind, p_cell
from calibrant.results.constraints import Shape, Within
from calibrant.types import Bools, Floats
from calibrant.verbs.faults import fault_of

GIVEN_0 = "occurred with probability 0"
"""What is said of a class that was ruled out and occurred."""

SHOWN, NAMED = 10, 3
"""Classes in the table, and in the verdict."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ClassFindings(Framed, Record):
    """The classes that are most clearly wrong, first those, with p-values and intervals that hold for all classes."""

    classes: tuple[Any, ...]
    mean_prob: Annotated[Floats, Shape("classes"), Within(0, 1)]
    label_rate: Annotated[Floats, Shape("classes"), Within(0, 1)]
    low: Annotated[Floats, Shape("classes"), Within(0, 1)]
    """ends of the interval of each class's calibration error"""
    high: Annotated[Floats, Shape("classes"), Within(0, 1)]
    adjusted: Annotated[Floats, Shape("classes"), Within(0, 1)]
    """p-value of each class, adjusted for all classes"""
    findings: Annotated[tuple[str, ...], Shape("classes")]
    """how a class at fault is predicted; empty for the others"""
    n_classes: int
    """of all classes; those not listed here are no worse"""
    n_wrong: int
    """classes at fault"""
    least: float = 0.0
    """the smallest p-value that so many draws can give"""
    every: Annotated[Floats, Within(0, 1)] = field(default_factory=lambda: np.empty(0))
    """the p-values of all classes, in their own order"""
    alike: bool = False
    """do all classes err alike, so that one temperature would leave no class clearly wrong?"""

    @property
    def wrong_otherwise(self) -> bool:
        """Is a class wrong in another way than that it occurred with probability 0?"""
        return any(text not in ("", GIVEN_0) for text in self.findings)

    def named(self, how: bool) -> str:
        """The classes at fault.

        Parameters
        ----------
        how
            Say of each in short what is wrong with it; `findings` says more.
        """
        named, left = self.worst(how), max(self.n_wrong - NAMED, 0)
        if left and self.n_wrong == self.n_classes:
            return f"all {self.n_classes:,} classes, most clearly {named}"
        more = f" and {left:,} more of {self.n_classes:,}" if left else ""
        return f"class{'es' * (self.n_wrong > 1)} {named}{more}" if named else ""

    def worst(self, how: bool = True) -> str:
        """The first few classes at fault.

        Parameters
        ----------
        how
            As in `named`.
        """
        both = zip(self.classes, self.findings, strict=True)
        wrong = [f"{c} ({text.partition(', ')[0]})" if how else f"{c}" for c, text in both if text]
        return ", ".join(wrong[:NAMED])

    def table(self) -> Table:
        """A row per class."""
        columns = ("class", "mean", "observed", "95% interval of the error", "p, adjusted", "finding")
        ends = [f"{low:.4f} … {high:.4f}" for low, high in zip(self.low, self.high, strict=True)]
        p = [p_cell(each, self.least) for each in self.adjusted.tolist()]
        means = (self.mean_prob.tolist(), self.label_rate.tolist())
        rows = tuple(zip(map(str, self.classes), *means, ends, p, self.findings, strict=True))
        left = self.n_classes - len(self.classes)
        more = f" {left:,} more classes are no worse." if left else ""
        return Table("Class by class", columns, rows, f"Intervals and p-values hold for all classes at once.{more}")


def findings_of(
    event: Callable[[int], Event],
    classes: tuple[Any, ...],
    scores: Floats,
    adjusted: Floats,
    least: float,
    refuted: Bools | None = None,
) -> ClassFindings:
    """The classes with the largest scores, with interval and words.

    Parameters
    ----------
    event
        The yes/no question of a class, by its number.
    classes
        The names of all classes.
    scores
        How clearly each is wrong.
    adjusted
        Its p-value, adjusted for all classes.
    least
        The smallest that is possible.
    refuted
        Which classes occurred where they had probability 0: those are wrong, whatever
        the draws show.
    """
    k = len(classes)
    refuted = np.zeros(k, bool) if refuted is None else refuted
    drawn, adjusted = adjusted, np.where(refuted, 0.0, adjusted)
    order = np.lexsort((-scores, ~refuted))[:SHOWN].tolist()
    wrong = int((adjusted <= LEVEL).sum())
    means, rates, ends, words = [], [], [], []
    for c in order:
        own = event(c)
        means.append(float(np.average(own.probs.astype(np.float64), weights=own.weights)))
        rates.append(float(np.average(own.outcomes, weights=own.weights)))
        interval = calibration_error_interval(as_predictions(own), level=1 - 0.05 / k)
        ends.append((interval.low, interval.high))
        how = (fault_of(own).words.removeprefix("predicts ") or "wrong in places") if drawn[c] <= LEVEL else ""
        words.append(", ".join(filter(None, (GIVEN_0 * bool(refuted[c]), how))))
    low, high = np.array(ends).T
    names = tuple(classes[c] for c in order)
    found = (names, np.array(means), np.array(rates), low, high, adjusted[order], tuple(words), k, wrong)
    return ClassFindings(*found, least, adjusted)
