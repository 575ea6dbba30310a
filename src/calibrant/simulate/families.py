"""Worlds with a chosen true error: given scores, and the curve of a family that has this error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.problems import InputError
from calibrant.simulate.curves import CALIBRATED, LinearCurve, PowerCurve, ScaledCurve, TrueCurve
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, Norm, ScoreWorld

Family = Literal["power", "scaled", "tempered"]

FAMILIES: dict[str, Callable[[float], TrueCurve]] = {
    "power": lambda t: PowerCurve(1 / (1 - t)),
    "scaled": lambda t: ScaledCurve(1 - t),
    "tempered": lambda t: LinearCurve("logit", "logit", 0.0, 1 - t),
}
"""Curves by a parameter: 0 is calibrated, 1 is the end of the family."""

END = 1 - 1e-9
"""Parameter of the largest error that is searched; 1 itself can be singular."""


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
    return with_curve(scores, CALIBRATED)


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

    most = at(END).true_error(norm)
    if isinstance(error, bool) or not isinstance(error, float | int | np.number) or not 0 <= error < most:
        raise InputError("error", f"must lie in [0, {most:.4g}) for this family and these scores", f"it is {error!r}")
    if error == 0:
        return base
    from scipy.optimize import brentq

    return at(brentq(lambda t: at(t).true_error(norm) - error, 0.0, END, xtol=1e-15, rtol=1e-14))


def with_curve(scores: Any, calibration: TrueCurve) -> ScoreWorld:
    """A world of these scores and this curve."""
    if isinstance(scores, ScoreWorld):
        return scores.with_curve(calibration)
    if isinstance(scores, tuple) and len(scores) == 2:
        return BetaWorld(float(scores[0]), float(scores[1]), calibration)
    return EmpiricalWorld(scores, calibration)
