"""Bets against calibration, row by row.

Likelihood ratios of fixed alternatives, and the wealth of bets on them.

An alternative predicts q = σ(shift + slope·z) where the model predicts p = σ(z). Its
ratio for a row is y·q/p + (1 − y)·(1 − q)/(1 − p), which is 1 in expectation if p is
right, whatever came before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.compiled import compiled
from calibrant.kernels.logits import log_odds
from calibrant.types import Array, Floats

CAP = 1e300
"""Wealth is cut off here: less than is due, which keeps every guarantee."""


def log_ratios(probs: Array, outcomes: Array, shifts: Floats, slopes: Floats) -> Floats:
    """(n, J): log-ratio of each row under each alternative.

    The ratio of a prediction of exactly 0 or 1 that comes true is 1. One that does not
    is read as one rounding unit away: under calibration it cannot happen, so any ratio
    is allowed.
    """
    unit = float(np.finfo(probs.dtype).eps)
    p, y = probs.astype(np.float64), outcomes.astype(np.float64)
    z = log_odds(np.where((p == 0) | (p == 1), np.clip(p, unit, 1 - unit), p))[:, None]
    other = shifts + slopes * z
    if outcomes.dtype.kind == "f":
        with np.errstate(divide="ignore"):
            yes, no = np.log(y)[:, None], np.log1p(-y)[:, None]
        logs = np.logaddexp(yes + _one_sided(z, other, 1.0), no + _one_sided(z, other, -1.0))
    else:
        logs = _one_sided(z, other, (2 * y - 1)[:, None])
    logs[p == y] = 0.0
    return logs


def _one_sided(z: Floats, other: Floats, sign: Any) -> Floats:
    """ln σ(±other) − ln σ(±z)."""
    return np.logaddexp(0.0, -sign * z) - np.logaddexp(0.0, -sign * other)


def start_tail(n: Any) -> Any:
    """Prior probability that the change comes after row n.

    1/(1 + log₂(1 + n)), slow enough to leave late changes a fair share.
    """
    return 1.0 / (1.0 + np.log2(1.0 + n))


@compiled
def place_bets(
    ratios: Any, starts: Any, weights: Any, regions: Any, wealth: Any, single: Any, product: Any, path: Any
) -> None:
    """Place the bets row by row; `wealth`, `single` and `product` are changed in place.

    wealth_0j ← (wealth_0j + starts_t)·ratio_j: a share of the prior joins at every row.
    wealth_1j ← (wealth_1j + 1)·ratio_j: the sum over all rows the bet could have started
    at. `single` (R, K) bets from the first row on in each region alone; `product` holds
    the mean over each region's bets, half of it not betting, and last their product.
    path[t] = (Σ weights·wealth_0, Σ weights·wealth_1, product).
    """
    n_regions, n_local = single.shape
    first = len(weights) - n_regions * n_local
    for t in range(len(ratios)):
        wealth[0] = np.minimum((wealth[0] + starts[t]) * ratios[t], CAP)
        wealth[1] = np.minimum((wealth[1] + 1.0) * ratios[t], CAP)
        r = regions[t]
        own = ratios[t, first + r * n_local : first + (r + 1) * n_local]
        single[r] = np.minimum(single[r] * own, CAP)
        mean = 0.5 + 0.5 * single[r].sum() / n_local
        product[n_regions] = min(product[n_regions] * (mean / product[r]), CAP)
        product[r] = mean
        path[t, 0], path[t, 1] = (weights * wealth[0]).sum(), (weights * wealth[1]).sum()
        path[t, 2] = product[n_regions]
