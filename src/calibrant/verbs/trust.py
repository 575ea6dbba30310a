"""Which estimator can be trusted at this sample size?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.bins import EqualWidth
from calibrant.estimate.binned import binned_error
from calibrant.estimate.crossvalidated import crossvalidated_error
from calibrant.estimate.density import density_error
from calibrant.estimate.fitted import fitted_error
from calibrant.estimate.posterior import posterior_error
from calibrant.estimate.sweep import sweep_error
from calibrant.inputs import check_choice, check_seed
from calibrant.options import checked
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.problems import InputError
from calibrant.progress import Progress
from calibrant.results import Answer, Keyed, Table, by_slug, kind, number
from calibrant.simulate import Bias, EventWorld, WorldCheck, bias, check_world, fit_world
from calibrant.simulate.measuring import named_all
from calibrant.types import Seed

TRIED: dict[str, Any] = {
    "{}, equal width": partial(binned_error, bins=EqualWidth(15)),
    "{}, equal mass": binned_error,
    "debiased, equal mass": partial(binned_error, debiased=True),
    "sweep": sweep_error,
    "cross-validated": crossvalidated_error,
    "kernel density": density_error,
    "Gaussian process": fitted_error,
    "posterior median": posterior_error,
}

CANDIDATES: dict[int, dict[str, Any]] = {
    norm: {name.format(title): partial(one, norm=norm) for name, one in TRIED.items()}
    for norm, title in ((1, "ECE"), (2, "RMS"))
}
"""The estimators that are tried by default, by norm; bins are fifteen where a number is needed."""

MANY_TIED = 0.1
"""Share of rows with a repeated score above which the scores themselves are resampled, not a smooth distribution."""

WORLDS: tuple[tuple[Literal["beta", "empirical"], str], ...] = (
    ("beta", "glm"),
    ("empirical", "glm"),
    ("empirical", "gaussian_process"),
)
"""Scores and curve of the worlds that are fitted, the simplest first."""

CHECKS = 200
"""Data sets on which the world is compared with the data."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Trust(Keyed[Bias], Answer):
    """How far each estimator is off on data like these, at this size; the most accurate first."""

    n: int
    norm: int
    world: Any
    """the world fitted to the data"""
    rows: tuple[Bias, ...]
    values: Mapping[str, float]
    """each estimator's value on the data themselves"""
    check: WorldCheck
    """do the data look like those of the world?"""
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "Which estimator can be trusted?"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", sorted(self.rows, key=lambda row: row.rmse))
        super().__post_init__()

    def results(self) -> dict[str, Bias]:
        """How far each estimator is off, by its name."""
        return {row.estimator: row for row in self.rows}

    @property
    def best(self) -> Bias:
        """The estimator with the smallest root mean squared error."""
        return self.rows[0]

    @property
    def truth(self) -> float:
        """The error of the fitted world."""
        return self.rows[0].truth

    def figures(self) -> dict[str, Any]:
        """Rows, the error of the fitted world and, for each estimator, its value on the data and how far it is off."""
        each = {r.estimator: {"": self.values[r.estimator], **off_by(r)} for r in self.rows}
        return {"n": self.n, "truth": self.truth, **by_slug(each)}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per estimator, the most accurate first."""
        return [{"estimator": r.estimator, "value": self.values[r.estimator], **off_by(r)} for r in self.rows]

    def sentence(self) -> str:
        """What to use, and why."""
        best, equal = self.best, [r for r in self.rows if r.rmse - self.best.rmse <= 2 * self.best.rmse_error]
        usual = next((r for r in self.rows if "equal width" in r.estimator), None)
        text = f"Use “{best.estimator}”: on data like yours, at n = {self.n:,}, it is off by {number(best.bias)} on average"
        text += f", ± {number(best.sd)}"
        if best.coverage is not None:
            text += f"; its 95 % interval holds the truth {best.coverage:.0%} of the time"
        if equal[1:]:
            text += f". As good within the simulation's error: {', '.join(r.estimator for r in equal[1:3])}"
        if usual is not None and usual is not best and best.rmse > 0:
            name, times = usual.estimator.split(",")[0], usual.rmse / best.rmse
            text += f". The usual {name} is off by {number(usual.bias)} ± {number(usual.sd)}, {times:.1f} times as far"
        return text + "."

    def tables(self) -> tuple[Table, ...]:
        """One row per estimator."""
        columns = ("estimator", "your data", "off by, on average", "±", "RMSE", "95 % interval holds", "width")
        body = tuple(
            (r.estimator, self.values[r.estimator], bias, r.sd, rmse, coverage, "–" if r.width is None else r.width)
            for r in self.rows
            for bias, rmse, coverage in [r.texts()]
        )
        drawn = f"{self.best.n_data_sets:,} data sets of {self.n:,} rows from a world fitted to the data"
        note = f"{drawn} ({self.world.describe()}), whose true error is {number(self.truth)}."
        return (Table(f"Which estimator can be trusted, norm {self.norm}", columns, body, note),)


def off_by(row: Bias) -> dict[str, Any]:
    """How far an estimator is off: bias, spread, root mean squared error, and what its interval covers."""
    return {name: getattr(row, name) for name in ("bias", "sd", "rmse", "coverage", "width")}


@checked
def trust(
    labels: Any,
    probs: Any = None,
    *,
    norm: Literal[1, 2] = 1,
    estimators: Any = None,
    world: EventWorld | None = None,
    n_data_sets: int = 200,
    seed: Seed = 0,
    view: Any = "auto",
    workers: int | None = None,
    progress: Progress = False,
    counts: Any = None,
    weights: Any = None,
) -> Trust:
    """Which estimator of the calibration error can be trusted with this many rows?

    A world with scores like these and a calibration curve like theirs is fitted
    (`simulate.fit_world`). Its true error is known, so each estimator can be tried on
    many data sets of the same size: its bias, its standard deviation, and how often its
    95 % interval holds the truth. The rows are sorted by root mean squared error.

    Parameters
    ----------
    labels
        The outcomes; or a `Predictions`, which carries everything.
    probs
        Predicted probabilities: one column for an event, or one column per class.
    norm
        1 for the mean calibration error, 2 for its root mean square.
    estimators
        A list of estimators, or a mapping of names to functions.
    world
        A world of one event, instead of the fitted one.
    n_data_sets
        Number of simulated data sets.
    seed
        Seed; the same seed gives the same answer.
    view
        Which question: `"binary"`, `"top"` or `"class k"`; `"auto"` by the columns.
    workers
        Number of processes; by default as many as there are cores.
    progress
        True: a bar on the terminal; a function is called with the numbers of steps done and
        of all.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> found = cal.trust(test, estimators={"ECE": cal.ece, "sweep": cal.sweep_error}, n_data_sets=50)
    >>> found.best.rmse <= found.rows[-1].rmse
    True
    """
    predictions, seed = admit(labels, probs, counts=counts, weights=weights), check_seed(seed)
    check_choice("norm", norm, (1, 2))
    rows = as_predictions(predictions.event(view))
    chosen = {one.name: one for one in named_all(CANDIDATES[norm] if estimators is None else estimators)[0]}
    if not chosen:
        raise InputError("estimators", "must name at least one estimator", "it is empty")
    if world is not None and not isinstance(world, EventWorld):
        raise InputError("world", "must be a world of one event", f"it is {type(world).__name__}")
    fitted, check = fitted_to(rows, seed) if world is None else (world, _checked(world, rows, seed))
    n = rows.n if rows.weights is None else int(np.ceil(rows.weights.sum()))  # effective rows, with weights
    found = bias(chosen, fitted, n, n_data_sets, seed, workers=workers, progress=progress)
    values = {name: float(one(rows)) for name, one in chosen.items()}
    cautions = () if getattr(fitted, "fit", None) is None else fitted.fit.cautions  # type: ignore[attr-defined]
    if not check.agrees:
        cautions += (f"the world differs from the data: ECE is {check!r}",)
    return Trust(n, norm, fitted, found, values, check, cautions)


def fitted_to(rows: Predictions, seed: Seed = 0) -> tuple[EventWorld, WorldCheck]:
    """The simplest world that resembles the data, and how closely it does.

    First a Beta distribution with a linear curve; the scores themselves where many are
    equal or the distribution does not fit; and the curve of a Gaussian process where no
    linear one does.

    Parameters
    ----------
    rows
        Predictions of one event.
    seed
        Seed of the simulated data sets that the world is checked on.
    """
    repeated = 1 - len(np.unique(rows.probs)) / rows.n
    for scores, curve in WORLDS[1 if repeated > MANY_TIED else 0 :]:
        world = fit_world(rows, scores=scores, curve=curve)
        check = _checked(world, rows, seed)
        if check.agrees and not (scores == "beta" and world.fit is not None and world.fit.cautions):
            break
    return world, check


def _checked(world: EventWorld, rows: Predictions, seed: Seed) -> WorldCheck:
    return check_world(world, rows, n_data_sets=CHECKS, seed=seed)
