"""Plans by simulation: what will be run is run on data sets of a world, at sizes that close in on the goal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.progress import Report, offset
from calibrant.results import Estimate
from calibrant.simulate.measuring import Named, measured
from calibrant.simulate.scores import EmpiricalScores
from calibrant.simulate.world import EmpiricalWorld, ScoreWorld
from calibrant.types import Floats
from calibrant.verbs.all_classes import SHARES
from calibrant.verbs.planning.class_worlds import ClassWorld, event_p_values, p_values_of_classes
from calibrant.verbs.planning.power_laws import NORMAL
from calibrant.verbs.planning.quantities import Quantity

MIN_DRAWS = 999
"""Null draws of a simulated test."""

PER_NULL = 100
"""Data sets that share their predictions, and with them the null draws of the test."""

RANKS = 10
"""Null draws above the threshold, at least: alpha times their number."""

POINTS, PER_POINT = 2048, 64
"""Predictions that stand for all of a world where there are more rows, and draws behind each."""

PILOTS = 6
"""Smaller rounds at most, before the one that decides."""

PILOT_SHARE, LEAST = 8, 50
"""How much smaller they are, and the least data sets of one for a power: its null draws take longer than these."""

CLOSE = 0.15
"""A pilot that changes the answer by less than this share is the last."""

FARTHEST = 2.0
"""Factor by which one round may change the answer."""

TRUST_IN_RAY = 0.3
"""Relative standard deviation of the slope around that of the ray from calibration to the last round."""


@dataclass(frozen=True, slots=True)
class Round:
    """One simulated place: the height there and its Monte-Carlo standard error."""

    x: float
    height: float
    error: float


@dataclass(frozen=True, slots=True)
class Rise:
    """A straight line through simulated heights, and the covariance of its two parameters.

    Powers are nearly straight on the probit scale, over √n and over the error. So is
    1 / width over √n.
    """

    start: float
    slope: float
    covariance: Floats

    @classmethod
    def of(cls, rounds: list[Round], base: float, goal: float) -> Rise:
        """By least squares; the slope is expected near that of the ray from (0, base) to the last round."""
        last = rounds[-1]
        ray = max(last.height - base, (goal - base) / FARTHEST**2) / last.x
        rows = [(1.0, each.x, each.height, each.error) for each in rounds] + [(0.0, 1.0, ray, TRUST_IN_RAY * ray)]
        one, x, height, error = np.array(rows).T
        design = np.stack([one, x], axis=1) / error[:, None]
        covariance = np.linalg.inv(design.T @ design)
        start, slope = covariance @ (design.T @ (height / error))
        return cls(float(start), max(float(slope), ray / 10), covariance)

    def height(self, x: float) -> float:
        """On the line."""
        return self.start + self.slope * x

    def height_error(self, x: float) -> float:
        """Its Monte-Carlo standard error."""
        at = np.array([1.0, x])
        return float(np.sqrt(at @ self.covariance @ at))

    def place(self, goal: float) -> float:
        """Where the line attains the goal."""
        return (goal - self.start) / self.slope

    def place_error(self, goal: float) -> float:
        """The Monte-Carlo standard error of that place."""
        return self.height_error(self.place(goal)) / self.slope


Measure = Callable[[float, int, int, Report], Round]
"""A round at a place, of so many data sets, with a seed of its own; reports how many are done"""


def attained(
    measure: Measure,
    start: float,
    base: float,
    goal: float,
    n_data_sets: int,
    report: Report,
    most: float = math.inf,
    least: int = LEAST,
) -> tuple[Rise, int]:
    """The line that attains the goal, and the data sets it took.

    Small rounds until their answers stay where they are, then one of `n_data_sets` there.

    Parameters
    ----------
    measure
        Simulates one round.
    start
        The first place.
    base, goal
        The height at 0, and the one that is sought.
    n_data_sets
        Of the last round.
    report
        Called with the data sets done and all of them, if every pilot is needed.
    most
        Places beyond this are not possible.
    least
        Data sets of a small round, at least.
    """
    small = max(least, math.ceil(n_data_sets / PILOT_SHARE))
    total, rounds, x = PILOTS * small + n_data_sets, [], min(start, most)
    for k in range(PILOTS):
        rounds.append(measure(x, small, k, partial(offset, report, k * small, small, total)))
        new = Rise.of(rounds, base, goal).place(goal)
        new, before = min(max(new, x / FARTHEST), x * FARTHEST, most), x
        x = new
        if abs(new - before) < CLOSE * before:
            break
    done = len(rounds) * small + n_data_sets
    rounds.append(measure(x, n_data_sets, PILOTS, partial(offset, report, total - n_data_sets, n_data_sets, total)))
    return Rise.of(rounds, base, goal), done


LEAST_ALPHA = 1e-4
"""The rate of false alarms below which draws from the null would take too long."""


def null_draws(alpha: float) -> int:
    """Null draws for tests at this rate of false alarms."""
    if alpha < LEAST_ALPHA:
        advice = "Pass statistic='binned', a formula"
        raise InputError(
            "alpha", f"must be at least {LEAST_ALPHA:g} for a plan by simulation", f"it is {alpha}", advice
        )
    return max(MIN_DRAWS, math.ceil(RANKS / alpha) - 1)


def simulated_power(
    world: ScoreWorld | ClassWorld, n: int, alpha: float, n_data_sets: int, seed: int, report: Report
) -> tuple[float, float]:
    """How often `is_calibrated`, or the tests of several classes, detect a world on `n` rows, and the Monte-Carlo error.

    The test holds the predictions fixed. So data sets with the same predictions have the
    same null distribution, which is drawn once for `PER_NULL` of them.
    """
    parts = math.ceil(n_data_sets / PER_NULL)
    sizes = np.diff(np.linspace(0, n_data_sets, parts + 1).astype(int)).tolist()
    alarms, draws = 0, null_draws(alpha)
    if isinstance(world, ClassWorld):
        p_values: Callable[..., Floats] = partial(p_values_of_classes, world)
        draws = null_draws(max(alpha * min(SHARES.values()), LEAST_ALPHA))
    else:
        p_values = partial(_p_values, represented(world, n))
    for k, count in enumerate(sizes):
        found = p_values(n, count, draws, np.random.default_rng((seed, n, k)))
        alarms += int((found <= alpha + 1e-12).sum())
        report(k + 1, parts)
    power = alarms / n_data_sets
    counted = max(power * (1 - power), 0.25 / n_data_sets) / n_data_sets
    # the threshold is that of `draws` null draws; moving it moves the power by the ratio of two normal densities
    share = min(max(power, 1 / n_data_sets), 1 - 1 / n_data_sets)
    moved = NORMAL.pdf(NORMAL.inv_cdf(share)) / NORMAL.pdf(NORMAL.inv_cdf(alpha))
    return power, math.sqrt(counted + moved**2 * alpha * (1 - alpha) / (draws * parts))


def _p_values(world: ScoreWorld, n: int, count: int, n_draws: int, rng: np.random.Generator) -> Floats:
    """p-values of `is_calibrated` on data sets of a world that share their predictions."""
    predicted, rates = world.scores.draw_through(n, rng, world.prediction_and_rate)
    p, at, rows = np.unique(predicted, return_inverse=True, return_counts=True)
    seeded = int(rng.integers(2**63))
    hits = rng.binomial(rows, np.bincount(at, rates) / rows, size=(count, len(p)))
    return event_p_values(p, rows, hits, n_draws, rng, "random", seeded)


def probit_round(x: float, power: float, error: float, n_data_sets: int) -> Round:
    """A power on the probit scale; none and all are half a data set away."""
    share = (power * n_data_sets + 0.5) / (n_data_sets + 1)
    z = NORMAL.inv_cdf(share)
    return Round(x, z, max(error, math.sqrt(share * (1 - share) / n_data_sets)) / NORMAL.pdf(z))


def simulated_widths(
    quantity: Quantity, world: ScoreWorld, n: int, level: float, view: str, n_data_sets: int, seed: int, report: Report
) -> Floats:
    """The widths of the intervals of data sets of a world."""
    interval = Named("interval", interval_estimate, {"quantity": quantity, "level": level, "view": view})
    found = measured([interval], represented(world, n), n, n_data_sets, seed, progress=report)
    return np.asarray(found.high[0] - found.low[0])


def interval_estimate(predictions: Predictions, quantity: Quantity, level: float, view: str) -> Estimate:
    """An estimate with the interval that is planned."""
    interval = quantity.interval(predictions, level, view)
    return Estimate("interval", interval.method, interval.low, predictions.n, interval)


def represented(world: ScoreWorld, n: int) -> ScoreWorld:
    """The world, or one of fewer distinct predictions that is as good for so many rows: equal ones are pooled."""
    scores = world.scores
    if n <= POINTS or (isinstance(scores, EmpiricalScores) and len(scores.values) <= POINTS):
        return world
    drawn = np.sort(scores.draw(POINTS * PER_POINT, 0)[0])
    return EmpiricalWorld(drawn[PER_POINT // 2 :: PER_POINT], world.calibration)
