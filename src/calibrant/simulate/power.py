"""How often does an estimator, used as a test, miss a world that is not calibrated? (Roelofs et al. 2022, Figure 5.)"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from calibrant.inputs import check_alpha, check_count, check_seed
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.progress import Progress
from calibrant.results import Answer, Table, kind, number
from calibrant.simulate.families import calibrated_world
from calibrant.simulate.measuring import measured, named_all, sizes_of
from calibrant.simulate.world import ScoreWorld, World
from calibrant.types import Floats, Seed


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Detection(Answer):
    """How often an estimator misses a world that is not calibrated, at a given rate of false alarms."""

    estimator: str
    world: str
    n: int
    n_data_sets: int
    alpha: float
    """rate of false alarms allowed"""
    true_error: float
    """the world's expected absolute error"""
    true_rms: float
    """and its root mean square"""
    threshold: float
    """an estimate above this is an alarm"""
    miss_rate: float
    miss_error: float
    """its Monte-Carlo standard error: of the misses counted, and of the threshold"""

    question: ClassVar[str] = "How often is the miscalibration missed?"
    printed_tables: ClassVar[int | None] = 0

    @property
    def power(self) -> float:
        """How often the world is detected."""
        return 1 - self.miss_rate

    def sentence(self) -> str:
        """The answer in words."""
        rates = f"misses {self.miss_rate:.1%} ± {self.miss_error:.1%} with {self.alpha:.0%} false alarms"
        known = f"true error {number(self.true_error)}, alarm above {number(self.threshold)}"
        return f"{self.estimator} on {self.n:,} rows of {self.world}: {rates} ({known})"

    def tables(self) -> tuple[Table, ...]:
        """The miss rate."""
        return (detection_table([self]),)


@overload
def detection(estimator: str | Callable[..., Any], world: World, n: int, *args: Any, **options: Any) -> Detection: ...
@overload
def detection(
    estimator: Any, world: World | Sequence[World], n: int | Sequence[int], *args: Any, **options: Any
) -> tuple[Detection, ...]: ...
@checked
def detection(
    estimator: Any,
    world: World | Sequence[World],
    n: int | Sequence[int],
    alpha: float = 0.05,
    n_data_sets: int = 1000,
    seed: Seed = 0,
    *,
    workers: int | None = None,
    progress: Progress = False,
    checkpoint: Any = None,
) -> Detection | tuple[Detection, ...]:
    """How often does an estimator fail to detect that a world is not calibrated?

    The threshold comes from the world's calibrated twin, which makes the same
    predictions and is right: an alarm is an estimate that would have a Monte-Carlo
    p-value of at most `alpha` among `n_data_sets` data sets of the twin. Large values
    are alarms. One estimator, world and size give one `Detection`; several of any give
    a tuple, world by world and size by size. All estimators see the same data sets, and
    worlds with the same scores share their twin.

    Parameters
    ----------
    estimator
        As in `bias`: a function, a partial or a name; or a list or mapping of these.
    world
        A world of scores and a curve, or a list of them.
    n
        Rows per data set; several sizes as a list.
    alpha
        Rate of false alarms allowed on the calibrated twin.
    n_data_sets
        Number of data sets of each world and of each twin.
    seed
        Seed. The same seed gives the same answer whatever the number of workers.
    workers
        Processes; by default one per core where there is much to compute.
    progress
        True: a bar on the terminal; a function is called with the numbers of steps done and
        of all.
    checkpoint
        File that keeps finished parts: run the same call again to resume it.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import detection, power_world
    >>> found = detection(cal.sweep_error, power_world(0.1), n=500, n_data_sets=200)
    >>> found.miss_rate < 0.05
    True
    >>> rows = detection(["ece", "sweep"], power_world(0.1), n=[100, 400], n_data_sets=100)
    >>> [(each.estimator, each.n) for each in rows]
    [('ece', 100), ('sweep', 100), ('ece', 400), ('sweep', 400)]
    """
    several, alone = named_all(estimator)
    count, rank = alarm_rank(alpha, n_data_sets)
    seed = check_seed(seed)
    options: dict[str, Any] = {"workers": workers, "progress": progress, "checkpoint": checkpoint}
    nulls: dict[tuple[str, int], Floats] = {}
    rows, worlds = [], [world] if isinstance(world, World) else list(world)
    if not worlds:
        raise InputError("world", "must be at least one world", "it is empty")
    for each in worlds:
        if not isinstance(each, ScoreWorld):
            needed = "must be a world of scores and a curve, so that it has a calibrated twin"
            raise InputError("world", needed, f"it is {each!r}")
        twin, errors = calibrated_world(each), (each.true_error(1), each.true_error(2))
        for size in sizes_of(n):
            key = twin.to_json(), size
            if key not in nulls:
                nulls[key] = measured(several, twin, key[1], count, 2 * seed, **options).values
            values = measured(several, each, key[1], count, 2 * seed + 1, **options).values
            for one, null, found in zip(several, nulls[key], values, strict=True):
                if not (np.isfinite(null).all() and np.isfinite(found).all()):
                    raise InputError("estimator", "must give a finite number on every data set", f"{one.name} does not")
                figures = (*errors, *missed(null, found, rank))
                rows.append(Detection(one.name, each.describe(), key[1], count, alpha, *figures))
    return rows[0] if alone and isinstance(world, World) and np.ndim(n) == 0 else tuple(rows)


def alarm_rank(alpha: float, n_data_sets: int) -> tuple[int, int]:
    """The number of data sets, and the rank among the calibrated ones, from the largest, that is the threshold."""
    count = check_count(n_data_sets, "n_data_sets", 2)
    rank = math.floor(check_alpha(alpha) * (count + 1) + 1e-9)
    if rank < 1:
        least = math.ceil(1 / alpha) - 1
        raise InputError("n_data_sets", f"must be at least {least} for these false alarms", f"it is {count}")
    return count, rank


def missed(null: Floats, values: Floats, rank: int) -> tuple[float, float, float]:
    """Threshold, share of values that do not exceed it, and its standard error.

    The number of null values above the true quantile has standard deviation
    √(R·α·(1−α)); the threshold moved that far up and down shows how much it contributes
    to the error of the share.
    """
    count, ordered = len(null), np.sort(null)[::-1]
    step = math.sqrt(rank * (1 - rank / (count + 1)))
    places = np.clip(np.round([rank - 1, rank - 1 - step, rank - 1 + step]), 0, count - 1).astype(int)
    share, up, down = (float((values <= ordered[place]).mean()) for place in places)
    counted = max(share * (1 - share), 0.25 / len(values)) / len(values)
    return float(ordered[rank - 1]), share, math.hypot(math.sqrt(counted), (up - down) / 2)


def detection_table(rows: Sequence[Detection], title: str = "Miss rates") -> Table:
    """Miss rates side by side, one column per estimator.

    Parameters
    ----------
    rows
        What `detection` returned.
    title
        Of the table.
    """
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        place = cells.setdefault((row.world, row.true_error, row.true_rms, row.n), {})
        place[row.estimator] = f"{row.miss_rate:.1%} ± {row.miss_error:.1%}"
    names = tuple(dict.fromkeys(row.estimator for row in rows))
    body = tuple(
        (number(error), number(rms), f"{n:,}", *(found.get(name, "–") for name in names))
        for (_, error, rms, n), found in cells.items()
    )
    alarms = ", ".join(dict.fromkeys(f"{row.alpha:.0%}" for row in rows))
    note = f"{alarms} false alarms; ± is one Monte-Carlo standard error."
    return Table(title, ("true error", "RMS", "n", *names), body, note)
