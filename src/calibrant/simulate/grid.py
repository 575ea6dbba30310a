"""The bias of a binned error over sample sizes and numbers of bins (Roelofs et al. 2022, Figures 7 to 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.estimate.binned import binned_error
from calibrant.estimate.chosen import RULES, rule_name
from calibrant.results import Record, Table, kind, number
from calibrant.simulate.bias import bias
from calibrant.simulate.world import EventWorld
from calibrant.types import Floats


@kind
@dataclass(frozen=True, eq=False, repr=False)
class BiasGrid(Record):
    """Bias of a binned error: one row per sample size, one column per number of bins."""

    world: str
    rule: str
    norm: int
    debiased: bool
    truth: float
    sizes: tuple[int, ...]
    n_bins: tuple[int, ...]
    bias: Floats
    error: Floats
    """Monte-Carlo standard errors of the biases"""

    question: ClassVar[str] = "How biased is the binned error?"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        object.__setattr__(self, "n_bins", tuple(self.n_bins))
        self._hold("bias", "error")

    def best(self) -> tuple[tuple[int, int], ...]:
        """For each size the number of bins whose bias is closest to 0."""
        least = np.abs(self.bias).argmin(axis=1)
        return tuple((n, self.n_bins[k]) for n, k in zip(self.sizes, least, strict=True))

    def tables(self) -> tuple[Table, ...]:
        """Biases with their errors."""
        rows = tuple(
            (n, *(f"{number(b)} ± {number(e)}" for b, e in zip(*pair, strict=True)))
            for n, *pair in zip(self.sizes, self.bias, self.error, strict=True)
        )
        how = f"{'debiased ' * self.debiased}norm {self.norm}, bins of equal {self.rule}"
        note = f"{self.world}; the true error is {number(self.truth)}."
        return (Table(f"Bias by sample size and number of bins: {how}", ("n", *map(str, self.n_bins)), rows, note),)

    def __repr__(self) -> str:
        return self.tables()[0].to_text()

    def _repr_html_(self) -> str:
        return self.tables()[0].to_html()


def bias_grid(
    world: EventWorld,
    sizes: Sequence[int],
    n_bins: Sequence[int],
    replications: int = 1000,
    rng: int = 0,
    *,
    bins: Literal["mass", "width"] = "mass",
    norm: Literal[1, 2] = 2,
    debiased: bool = False,
    **options: Any,
) -> BiasGrid:
    """How biased is a binned error, for each sample size and number of bins?

    `plot.bias_grid` draws it.

    Parameters
    ----------
    world
        A world of one event.
    sizes
        Rows per data set.
    n_bins
        Numbers of bins to try.
    replications
        Number of data sets per size.
    rng
        Seed.
    bins
        Bins of equal mass or of equal width.
    norm
        1: expected absolute error; 2: root mean square.
    debiased
        Subtract the part that sampling noise contributes.
    **options
        `workers`, `progress` and `checkpoint` as in `bias`.

    Examples
    --------
    >>> from calibrant.simulate import bias_grid, power_world
    >>> found = bias_grid(power_world(0.05), sizes=[100, 1000], n_bins=[5, 50], replications=50)
    >>> bool(found.bias[0, 1] > found.bias[1, 1] > 0)  # many bins need many rows
    True
    """
    name = rule_name(bins)
    tried = {str(b): partial(binned_error, bins=RULES[name](b), norm=norm, debiased=debiased) for b in n_bins}
    rows = bias(tried, world, list(sizes), replications, rng, **options)
    values, errors = np.array([(row.bias, row.mean_error) for row in rows]).T.reshape(2, len(sizes), len(tried))
    return BiasGrid(world.describe(), name, norm, debiased, rows[0].truth, tuple(sizes), tuple(n_bins), values, errors)
