"""A path of calibration curves from "calibrated" through what the data show and beyond:
c_t(p) = σ(logit p + t·d(p)).

The direction d is the mean over a few smooth curves that the data support, found by
logistic regression around the model's own log-odds: straight lines and bends, in the
probability and in log-odds. Its length does not matter: the path goes all the way.
"""

from __future__ import annotations

import numpy as np

from calibrant.kernels.fit.log_odds_process import posteriors_of, rbf_root, scaled_places, stacked_features
from calibrant.kernels.logits import log_odds
from calibrant.types import Floats

LINES, BENDS = (0.1, 0.8), (0.2, 0.8)
"""Prior scales of lines and bends around "no change": small and large. No change itself
has no direction, and is left out."""

LENGTHS_IN_P, LENGTHS_IN_Z = (0.1, 0.3), (2.0,)
"""Lengths over which bends vary, in probability and in log-odds."""

FARTHEST = 30.0
"""Log-odds beyond which a prediction is as good as certain."""

NEGLIGIBLE = 1e-4
"""Variance of a bend that may be left out."""

FLAT = 1e-9
"""A curve closer to "no change" than this has no direction."""


def direction(z: Floats, n: Floats, hits: Floats, rough: bool = False) -> Floats:
    """d at cells with log-odds z (finite), rows n and hits, its largest size 1; all one
    where the data show nothing.

    `rough` lets each cell go its own way too, if the data ask for it.
    """
    roots = [rbf_root(place, NEGLIGIBLE) for place in scaled_places(z, LENGTHS_IN_P, LENGTHS_IN_Z)]
    roots += [np.eye(len(z))] if rough else []
    found = posteriors_of(stacked_features(z, LINES, BENDS, roots), z, n, hits)
    share = np.exp(found.evidence - found.evidence.max())
    away: Floats = (share / share.sum()) @ found.mean - z
    largest = np.abs(away).max()
    return away / largest if largest > FLAT else np.ones_like(z)


def bounded_log_odds(probs: Floats) -> Floats:
    """ln p − ln(1 − p) within what counts as certain."""
    return np.clip(log_odds(probs), -FARTHEST, FARTHEST)
