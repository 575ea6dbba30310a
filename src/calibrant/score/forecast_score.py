"""What every proper score of forecasts of a real number can do. S(F, y) is a loss: lower is better."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from calibrant.forecasts import Forecasts, GaussianForecasts, QuantileForecasts, admit_forecasts
from calibrant.forecasts.base import LARGEST
from calibrant.interval.mean import CACHED_ROWS, Moments, moments, pooled
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.methods import methods
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.score.rule import Rule
from calibrant.types import Floats

CACHED_NUMBERS = 1 << 19
"""Numbers in a block of rows, where a row is many samples or quantiles."""


class ForecastScore(Rule):
    """A proper score of forecasts of a real number: define `of_labels`, and all else follows.

    `expected` is the mean of `of_labels` over the truth's own points; a score with a
    closed form defines its own. `infimum` is needed for `upper_bound`.

    Examples
    --------
    >>> from calibrant.forecasts import GaussianForecasts
    >>> from calibrant.score import ForecastScore
    >>> class Squared(ForecastScore):
    ...     title, infimum = "squared error of the mean", 0.0
    ...     def of_labels(self, forecasts, labels):
    ...         return (forecasts.mean - labels) ** 2
    >>> forecasts = GaussianForecasts([1.0, 3.0], mean=[0.0, 3.0], variance=[1.0, 2.0])
    >>> Squared().score(forecasts).value
    0.5
    >>> Squared().entropy(forecasts).round(6)
    array([1., 2.])
    """

    @abstractmethod
    def of_labels(self, forecasts: Forecasts, labels: Floats) -> Floats:
        """S(F_i, y_i) for checked forecasts and any labels `(n,)`."""

    def expected(self, forecasts: Forecasts, truth: Forecasts) -> Floats:
        """s(F, G) for the distributions of two sets of forecasts, row by row."""
        points, shares = truth.nodes()
        total = np.zeros(len(forecasts.labels))
        for k, share in enumerate(shares.tolist()):
            total += share * self.of_labels(forecasts, points[:, k])
        return total

    def rows(self, forecasts: Forecasts) -> Floats:
        """S(F_i, y_i) with the labels of the forecasts."""
        return self.of_labels(forecasts, forecasts.labels)

    def settled(self, forecasts: Forecasts) -> Self:  # noqa: ARG002
        """The score with every option that depends on the forecasts fixed, so that others can be scored alike."""
        return self

    def moments(self, forecasts: Forecasts) -> Moments:
        """Mean and spread of the rows' scores, block by block."""
        n, w = forecasts.n, forecasts.weights
        step = min(CACHED_ROWS, max(1, CACHED_NUMBERS // forecasts.outputs.shape[1]))
        if n <= step:
            return moments(self.rows(forecasts), w)

        def part(block: slice) -> Moments:
            if w is not None and not w[block].any():
                return Moments(0, 0.0, 0.0, 0.0)
            return moments(self.rows(forecasts.rows(block)), None if w is None else w[block])

        return pooled(over_blocks(n, part, step))

    def score(self, forecasts: Any, *, level: float = 0.95) -> Estimate:
        """The mean score with its interval.

        Parameters
        ----------
        forecasts
            Forecasts of a real number with their labels.
        level
            Confidence of the interval.
        """
        checked = admit_forecasts(forecasts)
        rule = self.settled(checked)
        found = rule.moments(checked)
        interval, cautions = found.interval(level)
        described = {"score": self.name, "forecasts": checked.kind, **rule.describe()}
        name = f"{self.name}_score" if self.name != "crps" else self.name
        return Estimate(name, self.title, found.mean, checked.n, interval, settings=described, cautions=cautions)


def positive_variance(forecasts: Forecasts) -> Floats:
    """The variances, refused where one is 0, as of samples that are all equal."""
    variance = forecasts.variance
    if (none := variance < 1 / LARGEST).any():
        row = int(np.argmax(none))
        raise InputError("forecasts", "must have positive variances for this score", f"row {row} has none")
    return variance


def check_forecast_score(score: Any, forecasts: Forecasts) -> ForecastScore:
    """A score by its name or as itself; `auto` is Dawid–Sebastiani for Gaussians, pinball for quantiles, else CRPS."""
    known = methods("forecast score")
    if isinstance(score, str) and score == "auto":
        kinds = {GaussianForecasts: "dawid_sebastiani", QuantileForecasts: "pinball"}
        score = next((name for kind, name in kinds.items() if isinstance(forecasts, kind)), "crps")
    if isinstance(score, str) and score in known:
        score = known[score].function()
    if isinstance(score, ForecastScore):
        return score.settled(forecasts)
    names = ", ".join(map(repr, known))
    raise InputError("score", f"must be one of {names}, or a ForecastScore, for forecasts", f"it is {score!r}")
