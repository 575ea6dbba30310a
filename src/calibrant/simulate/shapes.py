"""Five shapes (Kängsepp et al. 2023, appendix D.3): true rates are drawn, predictions distort them.

As the true rates and the labels are drawn before the predictions, the same seed gives
the same rates and labels for every shape and every error: models of one data set, to be
ranked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import kind, number
from calibrant.simulate.scores import Scores, UniformScores
from calibrant.simulate.world import EventWorld, probabilities_of
from calibrant.types import Floats

Shape = Literal["square", "sqrt", "beta1", "beta2", "stairs"]


def _beta_shape(c: Floats, a: float, b: float, half: float) -> Floats:
    """σ(k + a·ln c − b·ln(1−c)) with k such that `half` is mapped to ½."""
    k = b * np.log1p(-half) - a * np.log(half)
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 + np.exp(-(k + a * np.log(c) - b * np.log1p(-c)))))


def _stair(x: Floats) -> Floats:
    """x − sin x, twice."""
    once = 3 * np.pi * x - np.sin(3 * np.pi * x)
    return (once - np.sin(once)) / (3 * np.pi)


SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "square": np.square,
    "sqrt": np.sqrt,
    "beta1": partial(_beta_shape, a=0.4, b=0.45, half=0.4),
    "beta2": partial(_beta_shape, a=2.0, b=2.2, half=0.48),
    "stairs": lambda c: _stair(c + 1 / 3) - _stair(np.array(1 / 3)),
}
"""From the true rate to the prediction."""


@lru_cache
def largest_error(shape: str) -> float:
    """The expected absolute error of a shape that is predicted undiluted."""
    return UniformScores().mean(lambda c, _: np.abs(SHAPES[shape](c) - c))


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class ShapeWorld(EventWorld):
    """Uniform true rates; the prediction is a mixture of the rate and a shape of it.

    Parameters
    ----------
    shape
        `"square"`, `"sqrt"`, `"beta1"`, `"beta2"` or `"stairs"`.
    error
        Expected absolute error; it fixes the weight of the shape in the mixture.

    Examples
    --------
    >>> from calibrant.simulate import ShapeWorld
    >>> world = ShapeWorld("stairs", 0.05)
    >>> round(world.true_error(), 10)
    0.05
    >>> probs, outcomes, rates = world.draw(100, 10, seed=1)
    >>> bool((ShapeWorld("square", 0.1).draw(100, 10, seed=1)[1] == outcomes).all())
    True
    """

    shape: Shape
    error: float = 0.1

    def __post_init__(self) -> None:
        check_choice("shape", self.shape, tuple(SHAPES))
        most = largest_error(self.shape)
        if isinstance(self.error, bool) or not 0 <= self.error <= most:
            raise InputError("error", f"must lie in [0, {most:.4f}] for {self.shape!r}", f"it is {self.error!r}")

    @property
    def scores(self) -> Scores:
        """The true rates."""
        return UniformScores()

    @property
    def share(self) -> float:
        """The weight of the shape in the mixture."""
        return self.error / largest_error(self.shape)

    def predicted(self, c: Any) -> Floats:
        """The prediction where the true rate is c.

        Parameters
        ----------
        c
            True rates.
        """
        rates = probabilities_of(c)
        return self.prediction_and_rate(rates, 1 - rates)[0]

    def prediction_and_rate(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """The rate was drawn; the prediction follows from it."""
        return np.clip((1 - self.share) * p + self.share * SHAPES[self.shape](p), 0.0, 1.0), p

    def curve(self, p: Any) -> Floats:
        """The inverse of `predicted`, by bisection.

        Parameters
        ----------
        p
            Predicted probabilities.
        """
        target = probabilities_of(p)
        low, high = np.zeros(target.shape), np.ones(target.shape)
        for _ in range(60):
            middle = (low + high) / 2
            below = self.predicted(middle) < target
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def describe(self) -> str:
        """Shape and error."""
        return f"the shape {self.shape} with expected absolute error {number(self.error)}, true rates uniform"


def published_draw(n: int, seed: int) -> tuple[Floats, Any]:
    """Sorted true rates and labels as the paper's code draws them.

    These are data set `seed` (0 to 4) of size `n` (1000, 3000, 10 000).
    """
    state = np.random.RandomState(seed + n)  # as the published data were drawn
    rates = np.sort(state.dirichlet((1, 1), n)[:, 0])
    return rates, state.binomial(1, rates)
