"""The true calibration curve of a world: the rate of the event where p is predicted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.inputs import check_choice, check_positive
from calibrant.kernels.logits import sigmoid
from calibrant.maps.calibration_map import CalibrationMap
from calibrant.problems import InputError
from calibrant.results import Record, kind, number
from calibrant.types import Floats

LINKS = ("logit", "log", "logflip")


class TrueCurve(Record, ABC):
    """P(Y = 1 | p), as a function of p and its complement q = 1 − p."""

    every_field_needed: ClassVar[bool] = True

    @abstractmethod
    def rates(self, p: Floats, q: Floats) -> Floats:
        """The true rate of the event.

        Parameters
        ----------
        p, q
            Predicted probabilities and their complements.
        """

    @abstractmethod
    def describe(self) -> str:
        """The formula."""

    def __repr__(self) -> str:
        return self.describe()


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
        check_choice("link", self.link, LINKS)
        check_choice("transform", self.transform, LINKS)
        if not (np.isfinite(self.intercept) and np.isfinite(self.slope)):
            raise InputError("intercept", "and slope must be finite", f"they are {self.intercept} and {self.slope}")
        low, high = self.limits
        if not (0 <= low < 0.5 and 0 <= high < 0.5):
            raise InputError("limits", "must lie in [0, 0.5)", f"they are {self.limits}")

    def rates(self, p: Floats, q: Floats) -> Floats:
        """Link and transform in turn."""
        if self.slope == 0:
            eta = np.full(np.shape(p), float(self.intercept))
        else:
            eta = self.intercept + self.slope * transformed(self.transform, p, q, self.limits)
        return linked(self.link, eta)

    def describe(self) -> str:
        """The formula."""
        inner = {"logit": "logit p", "log": "ln p", "logflip": "ln(1 − p)"}[self.transform]
        outer = {"logit": "logit c", "log": "ln c", "logflip": "ln(1 − c)"}[self.link]
        sign = "−" if self.slope < 0 else "+"
        return f"{outer} = {number(self.intercept)} {sign} {number(abs(self.slope))}·{inner}"


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


def linked(link: str, eta: Floats) -> Floats:
    """The inverse of a link, clipped to [0, 1]."""
    if link == "logit":
        return sigmoid(eta)
    below = np.minimum(eta, 0.0)
    return np.exp(below) if link == "log" else -np.expm1(below)


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


def as_curve(curve: Any) -> TrueCurve:
    """A curve as it is, or a fitted map of a single event."""
    return curve if isinstance(curve, TrueCurve) else MapCurve(curve)
