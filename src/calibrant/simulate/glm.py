"""Calibration curves as generalised linear models, fitted by Newton's method and
compared by AIC (Roelofs et al. 2022, A.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.kernels.fit.newton import fit_logistic
from calibrant.simulate.curves import LinearCurve, transformed
from calibrant.types import Floats

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
        if self.curve.slope == 0:
            return "constant"
        free = "b0, b1" if self.n_parameters == 2 else "b1"
        return f"{self.curve.link}, {self.curve.transform}: {free}"


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
    t = transformed(curve.transform, p, q, curve.limits) if curve.slope else np.zeros(len(p))
    eta = curve.intercept + curve.slope * t
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
    """ln c = b0 + b1·t for t ≤ 0, with b0 ≤ 0 ≤ b1, so that c is a probability
    everywhere: b0, b1 and whether it converged.

    The likelihood is concave. Newton's steps are shortened where they would leave the
    allowed quadrant; if the maximum lies on its edge b0 = 0 or b1 = 0, the fit along
    that edge is at least as good and is taken.
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
        odds = 1 / np.expm1(np.maximum(-(features @ beta), NEAREST))
        slope = features.T @ (misses * odds - hits)
        curvature = (features.T * (misses * odds * (1 + odds))) @ features
        curvature += RIDGE * (1 + np.trace(curvature)) * np.eye(len(beta))
        step = -np.linalg.solve(curvature, slope)
        leaving = sign * step < 0
        size = min(1.0, 0.99 * float(np.min(np.abs(beta[leaving] / step[leaving])))) if leaving.any() else 1.0
        trial = _log_linear_loss(beta + size * step, features, hits, weight)
        while trial > loss + 1e-14 * abs(loss) and size > 1e-12:
            size /= 2
            trial = _log_linear_loss(beta + size * step, features, hits, weight)
        if size <= 1e-12:
            return beta, False  # on the edge
        beta, loss = beta + size * step, trial
        if np.abs(size * step).max() < SMALL_STEP * (1 + np.abs(beta).max()):
            return beta, True
    return beta, False


def _log_linear_loss(beta: Floats, features: Floats, hits: Floats, weight: Floats) -> float:
    eta, misses = features @ beta, weight - hits
    return float(-(hits @ np.minimum(eta, 0.0)) - misses[misses > 0] @ log_complement(eta)[misses > 0])
