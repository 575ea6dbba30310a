"""Which estimator can be trusted at this sample size?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from calibrant.infer import calibration_error_interval
from calibrant.inputs import check_choice, check_count, check_seed
from calibrant.options import checked
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.problems import InputError
from calibrant.progress import Progress
from calibrant.results import Answer, Keyed, Table, TestResult, by_slug, kind, number, p_words
from calibrant.simulate import Bias, EventWorld, world_test
from calibrant.simulate.measuring import Named, named_all
from calibrant.simulate.possible import N_CURVES, PossibleWorlds, bias_over
from calibrant.simulate.world import EmpiricalWorld
from calibrant.types import Floats, Seed

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

CHECK_DRAWS, DOUBTFUL = 199, 0.05
"""Null draws of the test of the curves, and the p-value up to which they do not describe the data."""

RANGE = (0.05, 0.95)
"""Quantiles over the possible curves between which the bias is shown, at least."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Trust(Keyed[Bias], Answer):
    """How far each estimator is off on data like these, at this size; the most accurate first."""

    n: int
    norm: int
    world: Any
    """the worlds that the data leave possible, or the one that was given"""
    rows: tuple[Bias, ...]
    values: Mapping[str, float]
    """each estimator's value on the data themselves"""
    ranges: Mapping[str, tuple[float, float]]
    """between which values each estimator's bias lies over nine of ten possible curves, and with the errors at both ends
    of the 95 % interval"""
    check: TestResult | None
    """could the outcomes have come from these curves? None for soft labels"""
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
    def doubtful(self) -> bool:
        """Do the curves that were tried not describe the data?"""
        return self.check is not None and self.check.p_value <= DOUBTFUL

    @property
    def truth(self) -> float:
        """The mean error of the worlds."""
        return self.rows[0].truth

    def figures(self) -> dict[str, Any]:
        """Rows, the mean error of the worlds and, for each estimator, its value on the data and how far it is off."""
        each = {r.estimator: {"": self.values[r.estimator], **off_by(r)} for r in self.rows}
        return {"n": self.n, "truth": self.truth, **by_slug(each)}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per estimator, the most accurate first."""
        return [{"estimator": r.estimator, "value": self.values[r.estimator], **off_by(r)} for r in self.rows]

    def sentence(self) -> str:
        """What to use, and why."""
        best, equal = self.best, [r for r in self.rows if r.rmse - self.best.rmse <= 2 * self.best.rmse_error]
        usual = next((r for r in self.rows if "equal width" in r.estimator), None)
        text = f"Use “{best.estimator}”: on data like yours, at n = {self.n:,}, it"
        if self.doubtful:
            text = f"No curve that was tried describes these data, so how far estimators are off is not known. “{best.estimator}”"
        low, high = self.ranges[best.estimator]
        text += f" is off by {number(best.bias)} on average, ± {number(best.sd)}"
        if low < high:
            text += f" ({number(low)} to {number(high)} with other curves that the data leave possible)"
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
        columns = (
            "estimator",
            "your data",
            "off by, on average",
            "by curve",
            "±",
            "RMSE",
            "95 % interval holds",
            "width",
        )
        body = tuple(
            (
                r.estimator,
                self.values[r.estimator],
                bias,
                " to ".join(map(number, self.ranges[r.estimator])),
                r.sd,
                rmse,
                coverage,
                "–" if r.width is None else r.width,
            )
            for r in self.rows
            for bias, rmse, coverage in [r.texts()]
        )
        drawn = f"{self.best.n_data_sets:,} data sets of {self.n:,} rows ({self.world.describe()})"
        note = f"{drawn}; their true error is {number(self.truth)} on average. Finer shapes than {self.n:,} rows can show are not among them."
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

    Worlds with these scores are made, with calibration curves that the data leave possible:
    right, lines, bends, waves, errors in a tail or in a stretch, each as often as the data
    support it. Their true errors are known, so each estimator can be tried on many data
    sets of the same size: its bias, its standard deviation, and how often its 95 % interval
    holds the truth. The rows are sorted by root mean squared error.

    `check` tests whether the outcomes could have come from one of these curves, with power
    against waves, bumps, tails and steps (`simulate.world_test`); if not, the answer
    says so instead of recommending an estimator. `ranges` is an interval of each bias: over
    nine of ten of these curves, and with the errors at both ends of the 95 % interval of
    the error, as a bump or a narrow error can be smaller or larger than most of the curves
    have it. No curve can show what is finer than so many rows can tell: in
    `studies/results/trust.md` are predicted biases and ranges beside the real ones.

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
        A world of one event, instead of those that the data leave possible.
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
    check_count(n_data_sets, "n_data_sets")
    rows = as_predictions(predictions.event(view))
    chosen = named_all(CANDIDATES[norm] if estimators is None else estimators)[0]
    if not chosen:
        raise InputError("estimators", "must name at least one estimator", "it is empty")
    if world is not None and not isinstance(world, EventWorld):
        raise InputError("world", "must be a world of one event", f"it is {type(world).__name__}")
    fitted, check = fitted_to(rows, seed, min(N_CURVES, -(-n_data_sets // 2))) if world is None else (world, None)
    worlds = fitted.worlds if isinstance(fitted, PossibleWorlds) else (fitted,)
    if world is not None and not rows.soft:
        check = world_test(world, rows, n_draws=CHECK_DRAWS, seed=seed)
    n = rows.n if rows.weights is None else int(np.ceil(rows.weights.sum()))  # effective rows, with weights
    found, each = bias_over(chosen, worlds, n, n_data_sets, seed, fitted.describe(), workers, progress)
    names = [one.name for one in chosen]
    values = {one.name: float(one(rows)) for one in chosen}
    ends = end_worlds(fitted, rows, norm) if isinstance(fitted, PossibleWorlds) else ()
    within = bias_ranges(chosen, ends, each, n, n_data_sets // len(worlds), seed, workers)
    ranges = dict(zip(names, map(tuple, within.T.tolist()), strict=True))
    answer = Trust(n, norm, fitted, tuple(found), values, ranges, check)
    if not answer.doubtful:
        return answer
    assert check is not None
    seen = p_words(check.p_value, 1 / (CHECK_DRAWS + 1))
    said = f"no curve that was tried describes these outcomes ({seen}): the real biases may be quite different"
    return replace(answer, cautions=(said,))


def end_worlds(fitted: PossibleWorlds, rows: Predictions, norm: Literal[1, 2]) -> tuple[EmpiricalWorld, ...]:
    """Worlds with the errors at both ends of the interval of the error; none for soft labels, which have no interval.

    Parameters
    ----------
    fitted
        The possible worlds, whose curves are scaled.
    rows
        The data.
    norm
        1 for the mean error, 2 for its root mean square.
    """
    if rows.soft:
        return ()
    interval = calibration_error_interval(rows, norm=norm)
    return tuple(fitted.with_error(error, norm) for error in (interval.low, interval.high))


def bias_ranges(
    estimators: Sequence[Named],
    ends: Sequence[EventWorld],
    each: Floats,
    n: int,
    count: int,
    seed: int,
    workers: int | None = None,
) -> Floats:
    """Between which values each estimator's bias lies, `(2, estimators)`: over most worlds, and in those at the ends.

    Parameters
    ----------
    estimators
        The estimators.
    ends
        The worlds at the ends.
    each
        The bias in each of the other worlds, `(estimators, worlds)`.
    n
        Rows per data set.
    count
        Data sets per world.
    seed, workers
        As in `trust`.
    """
    within = np.quantile(each, RANGE, axis=1)
    if not ends:
        return within
    beyond = bias_over(estimators, ends, n, len(ends) * max(count, 2), seed, "", workers)[1]
    return np.stack([np.minimum(within[0], beyond.min(axis=1)), np.maximum(within[1], beyond.max(axis=1))])


def fitted_to(rows: Predictions, seed: Seed = 0, n_curves: int = N_CURVES) -> tuple[PossibleWorlds, TestResult | None]:
    """The worlds that the data leave possible, and a test of their curves.

    The curves of `posterior_error` or of `GaussianProcessMap`: the first whose mean the test
    does not reject. A mean of waves can be rejected where each of them is not, so the single
    curves are tested next. Where all are rejected, the world rejected least is taken.

    Parameters
    ----------
    rows
        Predictions of one event.
    seed
        Seed of the null draws.
    n_curves
        Number of curves.
    """
    if rows.soft:
        return PossibleWorlds.of(rows, n_curves), None
    tried: list[tuple[PossibleWorlds, TestResult]] = []
    for single in (False, True):
        for smooth in (False, True):
            fitted = PossibleWorlds.of(rows, n_curves, smooth)
            for world in fitted.worlds if single else (fitted.mean,):
                tried.append((fitted, world_test(world, rows, n_draws=CHECK_DRAWS, seed=seed)))
                if tried[-1][1].p_value > DOUBTFUL:
                    return tried[-1]
    return max(tried, key=lambda each: each[1].p_value)
