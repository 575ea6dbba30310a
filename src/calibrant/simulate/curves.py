"""The true calibration curve of a world: the rate of the event where p is predicted.

Those that are generalised linear models are fitted by Newton's method and compared by
AIC (Roelofs et al. 2022, A.2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.inputs import check_choice, check_positive
from calibrant.kernels.fit.newton import fit_logistic
from calibrant.kernels.logits import sigmoid
from calibrant.maps.calibration_map import CalibrationMap
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import kind, number
from calibrant.simulate.scores import Described
from calibrant.types import Floats

LINKS = {"logit": "logit {}", "log": "ln {}", "logflip": "ln(1 − {})"}


class TrueCurve(Described, ABC):
    """P(Y = 1 | p), as a function of p and its complement q = 1 − p."""

    @abstractmethod
    def rates(self, p: Floats, q: Floats) -> Floats:
        """The true rate of the event.

        Parameters
        ----------
        p, q
            Predicted probabilities and their complements.
        """


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Calibrated(TrueCurve):
    """The true rate is the prediction."""

    def rates(self, p: Floats, q: Floats) -> Floats:  # noqa: ARG002
        """The score itself."""
        return p

    def describe(self) -> str:
        """The formula."""
        return "perfectly calibrated"


CALIBRATED = Calibrated()


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class LinearCurve(TrueCurve):
    """g⁻¹(b0 + b1·t(p)), clipped to [0, 1], with link g and transform t.

    Parameters
    ----------
    link, transform
        `"logit"`, `"log"` or `"logflip"`, which is ln(1 − p).
    intercept, slope
        b0 and b1.
    limits
        Scores nearer to 0 and to 1 than these are taken to be that far away.
    """

    link: str = "logit"
    transform: str = "logit"
    intercept: float = 0.0
    slope: float = 1.0
    limits: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        check_choice("link", self.link, tuple(LINKS))
        check_choice("transform", self.transform, tuple(LINKS))
        if not (math.isfinite(self.intercept) and math.isfinite(self.slope)):
            raise InputError("intercept", "and slope must be finite", f"they are {self.intercept} and {self.slope}")
        low, high = self.limits
        if not (0 <= low < 0.5 and 0 <= high < 0.5):
            raise InputError("limits", "must lie in [0, 0.5)", f"they are {self.limits}")

    def rates(self, p: Floats, q: Floats) -> Floats:
        """The inverse of the link, clipped to [0, 1]."""
        eta = self.linear(p, q)
        if self.link == "logit":
            return sigmoid(eta)
        below = np.minimum(eta, 0.0)
        return np.exp(below) if self.link == "log" else -np.expm1(below)

    def linear(self, p: Floats, q: Floats) -> Floats:
        """b0 + b1·t(p)."""
        t = transformed(self.transform, p, q, self.limits) if self.slope else np.zeros(np.shape(p))
        return self.intercept + self.slope * t

    def describe(self) -> str:
        """The formula."""
        sign, t = "−" if self.slope < 0 else "+", LINKS[self.transform].format("p")
        return f"{LINKS[self.link].format('c')} = {number(self.intercept)} {sign} {number(abs(self.slope))}·{t}"


def transformed(transform: str, p: Floats, q: Floats, limits: tuple[float, float] = (0.0, 0.0)) -> Floats:
    """logit p, ln p or ln(1 − p), without cancellation; ±∞ at the ends unless the limits exclude them."""
    low, high = limits
    if low or high:
        p, q = np.clip(p, low, 1 - high), np.clip(q, high, 1 - low)
    with np.errstate(divide="ignore"):
        if transform == "logit":
            return np.log(p) - np.log(q)
        if transform == "logflip":
            return np.log(q)
        return np.where(q < 0.5, np.log1p(-np.minimum(q, 0.5)), np.log(p))


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class PowerCurve(TrueCurve):
    """p^exponent: over-confident above 1, under-confident below (Roelofs et al., appendix C)."""

    exponent: float = 1.0

    def __post_init__(self) -> None:
        check_positive("exponent", self.exponent)

    def rates(self, p: Floats, q: Floats) -> Floats:
        """A power, from the side that does not cancel."""
        return np.asarray(np.exp(self.exponent * transformed("log", p, q)))

    def describe(self) -> str:
        """The formula."""
        return f"c = p^{number(self.exponent)}"


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class ScaledCurve(TrueCurve):
    """factor · p: over-confident by the same share everywhere."""

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.factor <= 1:
            raise InputError("factor", "must lie in [0, 1]", f"it is {self.factor!r}")

    def rates(self, p: Floats, q: Floats) -> Floats:  # noqa: ARG002
        """A product."""
        return self.factor * p

    def describe(self) -> str:
        """The formula."""
        return f"c = {number(self.factor)}·p"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class CellCurve(TrueCurve):
    """The prediction plus a distance that is known at some places, with straight lines between them."""

    places: Floats
    """predictions, rising"""
    away: Floats
    """true rate less prediction"""

    def rates(self, p: Floats, q: Floats) -> Floats:  # noqa: ARG002
        """Within [0, 1]."""
        return np.asarray(np.clip(p + np.interp(p, self.places, self.away), 0.0, 1.0))

    def describe(self) -> str:
        """How many places."""
        return f"c = p plus a distance at {len(self.places)} places"


@checked
@kind
@dataclass(frozen=True, eq=False, repr=False)
class MapCurve(TrueCurve):
    """Any fitted map of a single event, taken as the truth."""

    map: CalibrationMap

    def __post_init__(self) -> None:
        if not isinstance(self.map, CalibrationMap) or not self.map.single:
            raise InputError("map", "must be a fitted map of a single event", f"it is {self.map!r}")

    def rates(self, p: Floats, q: Floats) -> Floats:  # noqa: ARG002
        """The recalibrated score."""
        return np.asarray(self.map.from_probs(np.ravel(p))).reshape(np.shape(p))

    def describe(self) -> str:
        """The map's method."""
        return f"c = a fitted map ({self.map.method})"


@dataclass(frozen=True, eq=False, repr=False)
class FunctionCurve(TrueCurve):
    """A plain function of the predicted probabilities, taken as the truth; it cannot be saved."""

    function: Callable[[Floats], Any]

    def rates(self, p: Floats, q: Floats) -> Floats:  # noqa: ARG002
        """What the function gives, which must be probabilities."""
        given = np.asarray(p, dtype=np.float64)
        found = np.asarray(self.function(given), dtype=np.float64)
        if found.shape != given.shape:
            shapes = f"it gives {found.shape} for {given.shape} predictions"
            raise InputError("calibration", "must give a rate for each prediction", shapes)
        wrong = ~((found >= 0) & (found <= 1))
        if wrong.any():
            shown = f"it gives {found[wrong][0]:.6g} at {given[wrong][0]:.6g}"
            raise InputError("calibration", "must give rates in [0, 1]", shown)
        return found

    def to_data(self) -> dict[str, Any]:
        """Refused: code is not saved."""
        raise InputError("calibration", "must be a TrueCurve or a fitted map to be saved", f"it is {self.describe()}")

    def describe(self) -> str:
        """The function's name."""
        return f"c = {getattr(self.function, '__name__', type(self.function).__name__)}(p)"


def as_curve(curve: Any) -> TrueCurve:
    """A curve as it is, a fitted map of a single event, or a function of the predicted probabilities."""
    if isinstance(curve, TrueCurve):
        return curve
    if isinstance(curve, CalibrationMap):
        return MapCurve(curve)
    if isinstance(curve, type) or not callable(curve):
        needed = "must be a TrueCurve, a fitted map of a single event, or a function of the predictions"
        raise InputError("calibration", needed, f"it is {curve!r}")
    return FunctionCurve(curve)


PAIRS = (("logit", "logit"), ("logit", "logflip"), ("logflip", "logflip"), ("log", "log"))
"""Link and transform. The others of the nine give curves that leave [0, 1] or fall."""

MOST_STEPS = 200
SMALL_STEP = 1e-10
RIDGE = 1e-12
"""Share of the curvature that is added to it, in case t is the same in all rows."""
NEAREST = 1e-150
"""Smallest distance from 0 of the logarithm of a rate: the inverse of its square must not overflow."""


@dataclass(frozen=True, slots=True)
class LinearFit:
    """A curve, its number of free parameters, its log-likelihood, and whether the search converged."""

    curve: LinearCurve
    n_parameters: int
    likelihood: float
    converged: bool

    @property
    def aic(self) -> float:
        return 2 * self.n_parameters - 2 * self.likelihood

    @property
    def name(self) -> str:
        """Link, transform, free parameters."""
        named = f"{self.curve.link}, {self.curve.transform}: {'b0, b1' if self.n_parameters == 2 else 'b1'}"
        return named if self.curve.slope else "constant"


def fit_curves(p: Floats, q: Floats, hits: Floats, weight: Floats, limits: tuple[float, float]) -> list[LinearFit]:
    """Every member of the family, best AIC first. Both outcomes must occur."""
    rate = float(hits.sum() / weight.sum())
    constant = LinearCurve("logit", "logit", float(np.log(rate) - np.log1p(-rate)), 0.0, limits)
    found = [LinearFit(constant, 1, _likelihood(constant, p, q, hits, weight), True)]
    for link, transform in PAIRS:
        t = transformed(transform, p, q, limits)
        for free_intercept in (False, True):
            intercept, slope, converged = _fit(link, t, hits, weight, free_intercept)
            if slope == 0:
                continue  # the constant again
            curve = LinearCurve(link, transform, intercept, slope, limits)
            likelihood = _likelihood(curve, p, q, hits, weight)
            if np.isfinite(likelihood):
                found.append(LinearFit(curve, 1 + free_intercept, likelihood, converged))
    return sorted(found, key=lambda each: (each.aic, each.n_parameters))


def _fit(link: str, t: Floats, hits: Floats, weight: Floats, free_intercept: bool) -> tuple[float, float, bool]:
    if link == "logit":
        features = np.column_stack([np.ones(len(t)), t]) if free_intercept else t[:, None]
        fit = fit_logistic(features, weight, hits)
        return (*([] if free_intercept else [0.0]), *fit.coefficients.tolist(), fit.converged)
    return fit_log_linear(t, hits if link == "log" else weight - hits, weight, free_intercept)


def _likelihood(curve: LinearCurve, p: Floats, q: Floats, hits: Floats, weight: Floats) -> float:
    """Σ h ln c + (w − h) ln(1 − c), with ln c and ln(1 − c) each from the side that does not cancel."""
    eta = curve.linear(p, q)
    if curve.link == "logit":
        yes, no = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)
    else:
        yes, no = np.minimum(eta, 0.0), log_complement(eta)
        if curve.link == "logflip":
            yes, no = no, yes
    misses = weight - hits
    return float(hits[hits > 0] @ yes[hits > 0] + misses[misses > 0] @ no[misses > 0])


def log_complement(eta: Floats) -> Floats:
    """ln(1 − e^η), −∞ from η = 0 on."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(np.minimum(eta, 0.0)))


def fit_log_linear(t: Floats, hits: Floats, weight: Floats, free_intercept: bool) -> tuple[float, float, bool]:
    """ln c = b0 + b1·t for t ≤ 0, with b0 ≤ 0 ≤ b1: b0, b1 and whether it converged.

    c is then a probability everywhere. The likelihood is concave. Newton's steps are
    shortened where they would leave the allowed quadrant; if the maximum lies on its
    edge b0 = 0 or b1 = 0, the fit along that edge is at least as good and is taken.
    """
    slope, converged = _newton(np.array([1.0]), t[:, None], hits, weight)
    edge = (0.0, float(slope[0]), converged)
    if not free_intercept:
        return edge
    flat = (float(np.log(hits.sum() / weight.sum())), 0.0, True)
    features = np.column_stack([np.ones(len(t)), t])
    (b0, b1), converged = _newton(np.array([flat[0], 1e-3]), features, hits, weight)
    inner = (float(b0), float(b1), converged)
    return min((edge, flat, inner), key=lambda fit: _log_linear_loss(np.array(fit[:2]), features, hits, weight))


SIGNS = {1: np.array([1.0]), 2: np.array([-1.0, 1.0])}
"""The sign of each parameter."""


def _newton(beta: Floats, features: Floats, hits: Floats, weight: Floats) -> tuple[Floats, bool]:
    sign, misses = SIGNS[len(beta)], weight - hits
    loss = _log_linear_loss(beta, features, hits, weight)
    for _ in range(MOST_STEPS):
        with np.errstate(over="ignore"):  # the odds are then 0
            odds = 1 / np.expm1(np.maximum(-(features @ beta), NEAREST))
        slope = features.T @ (misses * odds - hits)
        curvature = (features.T * (misses * odds * (1 + odds))) @ features
        curvature += RIDGE * (1 + np.trace(curvature)) * np.eye(len(beta))
        step = -np.linalg.solve(curvature, slope)
        leaving = sign * step < 0
        size = min(1.0, 0.99 * float(np.min(np.abs(beta[leaving] / step[leaving])))) if leaving.any() else 1.0
        most = loss + 1e-14 * abs(loss)
        while (trial := _log_linear_loss(beta + size * step, features, hits, weight)) > most and size > 1e-12:
            size /= 2
        if size <= 1e-12:
            return beta, False  # on the edge
        beta, loss = beta + size * step, trial
        if np.abs(size * step).max() < SMALL_STEP * (1 + np.abs(beta).max()):
            return beta, True
    return beta, False


def _log_linear_loss(beta: Floats, features: Floats, hits: Floats, weight: Floats) -> float:
    eta, misses = features @ beta, weight - hits
    return float(-(hits @ np.minimum(eta, 0.0)) - misses[misses > 0] @ log_complement(eta)[misses > 0])
