"""The table of estimators: a new one is its file and one line here. The command line, the docs and the shared tests read it."""

from calibrant.about import About
from calibrant.estimate import (
    binned,
    canonical,
    classwise,
    crossvalidated,
    cumulative,
    density,
    expected,
    fitted,
    label_binned,
    mean_gap,
    mmce,
    posterior,
    regret,
    root_brier,
    skce,
    smooth,
    sweep,
    two_bin,
)

_ABOUTS = (
    binned.ECE,
    binned.ABOUT,
    label_binned.ABOUT,
    sweep.ABOUT,
    crossvalidated.ABOUT,
    classwise.STATIC,
    classwise.ADAPTIVE,
    classwise.THRESHOLDED,
    classwise.CLASSWISE,
    cumulative.ABOUT,
    mmce.ABOUT,
    skce.ABOUT,
    density.ABOUT,
    fitted.ABOUT,
    posterior.ABOUT,
    canonical.ABOUT,
    smooth.ABOUT,
    two_bin.ABOUT,
    regret.ABOUT,
    root_brier.ABOUT,
    expected.ABOUT,
    mean_gap.ABOUT,
)

ESTIMATORS: dict[str, About] = {about.name: about for about in _ABOUTS}

__all__ = ["ESTIMATORS"]
