"""What a monitor bets on: fixed alternatives, so that evidence from parts of the data adds up."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.draws.betting import log_ratios
from calibrant.predictions import Event
from calibrant.types import Floats, Indices

GRID = 1
"""Version of this list; states made with another cannot be merged."""

# sizes of shifts, slopes, and pairs of both
SMALL = (0.03, 0.08, 0.2, 0.5, 1.2)
STEEP = (0.4, 0.6, 0.8, 0.92, 1.09, 1.25, 1.6, 2.5)
PAIRS = tuple((shift, slope) for shift in (-0.6, -0.2, 0.2, 0.6) for slope in (0.7, 1.4))
OVERALL = (*((s * sign, 1.0) for s in SMALL for sign in (-1, 1)), *((0.0, b) for b in STEEP), *PAIRS)
"""(shift, slope) in log-odds, for all rows. A bet on a shift of s gains
where the true shift is larger than s/2."""

EDGES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Regions of predictions, closed on the right, finer near 0 and 1 where confident models live."""
N_REGIONS = len(EDGES) + 1
LOCAL = (-1.2, -0.35, -0.1, 0.1, 0.35, 1.2)
"""Shifts in each region alone."""

N_OVERALL, N_LOCAL = len(OVERALL), len(LOCAL)
N_BETS = N_OVERALL + N_REGIONS * N_LOCAL
WEIGHTS: Floats = np.repeat([0.6 / N_OVERALL, 0.4 / (N_BETS - N_OVERALL)], [N_OVERALL, N_BETS - N_OVERALL])
"""Share of the stake on each bet: 0.6 on those for all rows, 0.4 on those of single regions."""


def bets_on(event: Event) -> tuple[Floats, Indices]:
    """(n, N_BETS) log-ratios of the rows under each bet, 0 outside a bet's region.

    The regions.
    """
    shifts, slopes = np.array([*OVERALL, *((shift, 1.0) for shift in LOCAL)]).T
    logs = log_ratios(event.probs, event.outcomes, shifts, slopes)
    regions = np.searchsorted(EDGES, event.probs.astype(np.float64), side="left").astype(np.intp)
    ratios = np.zeros((event.n, N_BETS))
    ratios[:, :N_OVERALL] = logs[:, :N_OVERALL]
    columns = N_OVERALL + regions[:, None] * N_LOCAL + np.arange(N_LOCAL)
    np.put_along_axis(ratios, columns, logs[:, N_OVERALL:], axis=1)
    return ratios, regions


def in_words(bet: int, view: str) -> str:
    """How predictions are off if this bet wins."""
    if bet >= N_OVERALL:
        region, local = divmod(bet - N_OVERALL, N_LOCAL)
        ends = (0.0, *EDGES, 1.0)
        return f"predictions between {ends[region]:g} and {ends[region + 1]:g} are {_height(LOCAL[local], view)}"
    shift, slope = OVERALL[bet]
    words = [] if shift == 0 else [_height(shift, view)]
    words += [] if slope == 1 else ["too near 0 and 1" if slope < 1 else "too near ½"]
    return f"predictions are {' and '.join(words)}"


def _height(shift: float, view: str) -> str:
    if view == "top":
        return "over-confident" if shift < 0 else "under-confident"
    return "too high" if shift < 0 else "too low"
