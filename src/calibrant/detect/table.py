"""The table of tests: a new one is its file and one line here."""

from calibrant.detect import (
    calibration,
    cox,
    cumulative,
    hosmer_lemeshow,
    multi_scale,
    omnibus,
    skce,
    spiegelhalter,
    two_part,
)
from calibrant.detect.about import AboutTest

_ABOUTS = (
    omnibus.ABOUT,
    calibration.ABOUT,
    spiegelhalter.ABOUT,
    cox.ABOUT,
    hosmer_lemeshow.ABOUT,
    cumulative.ABOUT,
    two_part.ABOUT,
    skce.ABOUT,
    multi_scale.ABOUT,
)

TESTS: dict[str, AboutTest] = {about.name: about for about in _ABOUTS}

__all__ = ["TESTS"]
