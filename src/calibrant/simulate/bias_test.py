"""Is one estimator less biased than another? A paired t-test over worlds and sample sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant.interval.mean import around, two_sided
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Answer, Interval, Table, kind, number, p_words
from calibrant.simulate.bias import Bias


@kind
@dataclass(frozen=True, eq=False, repr=False)
class BiasTest(Answer):
    """Mean absolute biases of two estimators over the same worlds and sizes, and the test that they are equal."""

    first: str
    second: str
    n_pairs: int
    """worlds and sample sizes"""
    mean_first: float
    """mean |bias| of the first"""
    mean_second: float
    difference: float
    """mean of |bias| of the first less that of the second"""
    interval: Interval | None
    t: float
    """difference by its standard error; infinite where all differences are equal and not 0"""
    degrees: int
    p_value: float
    """two-sided"""

    question: ClassVar[str] = "Which estimator is less biased?"
    printed_tables: ClassVar[int | None] = 0

    def sentence(self) -> str:
        """The finding in words."""
        means = f"{number(self.mean_first)} for {self.first}, {number(self.mean_second)} for {self.second}"
        test = f"t = {number(self.t, 2)}, {self.degrees} degrees of freedom, {p_words(self.p_value)}"
        return f"Mean absolute bias over {self.n_pairs} worlds and sizes: {means} ({test})."

    def tables(self) -> tuple[Table, ...]:
        """The two means and the test."""
        rows = ((self.first, self.mean_first), (self.second, self.mean_second), ("difference", self.difference))
        return (Table("Mean absolute bias", ("estimator", "mean |bias|"), rows, self.sentence()),)


@checked
def bias_test(rows: Sequence[Bias], first: str, second: str, *, level: float = 0.95) -> BiasTest:
    """Is the mean absolute bias of two estimators the same? Student's paired t-test.

    Pairs are worlds and sample sizes: for each, |bias| of one estimator less that of the
    other (Roelofs et al. 2022, section 7.1). The test takes the pairs for a sample of
    worlds and sizes; it says nothing about one world, and sizes of one world are not
    independent of each other.

    Parameters
    ----------
    rows
        What `bias` returned, of several worlds together.
    first, second
        The names of the estimators.
    level
        Confidence of the interval of the difference.

    Examples
    --------
    >>> from functools import partial
    >>> import calibrant as cal
    >>> from calibrant.simulate import bias, bias_test, named_world
    >>> tried = {"ece": partial(cal.binned_error, bins=cal.EqualWidth(15), norm=2), "sweep": partial(cal.sweep_error, norm=2)}
    >>> worlds = ["resnet110_c10", "densenet40_c100", "resnet152_imgnet"]
    >>> rows = [row for name in worlds for row in bias(tried, named_world(name), [200, 1000], 50)]
    >>> found = bias_test(rows, "ece", "sweep")
    >>> found.n_pairs, found.mean_first > found.mean_second
    (6, True)
    """
    sides = [{(row.world, row.n): abs(row.bias) for row in rows if row.estimator == name} for name in (first, second)]
    known = sorted({row.estimator for row in rows})
    if not known:
        raise InputError("rows", "must hold what bias returned", "they are empty")
    for argument, name, side in zip(("first", "second"), (first, second), sides, strict=True):
        if not side:
            raise InputError(argument, f"must be one of {', '.join(map(repr, known))}", f"it is {name!r}")
    if sides[0].keys() != sides[1].keys():
        alone = sorted(sides[0].keys() ^ sides[1].keys())[0]
        raise InputError(
            "rows", "must hold both estimators in every world and size", f"one lacks n = {alone[1]}, {alone[0]}"
        )
    if len(sides[0]) < 2:
        raise InputError(
            "rows", "must hold at least two worlds or sizes", "they hold one", "Pass those of several worlds"
        )
    one, other = (np.array([side[key] for key in sorted(sides[0])]) for side in sides)
    apart, count = one - other, len(one)
    mean, error = float(apart.mean()), float(apart.std(ddof=1)) / math.sqrt(count)
    t = mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0
    interval = around(mean, error, count - 1, level, "paired, Student t")
    p = two_sided(mean, error, count - 1) if error > 0 or mean == 0 else 0.0
    means = float(one.mean()), float(other.mean())
    return BiasTest(first, second, count, *means, mean, interval, t, count - 1, p)
