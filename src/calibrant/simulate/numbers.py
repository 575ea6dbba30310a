"""Worlds of a real number: Gaussian forecasts whose mean is right and whose variance is distorted in a known way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from calibrant.forecasts import GaussianForecasts
from calibrant.forecasts.base import LARGEST
from calibrant.inputs import check_choice, check_count, check_positive, generator_of
from calibrant.norms import Norm, check_norm, rooted
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Estimate, kind, number
from calibrant.simulate.quadrature import Function, integral, normal_density, panel_nodes, supremum
from calibrant.simulate.world import World, true_estimate
from calibrant.types import Floats, Seed

NORMAL = np.linspace(-9.0, 9.0, 37)
"""Points that divide the range of a normal variable into panels; less than 1e-18 of the mass lies outside."""


WIDEST = 20
"""The largest spread of ln variance, with which the variances are finite."""


class NumberWorld(World, ABC):
    """A real number whose mean and variance are known for each row.

    Predicted are that mean and `factor` · variance^`exponent`. Views: `quantile`, how
    far the share of labels below a predicted quantile is from its level, over all
    levels; `variance`, how far the predicted variance is from the mean squared residual
    where it is predicted. `auto` is `quantile`.
    """

    factor: float
    exponent: float

    @abstractmethod
    def data(self, n: int, seed: Seed) -> tuple[Floats, Floats, Floats]:
        """Features `(n, d)`, true means and true variances.

        Parameters
        ----------
        n
            Number of rows.
        seed
            A seed or a NumPy generator.
        """

    @abstractmethod
    def _cause(self) -> tuple[Floats, Function, Function]:
        """What determines the variance: panel points, its density, and the variance as its function."""

    def __post_init__(self) -> None:
        check_positive("factor", self.factor)
        if isinstance(self.exponent, bool) or not 0 <= self.exponent < np.inf:
            raise InputError("exponent", "must be 0 or positive, and finite", f"it is {self.exponent!r}")

    def predicted(self, variance: Floats) -> Floats:
        """The predicted variance where this one is true.

        Parameters
        ----------
        variance
            True variances.
        """
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.factor * variance**self.exponent)

    def sample(self, n: int, seed: Seed) -> GaussianForecasts:
        """Labels drawn from the true distributions, with the forecasts."""
        generator = generator_of(seed)
        _, mean, variance = self.data(check_count(n, "n"), generator)
        predicted = self.predicted(variance)
        if not 1 / LARGEST <= predicted.min() <= predicted.max() <= LARGEST:
            raise InputError(
                "exponent", "and factor must leave the variances positive and finite", f"it is {self.exponent}"
            )
        return GaussianForecasts(generator.normal(mean, np.sqrt(variance)), mean, predicted)

    def truth(self, norm: Norm = 1, view: str = "auto") -> Estimate:
        """By quadrature to 1e-10."""
        norm = check_norm(norm)
        check_choice("view", view, ("auto", "quantile", "variance"))
        name = "quantile" if view == "auto" else view
        points, density, distance = self._distance(name)
        if norm == "max":
            return true_estimate(supremum(distance, points), norm, name)
        power = integral(lambda x: distance(x) ** norm * density(x), points)
        return true_estimate(float(rooted(power, norm)), norm, name)

    def _distance(self, view: str) -> tuple[Floats, Function, Function]:
        """The integral of an error: panel points, density and the distance from calibration."""
        from scipy.special import ndtr

        points, density, variance = self._cause()
        if view == "quantile":
            x, weights = panel_nodes(points)
            ratio, share = np.sqrt(self.predicted(variance(x)) / variance(x)), weights * density(x)
            return NORMAL, normal_density, lambda z: np.abs(ndtr(np.outer(z, ratio)) @ share - ndtr(z))
        if self.exponent > 0:
            return points, density, lambda x: np.abs(self.predicted(variance(x)) - variance(x))
        mean = integral(lambda x: variance(x) * density(x), points)  # all predictions are equal
        return points, density, lambda x: np.full(len(x), abs(self.factor - mean))

    def _distortion(self) -> str:
        if self.factor == self.exponent == 1:
            return "perfectly calibrated"
        raised = "" if self.exponent == 1 else f"^{number(self.exponent)}"
        return f"predicted variance {number(self.factor)}·variance{raised}"


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class GaussianWorld(NumberWorld):
    """Means from a standard normal distribution and log-normal variances around 1.

    Parameters
    ----------
    factor, exponent
        The predicted variance is `factor` · variance^`exponent`.
    spread
        Standard deviation of the logarithm of the variance.

    Examples
    --------
    >>> from calibrant.simulate import GaussianWorld
    >>> round(GaussianWorld(factor=3.0).true_error(), 10)  # (arctan √3 − π/4)/π
    0.0833333333
    >>> GaussianWorld().sample(3, seed=0)
    GaussianForecasts(3 rows)
    """

    factor: float = 1.0
    exponent: float = 1.0
    spread: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_positive("spread", self.spread) > WIDEST:
            raise InputError("spread", f"must be at most {WIDEST}", f"it is {self.spread}")

    def data(self, n: int, seed: Seed) -> tuple[Floats, Floats, Floats]:
        """The features are the mean and the logarithm of the variance, over its spread."""
        features = generator_of(seed).normal(size=(n, 2))
        return features, features[:, 0].copy(), np.exp(self.spread * features[:, 1])

    def _cause(self) -> tuple[Floats, Function, Function]:
        # Squares of variances have their mass further out than the variances.
        end = NORMAL[-1] + 2 * self.spread * max(1.0, self.exponent)
        points = np.linspace(-end, end, int(4 * end) + 1)
        return points, normal_density, lambda x: np.exp(self.spread * x)

    def describe(self) -> str:
        """Spread and distortion."""
        return f"Gaussian, variances spread by {number(self.spread)} in ln, {self._distortion()}"


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class FriedmanWorld(NumberWorld):
    """Friedman's first problem with noise of variance 0.5 + x₆ (Gruber & Buettner, G.5).

    There are ten uniform features, of which five are in the mean. `data` gives the
    features, for fitting a model of one's own.

    Parameters
    ----------
    factor, exponent
        The predicted variance is `factor` · variance^`exponent`.

    Examples
    --------
    >>> from calibrant.simulate import FriedmanWorld
    >>> features, mean, variance = FriedmanWorld().data(100, seed=0)
    >>> features.shape, bool(variance.min() >= 0.5)
    ((100, 10), True)
    >>> round(FriedmanWorld(factor=0.5).true_error(view="variance"), 10)
    0.5
    """

    factor: float = 1.0
    exponent: float = 1.0

    def data(self, n: int, seed: Seed) -> tuple[Floats, Floats, Floats]:
        """10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅."""
        x = generator_of(seed).random((n, 10))
        mean = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
        return x, mean, 0.5 + x[:, 5]

    def _cause(self) -> tuple[Floats, Function, Function]:
        return np.linspace(0.0, 1.0, 9), np.ones_like, lambda x: 0.5 + x

    def describe(self) -> str:
        """Distortion."""
        return f"Friedman's first problem with noise of variance 0.5 + x₆, {self._distortion()}"
