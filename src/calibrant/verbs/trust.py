"""Which estimator can I believe at my sample size?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.bins import EqualWidth
from calibrant.estimate.binned import binned_error, ece
from calibrant.estimate.crossvalidated import crossvalidated_error
from calibrant.estimate.density import density_error
from calibrant.estimate.fitted import fitted_error
from calibrant.estimate.posterior import posterior_error
from calibrant.estimate.sweep import sweep_error
from calibrant.inputs import check_choice
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.problems import InputError
from calibrant.results import Record, Table, kind, number
from calibrant.simulate.bias import Bias, bias
from calibrant.simulate.check import WorldCheck, check_world
from calibrant.simulate.fitting import fit_world
from calibrant.simulate.recipes import named
from calibrant.simulate.world import EventWorld

CANDIDATES: dict[int, dict[str, Any]] = {
    1: {
        "ECE, equal width": ece,
        "ECE, equal mass": binned_error,
        "debiased, equal mass": partial(binned_error, debiased=True),
        "sweep": sweep_error,
        "cross-validated": crossvalidated_error,
        "kernel density": density_error,
        "Gaussian process": fitted_error,
        "posterior median": posterior_error,
    },
    2: {
        "RMS, equal width": partial(binned_error, bins=EqualWidth(15), norm=2),
        "RMS, equal mass": partial(binned_error, norm=2),
        "debiased, equal mass": partial(binned_error, norm=2, debiased=True),
        "sweep": partial(sweep_error, norm=2),
        "cross-validated": partial(crossvalidated_error, norm=2),
        "kernel density": partial(density_error, norm=2),
        "Gaussian process": partial(fitted_error, norm=2),
        "posterior median": partial(posterior_error, norm=2),
    },
}
"""What is tried when nothing is named; bins are fifteen where a number is needed."""

MANY_TIED = 0.1
"""Share of rows that repeat a score from which the scores themselves are drawn again instead of a smooth distribution."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Trust(Record):
    """How far each estimator is off on data like these, at this size; the most accurate first."""

    n: int
    norm: int
    world: Any
    """the world fitted to the data"""
    rows: tuple[Bias, ...]
    values: Mapping[str, float]
    """what each estimator says of the data themselves"""
    check: WorldCheck
    """do the data look like those of the world?"""
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Which estimator to believe?"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(sorted(self.rows, key=lambda row: row.rmse)))
        object.__setattr__(self, "cautions", tuple(self.cautions))

    @property
    def best(self) -> Bias:
        """The estimator with the smallest root mean squared error."""
        return self.rows[0]

    @property
    def truth(self) -> float:
        """The error of the fitted world."""
        return self.rows[0].truth

    def sentence(self) -> str:
        """What to use, and why."""
        best, level = self.best, [r for r in self.rows if r.rmse - self.best.rmse <= 2 * self.best.rmse_error]
        usual = next((r for r in self.rows if "equal width" in r.estimator), None)
        told = (
            f"Use “{best.estimator}”: on data like yours, at n = {self.n:,}, it is off by {number(best.bias)} on average, ± "
            f"{number(best.sd)}"
        )
        if best.coverage is not None:
            told += f"; its 95 % interval holds the truth {best.coverage:.0%} of the time"
        others = [r.estimator for r in level[1:3]]
        if others:
            told += f". As good within the simulation's error: {', '.join(others)}"
        if usual is not None and usual is not best and best.rmse > 0:
            told += f". The usual {usual.estimator.split(',')[0]} is off by {number(usual.bias)} ± {number(usual.sd)}, {usual.rmse / best.rmse:.1f} times as far"
        return told + "."

    def table(self) -> Table:
        """One row an estimator."""
        columns = ("estimator", "your data", "off by, on average", "±", "RMSE", "95 % interval holds", "width")
        body = tuple(
            (
                r.estimator,
                self.values[r.estimator],
                f"{number(r.bias)} ± {number(r.mean_error)}",
                r.sd,
                f"{number(r.rmse)} ± {number(r.rmse_error)}",
                "–" if r.coverage is None else f"{r.coverage:.1%} ± {r.coverage_error:.1%}",
                "–" if r.width is None else r.width,
            )
            for r in self.rows
        )
        note = (
            f"{self.best.replications:,} data sets of {self.n:,} rows from a world fitted to the data ({self.world.describe()}), whose true "
            f"error is {number(self.truth)}."
        )
        return Table(f"Which estimator to believe, norm {self.norm}", columns, body, note)

    def tables(self) -> tuple[Table, ...]:
        """What the terminal and the report show."""
        return (self.table(),)

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), "", self.table().to_text(), *(f"  caution: {c}" for c in self.cautions)])

    def _repr_html_(self) -> str:
        cautions = "".join(f"<br><small>⚠ {escape(c)}</small>" for c in self.cautions)
        return f"<p>{escape(self.sentence())}{cautions}</p>{self.table().to_html()}"


def trust(
    labels: Any,
    probs: Any = None,
    *,
    norm: Literal[1, 2] = 1,
    estimators: Any = None,
    world: EventWorld | None = None,
    replications: int = 200,
    rng: int = 0,
    view: Any = "auto",
    workers: int | None = None,
    progress: bool = False,
    weights: Any = None,
) -> Trust:
    """Which estimator of the calibration error can I believe, with as many rows as I have?

    A world with scores like these and a calibration curve like theirs is fitted (`simulate.fit_world`). Its true error is known,
    so each estimator can be tried on many data sets of the same size: by how much is it off on average, how much does it scatter,
    and how often does its 95 % interval hold the truth? The rows come sorted by root mean squared error.

    `estimators` is a list or a mapping of names to functions; `world` replaces the fitted one. The same `rng` gives the same answer.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> found = cal.trust(test, estimators={"ECE": cal.ece, "sweep": cal.sweep_error}, replications=50)
    >>> found.best.rmse <= found.rows[-1].rmse
    True
    """
    predictions = admit(labels, probs, weights=weights)
    check_choice("norm", norm, (1, 2))
    rows = as_predictions(predictions.event(view))
    chosen = _chosen(CANDIDATES[norm] if estimators is None else estimators)
    if world is not None and not isinstance(world, EventWorld):
        raise InputError("world", "must be a world of one event", f"it is {type(world).__name__}")
    fitted, check = (
        fitted_to(rows, rng) if world is None else (world, check_world(world, rows, replications=CHECKS, rng=rng))
    )
    n = rows.n if rows.weights is None else int(np.ceil(rows.weights.sum()))
    found = bias(chosen, fitted, n, replications, rng, workers=workers, progress=progress)
    values = {name: float(one(rows)) for name, one in chosen.items()}
    cautions = () if getattr(fitted, "fit", None) is None else fitted.fit.cautions  # type: ignore[attr-defined]
    if not check.agrees:
        cautions += (f"the world is not quite like the data: ECE is {check!r}",)
    return Trust(n, norm, fitted, found, values, check, cautions)


CHECKS = 200
"""Data sets on which the world is compared with the data."""


def fitted_to(rows: Predictions, rng: int = 0) -> tuple[EventWorld, WorldCheck]:
    """The simplest world that looks like the data, and how alike they are.

    First a Beta distribution with a linear curve; the scores themselves where many are equal or the distribution does not fit;
    and the curve of a Gaussian process where no linear one does.
    """
    repeated = 1 - len(np.unique(rows.probs)) / rows.n
    tried: list[dict[str, Any]] = [
        {"scores": "beta"},
        {"scores": "empirical"},
        {"scores": "empirical", "curve": "gaussian_process"},
    ]
    for options in tried[1 if repeated > MANY_TIED else 0 :]:
        world = fit_world(rows, **options)
        check = check_world(world, rows, replications=CHECKS, rng=rng)
        if check.agrees and not (options["scores"] == "beta" and world.fit is not None and world.fit.cautions):
            break
    return world, check


def _chosen(estimators: Any) -> dict[str, Any]:
    several = estimators if isinstance(estimators, Mapping) else {named(e).name: e for e in estimators}
    if not several:
        raise InputError("estimators", "must name at least one estimator", "it is empty")
    return {str(name): named(one, str(name)) for name, one in several.items()}
