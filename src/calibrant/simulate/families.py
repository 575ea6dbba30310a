"""Worlds with a chosen true error, and ten that were fitted to real networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice, check_column, check_positive
from calibrant.norms import Norm
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.simulate.curves import CALIBRATED, LinearCurve, PowerCurve, ScaledCurve, TrueCurve
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, ScoreWorld

Family = Literal["power", "scaled", "tempered"]

FAMILIES: dict[str, Callable[[float], TrueCurve]] = {
    "power": lambda t: PowerCurve(1 / (1 - t)),
    "scaled": lambda t: ScaledCurve(1 - t),
    "tempered": lambda t: LinearCurve("logit", "logit", 0.0, 1 - t),
}
"""Curves by a parameter: 0 is calibrated, 1 is the end of the family."""

END = 1 - 1e-9
"""Parameter of the largest error that is searched; 1 itself can be singular."""


@checked
def calibrated_world(scores: Any) -> ScoreWorld:
    """A perfectly calibrated world.

    Parameters
    ----------
    scores
        Observed scores, a pair (α, β) of a Beta distribution, or a world whose scores
        to take.

    Examples
    --------
    >>> from calibrant.simulate import calibrated_world
    >>> calibrated_world((2.8, 0.05)).true_error()
    0.0
    """
    if isinstance(scores, ScoreWorld):
        return scores.with_curve(CALIBRATED)
    if isinstance(scores, tuple) and len(scores) == 2:
        return BetaWorld(check_positive("scores[0]", scores[0]), check_positive("scores[1]", scores[1]))
    return EmpiricalWorld(check_column(scores, "scores"))


@checked
def power_world(error: float, scores: Any = (1.0, 1.0), *, norm: Norm = 1) -> ScoreWorld:
    """The over-confident world of this error, with true rate p^d where p is predicted.

    Parameters
    ----------
    error
        The true error.
    scores
        As in `calibrated_world`; uniform by default.
    norm
        Of the error.

    Examples
    --------
    >>> from calibrant.simulate import power_world
    >>> world = power_world(1 / 6)
    >>> world.calibration.describe()
    'c = p^2.0000'
    """
    return bent_world(error, scores, family="power", norm=norm)


@checked
def bent_world(error: float, scores: Any = (1.0, 1.0), *, family: Family = "power", norm: Norm = 1) -> ScoreWorld:
    """A world with the true error `error`, from a family of over-confident curves.

    Parameters
    ----------
    error
        The true error.
    scores
        As in `calibrated_world`; uniform by default.
    family
        `"power"` is p^d with d above 1, `"scaled"` is k·p, `"tempered"` is a
        temperature above 1 in the log-odds: both ends move towards ½.
    norm
        Of the error.

    Examples
    --------
    >>> from calibrant.simulate import bent_world
    >>> bent_world(0.05, (2.0, 2.0), family="scaled").calibration.describe()
    'c = 0.9000·p'
    """
    check_choice("family", family, tuple(FAMILIES))
    base = calibrated_world(scores)

    def at(t: float) -> ScoreWorld:
        return base.with_curve(FAMILIES[family](t))

    most = most_bent(base, family=family, norm=norm)
    if isinstance(error, bool) or not isinstance(error, float | int | np.number) or not 0 <= error < most:
        raise InputError("error", f"must lie in [0, {most:.4g}) for this family and these scores", f"it is {error!r}")
    if error <= at(0.0).true_error(norm):  # 0, or below the rounding of the integral
        return base
    from scipy.optimize import brentq

    return at(brentq(lambda t: at(t).true_error(norm) - error, 0.0, END, xtol=1e-15, rtol=1e-14))


def most_bent(scores: Any, *, family: Family = "power", norm: Norm = 1) -> float:
    """The largest error that a family of curves can have with these scores.

    Parameters
    ----------
    scores, family, norm
        As in `bent_world`.
    """
    return calibrated_world(scores).with_curve(FAMILIES[family](END)).true_error(norm)


_PARAMETERS = {
    "resnet110_c10": (2.7752, 0.0478, "logflip", "logflip", -0.24, 0.30),
    "resnet110_SD_c10": (2.1714, 0.0394, "logit", "logflip", -0.27, -0.35),
    "resnet_wide32_c10": (2.3806, 0.0379, "logit", "logit", 0.0, 0.26),
    "densenet40_c10": (1.9824, 0.0397, "logit", "logflip", 0.0, -0.26),
    "resnet110_c100": (1.1823, 0.1081, "logflip", "logflip", -0.11, 0.28),
    "resnet110_SD_c100": (1.1233, 0.1147, "logit", "logit", -0.88, 0.49),
    "resnet_wide32_c100": (1.0611, 0.0650, "logflip", "logflip", -0.13, 0.21),
    "densenet40_c100": (1.0805, 0.0808, "logit", "logit", -0.97, 0.34),
    "resnet152_imgnet": (1.1359, 0.2069, "logflip", "logflip", -0.12, 0.58),
    "densenet161_imgnet": (1.1928, 0.2206, "log", "log", -0.03, 1.27),
}
"""α, β, link, transform, intercept, slope, as printed (Roelofs et al. 2022, Tables 2 and 3): the curves have two digits."""

NAMED_WORLDS: dict[str, BetaWorld] = {
    name: BetaWorld(alpha, beta, LinearCurve(link, transform, intercept, slope), name)
    for name, (alpha, beta, link, transform, intercept, slope) in _PARAMETERS.items()
}
"""The ten worlds by name. CIFAR-10 (c10), CIFAR-100 (c100) and ImageNet (imgnet)."""

REAL_SIZES: dict[str, int] = {name: 25_000 if name.endswith("imgnet") else 10_000 for name in NAMED_WORLDS}
"""Rows of the data that each was fitted to."""


@checked
def named_world(name: str, *, calibrated: bool = False) -> BetaWorld:
    """One of the ten worlds fitted to real networks.

    Parameters
    ----------
    name
        Of the world, a key of `NAMED_WORLDS`.
    calibrated
        Keep the scores and replace the curve by a perfectly calibrated one.

    Examples
    --------
    >>> from calibrant.simulate import named_world
    >>> named_world("resnet110_c10")
    BetaWorld: resnet110_c10: Beta(2.775, 0.0478) scores, ln(1 − c) = -0.2400 + 0.3000·ln(1 − p)
    >>> named_world("resnet110_c10", calibrated=True).true_error()
    0.0
    """
    world = NAMED_WORLDS[check_choice("name", name, tuple(NAMED_WORLDS))]
    return world.with_curve(CALIBRATED, f"{name}, calibrated") if calibrated else world
