"""Straight lines between knots, however near these are to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.rows.bisection import first_above
from calibrant.types import Floats

NEAREST = 1e-300
"""Distance of knots below which a slope may overflow."""

ENOUGH = 200_000
"""Rows of `np.interp` that take about as long as it takes to load the compiled form."""

CELLS_PER_KNOT, MOST_CELLS = 4, 1 << 14
"""Cells of equal width that tell between which few knots a number lies; the table of them stays in a core's cache."""


def interpolated(x: Floats, knots: Floats, heights: Floats) -> Floats:
    """`np.interp`; where its slope overflows, the height of the knot to the left."""
    if x.ndim == 1 and knots[-1] - knots[0] > NEAREST and between_knots.ready(x, knots, heights, enough=ENOUGH):
        found = np.empty(len(x))
        between_knots.fast(x, knots, heights, min(CELLS_PER_KNOT * len(knots), MOST_CELLS), found)
        return found
    found = np.interp(x, knots, heights)
    if len(knots) > 1 and np.diff(knots).min() < NEAREST:
        wrong = np.flatnonzero(~np.isfinite(found))
        found[wrong] = heights[np.searchsorted(knots, x[wrong], side="right") - 1]
    return found


@compiled
def between_knots(x: Any, knots: Any, heights: Any, n_cells: int, found: Any) -> None:
    """The same to the last bit: a number's cell replaces most of the search for the knots beside it."""
    last = len(knots) - 1
    low, scale = knots[0], n_cells / (knots[last] - knots[0])
    before = np.zeros(n_cells + 1, np.intp)  # knots in all cells before each
    for knot in knots:
        before[min(int((knot - low) * scale), n_cells - 1) + 1] += 1
    for c in range(n_cells):
        before[c + 1] += before[c]
    for i in range(np.uintp(len(x))):
        if x[i] < low:
            found[i] = heights[0]
        elif x[i] < knots[last]:
            cell = min(int((x[i] - low) * scale), n_cells - 1)
            j = first_above(knots, before[cell], before[cell + 1], x[i]) - 1
            slope = (heights[j + 1] - heights[j]) / (knots[j + 1] - knots[j])
            found[i] = slope * (x[i] - knots[j]) + heights[j] if abs(slope) < np.inf else heights[j]
        else:
            found[i] = heights[last] if x[i] >= knots[last] else np.nan
