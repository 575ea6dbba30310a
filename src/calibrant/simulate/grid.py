"""The bias of a binned error over sample sizes and numbers of bins (Roelofs et al. 2022, Figures 7 to 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.estimate.binned import binned_error
from calibrant.estimate.chosen import RULES, rule_name
from calibrant.results import Record, Table, kind, number
from calibrant.simulate.bias import biases
from calibrant.simulate.world import EventWorld

Floats = NDArray[np.float64]


@kind
@dataclass(frozen=True, eq=False, repr=False)
class BiasGrid(Record):
    """Bias of a binned error: one row a sample size, one column a number of bins."""

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        object.__setattr__(self, "n_bins", tuple(self.n_bins))
        self._hold("bias", "error")

    def best(self) -> tuple[tuple[int, int], ...]:
        """For each size the number of bins whose bias is closest to 0."""
        least = np.abs(self.bias).argmin(axis=1)
        return tuple((n, self.n_bins[k]) for n, k in zip(self.sizes, least, strict=True))

    def table(self) -> Table:
        """Biases with their errors."""
        rows = tuple(
            (n, *(f"{number(b)} ± {number(e)}" for b, e in zip(*pair, strict=True)))
            for n, *pair in zip(self.sizes, self.bias, self.error, strict=True)
        )
        how = f"{'debiased ' * self.debiased}norm {self.norm}, bins of equal {self.rule}"
        note = f"{self.world}; the true error is {number(self.truth)}."
        return Table(f"Bias by sample size and number of bins: {how}", ("n", *map(str, self.n_bins)), rows, note)

    def __repr__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        return self.table().to_html()


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
    workers: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> BiasGrid:
    """How biased is a binned error, for each sample size and number of bins? Draw it with `plot.bias_grid`.

    Examples
    --------
    >>> from calibrant.simulate import bias_grid, power_world
    >>> found = bias_grid(power_world(0.05), sizes=[100, 1000], n_bins=[5, 50], replications=50)
    >>> bool(found.bias[0, 1] > found.bias[1, 1] > 0)  # many bins need many rows
    True
    """
    rule = RULES[rule_name(bins)]
    tried = {str(b): partial(binned_error, bins=rule(b), norm=norm, debiased=debiased) for b in n_bins}
    options: dict[str, Any] = {"workers": workers, "progress": progress, "checkpoint": checkpoint}
    rows = biases(tried, world, list(sizes), replications, rng, **options)
    shape = (len(sizes), len(tried))
    bias = np.array([row.bias for row in rows]).reshape(shape)
    error = np.array([row.mean_error for row in rows]).reshape(shape)
    described = (world.describe(), rule_name(bins), norm, debiased, rows[0].truth)
    return BiasGrid(*described, tuple(sizes), tuple(n_bins), bias, error)
