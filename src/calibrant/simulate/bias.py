"""How far off is an estimator, at a given sample size, in a world whose truth is known?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from calibrant.forecasts.base import LARGEST
from calibrant.inputs import check_seed
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.progress import Progress
from calibrant.results import Answer, Table, kind, number
from calibrant.simulate.measuring import Measured, Named, measured, named_all, sizes_of
from calibrant.simulate.world import World
from calibrant.types import Floats, Seed

QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)
SLACK = 1e-12
"""An interval that misses the truth by less than this covers it: the difference is rounding."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Bias(Answer):
    """Mean and spread of an estimator in a world, against the truth; every figure with its Monte-Carlo error."""

    estimator: str
    world: str
    n: int
    n_data_sets: int
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
    """share of its intervals that cover the truth"""
    coverage_error: float | None = None
    width: float | None = None
    """median width of its intervals"""
    seconds: float = 0.0
    """time per estimate"""

    question: ClassVar[str] = "How far off is the estimator?"
    printed_tables: ClassVar[int | None] = 0
    also_called: ClassVar[tuple[str, ...]] = ()

    @property
    def bias(self) -> float:
        """Mean minus truth; its error is `mean_error`."""
        return self.mean - self.truth

    def figures(self) -> dict[str, Any]:
        """Its fields and the bias."""
        return {**super().figures(), "bias": self.bias}

    def texts(self) -> tuple[str, str, str]:
        """Bias, RMSE and coverage with their errors."""
        pairs = ((self.bias, self.mean_error), (self.rmse, self.rmse_error))
        bias, rmse = (f"{number(value)} ± {number(error)}" for value, error in pairs)
        return bias, rmse, "–" if self.coverage is None else f"{self.coverage:.1%} ± {self.coverage_error:.1%}"

    def sentence(self) -> str:
        """The answer in words."""
        mean, truth, bias, sd, rmse = map(number, (self.mean, self.truth, self.bias, self.sd, self.rmse))
        text = f"{self.estimator} on {self.n:,} rows of {self.world}: mean {mean} ± {number(self.mean_error)}"
        text += f", truth {truth}, bias {bias}, sd {sd}, RMSE {rmse}"
        if self.coverage is None:
            return text
        return f"{text}; its interval covers the truth in {self.coverage:.1%} ± {self.coverage_error:.1%}"

    def tables(self) -> tuple[Table, ...]:
        """The figures side by side."""
        return (bias_table([self]),)

    @classmethod
    def of(cls, found: Measured, k: int, estimator: str, world: str, truth: float) -> Bias:
        """The figures of the k-th estimator."""
        values, low, high = found.values[k], found.low[k], found.high[k]
        off = values - truth
        mean, mae, (mse, mse_error) = map(_mean, (values, np.abs(off), off**2))
        rmse, sd = math.sqrt(mse), float(values.std(ddof=1)) if len(values) > 1 else math.nan
        coverage = coverage_error = width = None
        bounded = ~np.isnan(low)
        if bounded.any():
            covers = (low[bounded] <= truth + SLACK) & (truth <= high[bounded] + SLACK)
            coverage = float(covers.mean())
            coverage_error = math.sqrt(max(coverage * (1 - coverage), 0.25 / len(covers)) / len(covers))
            width = float(np.median((high - low)[bounded]))
        figures = (*mean, sd, _sd_error(values, sd), rmse, mse_error / (2 * rmse) if rmse > 0 else 0.0, *mae)
        spread = (tuple(np.quantile(values, QUANTILES).tolist()), coverage, coverage_error, width)
        seconds = float(found.seconds[k] / len(values))
        return cls(estimator, world, found.n, len(values), truth, *figures, *spread, seconds)


def _mean(values: Floats) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan


def _sd_error(values: Floats, sd: float) -> float:
    """Standard error of a standard deviation, by the fourth moment; no normal distribution is assumed."""
    if len(values) < 2 or not sd > 0:
        return 0.0 if len(values) > 1 else math.nan
    fourth = float((((values - values.mean()) / sd) ** 4).mean())
    return sd * math.sqrt(max(fourth - 1, 0.0) / len(values)) / 2


@overload
def bias(estimator: str | Callable[..., Any], world: World, n: int, *args: Any, **options: Any) -> Bias: ...
@overload
def bias(
    estimator: Sequence[Any] | Mapping[str, Any], world: World, n: int | Sequence[int], *args: Any, **options: Any
) -> tuple[Bias, ...]: ...
@checked
def bias(
    estimator: Any,
    world: World,
    n: int | Sequence[int],
    n_data_sets: int = 1000,
    seed: Seed = 0,
    *,
    truth: float | None = None,
    view: str = "auto",
    workers: int | None = None,
    progress: Progress = False,
    checkpoint: Any = None,
) -> Bias | tuple[Bias, ...]:
    """How far off is an estimator, on `n` rows of a world whose truth is known?

    Mean, bias, spread, RMSE, quantiles and coverage, by simulation (Roelofs et al.
    2022). One estimator at one size gives one `Bias`. Several estimators or sizes give
    a tuple of them, size by size, all estimators on the same data sets; `bias_table`
    shows them side by side.

    Parameters
    ----------
    estimator
        A function such as `cal.sweep_error`, a `functools.partial` of one, or its name;
        or a list of these, or a mapping that gives them names.
    world
        The world whose true error is to be estimated.
    n
        Rows per data set; several sizes as a list.
    n_data_sets
        Number of data sets.
    seed
        Seed. The same seed gives the same answer whatever the number of workers.
    truth
        The value to compare with; by default the world's true error of the estimator's
        own norm.
    view
        The view of a world of several classes, passed to the estimator.
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
    >>> from calibrant.simulate import bias, calibrated_world, power_world
    >>> found = bias(cal.ece, calibrated_world((1, 1)), n=100, n_data_sets=200)
    >>> found.truth, found.bias > 10 * found.mean_error
    (0.0, True)
    >>> rows = bias(["ece", "sweep"], power_world(0.05), n=[100, 400], n_data_sets=100)
    >>> [(each.estimator, each.n) for each in rows]
    [('ece', 100), ('sweep', 100), ('ece', 400), ('sweep', 400)]
    """
    seed, (several, alone) = check_seed(seed), named_all(estimator)
    if truth is not None and not abs(truth) <= LARGEST:
        raise InputError("truth", f"must lie within ±{LARGEST:g}", f"it is {truth!r}")
    truths = [true_value(one, world, view) if truth is None else float(truth) for one in several]
    options: dict[str, Any] = {"view": view, "workers": workers, "progress": progress, "checkpoint": checkpoint}
    rows = []
    for size in sizes_of(n):
        found = measured(several, world, size, n_data_sets, seed, **options)
        each = zip(several, truths, strict=True)
        rows += [Bias.of(found, k, one.name, world.describe(), known) for k, (one, known) in enumerate(each)]
    return rows[0] if alone and np.ndim(n) == 0 else tuple(rows)


def true_value(one: Named, world: World, view: str = "auto") -> float:
    """What an estimator should give in a world: the true error of its norm, squared where it leaves the root out."""
    if not one.of_the_error:
        own = f"{one.name} has a quantity of its own"
        raise InputError("estimator", "must estimate the calibration error", own, "Pass truth=")
    norm = one.option("norm", 1)
    error = world.true_error(norm, view)
    return error if norm == "max" or one.option("root", True) else error**norm


def bias_table(rows: Sequence[Bias], title: str = "Estimators on a world with a known truth") -> Table:
    """Figures side by side, smallest RMSE first within each size.

    Parameters
    ----------
    rows
        What `bias` returned.
    title
        Of the table.
    """
    body = tuple(
        (r.estimator, r.n, r.truth, r.mean, bias, r.sd, rmse, r.mae, coverage)
        for r in sorted(rows, key=lambda r: (r.world, r.n, r.rmse))
        for bias, rmse, coverage in [r.texts()]
    )
    columns = ("estimator", "n", "truth", "mean", "bias", "sd", "RMSE", "mean |error|", "95 % interval covers")
    return Table(title, columns, body, "± is one Monte-Carlo standard error.")
