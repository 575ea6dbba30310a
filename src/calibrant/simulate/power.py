"""How often does an estimator, taken as a test, miss a world that is not calibrated? (Roelofs et al. 2022, Figure 5.)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_count, check_level
from calibrant.problems import InputError
from calibrant.results import Record, Table, kind, number
from calibrant.simulate.families import calibrated_world
from calibrant.simulate.measuring import measured
from calibrant.simulate.recipes import Named, named
from calibrant.simulate.world import ScoreWorld, World

Floats = NDArray[np.float64]


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Detection(Record):
    """How often an estimator misses a world that is not calibrated, when it may be wrong about a calibrated one so often."""

    estimator: str
    world: str
    n: int
    replications: int
    alarms: float
    """false alarms allowed"""
    true_error: float
    """the world's expected absolute error"""
    true_rms: float
    """and its root mean square"""
    threshold: float
    """an estimate above this is an alarm"""
    miss_rate: float
    miss_error: float
    """its Monte-Carlo standard error: of the misses counted, and of the threshold"""

    @property
    def power(self) -> float:
        """How often the world is found out."""
        return 1 - self.miss_rate

    def __repr__(self) -> str:
        return (
            f"{self.estimator} on {self.n:,} rows of {self.world}: misses {self.miss_rate:.1%} ± {self.miss_error:.1%} "
            f"with {self.alarms:.0%} false alarms (true error {number(self.true_error)}, alarm above {number(self.threshold)})"
        )


def detection(
    estimator: Any,
    world: World,
    n: int,
    alarms: float = 0.05,
    replications: int = 1000,
    rng: int = 0,
    *,
    workers: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Detection:
    """How often does an estimator fail to see that a world is not calibrated, on `n` rows with so many false alarms?

    The threshold comes from the world's calibrated twin, which says the same and is right: an alarm is an estimate that would
    have a Monte-Carlo p-value of at most `alarms` among `replications` data sets of the twin. Estimators are as in `bias`; large
    values are alarms.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import power_world
    >>> from calibrant.simulate.power import detection
    >>> found = detection(cal.sweep_error, power_world(0.1), n=500, replications=200)
    >>> found.miss_rate < 0.05
    True
    """
    options = {"workers": workers, "progress": progress, "checkpoint": checkpoint}
    return detections([estimator], [world], n, alarms, replications, rng, **options)[0]


def detections(
    estimators: Sequence[Any] | Mapping[str, Any],
    worlds: World | Sequence[World],
    sizes: int | Sequence[int],
    alarms: float = 0.05,
    replications: int = 1000,
    rng: int = 0,
    *,
    workers: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> tuple[Detection, ...]:
    """`detection` of several estimators in several worlds at several sizes; a mapping gives the estimators names.

    All estimators see the same data sets, and worlds with the same scores share their calibrated twin.

    Examples
    --------
    >>> from calibrant.simulate import power_world
    >>> from calibrant.simulate.power import detections
    >>> found = detections(["ece", "sweep"], [power_world(0.05), power_world(0.1)], [100, 400], replications=100)
    >>> [(each.estimator, each.n) for each in found[:4]]
    [('ece', 100), ('sweep', 100), ('ece', 400), ('sweep', 400)]
    """
    several = (
        [named(e, k) for k, e in estimators.items()] if isinstance(estimators, Mapping) else [*map(named, estimators)]
    )
    if not several:
        raise InputError("estimators", "must name at least one estimator", "it is empty")
    count, rank = alarm_rank(alarms, replications)
    check_count(rng, "rng", 0)
    options: dict[str, Any] = {"workers": workers, "progress": progress, "checkpoint": checkpoint}
    nulls: dict[tuple[str, int], Floats] = {}
    rows = []
    for world in [worlds] if isinstance(worlds, World) else worlds:
        twin = twin_of(world)
        errors = world.true_error(1), world.true_error(2)
        for n in [sizes] if isinstance(sizes, int) else sizes:
            key = twin.to_json(), check_count(n, "sizes")
            if key not in nulls:
                nulls[key] = measured(several, twin, n, count, 2 * rng, **options).values
            values = measured(several, world, n, count, 2 * rng + 1, **options).values
            rows += [
                _detection(one, world, n, alarms, errors, nulls[key][k], values[k], rank)
                for k, one in enumerate(several)
            ]
    return tuple(rows)


def alarm_rank(alarms: float, replications: int) -> tuple[int, int]:
    """How many data sets, and the how-many-th largest of the calibrated ones is the threshold."""
    count = check_count(replications, "replications", 2)
    rank = math.floor(check_level(alarms) * (count + 1) + 1e-9)
    if rank < 1:
        least = math.ceil(1 / alarms) - 1
        raise InputError("replications", f"must be at least {least} for these false alarms", f"it is {count}")
    return count, rank


def twin_of(world: World) -> World:
    """The world that says the same and is right."""
    if not isinstance(world, ScoreWorld):
        raise InputError(
            "world", "must be a world of scores and a curve, so that it has a calibrated twin", f"it is {world!r}"
        )
    return calibrated_world(world)


def _detection(
    one: Named,
    world: World,
    n: int,
    alarms: float,
    errors: tuple[float, float],
    null: Floats,
    values: Floats,
    rank: int,
) -> Detection:
    if not (np.isfinite(null).all() and np.isfinite(values).all()):
        raise InputError("estimator", "must give a finite number on every data set", f"{one.name} does not")
    threshold, miss_rate, error = missed(null, values, rank)
    return Detection(one.name, world.describe(), n, len(values), alarms, *errors, threshold, miss_rate, error)


def missed(null: Floats, values: Floats, rank: int) -> tuple[float, float, float]:
    """Threshold, share of values that do not exceed it, and the standard error of that share.

    The number of null values above the true quantile scatters by √(R·α·(1−α)); moved that far up and down, the threshold tells
    how much of the share is its own.
    """
    count = len(null)
    ordered = np.sort(null)[::-1]
    step = math.sqrt(rank * (1 - rank / (count + 1)))
    places = np.clip(np.round([rank - 1, rank - 1 - step, rank - 1 + step]), 0, count - 1).astype(int)
    shares = [float((values <= ordered[place]).mean()) for place in places]
    counted = max(shares[0] * (1 - shares[0]), 0.25 / len(values)) / len(values)
    return float(ordered[rank - 1]), shares[0], math.hypot(math.sqrt(counted), (shares[1] - shares[2]) / 2)


def detection_table(rows: Sequence[Detection], title: str = "Miss rates") -> Table:
    """Miss rates side by side, one column an estimator."""
    names = tuple(dict.fromkeys(row.estimator for row in rows))
    found = {(row.world, row.true_error, row.true_rms, row.n, row.estimator): row for row in rows}
    places = tuple(dict.fromkeys(key[:4] for key in found))

    def cell(key: tuple[Any, ...]) -> str:
        row = found.get(key)
        return "–" if row is None else f"{row.miss_rate:.1%} ± {row.miss_error:.1%}"

    body = tuple(
        (number(place[1]), number(place[2]), f"{place[3]:,}", *(cell((*place, name)) for name in names))
        for place in places
    )
    alarms = ", ".join(dict.fromkeys(f"{row.alarms:.0%}" for row in rows))
    note = f"{alarms} false alarms; ± is one Monte-Carlo standard error."
    return Table(title, ("true error", "RMS", "n", *names), body, note)
