"""Which calibration curves are possible, when the question is how far they lie from the predictions?

A mixture of families of curves η = z + f around the model's own log-odds z, each weighed by
its prior weight and the evidence of the data:

right: f = 0;
line: a straight line in log-odds;
bend, short: a line and a Gaussian process, smooth or at scales as short as 0.025;
wave: a line and one sine of up to 8 periods over the probabilities;
tail: a line beyond some prediction, right before it;
hill: off in one place, most in its middle, right elsewhere;
stretch: constant within stretches, some of which are right;
place: far off in one short stretch, right elsewhere.

A smooth process alone spreads an error in one place over its neighbours, and takes a wave for
noise. Few features detect what they describe with fewer rows than a flexible process needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.kernels.fit.log_odds_process import Posteriors, Priors, dealt, laplace, prior_features
from calibrant.kernels.fit.stretches import Stretches, stretches
from calibrant.kernels.logits import sigmoid
from calibrant.types import Bools, Floats

CURVE_WEIGHTS: dict[str, tuple[float, ...]] = {
    "right": (0.04,),
    "line": (0.04,),
    "bend": (0.19 / 3, 0.19 / 3, 0.19 / 3),
    "short": (0.12, 0.12, 0.12),
    "wave": (0.15, 0.15),
    "tail": (0.015, 0.015),
    "hill": (0.0, 0.0),
    "stretch": (0.03,),
    "place": (0.01,),
}
"""Prior weights of the families, for each size of bends, waves and tails: for curves, their bands and their largest errors."""

ERROR_WEIGHTS: dict[str, tuple[float, ...]] = {
    "right": (0.012,),
    "line": (0.024,),
    "bend": (0.0, 0.57, 0.04),
    "short": (0.068, 0.018, 0.018),
    "wave": (0.08, 0.08),
    "tail": (0.0, 0.04),
    "hill": (0.01, 0.01),
    "stretch": (0.006,),
    "place": (0.024,),
}
"""The same for the mean error, chosen for its RMSE on the worlds and seeds named in studies/error_estimates.py. A mean needs no
curve that is right in every place: a smooth one of the right size will do, and has less noise than short bends. Flexible families
lose some nats of evidence to simple ones that describe the data equally well, so that equal weights would take every weak error
for none."""

SQUARE_WEIGHTS = ERROR_WEIGHTS | {"place": (0.12,)}
"""The same for the mean square, relative to each other: most of it may lie in one short stretch, and to miss that one costs more."""

LINE_PRIORS = Priors((0.1, 0.3, 0.8), (), (), (), 0.0)
BEND_PRIORS = Priors((0.1, 0.5), (0.2, 0.5, 1.2), (0.1, 0.2, 0.4), (1.0, 2.0, 4.0), 1e-4)
SHORT_PRIORS = Priors((0.1, 0.5), (0.2, 0.5, 1.2), (0.025, 0.05), (), 1e-3)
WAVE_PRIORS = Priors((0.0, 0.2), (0.2, 0.5), (), (), 0.0)
PERIODS = np.arange(1.0, 8.5, 0.5)
"""Waves per unit of probability."""

TAILS, TAIL_LINES = np.arange(0.02, 0.5, 0.04), (0.3, 1.0)
"""Shares of the rows in a tail, and how far its line may lie from the identity."""

HILLS, HILL_HEIGHTS = (0.1, 0.16, 0.24, 0.4), (0.3, 1.0)
"""Shares of the rows in a hill, and how far its top may lie from the identity, in log-odds."""

CHANGES = np.array([0.5, 3.0, 10.0])
"""Expected changes from one stretch to another; among few cells at most in nine of ten places."""
MOST_CHANGES = 0.9

FARTHEST = 5.0
"""Log-odds of the last place in which lines and bends go on: predictions of 0 and 1 must not bend the rest."""

CERTAIN = 6.0
"""How far, in log-odds, the rate of predictions read as certain may lie from them, apart from all others."""


@dataclass(frozen=True, slots=True, eq=False)
class ErrorCurves:
    """The posterior of the curve over all families."""

    z: Floats
    smooth: Posteriors
    stretched: Stretches
    share: Floats
    """posterior probability of every prior, those of `smooth` first, where the question is the curve"""
    error_share: Floats
    """the same where the question is the mean error"""
    square_share: Floats
    """the same where the question is the mean square"""

    def drawn(self, count: int, rng: np.random.Generator, share: Floats | None = None) -> Floats:
        """`count` joint draws of η in all cells, `(draws, cells)`, with these shares of the priors."""
        counts, n_smooth = dealt(self.share if share is None else share, count, rng), len(self.smooth.mean)
        smooth = self.smooth.drawn(counts[:n_smooth], rng)
        moved = [self.stretched.drawn(k, count, rng) for k, count in enumerate(counts[n_smooth:]) if count]
        return np.concatenate([smooth, *(self.z + each for each in moved)])


def error_curves(z: Floats, w: Floats, s: Floats, certain: Bools) -> ErrorCurves:
    """The posterior of the curve at cells.

    Parameters
    ----------
    z, w, s
        Log-odds (finite), rows and hits of each cell.
    certain
        Cells whose predictions are as good as 0 or 1 for so many rows.
    """
    stacks = _families(z, w, certain)
    mean, roots, evidence = zip(*(laplace(features, z, w, s) for _, features in stacks), strict=True)
    right = (s * z - w * np.logaddexp(0.0, z)).sum()
    smooth = Posteriors(
        np.concatenate(mean), tuple(r for stack in roots for r in stack), np.concatenate(evidence) - right
    )
    hazards = np.minimum(CHANGES / max(len(z) - 1, 1), MOST_CHANGES)
    stretched = stretches(z, w, s, hazards)
    known = np.append(smooth.evidence, stretched.evidence)
    names = [*((name, len(features)) for name, features in stacks), ("stretch", len(hazards)), ("place", 1)]
    before = (_before(weights, names) for weights in (CURVE_WEIGHTS, ERROR_WEIGHTS, SQUARE_WEIGHTS))
    shares = [each * np.exp(known - known.max()) for each in before]
    return ErrorCurves(z, smooth, stretched, *(share / share.sum() for share in shares))


def _before(weights: dict[str, tuple[float, ...]], stacks: list[tuple[str, int]]) -> Floats:
    """The prior weight of every prior, from names and lengths of the stacks; sizes vary fastest."""
    names = [name for name, _ in stacks]
    each = [np.resize(weights[name], n) * len(weights[name]) / (n * names.count(name)) for name, n in stacks]
    return np.concatenate(each)


def _families(z: Floats, w: Floats, certain: Bools) -> list[tuple[str, Floats]]:
    """Names of the families but the last two, and their features: `(priors, cells, features)`."""
    place = np.clip(z, -FARTHEST, FARTHEST)
    waves = [np.stack([np.sin(turn), np.cos(turn)], axis=1) for turn in 2 * np.pi * PERIODS[:, None] * sigmoid(place)]
    stacks = {
        "right": [np.zeros((1, len(z), 0))],
        "line": prior_features(place, LINE_PRIORS),
        "bend": prior_features(place, BEND_PRIORS)[1:],
        "short": prior_features(place, SHORT_PRIORS)[1:],
        "wave": [np.concatenate(prior_features(place, WAVE_PRIORS, waves)[1:])],
        "tail": [np.stack([a * tail for tail in _tails(place, w) for a in TAIL_LINES])],
        "hill": [np.stack([a * hill for hill in _hills(w) for a in HILL_HEIGHTS])],
    }
    ends = np.stack([certain & (z < 0), certain & (z > 0)], axis=1)
    own = CERTAIN * ends[:, ends.any(axis=0)]
    return [
        (name, np.concatenate([stack, np.tile(own, (len(stack), 1, 1))], axis=2))
        for name, each in stacks.items()
        for stack in each
    ]


def _tails(place: Floats, w: Floats) -> list[Floats]:
    """Features of a line that begins at some share of the rows, from below and from above."""
    middle = (np.cumsum(w) - w / 2) / w.sum()
    found = []
    for share in TAILS:
        for inside, nearest in ((middle < share, -1), (middle > 1 - share, 0)):
            edge = place[inside][nearest] if inside.any() else 0.0
            found.append(np.stack([inside, inside * (place - edge)], axis=1).astype(np.float64))
    return found


def _hills(w: Floats) -> list[Floats]:
    """Features of one hill over a share of the rows, at places a quarter of its width apart."""
    middle, found = (np.cumsum(w) - w / 2) / w.sum(), []
    for share in HILLS:
        for centre in np.linspace(share / 2, 1 - share / 2, round(4 / share) - 3):
            x = np.clip((middle - centre) / (share / 2), -1.0, 1.0)
            found.append((1 + np.cos(np.pi * x))[:, None] / 2)
    return found
