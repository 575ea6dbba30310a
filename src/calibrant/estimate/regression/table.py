"""The table of measures of forecasts of a real number: a new one is its file and one line here."""

from calibrant.about import About
from calibrant.estimate.regression import (
    coverage,
    ence,
    marginal,
    mean_error,
    pit,
    skce,
    uncertainty_error,
    variance_gap,
    variance_ratio,
)

_ABOUTS = (
    mean_error.ABOUT,
    variance_gap.ABOUT,
    variance_ratio.ABOUT,
    ence.ABOUT,
    uncertainty_error.ABOUT,
    pit.ABOUT,
    coverage.ABOUT,
    coverage.AREA,
    marginal.ABOUT,
    skce.ABOUT,
)

REGRESSION: dict[str, About] = {about.name: about for about in _ABOUTS}

__all__ = ["REGRESSION"]
