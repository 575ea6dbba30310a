"""The quantities that can be planned for, each with its laws, its estimator and its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from calibrant.bins import EqualMass
from calibrant.estimate.binned import binned_error
from calibrant.estimate.cumulative import ks_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.infer.error import calibration_error_interval
from calibrant.infer.running import cumulative_interval
from calibrant.infer.squared import cube_root, squared_error_interval
from calibrant.inputs import check_choice
from calibrant.interval.mean import wilson
from calibrant.methods import methods
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Interval
from calibrant.score.passes import score_moments
from calibrant.score.possible import mean_of_rows
from calibrant.score.score import Score
from calibrant.simulate.families import bent_world, calibrated_world
from calibrant.simulate.fitting import fit_world
from calibrant.simulate.world import EmpiricalWorld, ScoreWorld
from calibrant.verbs.planning.data import PlannedData
from calibrant.verbs.planning.power_laws import AbsoluteLaw, GapLaw, KuiperLaw, SquaredLaw, TestLaw, Variance
from calibrant.verbs.planning.width_laws import ErrorWidth, MeanWidth, RangeWidth, RateWidth, SquaredWidth, WidthLaw

FEW_EVENTS = 5.0
"""Expected variance of the number of hits per bin below which the χ² law is called rough."""

ROUNDING = 1e-9
"""An error below this is rounding."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity with an interval, whose width can be planned, and with a test, if
    there is one, whose power can be planned.
    """

    title: str
    width_law: Callable[[Quantity, PlannedData, float], WidthLaw]
    """how wide the interval is at a true error"""
    interval: Callable[[Predictions, float, str], Interval]
    """of predictions, at a level, for a view"""
    has_error: bool = False
    """does the width depend on the true error?"""
    test_law: Callable[[Variance], TestLaw] | None = None
    statistic: Callable[[int], Callable[..., Any]] | None = None
    """for `n` rows, the estimator that is large when the test alarms"""
    norm: int | None = None
    """of an error over bins; None: the error is a gap of one sign"""
    assumption: tuple[str, ...] = ()
    """what the law of the test assumes about the error"""
    calibrated: Callable[[PlannedData], ScoreWorld] = lambda data: calibrated_world(data.known_world())
    all_classes: bool = False
    """does it depend on the probabilities of all classes?"""

    def true_error(self, world: ScoreWorld) -> float:
        """The error of a world."""
        if self.norm is None:
            return abs(world.rate - world.scores.mean(lambda p, _: p))
        return world.true_error(2 if self.norm == 2 else 1)

    def largest_error(self, data: PlannedData) -> float:
        """The largest error possible with these predictions: each event could occur always, or never."""
        if data.world is None:
            return 0.5
        if self.norm is None:
            mean = data.world.scores.mean(lambda p, _: p)
            return max(mean, 1 - mean)
        norm = self.norm
        return float(data.world.scores.mean(lambda p, q: np.maximum(p, q) ** norm) ** (1 / norm))

    def check_error(self, error: float | None, data: PlannedData) -> None:
        """Refuse an error that is larger than possible."""
        largest = self.largest_error(data)
        if error is not None and error > largest + ROUNDING:
            raise InputError("error", f"must be at most {largest:.4g}, the largest possible here", f"it is {error:.4g}")

    def world_with_error(self, data: PlannedData, error: float) -> ScoreWorld:
        """The world given, or one with these scores and this error: the true rate is p^d where p is predicted."""
        world = data.known_world()
        if data.truth_given and math.isclose(error, self.true_error(world), rel_tol=1e-9):
            return world
        return bent_world(error, world, norm=2 if self.norm == 2 else 1)

    def world_like(self, data: PlannedData) -> ScoreWorld:
        """A world like the data, labels included."""
        world = data.known_world()
        if data.truth_given:
            return world
        if data.predictions is None:
            return self.calibrated(data)
        if self.all_classes and data.canonical and not data.predictions.is_binary:
            raise InputError(
                "check", "simulates single events only", "the score is that of all classes", "Pass view='top'"
            )
        return fit_world(data.predictions, view=data.view, scores="empirical")

    def notes(self, n: int, variance: Variance) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Assumptions and warnings about the bins of `n` rows."""
        if self.norm is None:
            return (), ()
        bins = cube_root(n)
        assumed = (f"{bins} bins of equal mass; errors of opposite sign within a bin cancel",)
        events = n / bins * variance.mean()
        if events >= FEW_EVENTS:
            return assumed, ()
        per_bin = f"bins of {n / bins:,.0f} rows hold {events:.2g} expected hits or misses"
        return assumed, (f"{per_bin}: the formula promises too much (see check=True)",)


def _absolute_width(quantity: Quantity, data: PlannedData, error: float) -> WidthLaw:
    bent = data.world is not None and error > 0
    return ErrorWidth.of(quantity.world_with_error(data, error) if bent else data.world, error, 1)


def _squared_width(quantity: Quantity, data: PlannedData, error: float) -> WidthLaw:
    if data.world is None or not error:
        return SquaredWidth.even(data.variance, error)
    return SquaredWidth.within(quantity.world_with_error(data, error), error)


def absolute_gap(predictions: Predictions) -> float:
    """|mean prediction − rate|."""
    return abs(float(mean_gap(predictions)))


def _rate_interval(predictions: Predictions, level: float, _: str) -> Interval:
    (low,), (high,) = wilson(np.array([predictions.labels.mean()]), np.array([float(predictions.n)]), level)
    return Interval(float(low), float(high), level, "Wilson")


ABSOLUTE = Quantity(
    title="mean absolute calibration error",
    width_law=_absolute_width,
    interval=lambda predictions, level, _: calibration_error_interval(predictions, norm=1, level=level),
    has_error=True,
    test_law=AbsoluteLaw,
    statistic=lambda n: partial(binned_error, bins=EqualMass(cube_root(n))),
    norm=1,
    assumption=("the error has the same size everywhere; one that varies is detected more easily",),
)
RMS = Quantity(
    title="RMS calibration error",
    width_law=_squared_width,
    interval=lambda predictions, level, _: squared_error_interval(predictions, level=level),
    has_error=True,
    test_law=SquaredLaw.of,
    statistic=lambda n: partial(
        binned_error, bins=EqualMass(cube_root(n)), norm=2, debiased=True, root=False, clip=False
    ),
    norm=2,
    assumption=("errors are larger where p(1 − p) is larger",),
)
KUIPER = Quantity(
    title="gap of one sign",
    width_law=lambda _, data, error: RangeWidth(data.variance.mean(), error),
    interval=lambda predictions, level, _: cumulative_interval(predictions, statistic="range", level=level),
    has_error=True,
    test_law=lambda variance: KuiperLaw(variance.mean()),
    statistic=lambda _: partial(ks_error, statistic="range"),
    assumption=("the gap has one sign and the same size everywhere",),
)
MEAN_GAP = Quantity(
    title="mean gap",
    width_law=lambda _, data, __: MeanWidth.even(math.sqrt(data.variance.mean())),
    interval=lambda predictions, level, _: _of(mean_gap(predictions, level=level)),
    test_law=lambda variance: GapLaw(variance.mean()),
    statistic=lambda _: absolute_gap,
)
RATE = Quantity(
    title="observed rate",
    width_law=lambda _, data, __: RateWidth(data.rate),
    interval=_rate_interval,
    calibrated=lambda data: EmpiricalWorld(np.array([data.rate])),
)


def _score(rule: Score) -> Quantity:
    """The mean of a proper score."""

    def width(_: Quantity, data: PlannedData, __: float) -> WidthLaw:
        rows, view = data.rows(), "canonical" if data.canonical else data.view
        moments = score_moments(rule, rows, view)
        if moments.error is None:
            raise InputError("statistic", "must be finite on these data", f"the {rule.title} is {moments.mean}")
        return MeanWidth(mean_of_rows(rule, rows, view, moments))

    def interval(predictions: Predictions, level: float, view: str) -> Interval:
        return _of(rule.score(predictions, level=level, view=view))

    return Quantity(title=rule.title, width_law=width, interval=interval, all_classes=True)


def _of(estimate: Any) -> Interval:
    if estimate.interval is None:
        raise InputError("statistic", "must be finite in the world", f"the {estimate.title} is not")
    found: Interval = estimate.interval
    return found


@cache
def quantities() -> dict[str, Quantity]:
    """Quantities by the name that `plan` knows; `binned` of norm 1 is `ABSOLUTE`."""
    scores = {name: _score(each.function()) for name, each in methods("score").items()}
    return {"binned": RMS, "kuiper": KUIPER, "mean_gap": MEAN_GAP, "rate": RATE} | scores


def quantity_of(statistic: str, norm: int) -> Quantity:
    """The quantity with this name."""
    found = quantities()[check_choice("statistic", statistic, tuple(quantities()))]
    return ABSOLUTE if found is RMS and norm == 1 else found
