"""What every proper score of forecasts of a real number can do. S(F, y) is a loss: lower is better."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from calibrant.forecasts import Forecasts, GaussianForecasts, QuantileForecasts, admit_forecasts
from calibrant.forecasts.base import LARGEST
from calibrant.inputs import check_level
from calibrant.interval import Possible, SkewedMean
from calibrant.interval.mean import CACHED_ROWS, mean_of
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.methods import methods
from calibrant.problems import InputError
from calibrant.results import Estimate
from calibrant.results.later import NONE, Later, both_later
from calibrant.score.rule import Rule
from calibrant.types import Floats

CACHED_NUMBERS = 1 << 19
"""Numbers in a block of rows, where a row is many samples or quantiles."""

NEGLIGIBLE = 0.05
"""Labels that less than so many rows are expected to have are left out where two sets of forecasts are compared."""

MOST_POSSIBLE = 1 << 18
"""Predicted numbers up to which rows are also scored with the labels that the forecasts hold possible."""


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

    def by_blocks(self, forecasts: Forecasts) -> Floats:
        """The scores of the rows, block by block: temporary arrays stay small."""
        n, step = forecasts.n, min(CACHED_ROWS, max(1, CACHED_NUMBERS // forecasts.width))
        if n <= step:
            return self.rows(forecasts)
        return np.concatenate(list(over_blocks(n, lambda block: self.rows(forecasts.rows(block)), step)))

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
        values, mass = rule.by_blocks(checked), (checked.weights, checked.squares)
        check_level(level)
        described = Later(lambda: {"score": self.name, "forecasts": checked.kind, **rule.describe()})

        def both() -> tuple[Any, tuple[str, ...]]:
            return SkewedMean.of(values, *mass, possible_values(checked, rule.of_labels)).interval(level)

        name, mean = f"{self.name}_score" if self.name != "crps" else self.name, mean_of(values, *mass)
        ends, cautions = both_later(both)  # they take far longer than the mean
        return Estimate(name, self.title, mean, checked.n, ends, None, described, NONE, cautions)


def possible_values(forecasts: Forecasts, of_labels: Callable[[Any, Floats], Floats]) -> Possible | None:
    """What each row would be for labels that its forecast holds possible; None for many rows, which need it least."""
    if forecasts.n * forecasts.width > MOST_POSSIBLE:
        return None
    labels, chances = forecasts.coarse_nodes()
    return Possible(tuple(of_labels(forecasts, each) for each in labels), tuple(chances))


def skewed_pair(rule: ForecastScore, before: Forecasts, after: Forecasts) -> tuple[SkewedMean, ...]:
    """The mean score before, after, and of after − before; labels may be what either side holds possible."""
    rows = [rule.by_blocks(each) for each in (before, after)]

    def change(_: Forecasts, labels: Floats) -> Floats:
        return rule.of_labels(after, labels) - rule.of_labels(before, labels)

    either = None
    sides = [found for each in (before, after) if (found := possible_values(each, change)) is not None]
    if len(sides) == 2:
        labels = [(x, chance / 2) for each in sides for x, chance in zip(each.values, each.chances, strict=True)]
        # one side scores the farthest labels of the other, as a map beyond the data it was fitted to has them, beyond reason
        labels = [(x, chance) for x, chance in labels if chance * before.n >= NEGLIGIBLE]
        kept = sum(chance for _, chance in labels)
        either = Possible(tuple(x for x, _ in labels), tuple(chance / kept for _, chance in labels)) if labels else None
    possible = (possible_values(before, rule.of_labels), possible_values(after, rule.of_labels), either)
    mass = before.weights, before.squares
    return tuple(SkewedMean.of(x, *mass, law) for x, law in zip((*rows, rows[1] - rows[0]), possible, strict=True))


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
