"""How far off is an estimator, at a given sample size, in a world whose truth is known?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_count
from calibrant.problems import InputError
from calibrant.results import Record, Table, kind, number
from calibrant.simulate.measuring import Measured, measured
from calibrant.simulate.recipes import Named, named
from calibrant.simulate.world import World

Floats = NDArray[np.float64]

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
SLACK = 1e-12
"""An interval that misses the truth by so little holds it: arithmetic, not evidence."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Bias(Record):
    """What an estimator says on average in a world, against the truth; every figure with its Monte-Carlo error."""

    estimator: str
    world: str
    n: int
    replications: int
    truth: float
    mean: float
    mean_error: float
    sd: float
    sd_error: float
    rmse: float
    rmse_error: float
    mae: float
    """mean of |estimate − truth|"""
    mae_error: float
    quantiles: tuple[float, ...]
    """at 2.5, 25, 50, 75 and 97.5 %"""
    coverage: float | None = None
    """share of its intervals that hold the truth"""
    coverage_error: float | None = None
    width: float | None = None
    """median width of its intervals"""
    seconds: float = 0.0
    """time an estimate took"""

    @property
    def bias(self) -> float:
        """Mean minus truth; its error is `mean_error`."""
        return self.mean - self.truth

    def __repr__(self) -> str:
        told = (
            f"{self.estimator} on {self.n:,} rows of {self.world}: {number(self.mean)} ± {number(self.mean_error)} on average, truth "
            f"{number(self.truth)}, bias {number(self.bias)}, sd {number(self.sd)}, RMSE {number(self.rmse)}"
        )
        if self.coverage is None:
            return told
        return f"{told}; its interval holds the truth in {self.coverage:.1%} ± {self.coverage_error:.1%}"

    @classmethod
    def of(cls, found: Measured, k: int, estimator: Named, world: str, truth: float) -> Bias:
        """The figures of the k-th estimator."""
        values, low, high = found.values[k], found.low[k], found.high[k]
        count = len(values)
        mean, sd = float(values.mean()), float(values.std(ddof=1)) if count > 1 else math.nan
        off = values - truth
        rmse = float(np.sqrt((off**2).mean()))
        bounded = ~np.isnan(low)
        cover: dict[str, Any] = {}
        if bounded.any():
            holds = (low[bounded] <= truth + SLACK) & (truth <= high[bounded] + SLACK)
            share = float(holds.mean())
            error = math.sqrt(max(share * (1 - share), 0.25 / len(holds)) / len(holds))
            cover = {"coverage": share, "coverage_error": error, "width": float(np.median((high - low)[bounded]))}
        return cls(
            estimator.name,
            world,
            found.n,
            count,
            truth,
            mean,
            _error(values),
            sd,
            _sd_error(values, sd),
            rmse,
            _error(off**2) / (2 * rmse) if rmse > 0 else 0.0,
            float(np.abs(off).mean()),
            _error(np.abs(off)),
            tuple(np.quantile(values, QUANTILES).tolist()),
            seconds=float(found.seconds[k] / count),
            **cover,
        )


def bias(
    estimator: Any,
    world: World,
    n: int,
    replications: int = 1000,
    rng: int = 0,
    *,
    truth: float | None = None,
    view: str = "auto",
    workers: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Bias:
    """Mean, bias, spread, RMSE, quantiles and coverage of an estimator on `n` rows of a world (Roelofs et al. 2022).

    `estimator` is a function such as `cal.sweep_error`, a `functools.partial` of one, or its name. It is compared with the
    world's true error of its own norm, or with `truth`. The same `rng` gives the same answer whatever the number of `workers`
    (processes; by default one a core for long work). `checkpoint` is a file that keeps finished parts: run the same call again to go on.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import bias, calibrated_world
    >>> found = bias(cal.ece, calibrated_world((1, 1)), n=100, replications=200)
    >>> found.truth, found.bias > 10 * found.mean_error
    (0.0, True)
    """
    one = named(estimator)
    known = true_value(one, world, view) if truth is None else float(truth)
    options = {"view": view, "workers": workers, "progress": progress, "checkpoint": checkpoint}
    found = measured([one], world, n, replications, rng, **options)
    return Bias.of(found, 0, one, world.describe(), known)


def biases(
    estimators: Sequence[Any] | Mapping[str, Any],
    world: World,
    sizes: int | Sequence[int],
    replications: int = 1000,
    rng: int = 0,
    *,
    view: str = "auto",
    workers: int | None = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> tuple[Bias, ...]:
    """`bias` of several estimators at several sizes, on the same data sets; a mapping gives them names.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import biases, power_world
    >>> found = biases(["ece", "sweep"], power_world(0.05), sizes=[100, 400], replications=100)
    >>> [(each.estimator, each.n) for each in found]
    [('ece', 100), ('sweep', 100), ('ece', 400), ('sweep', 400)]
    """
    several = (
        [named(e, k) for k, e in estimators.items()] if isinstance(estimators, Mapping) else [*map(named, estimators)]
    )
    if not several:
        raise InputError("estimators", "must name at least one estimator", "it is empty")
    truths = [true_value(one, world, view) for one in several]
    rows = []
    for n in [sizes] if isinstance(sizes, int) else sizes:
        options = {"view": view, "workers": workers, "progress": progress, "checkpoint": checkpoint}
        found = measured(several, world, check_count(n, "sizes"), replications, rng, **options)
        rows += [
            Bias.of(found, k, one, world.describe(), truth)
            for k, (one, truth) in enumerate(zip(several, truths, strict=True))
        ]
    return tuple(rows)


def true_value(one: Named, world: World, view: str = "auto") -> float:
    """What an estimator should say in a world: the true error of its norm, squared where it leaves the root out."""
    if not one.of_the_error:
        raise InputError(
            "estimator", "must estimate the calibration error", f"{one.name} has a quantity of its own", "Pass truth="
        )
    found = world.true_error(one.norm, view)
    return found**2 if one.norm == 2 and not one.root else found


def bias_table(rows: Sequence[Bias], title: str = "Estimators on a world with a known truth") -> Table:
    """Figures side by side, smallest RMSE first within each size."""
    ordered = sorted(rows, key=lambda r: (r.world, r.n, r.rmse))
    columns = ("estimator", "n", "truth", "mean", "bias", "sd", "RMSE", "mean |off|", "95 % interval holds")
    body = tuple(
        (
            r.estimator,
            r.n,
            r.truth,
            r.mean,
            f"{number(r.bias)} ± {number(r.mean_error)}",
            r.sd,
            f"{number(r.rmse)} ± {number(r.rmse_error)}",
            r.mae,
            "–" if r.coverage is None else f"{r.coverage:.1%} ± {r.coverage_error:.1%}",
        )
        for r in ordered
    )
    return Table(title, columns, body, "± is one Monte-Carlo standard error.")


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


def _sd_error(values: Floats, sd: float) -> float:
    """Of a standard deviation, by the fourth moment; no normal law is assumed."""
    if len(values) < 2 or not sd > 0:
        return 0.0 if len(values) > 1 else math.nan
    fourth = float((((values - values.mean()) / sd) ** 4).mean())
    return sd * math.sqrt(max(fourth - 1, 0.0) / len(values)) / 2
