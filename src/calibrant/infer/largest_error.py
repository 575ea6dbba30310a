"""How large is the largest error at least? Mean gaps over windows of predictions are not above it."""

from __future__ import annotations

import numpy as np

from calibrant.infer.error_path import mass_starts, part_sums
from calibrant.infer.possible_curves import CELLS
from calibrant.predictions import Event

LOST = 1e-9
"""Windows of a smaller share of all weight are left out: differences of sums have lost its digits."""


def least_largest_error(event: Event, level: float) -> float:
    """A lower bound of the largest |c(p) − p|, for all windows at once.

    Over any window of predictions the mean rate lies within the largest error of the mean
    prediction. Windows are runs of 1, 2, 4 … cells of equal mass, each half a run after the
    last; their rates have the bounds of Clopper and Pearson (which hold for rows of
    different rates too, Hoeffding 1956), Bonferroni over windows.

    Parameters
    ----------
    event
        The rows.
    level
        Confidence of a two-sided interval with this lower end.
    """
    from scipy.stats import beta

    pooled = event.pooled
    starts = mass_starts(pooled, CELLS)
    weight, prob, _ = part_sums(pooled, starts)
    told = pooled.effective(starts)
    rows, hits = (np.add.reduceat(column, starts) for column in (told.weight, told.hits))
    sums = [np.append(0.0, np.cumsum(column)) for column in (weight, weight * prob, rows, hits)]
    first, last = _windows(len(starts))
    parts = np.array([each[last] - each[first] for each in sums])
    mass, predicted, n, k = parts[:, parts[0] > LOST * sums[0][-1]]
    tail = (1 - level) / 2 / (2 * len(first))
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, beta.ppf(tail, k, n - k + 1), 0.0)
        high = np.where(k < n, beta.isf(tail, k + 1, n - k), 1.0)
    mean = predicted / mass
    return float(np.max(np.maximum(low - mean, mean - high), initial=0.0))


def _windows(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The first cell of each window, and the one after its last."""
    pairs = {(0, cells)}
    size = 1
    while size < cells:
        step = max(size // 2, 1)
        pairs |= {(start, start + size) for start in range(0, cells - size + 1, step)}
        size *= 2
    first, last = np.array(sorted(pairs)).T
    return first, last
