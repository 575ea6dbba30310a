"""Maps that are a logistic regression on the log-odds: Platt's, with a square, and beta calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice
from calibrant.kernels.fit.newton_logistic import LogisticFit, fit_logistic
from calibrant.kernels.logits import sigmoid
from calibrant.kernels.rows.pooling import Groups
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.binary import FAR, BinaryMap, BinaryRecipe, event_groups
from calibrant.maps.calibration_map import Fit
from calibrant.methods import method
from calibrant.predictions import Predictions
from calibrant.results import kind

Floats = NDArray[np.float64]


@method("map", name="platt", state="pooled")
@dataclass(frozen=True, slots=True)
class Platt(BinaryRecipe):
    """σ(a·z + b) on the log-odds z, with Platt's smoothed targets.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Platt().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8])
    >>> fitted.n_parameters, fitted.injective
    (2, True)
    """

    def fit_event(self, predictions: Predictions) -> LogOddsMap:
        """Newton's method on two coefficients."""
        return _fit(predictions, degree=1, smoothed=True)


@method("map", name="quadratic", state="pooled")
@dataclass(frozen=True, slots=True)
class Quadratic(BinaryRecipe):
    """σ(a·z + b + c·z²): bends where Platt's line is straight; need not be monotone.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.maps.Quadratic().fit([0, 1, 1, 0, 1], [0.1, 0.9, 0.6, 0.7, 0.8]).n_parameters
    3
    """

    def fit_event(self, predictions: Predictions) -> LogOddsMap:
        """Newton's method on three coefficients."""
        return _fit(predictions, degree=2, smoothed=True)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class LogOddsMap(BinaryMap):
    """σ(b + a·z + c·z²)."""

    intercept: float = 0.0
    slope: float = 1.0
    square: float = 0.0
    limit: float = FAR
    """log-odds beyond this count as this"""

    @property
    def method(self) -> str:  # type: ignore[override]
        return "quadratic" if self.square else "platt"

    @property
    def injective(self) -> bool:
        return self.square == 0 and self.slope != 0

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        return self.square == 0 and self.slope > 0

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        return self.keeps_ranking and self.intercept == 0

    @property
    def parameters(self) -> dict[str, Any]:
        found = {"intercept": self.intercept, "slope": self.slope}
        return found | ({"square": self.square} if self.square else {})

    def of_log_odds(self, z: Floats) -> Floats:
        """The polynomial in z, through the sigmoid."""
        finite = np.clip(z, -self.limit, self.limit)
        return sigmoid(self.intercept + finite * (self.slope + finite * self.square))


LN_2 = float(np.log(2))


def _fit(predictions: Predictions, degree: int, smoothed: bool) -> LogOddsMap:
    groups, z, limit, cautions = event_groups(predictions)
    features = np.stack([z**power for power in range(degree + 1)], axis=1)
    found = fit_logistic(features, groups.weight, smoothed_hits(groups) if smoothed else groups.hits)
    intercept, slope, *square = found.coefficients.tolist()
    loss = mean_loss(features @ found.coefficients, groups)
    fit = Fit(predictions.n, loss, found.converged, cautions + doubts(found, groups))
    return LogOddsMap(predictions.classes, True, fit, intercept, slope, square[0] if square else 0.0, limit)


def mean_loss(log_odds: Floats, groups: Groups) -> float:
    """Mean log loss of what happened, whatever the targets of the fit were."""
    return (inner(groups.weight, np.logaddexp(0.0, log_odds)) - inner(groups.hits, log_odds)) / groups.total


def smoothed_hits(groups: Groups) -> Floats:
    """Platt's targets: (N₊+1)/(N₊+2) for what happened, 1/(N₋+2) for what did not, so that no fit runs off to infinity."""
    happened = float(groups.hits.sum())
    yes, no = (happened + 1) / (happened + 2), 1 / (groups.total - happened + 2)
    return groups.hits * yes + (groups.weight - groups.hits) * no


def doubts(found: LogisticFit, groups: Groups) -> tuple[str, ...]:
    """What a user should know about a fit."""
    happened = groups.hits.sum()
    told = []
    if happened in (0, groups.total):
        told.append("the event " + ("never" if happened == 0 else "always") + " happened: the map says little else")
    if not found.converged:
        told.append("the search did not converge, as when rows can be separated; the last step is returned")
    return tuple(told)


@method("map", name="beta", state="pooled")
@dataclass(frozen=True, slots=True)
class Beta(BinaryRecipe):
    """σ(c + a·ln p − b·ln(1−p)) with a, b ≥ 0: beta calibration.

    `variant` is `"abm"` (three parameters), `"am"` (a = b) or `"ab"` (½ stays ½: c = (a − b)·ln 2).

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Beta().fit([0, 1, 1, 0, 1, 0], [0.1, 0.9, 0.6, 0.7, 0.8, 0.65])
    >>> fitted.a >= 0 and fitted.b >= 0
    True
    """

    variant: Literal["abm", "am", "ab"] = "abm"

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, ("abm", "am", "ab"))

    def fit_event(self, predictions: Predictions) -> BetaMap:
        """Newton's method; a coefficient that comes out negative is set to 0 and the others are fitted again."""
        groups, z, limit, cautions = event_groups(predictions)
        left, right = -np.logaddexp(0.0, -z), np.logaddexp(0.0, z)  # ln p and −ln(1−p)
        columns = {"a": left, "b": right, "c": np.ones_like(z)}
        if self.variant == "am":
            columns = {"ab": left + right, "c": columns["c"]}
        elif self.variant == "ab":
            columns = {"a": left + LN_2, "b": right - LN_2}
        while True:
            found = fit_logistic(np.stack(list(columns.values()), axis=1), groups.weight, groups.hits)
            values = dict(zip(columns, found.coefficients.tolist(), strict=True))
            negative = [name for name in values if name != "c" and values[name] < 0]
            if not negative or len(columns) == 1:
                break
            del columns[min(negative, key=values.__getitem__)]
        a, b = (max(values.get(name, values.get("ab", 0.0)), 0.0) for name in ("a", "b"))
        c = (a - b) * LN_2 if self.variant == "ab" else values.get("c", 0.0)
        fit = Fit(predictions.n, found.loss, found.converged, cautions + doubts(found, groups))
        return BetaMap(predictions.classes, True, fit, a, b, c, limit)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class BetaMap(BinaryMap):
    """σ(c + a·ln p − b·ln(1−p))."""

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    limit: float = FAR
    """log-odds beyond this count as this"""

    method: ClassVar[str] = "beta"

    @property
    def injective(self) -> bool:
        return self.a > 0 or self.b > 0

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        return self.injective

    @property
    def keeps_accuracy(self) -> bool:  # type: ignore[override]
        return self.a == self.b > 0 and self.c == 0

    @property
    def parameters(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b, "c": self.c}

    def of_log_odds(self, z: Floats) -> Floats:
        """From the log-odds: ln p = −ln(1 + e^−z) and −ln(1−p) = ln(1 + e^z)."""
        finite = np.clip(z, -self.limit, self.limit)
        return sigmoid(self.c - self.a * np.logaddexp(0.0, -finite) + self.b * np.logaddexp(0.0, finite))
