"""Bias and spread of a binned error by sample size and number of bins, other estimators beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np

from calibrant.bins import EqualMass
from calibrant.estimate.binned import binned_error
from calibrant.estimate.chosen import RULES, Rule, rule_name
from calibrant.norms import Norm
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Answer, Table, kind, number
from calibrant.simulate.bias import bias
from calibrant.simulate.measuring import Named, named_all, sizes_of
from calibrant.simulate.world import EventWorld
from calibrant.types import Floats, Seed


@kind
@dataclass(frozen=True, eq=False, repr=False)
class BiasGrid(Answer):
    """Bias and spread of a binned error: one row per sample size, one column per number of bins or other estimator."""

    world: str
    rule: str
    norm: Norm
    debiased: bool
    truth: float
    sizes: tuple[int, ...]
    n_bins: tuple[int, ...]
    beside: tuple[str, ...]
    """the other estimators: the last columns"""
    bias: Floats
    error: Floats
    """Monte-Carlo standard errors of the biases"""
    sd: Floats
    """standard deviations of the estimates"""
    sd_error: Floats
    """and their Monte-Carlo standard errors"""

    question: ClassVar[str] = "How biased is the binned error?"

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each column."""
        return (*map(str, self.n_bins), *self.beside)

    @property
    def variance(self) -> Floats:
        """Variances of the estimates."""
        return np.asarray(self.sd**2)

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per sample size and column; other estimators have no number of bins."""
        numbers = (*self.n_bins, *(None for _ in self.beside))
        found = []
        for i, j in product(range(len(self.sizes)), range(len(self.columns))):
            row = {"n": self.sizes[i], "estimator": self.columns[j], "n_bins": numbers[j]}
            found.append(row | {name: float(getattr(self, name)[i, j]) for name in ("bias", "error", "sd", "sd_error")})
        return found

    def best(self) -> tuple[tuple[int, int], ...]:
        """For each size the number of bins whose bias is closest to 0."""
        least = np.abs(self.bias[:, : len(self.n_bins)]).argmin(axis=1)
        return tuple((n, self.n_bins[k]) for n, k in zip(self.sizes, least, strict=True))

    def sentence(self) -> str:
        """How many bins are best."""
        best = (f"{bins} bins at n = {n:,}" for n, bins in self.best())
        return f"The bias is closest to 0 with {', '.join(best)}."

    def tables(self) -> tuple[Table, ...]:
        """Biases and standard deviations with their errors."""
        how = f"{'debiased ' * self.debiased}norm {self.norm:{'g' if self.norm != 'max' else ''}}, bins of equal {self.rule}"
        note = f"{self.world}; the true error is {number(self.truth)}. ± is one Monte-Carlo standard error."
        titles = ("Bias by sample size and number of bins", "Standard deviation by sample size and number of bins")
        return tuple(
            Table(f"{title}: {how}", ("n", *self.columns), self._cells(*pair), note)
            for title, pair in zip(titles, ((self.bias, self.error), (self.sd, self.sd_error)), strict=True)
        )

    def _cells(self, values: Floats, errors: Floats) -> tuple[tuple[Any, ...], ...]:
        return tuple(
            (n, *(f"{number(v)} ± {number(e)}" for v, e in zip(*pair, strict=True)))
            for n, *pair in zip(self.sizes, values, errors, strict=True)
        )


@checked
def bias_grid(
    world: EventWorld,
    sizes: Sequence[int],
    n_bins: Sequence[int],
    n_data_sets: int = 1000,
    seed: Seed = 0,
    *,
    bins: Rule = EqualMass,
    norm: Norm = 2,
    debiased: bool = False,
    beside: Any = (),
    **options: Any,
) -> BiasGrid:
    """How biased is a binned error, and how spread, for each sample size and number of bins?

    `plot.bias_grid` draws it: Roelofs et al. 2022, Figs. 7–9 (bias) and 10–12 (spread).

    Parameters
    ----------
    world
        A world of one event.
    sizes
        Rows per data set.
    n_bins
        Numbers of bins to try.
    n_data_sets
        Number of data sets per size.
    seed
        Seed.
    bins
        Their rule: `EqualMass` or `EqualWidth`.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square, any
        number from 1 to 100; `"max"` the largest.
    debiased
        Subtract the part that sampling noise contributes, for norms 1 and 2.
    beside
        Other estimators, as in `bias`, each in a column of its own: `["sweep", "density"]`.
        One that takes a norm gets this one, unless it has one of its own.
    **options
        `workers`, `progress` and `checkpoint` as in `bias`.

    Examples
    --------
    >>> from calibrant.simulate import bias_grid, power_world
    >>> found = bias_grid(power_world(0.05), sizes=[100, 1000], n_bins=[5, 50], n_data_sets=50, beside=["sweep"])
    >>> bool(found.bias[0, 1] > found.bias[1, 1] > 0)  # many bins need many rows
    True
    >>> found.columns, bool((found.sd[0] > found.sd[1]).all())
    (('5', '50', 'sweep'), True)
    """
    name, rows_of, bins_of = rule_name(bins), sizes_of(sizes, "sizes"), sizes_of(n_bins, "n_bins")
    tried: dict[str, Any] = {
        str(b): partial(binned_error, bins=RULES[name](b), norm=norm, debiased=debiased) for b in bins_of
    }
    others = [_of_norm(one, norm) for one in named_all(beside, "beside")[0]]
    for one in others:
        if one.name in tried:
            raise InputError("beside", "must have names of their own", f"{one.name!r} is another column")
        tried[one.name] = one
    rows = bias(tried, world, rows_of, n_data_sets, seed, **options)
    figures = np.array([(row.bias, row.mean_error, row.sd, row.sd_error) for row in rows])
    found = figures.T.reshape(4, len(rows_of), len(tried))
    names = tuple(one.name for one in others)
    described = (world.describe(), name, norm, debiased, rows[0].truth)
    return BiasGrid(*described, tuple(rows_of), tuple(bins_of), names, *found)


def _of_norm(one: Named, norm: Norm) -> Named:
    """The estimator with this norm, if it takes one and has none of its own."""
    if one.option("norm", None) is None or "norm" in one.options:
        return one
    return Named(one.name, one.function, {**one.options, "norm": norm})
