"""Ten worlds fitted to real networks (Roelofs et al. 2022, Tables 2 and 3): Beta
top-label scores and the best curve by AIC.
"""

from __future__ import annotations

from calibrant.inputs import check_choice
from calibrant.simulate.curves import CALIBRATED, LinearCurve
from calibrant.simulate.world import BetaWorld

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
"""α, β, link, transform, intercept, slope, as printed: the curves have two digits."""

NAMED_WORLDS: dict[str, BetaWorld] = {
    name: BetaWorld(alpha, beta, LinearCurve(link, transform, intercept, slope), name)
    for name, (alpha, beta, link, transform, intercept, slope) in _PARAMETERS.items()
}
"""The ten worlds by name. CIFAR-10 (c10), CIFAR-100 (c100) and ImageNet (imgnet)."""

REAL_SIZES: dict[str, int] = {name: 25_000 if name.endswith("imgnet") else 10_000 for name in NAMED_WORLDS}
"""Rows of the data that each was fitted to."""


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
