"""The quantities that can be planned for, each with its laws, its estimator and its interval."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from calibrant.bins import EqualMass
from calibrant.estimate.binned import binned_error
from calibrant.estimate.cumulative import ks_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.infer.error import calibration_error_interval
from calibrant.infer.running import cumulative_interval
from calibrant.infer.squared import cube_root, squared_error_interval
from calibrant.inputs import check_choice
from calibrant.interval.proportion import wilson
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.score import SCORES
from calibrant.score.passes import score_moments
from calibrant.score.possible import mean_of_rows
from calibrant.simulate.families import bent_world, calibrated_world
from calibrant.simulate.fitting import fit_world
from calibrant.simulate.world import EmpiricalWorld, Norm, ScoreWorld
from calibrant.verbs.planning.data import PlannedData
from calibrant.verbs.planning.power_laws import AbsoluteLaw, GapLaw, KuiperLaw, SquaredLaw, TestLaw, Variance
from calibrant.verbs.planning.width_laws import ErrorWidth, MeanWidth, RangeWidth, RateWidth, SquaredWidth, WidthLaw

FEW_EVENTS = 5.0
"""Expected variance of the number of hits per bin below which the χ² law is called rough."""


class Quantity(ABC):
    """A quantity with an interval, whose width can be planned."""

    title: str
    has_error: ClassVar[bool] = False
    """does the width depend on the true error?"""

    @abstractmethod
    def width_law(self, data: PlannedData, error: float | None) -> WidthLaw:
        """How wide the interval will be."""

    @abstractmethod
    def estimate(self, predictions: Predictions, level: float, canonical: bool = False) -> Estimate:
        """An estimate with the interval that was planned."""

    def notes(self, n: int, variance: Variance) -> tuple[tuple[str, ...], tuple[str, ...]]:  # noqa: ARG002
        """Assumptions and warnings for `n` rows."""
        return (), ()

    def simulated_world(self, data: PlannedData, error: float | None) -> ScoreWorld:  # noqa: ARG002
        """The world to simulate: one like the data, labels included."""
        world = data.known_world()
        if data.truth_given:
            return world
        if data.predictions is None:
            return calibrated_world(world)
        return fit_world(data.predictions, view=data.view, scores="empirical")


class TestedQuantity(Quantity, ABC):
    """A quantity that also has a test, whose power can be planned."""

    __test__ = False  # not a test case, whatever its name says
    norm: ClassVar[Norm] = 1
    """of the error of a world"""
    assumption: ClassVar[tuple[str, ...]] = ()
    """what the law of the test assumes about the error"""

    @abstractmethod
    def test_law(self, variance: Variance) -> TestLaw:
        """How often the test detects an error."""

    @abstractmethod
    def statistic(self, n: int) -> Callable[..., Any]:
        """The estimator that is large when the test alarms."""

    @abstractmethod
    def true_error(self, world: ScoreWorld) -> float:
        """The error of a world."""

    @abstractmethod
    def largest_error(self, data: PlannedData) -> float:
        """The largest error possible with these predictions: each event could occur always, or never."""

    def simulated_world(self, data: PlannedData, error: float | None) -> ScoreWorld:
        """The world given, or one with these scores and this error: the true rate is p^d where p is predicted."""
        if error is None:
            return super().simulated_world(data, error)
        world = data.known_world()
        if data.truth_given and math.isclose(error, self.true_error(world), rel_tol=1e-9):
            return world
        return bent_world(error, world, norm=self.norm)

    def check_error(self, error: float | None, data: PlannedData) -> None:
        """Refuse an error that is larger than possible."""
        most = self.largest_error(data)
        if error is not None and error > most + ROUNDING:
            raise InputError("error", f"must be at most {most:.4g}, the largest possible here", f"it is {error:.4g}")


ROUNDING = 1e-9
"""An error below this is rounding."""


class AbsoluteError(TestedQuantity):
    """The mean absolute calibration error, plain over bins of equal mass."""

    title = "mean absolute calibration error"
    has_error = True
    assumption = ("the error has the same size everywhere; one that varies is detected more easily",)

    def test_law(self, variance: Variance) -> TestLaw:
        return AbsoluteLaw(variance)

    def width_law(self, data: PlannedData, error: float | None) -> WidthLaw:
        world = data.world if data.world is None or not error else self.simulated_world(data, error)
        return ErrorWidth.of(world, error or 0.0, 1)

    def statistic(self, n: int) -> Callable[..., Any]:
        return partial(binned_error, bins=EqualMass(cube_root(n)))

    def estimate(self, predictions: Predictions, level: float, canonical: bool = False) -> Estimate:  # noqa: ARG002
        return _with_interval(calibration_error_interval(predictions, norm=1, level=level), predictions.n)

    def true_error(self, world: ScoreWorld) -> float:
        return world.true_error(self.norm)

    def largest_error(self, data: PlannedData) -> float:
        if data.world is None:
            return 0.5
        norm = int(self.norm)
        return float(data.world.scores.mean(lambda p, q: np.maximum(p, q) ** norm) ** (1 / norm))

    def notes(self, n: int, variance: Variance) -> tuple[tuple[str, ...], tuple[str, ...]]:
        bins = cube_root(n)
        assumed = (f"{bins} bins of equal mass; errors of opposite sign within a bin cancel",)
        events = n / bins * variance.mean()
        if events >= FEW_EVENTS:
            return assumed, ()
        per_bin = f"bins of {n / bins:,.0f} rows hold {events:.2g} expected hits or misses"
        return assumed, (f"{per_bin}: the formula promises too much (see check=True)",)


class RmsError(AbsoluteError):
    """The RMS calibration error, debiased over bins of equal mass."""

    title = "RMS calibration error"
    norm = 2
    assumption = ("errors are larger where p(1 − p) is larger",)

    def test_law(self, variance: Variance) -> TestLaw:
        return SquaredLaw.of(variance)

    def width_law(self, data: PlannedData, error: float | None) -> WidthLaw:
        if data.world is None or not error:
            return SquaredWidth.even(data.variance, error or 0.0)
        return SquaredWidth.within(self.simulated_world(data, error), error)

    def statistic(self, n: int) -> Callable[..., Any]:
        return partial(super().statistic(n), norm=2, debiased=True, root=False, clip=False)

    def estimate(self, predictions: Predictions, level: float, canonical: bool = False) -> Estimate:  # noqa: ARG002
        return _with_interval(squared_error_interval(predictions, level=level), predictions.n)


class MeanGap(TestedQuantity):
    """Mean prediction minus observed rate."""

    title = "mean gap"

    def test_law(self, variance: Variance) -> TestLaw:
        return GapLaw(variance.mean())

    def width_law(self, data: PlannedData, error: float | None) -> WidthLaw:  # noqa: ARG002
        return MeanWidth.even(math.sqrt(data.variance.mean()))

    def statistic(self, n: int) -> Callable[..., Any]:  # noqa: ARG002
        return absolute_gap

    def estimate(self, predictions: Predictions, level: float, canonical: bool = False) -> Estimate:  # noqa: ARG002
        return mean_gap(predictions, level=level)

    def true_error(self, world: ScoreWorld) -> float:
        return abs(world.rate - world.scores.mean(lambda p, _: p))

    def largest_error(self, data: PlannedData) -> float:
        mean = 0.5 if data.world is None else data.world.scores.mean(lambda p, _: p)
        return max(mean, 1 - mean)


class KuiperError(MeanGap):
    """The range of the cumulative sum of errors, for a gap of one sign."""

    title = "gap of one sign"
    has_error = True
    assumption = ("the gap has one sign and the same size everywhere",)

    def test_law(self, variance: Variance) -> TestLaw:
        return KuiperLaw(variance.mean())

    def width_law(self, data: PlannedData, error: float | None) -> WidthLaw:
        return RangeWidth(data.variance.mean(), error or 0.0)

    def statistic(self, n: int) -> Callable[..., Any]:  # noqa: ARG002
        return partial(ks_error, statistic="range")

    def estimate(self, predictions: Predictions, level: float, canonical: bool = False) -> Estimate:  # noqa: ARG002
        return _with_interval(cumulative_interval(predictions, statistic="range", level=level), predictions.n)


class Rate(Quantity):
    """The observed rate of the event."""

    title = "observed rate"

    def width_law(self, data: PlannedData, error: float | None) -> WidthLaw:  # noqa: ARG002
        return RateWidth(data.rate)

    def estimate(self, predictions: Predictions, level: float, canonical: bool = False) -> Estimate:  # noqa: ARG002
        rate, n = float(predictions.labels.mean()), float(predictions.n)
        (low,), (high,) = wilson(np.array([rate]), np.array([n]), level)
        return _with_interval(Interval(float(low), float(high), level, "Wilson"), predictions.n)

    def simulated_world(self, data: PlannedData, error: float | None) -> ScoreWorld:
        alone = super().simulated_world(data, error)
        by_rate = data.predictions is None and not data.truth_given
        return EmpiricalWorld(np.array([data.rate])) if by_rate else alone


@dataclass(frozen=True)
class MeanScore(Quantity):
    """The mean of a proper score."""

    name: str

    @property
    def title(self) -> str:  # type: ignore[override]
        return SCORES[self.name].title

    def width_law(self, data: PlannedData, error: float | None) -> WidthLaw:  # noqa: ARG002
        rule, rows, view = SCORES[self.name], data.rows(), "canonical" if data.canonical else data.view
        moments = score_moments(rule, rows, view)
        if moments.error is None:
            raise InputError("statistic", "must be finite on these data", f"the {rule.title} is {moments.mean}")
        return MeanWidth(mean_of_rows(rule, rows, view, moments))

    def estimate(self, predictions: Predictions, level: float, canonical: bool = False) -> Estimate:
        found = SCORES[self.name].score(predictions, level=level, view="canonical" if canonical else "binary")
        if found.interval is None:
            raise InputError("statistic", "must be finite in the world", f"the {found.title} is not")
        return found

    def simulated_world(self, data: PlannedData, error: float | None) -> ScoreWorld:
        if not data.truth_given and data.predictions is not None and data.canonical and not data.predictions.is_binary:
            raise InputError(
                "check", "simulates single events only", "the score is that of all classes", "Pass view='top'"
            )
        return super().simulated_world(data, error)


QUANTITIES: dict[str, Any] = {
    "binned": lambda norm: RmsError() if norm == 2 else AbsoluteError(),
    "kuiper": lambda _: KuiperError(),
    "mean_gap": lambda _: MeanGap(),
    "rate": lambda _: Rate(),
} | {name: lambda _, name=name: MeanScore(name) for name in SCORES}
"""Quantities by the name that `plan` knows, as functions of the norm."""


def quantity_of(statistic: str, norm: int) -> Quantity:
    """The quantity with this name."""
    found: Quantity = QUANTITIES[check_choice("statistic", statistic, tuple(QUANTITIES))](norm)
    return found


def absolute_gap(predictions: Predictions) -> float:
    """|mean prediction − rate|."""
    return abs(float(mean_gap(predictions)))


def _with_interval(interval: Interval, n: int) -> Estimate:
    return Estimate("interval", interval.method, interval.low, n, interval)
