"""Worlds: ways to produce predictions whose true calibration error is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, check_count, check_probabilities, floats, generator_of
from calibrant.norms import Norm, check_norm
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.results import Estimate, Record, Table, kind
from calibrant.simulate.curves import CALIBRATED, TrueCurve, as_curve
from calibrant.simulate.scores import BetaScores, Described, EmpiricalScores, Scores, UniformScores
from calibrant.types import Floats, Seed


@kind
@dataclass(frozen=True, eq=False, repr=False)
class WorldFit(Record):
    """How a world was fitted to data."""

    n: int
    view: str
    limits: tuple[float, float]
    """scores nearer to 0 and to 1 than this could not be distinguished from them, and were taken as censored"""
    table: Table | None = None
    """the curves tried, best first"""
    cautions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join([f"fitted on {self.n:,} rows", *(f"  caution: {c}" for c in self.cautions)])


class World(Described, ABC):
    """A way to produce predictions whose true calibration error is known."""

    @abstractmethod
    def sample(self, n: int, seed: Seed) -> Any:
        """A simulated data set.

        Parameters
        ----------
        n
            Number of rows.
        seed
            A seed or a NumPy generator; the same seed gives the same data.
        """

    @abstractmethod
    def truth(self, norm: Norm = 1, view: str = "auto") -> Estimate:
        """The true error, with `parts["standard_error"]`: 0 where it is an integral.

        Parameters
        ----------
        norm
            1: expected absolute error; 2: root mean square; `"max"`: the largest
            distance.
        view
            Which error of a world that has several; `"auto"` is the first of its views.
        """

    def true_error(self, norm: Norm = 1, view: str = "auto") -> float:
        """(E|p − P(Y=1|p)|^norm)^(1/norm), or the largest distance for `"max"`.

        Parameters
        ----------
        norm, view
            As in `truth`.
        """
        return self.truth(norm, view).value

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.describe()}"


class EventWorld(World, ABC):
    """A world of one event. Its scores are drawn; predictions and true rates are functions of them."""

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """The distribution that is drawn from."""

    @abstractmethod
    def prediction_and_rate(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """The predicted probability and the true rate of the event where the score p was drawn (q = 1 − p)."""

    @abstractmethod
    def curve(self, p: Any) -> Floats:
        """P(Y = 1 | p is predicted)."""

    def draw(self, n: int, n_data_sets: int, seed: Seed) -> tuple[Floats, NDArray[np.uint8], Floats]:
        """Many data sets at once: predictions, outcomes and true rates.

        Each is `(n_data_sets, n)`. Scores so close to 0 or 1 that float64 cannot hold
        them are predicted as 0 or 1; their true rate is that of the exact score.

        Parameters
        ----------
        n
            Rows per data set.
        n_data_sets
            Number of data sets.
        seed
            A seed or a NumPy generator.
        """
        size = (check_count(n_data_sets, "n_data_sets"), check_count(n, "n"))
        generator = generator_of(seed)
        probs, rates = self.scores.draw_through(size, generator, self.prediction_and_rate)
        return probs, (generator.random(size) < rates).view(np.uint8), rates

    def sample(self, n: int, seed: Seed) -> Predictions:
        """A data set of one event."""
        probs, outcomes, _ = self.draw(n, 1, seed)
        return Predictions.borrowed(outcomes[0], probs[0])

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the true calibration curve and return the Axes.

        Parameters
        ----------
        ax
            The Axes to draw on, such as those of a reliability diagram; new ones if None.
        **options
            Options of `calibrant.plot.curves`, which also draws maps beside it.
        """
        from calibrant.plot.curves import curves  # drawing lies above the worlds

        return curves(self, ax=ax, **options)

    def truth(self, norm: Norm = 1, view: str = "auto") -> Estimate:
        """By quadrature to 1e-10."""
        norm = check_norm(norm)
        check_choice("view", view, ("auto", "binary"))

        def distance(p: Floats, q: Floats) -> Floats:
            predicted, rates = self.prediction_and_rate(p, q)
            return np.abs(predicted - rates)

        if norm == "max":
            return true_estimate(self.scores.largest(distance), norm, "binary")
        return true_estimate(self.scores.mean(lambda p, q: distance(p, q) ** norm) ** (1 / norm), norm, "binary")

    @property
    def rate(self) -> float:
        """How often the event occurs."""
        return self.scores.mean(lambda p, q: self.prediction_and_rate(p, q)[1])


def true_estimate(value: float, norm: Norm, view: str, n: int = 0, standard_error: float = 0.0) -> Estimate:
    """A true error as an `Estimate`; `n` draws if it took any."""
    settings = {"view": view, "norm": norm, "method": "Monte Carlo" if n else "quadrature"}
    parts = {"standard_error": standard_error}
    return Estimate("true_error", "true calibration error", value, n, None, None, settings, parts)


def probabilities_of(p: Any) -> Floats:
    """Checked probabilities of any shape up to two dimensions; a single number too."""
    array = floats(np.atleast_1d(p), "p").astype(np.float64)
    check_probabilities(array)
    return array.reshape(np.shape(p))


class ScoreWorld(EventWorld, ABC):
    """Scores of some distribution, which are the predictions, and the true calibration curve over them."""

    calibration: TrueCurve
    name: str
    fit: WorldFit | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "calibration", as_curve(self.calibration))
        scores = self.scores  # checks their parameters, and pools equal values
        for each in fields(scores):
            object.__setattr__(self, each.name, getattr(scores, each.name))

    def prediction_and_rate(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """The score, and the curve at it."""
        return p, self.calibration.rates(p, q)

    def curve(self, p: Any) -> Floats:
        """P(Y = 1 | p).

        Parameters
        ----------
        p
            Predicted probabilities.
        """
        predicted = probabilities_of(p)
        return self.calibration.rates(predicted, 1 - predicted)

    def with_curve(self, calibration: Any, name: str = "") -> Self:
        """The same scores with another curve.

        Parameters
        ----------
        calibration
            A `TrueCurve`, a fitted map of a single event, or a function of the predicted
            probabilities.
        name
            Of the new world.
        """
        return replace(self, calibration=as_curve(calibration), name=name, fit=None)  # type: ignore[call-arg]

    def describe(self) -> str:
        """Scores and curve."""
        name = f"{self.name}: " if self.name else ""
        return f"{name}{self.scores.describe()}, {self.calibration.describe()}"


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class BetaWorld(ScoreWorld):
    """Beta scores with any calibration curve.

    Parameters
    ----------
    alpha, beta
        Of the Beta distribution of the scores.
    calibration
        A `TrueCurve`, a fitted map of a single event, or a function of the predicted
        probabilities; perfectly calibrated if not given.
    name
        Printed before the description.
    fit
        How the world was fitted, if it was.

    Examples
    --------
    >>> from calibrant.simulate import BetaWorld, PowerCurve
    >>> world = BetaWorld(2.0, 1.0, PowerCurve(2.0))
    >>> round(world.true_error(), 10)  # ∫ (p − p²) 2p dp
    0.1666666667
    >>> world.sample(5, seed=0)
    Predictions(5 rows, binary event, float64)
    """

    alpha: float
    beta: float
    calibration: TrueCurve = CALIBRATED
    name: str = ""
    fit: WorldFit | None = None

    @property
    def scores(self) -> BetaScores:
        """Beta(α, β)."""
        return BetaScores(self.alpha, self.beta)


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class UniformWorld(ScoreWorld):
    """Scores uniform between two ends, with any calibration curve.

    Parameters
    ----------
    low, high
        Ends of the scores.
    calibration, name, fit
        As in `BetaWorld`.

    Examples
    --------
    >>> from calibrant.simulate import ScaledCurve, UniformWorld
    >>> round(UniformWorld(0.5, 1.0, ScaledCurve(0.9)).true_error(), 10)
    0.075
    """

    low: float = 0.0
    high: float = 1.0
    calibration: TrueCurve = CALIBRATED
    name: str = ""
    fit: WorldFit | None = None

    @property
    def scores(self) -> UniformScores:
        """Uniform between the ends."""
        return UniformScores(self.low, self.high)


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class EmpiricalWorld(ScoreWorld):
    """The scores of a data set, resampled, with any calibration curve.

    Parameters
    ----------
    values
        The scores.
    calibration, name, fit
        As in `BetaWorld`.
    weights
        How often each value occurs; equally often if not given.

    Examples
    --------
    >>> from calibrant.simulate import EmpiricalWorld, ScaledCurve
    >>> EmpiricalWorld([0.4, 0.8, 0.8], ScaledCurve(0.5)).true_error()
    0.3333333333333333
    """

    values: Floats
    calibration: TrueCurve = CALIBRATED
    weights: Floats = ()  # type: ignore[assignment]
    name: str = ""
    fit: WorldFit | None = None

    @property
    def scores(self) -> EmpiricalScores:
        """The distinct values with their weights."""
        return EmpiricalScores(self.values, self.weights)
