"""The quantities that can be planned for, each with its laws, its estimator and its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from calibrant.bins import EqualMass
from calibrant.estimate.binned import binned_error
from calibrant.estimate.cumulative import ks_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.infer import calibration_error_interval, cumulative_interval, squared_error_interval
from calibrant.infer.squared import cube_root
from calibrant.inputs import check_positive
from calibrant.interval import wilson
from calibrant.methods import methods
from calibrant.predictions import Predictions, StatePredictions, admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval, number
from calibrant.score.passes import score_moments
from calibrant.score.possible import mean_of_rows
from calibrant.score.score import Score
from calibrant.simulate import BetaWorld, EmpiricalWorld, bent_world, calibrated_world, fit_world
from calibrant.simulate.world import ScoreWorld
from calibrant.verbs.planning.class_worlds import ClassWorld
from calibrant.verbs.planning.power_laws import AbsoluteLaw, GapLaw, KuiperLaw, SquaredLaw, TestLaw, Variance
from calibrant.verbs.planning.width_laws import MeanWidth, RangeWidth, RateWidth, SquaredWidth, WidthLaw

SMALLEST_VARIANCE = 1e-12
"""Mean of p(1 − p) below which no plan is made: both outcomes would not occur in any realistic number of rows."""

ROWS_FOR_SCORES = 1 << 17
"""Rows drawn from a world to estimate how much a score varies."""


@dataclass(frozen=True, slots=True)
class PlannedData:
    """The data that are planned for."""

    variance: Variance
    world: ScoreWorld | None
    """their scores, where they are known"""
    rate: float
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    truth_given: bool = False
    """was a world given, whose own error is the one to detect?"""
    predictions: Predictions | None = None
    view: str = "binary"
    canonical: bool = True
    """are proper scores those of all classes, as they are without a view?"""
    classes: ClassWorld | None = None
    """the distributions over several classes, for the tests of all of them"""

    def alone(self) -> tuple[str, ...]:
        """What is planned for one question of several classes does not see the others."""
        if self.predictions is None or self.predictions.is_binary:
            return ()
        return (f"planned for the question {self.view!r} alone: errors in other classes are not detected by it",)

    def known_world(self) -> ScoreWorld:
        """A world with these scores."""
        if self.world is None:
            needed = "needs predictions, a world, or a mean_variance below 1/4"
            raise InputError("check", needed, "there are no scores to draw")
        return self.world

    def with_world(self) -> PlannedData:
        """The same with scores to draw: ½ where nothing is known."""
        return self if self.world is not None else replace(self, world=EmpiricalWorld(np.array([0.5])))

    def rows(self) -> Predictions:
        """Rows with labels."""
        if self.predictions is not None:
            return self.predictions
        if self.world is None or not self.truth_given:
            raise InputError("predictions", "or world must be given for a proper score", "neither is")
        return self.world.sample(ROWS_FOR_SCORES, 0)


def planned_data(
    predictions: Any, world: Any, mean_variance: Any, view: Any, counts: Any = None, weights: Any = None
) -> PlannedData:
    """Data like the one thing that is given."""
    candidates = {"predictions": predictions, "world": world, "mean_variance": mean_variance}
    given = [name for name, value in candidates.items() if value is not None]
    if len(given) > 1:
        raise InputError(given[1], f"and {given[0]} cannot both be given", "each describes the data")
    check_view_used(predictions, view)
    rows = planned_rows(predictions, counts, weights)
    if rows is not None:
        return _like_predictions(rows, view)
    if world is None:
        return _with_variance(mean_variance)
    if not isinstance(world, ScoreWorld):
        raise InputError("world", "must be a world of scores and a curve", f"it is {world!r}")
    assumed = f"independent rows like those of {world.describe()}"
    return PlannedData(_variance_of(world), world, world.rate, (assumed,), truth_given=True)


def planned_rows(predictions: Any, counts: Any, weights: Any) -> Predictions | None:
    """The rows that those to come are like: predictions, a state, or a pair of labels and probs; None without any."""
    for name, given in (("counts", counts), ("weights", weights)):
        if predictions is None and given is not None:
            raise InputError(name, "are those of predictions", "there are none", "Pass predictions=(labels, probs)")
    if predictions is None:
        return None
    pair = predictions if isinstance(predictions, tuple) and len(predictions) == 2 else (predictions,)
    return admit(*pair, counts=counts, weights=weights)


def unequal_weights(event: Any) -> tuple[str, ...]:
    """What weights that differ do to the rows needed."""
    if event.squares is None:
        return ()
    more = event.mass.n / float(event.weights.sum())
    return (
        f"rows of equal weight are planned: with weights that differ as these do, it takes {more:.3g} times as many",
    )


def check_view_used(predictions: Any, view: Any) -> None:
    """Refuse a view where there is nothing that it could be of."""
    if predictions is None and not (isinstance(view, str) and view == "auto"):
        raise InputError("view", "is that of predictions", f"it is {view!r}, and there are none", "Pass predictions=")


def _with_variance(mean_variance: Any) -> PlannedData:
    v = 0.25 if mean_variance is None else check_positive("mean_variance", mean_variance)
    if v < SMALLEST_VARIANCE:
        least = f"must be at least {SMALLEST_VARIANCE:g}"
        raise InputError("mean_variance", least, f"it is {v:g}: the labels would be certain")
    if v > 0.25:
        raise InputError("mean_variance", "must be at most 1/4, the largest p(1 − p)", f"it is {v:g}")
    if v == 0.25:
        worst = "nothing is known of the predictions: p = ½ takes the most rows"
        cautions = (worst,) if mean_variance is None else ()
        return PlannedData(Variance(), None, 0.5, ("independent rows with predictions of ½",), cautions)
    world = BetaWorld(2 * v / (1 - 4 * v), 2 * v / (1 - 4 * v))
    assumed = f"independent rows with {world.scores.describe()}, for which p(1 − p) is {number(v)} on average"
    return PlannedData(Variance(world.scores), world, (1 - math.sqrt(1 - 4 * v)) / 2, (assumed,))


def _like_predictions(predictions: Predictions, view: Any) -> PlannedData:
    canonical = view in ("auto", "canonical")
    event = predictions.event("auto" if canonical else view)
    weights = np.ones(len(event.probs)) if event.weights is None else event.weights
    world = EmpiricalWorld(event.probs.astype(np.float64), weights=weights)
    rate = float(np.average(event.outcomes, weights=event.weights))
    assumed = (f"independent rows with predictions like these {event.n:,}",)
    cautions = unequal_weights(event)
    cautions += () if predictions.groups is None else ("rows of a group are counted as if independent",)
    known = (_variance_of(world), world, rate, assumed, cautions)
    has_rows = not predictions.is_binary and not isinstance(predictions, StatePredictions)
    classes = ClassWorld.like(predictions) if has_rows and view == "auto" else None
    return PlannedData(*known, predictions=predictions, view=event.name, canonical=canonical, classes=classes)


def _variance_of(world: ScoreWorld) -> Variance:
    variance = Variance(world.scores)
    if variance.mean() < SMALLEST_VARIANCE:
        raise InputError("predictions", "must not all be 0 or 1, or next to it", "the labels would be certain")
    return variance


FEW_EVENTS = 5.0
"""Expected variance of the number of hits per bin below which the χ² law is called rough."""

ROUNDING = 1e-9
"""An error below this is rounding."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity with an interval and perhaps a test, whose width and power can be planned."""

    title: str
    width_law: Callable[[Quantity, PlannedData, float], WidthLaw]
    """how wide the interval is at a true error; for errors over bins only roughly, and simulated from there"""
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
        return world.true_error(self.norm_of_world)

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
        return bent_world(error, world, norm=self.norm_of_world)

    def tested_world(self, data: PlannedData, error: float) -> ScoreWorld | ClassWorld:
        """The world with this error on which the test that `diagnose` runs is simulated: of all classes, if there are several."""
        if data.classes is not None:
            return data.classes.with_error(error, self.norm_of_world)
        return self.world_with_error(data, error)

    @property
    def norm_of_world(self) -> Literal[1, 2]:
        """The norm in which worlds have the error: a gap of one sign is as large as its absolute value."""
        return 2 if self.norm == 2 else 1

    def world_like(self, data: PlannedData) -> ScoreWorld:
        """A world like the data, labels included."""
        world = data.known_world()
        if data.truth_given:
            return world
        if data.predictions is None:
            return self.calibrated(data)
        if self.all_classes and data.canonical and not data.predictions.is_binary:
            found = "the score is that of all classes"
            raise InputError("check", "simulates single events only", found, "Pass view='top'")
        return fit_world(data.predictions, view=data.view, scores="empirical")

    def notes(self, n: int, variance: Variance) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Assumptions and warnings about the bins of `n` rows, for power by formula."""
        if self.norm is None:
            return (), ()
        bins = cube_root(n)
        assumed = (f"{bins} bins of equal mass; errors of opposite sign within a bin cancel",)
        events = n / bins * variance.mean()
        if events >= FEW_EVENTS:
            return assumed, ()
        per_bin = f"bins of {n / bins:,.0f} rows hold {events:.2g} expected hits or misses"
        return assumed, (f"{per_bin}: the formula promises too much power (see check=True)",)


def _squared_width(quantity: Quantity, data: PlannedData, error: float) -> WidthLaw:
    if data.world is None or not error:
        return SquaredWidth.even(data.variance, error)
    return SquaredWidth.within(quantity.world_with_error(data, error), error)


def absolute_gap(predictions: Predictions) -> float:
    """|mean prediction − rate|."""
    return abs(float(mean_gap(predictions)))


def _rate_interval(predictions: Predictions, level: float, _: str) -> Interval:
    low, high = map(float, wilson(predictions.labels.mean(), np.asarray(float(predictions.n)), level))
    return Interval(low, high, level, "Wilson")


ABSOLUTE = Quantity(
    title="mean absolute calibration error",
    width_law=_squared_width,
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


def _of(estimate: Estimate) -> Interval:
    if estimate.interval is None:
        raise InputError("statistic", "must be finite in the world", f"the {estimate.title} is not")
    return estimate.interval


@cache
def quantities() -> dict[str, Quantity]:
    """Quantities by the name that `plan` knows; `binned` of norm 1 is `ABSOLUTE`."""
    scores = {name: _score(each.function()) for name, each in methods("score").items()}
    return {"binned": RMS, "kuiper": KUIPER, "mean_gap": MEAN_GAP, "rate": RATE} | scores


def quantity_of(statistic: str, norm: int) -> Quantity:
    """The quantity with this name."""
    found = quantities()[statistic]
    return ABSOLUTE if found is RMS and norm == 1 else found
