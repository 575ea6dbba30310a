"""How close do maps come to the truth, and do estimators rank as it does? (Kängsepp et al. 2023, Tables 1 to 3)"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_count, check_seed
from calibrant.kernels.compiled import many_calls
from calibrant.maps import CalibrationMap
from calibrant.norms import Norm, check_norm, mean_power, rooted
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Record, Table, kind, number
from calibrant.simulate.any_map import fit_of, function_of, maps_by_name
from calibrant.simulate.map_divergence import DRAWN, rates_given
from calibrant.simulate.measuring import Named, measured, named_all
from calibrant.simulate.world import EventWorld
from calibrant.types import Floats, Seed

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
        A map, a list of maps, or a mapping of names to them. A map is a recipe or its name,
        fitted to each data set; a fitted map or a function of the predicted probabilities,
        taken as it is; a function of labels and predictions that returns either; or any
        object with `fit`, of labels and predictions if its first argument is called so, else
        of predictions and labels as in scikit-learn.
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
    chosen = {name: fit_of(each, name) for name, each in maps_by_name(maps).items()}
    found = np.empty((len(chosen), 3, n_data_sets))
    with many_calls():
        for r in range(n_data_sets):
            generator = np.random.default_rng((seed, n, r))
            (p, y, c), (fresh, _, truth) = (tuple(part[0] for part in world.draw(k, 1, generator)) for k in (n, FRESH))
            true = np.abs(p - c).mean()
            for k, fit in enumerate(chosen.values()):
                of = fit(y, p)
                off = of(fresh) - truth
                found[k, :, r] = np.abs(off).mean(), abs(np.abs(moved(of, p)).mean() - true), (off**2).mean()
    figures = np.stack([found.mean(axis=2), found.std(axis=2, ddof=1) / math.sqrt(n_data_sets)], axis=2)
    rows = zip(chosen, figures.reshape(len(chosen), 6).tolist(), strict=True)
    return tuple(MapQuality(name, world.describe(), n, n_data_sets, *each) for name, each in rows)


def moved(of: Any, p: Floats) -> Floats:
    """How far a map moves each prediction; one of ours may say so before it is kept within [0, 1]."""
    fitted = getattr(of, "__self__", None)
    return fitted.moves(p) if isinstance(fitted, CalibrationMap) else of(p) - p


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
    estimators: Any,
    worlds: EventWorld | Sequence[EventWorld],
    n: int,
    n_data_sets: int = 20,
    seed: Seed = 0,
    norm: Norm = 1,
    maps: Any = None,
) -> dict[str, tuple[float, float]]:
    """Do estimators rank models, or maps of one model, as the truth does?

    Mean and Monte-Carlo error of Spearman's correlation over worlds or maps, per estimator.

    Parameters
    ----------
    estimators
        A list of estimators or of their names, or a mapping of names to them.
    worlds
        The models to rank, at least three. They are models of one data set where they
        share their labels, as the levels of a `ShapeWorld` do. With `maps`, one world.
    n
        Rows per data set.
    n_data_sets
        Number of data sets per world.
    seed
        Seed.
    norm
        Of the true error.
    maps
        At least three fitted maps of the one world's predictions, or functions of them, as a
        list or a mapping: what they make of the same rows is ranked by its true error.

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

    check_count(n_data_sets, "n_data_sets", 2)
    seed, norm, (several, _) = check_seed(seed), check_norm(norm), named_all(estimators)
    if maps is None:
        truths, values = _of_worlds(several, worlds, n, n_data_sets, seed, norm)
    else:
        truths, values = _of_maps(several, worlds, maps, n, n_data_sets, seed, norm)
    found = {}
    for k, one in enumerate(several):
        each = np.array([spearmanr(truths, values[:, k, r]).statistic for r in range(n_data_sets)])
        found[one.name] = float(each.mean()), float(each.std(ddof=1) / math.sqrt(n_data_sets))
    return found


def _of_worlds(
    several: list[Named], worlds: Any, n: int, n_data_sets: int, seed: int, norm: Norm
) -> tuple[list[float], Floats]:
    """True errors, and estimates `(worlds, estimators, data sets)`."""
    if isinstance(worlds, EventWorld) or len(worlds) < 3:
        count = 1 if isinstance(worlds, EventWorld) else len(worlds)
        raise InputError(
            "worlds", "must be at least three to be ranked", f"there {'is' if count == 1 else 'are'} {count}"
        )
    values = np.stack([measured(several, world, n, n_data_sets, seed).values for world in worlds])
    return [world.true_error(norm) for world in worlds], values


def _of_maps(
    several: list[Named], world: Any, maps: Any, n: int, n_data_sets: int, seed: int, norm: Norm
) -> tuple[list[float], Floats]:
    """True errors of the maps' outputs, and estimates `(maps, estimators, data sets)` on the same rows."""
    named = {name: function_of(each, name) for name, each in maps_by_name(maps).items()}
    if not isinstance(world, EventWorld):
        raise InputError("worlds", "must be one world to rank maps of it", f"it is {world!r:.80}")
    if len(named) < 3:
        raise InputError("maps", "must be at least three to be ranked", f"there are {len(named)}")
    check_count(n, "n")
    p, _, rates = (part[0] for part in world.draw(DRAWN, 1, np.random.default_rng((seed, 0))))
    truths = [true_distance(of(p), p, rates, norm) for of in named.values()]
    values = np.empty((len(named), len(several), n_data_sets))
    with many_calls():
        for r in range(n_data_sets):
            p, y, _ = (part[0] for part in world.draw(n, 1, np.random.default_rng((seed, n, r))))
            for m, of in enumerate(named.values()):
                made = Predictions(y, of(p))
                values[m, :, r] = [float(one(made)) for one in several]
    return truths, values


def true_distance(output: Floats, p: Floats, rates: Floats, norm: Norm) -> float:
    """The true error of a map's output, from drawn predictions and their true rates."""
    power = mean_power(output - rates_given(output, p, rates), norm)
    return power if norm == "max" else float(rooted(power, norm))
