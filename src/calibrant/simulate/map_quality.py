"""How close do maps come to the truth, and do estimators rank as it does? (Kängsepp et al. 2023, Tables 1 to 3)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_count, check_seed
from calibrant.kernels.compiled import many_calls
from calibrant.maps import recipe_of
from calibrant.norms import Norm
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Record, Table, kind, number
from calibrant.simulate.measuring import measured, named_all
from calibrant.simulate.world import EventWorld
from calibrant.types import Seed

FRESH = 10_000
"""Rows on which a map is compared with the truth: not those it was fitted on."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class MapQuality(Record):
    """Distances of a fitted map and of its estimated error from the truth, with Monte-Carlo errors."""

    map: str
    world: str
    n: int
    n_data_sets: int
    map_error: float
    """mean of |ĉ(p) − c(p)| over fresh predictions"""
    map_error_error: float
    error_off: float
    """mean of |ECE − CE|: the error estimated on its own rows, against the true error of those rows"""
    error_off_error: float
    squared_error: float
    """mean of |ĉ(p) − c(p)|² over fresh predictions"""
    squared_error_error: float

    def __repr__(self) -> str:
        curve = f"{number(self.map_error)} ± {number(self.map_error_error)} from the true curve"
        error = f"its error {number(self.error_off)} ± {number(self.error_off_error)} from the true one"
        return f"{self.map} fitted on {self.n:,} rows of {self.world}: {curve}, {error}"


@checked
def map_quality(maps: Any, world: EventWorld, n: int, n_data_sets: int = 100, seed: Seed = 0) -> tuple[MapQuality, ...]:
    """How close do fitted maps come to the true curve?

    Parameters
    ----------
    maps
        A list of recipes or of their names, or a mapping of names to them.
    world
        A world of one event.
    n
        Rows that each map is fitted on.
    n_data_sets
        Number of data sets.
    seed
        Seed.

    Examples
    --------
    >>> from calibrant.simulate import ShapeWorld, map_quality
    >>> platt, isotonic = map_quality(["platt", "isotonic"], ShapeWorld("square", 0.05), n=500, n_data_sets=20)
    >>> platt.map_error < isotonic.map_error
    True
    """
    seed = check_seed(seed)
    check_count(n, "n")
    check_count(n_data_sets, "n_data_sets", 2)
    several = [maps] if isinstance(maps, str) or not isinstance(maps, Iterable) else maps
    recipes = maps if isinstance(maps, Mapping) else {str(m): m for m in several}
    chosen = {name: recipe_of(m) for name, m in recipes.items()}
    if not chosen:
        raise InputError("maps", "must name at least one map", "it is empty")
    found = np.empty((len(chosen), 3, n_data_sets))
    with many_calls():
        for r in range(n_data_sets):
            generator = np.random.default_rng((seed, n, r))
            (p, y, c), (fresh, _, truth) = (tuple(part[0] for part in world.draw(k, 1, generator)) for k in (n, FRESH))
            true = np.abs(p - c).mean()
            for k, recipe in enumerate(chosen.values()):
                fitted = recipe.fit(y, p)
                off = fitted.apply(fresh) - truth
                found[k, :, r] = np.abs(off).mean(), abs(np.abs(fitted.moves(p)).mean() - true), (off**2).mean()
    figures = np.stack([found.mean(axis=2), found.std(axis=2, ddof=1) / math.sqrt(n_data_sets)], axis=2)
    rows = zip(chosen, figures.reshape(len(chosen), 6).tolist(), strict=True)
    return tuple(MapQuality(name, world.describe(), n, n_data_sets, *each) for name, each in rows)


def map_quality_table(rows: Sequence[MapQuality]) -> Table:
    """Figures × 10³ side by side, closest first.

    Parameters
    ----------
    rows
        What `map_quality` returned.
    """

    def cell(mean: float, error: float) -> str:
        return f"{1e3 * mean:.2f} ± {1e3 * error:.2f}"

    body = tuple(
        (r.map, r.n, cell(r.map_error, r.map_error_error), cell(r.error_off, r.error_off_error))
        for r in sorted(rows, key=lambda row: (row.world, row.n, row.map_error))
    )
    return Table("Maps against the true curve, × 10³", ("map", "n", "|ĉ − c|", "|ECE − CE|"), body)


@checked
def rank_correlation(
    estimators: Any, worlds: Sequence[EventWorld], n: int, n_data_sets: int = 20, seed: Seed = 0, norm: Norm = 1
) -> dict[str, tuple[float, float]]:
    """Do estimators rank models as the truth does?

    Mean and Monte-Carlo error of Spearman's correlation over worlds, per estimator.

    Parameters
    ----------
    estimators
        A list of estimators or of their names, or a mapping of names to them.
    worlds
        The models to rank, at least three. They are models of one data set where they
        share their labels, as the levels of a `ShapeWorld` do.
    n
        Rows per data set.
    n_data_sets
        Number of data sets per world.
    seed
        Seed.
    norm
        Of the true error.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import ShapeWorld, rank_correlation
    >>> levels = [ShapeWorld("square", level) for level in (0.0, 0.03, 0.06, 0.09)]
    >>> mean, error = rank_correlation({"ECE": cal.ece}, levels, n=1000, n_data_sets=5)["ECE"]
    >>> mean > 0.8
    True
    """
    from scipy.stats import spearmanr

    if len(worlds) < 3:
        raise InputError("worlds", "must be at least three to be ranked", f"there are {len(worlds)}")
    check_count(n_data_sets, "n_data_sets", 2)
    seed, (several, _) = check_seed(seed), named_all(estimators)
    truths = [world.true_error(norm) for world in worlds]
    values = np.stack([measured(several, world, n, n_data_sets, seed).values for world in worlds])
    found = {}
    for k, one in enumerate(several):
        each = np.array([spearmanr(truths, values[:, k, r]).statistic for r in range(n_data_sets)])
        found[one.name] = float(each.mean()), float(each.std(ddof=1) / math.sqrt(n_data_sets))
    return found
