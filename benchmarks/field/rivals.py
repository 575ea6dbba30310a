"""Confidence sets for the L2 calibration error by Sun, Chaudhari, Barnett and Dobriban (arXiv 2408.08998), from their definitions.

No package has them, so they are written here; NumPy is all they need. The predictions (n, k) of the k most probable classes, or of one
event (n,), are cut into cells of equal volume. With residuals U = y − p and n_c rows in cell c,

    T = 1/n Σ_c 1/(n_c − 1) Σ_{i≠j in c} U_i·U_j

estimates the squared error without bias. Of a miscalibrated model √n (T − truth) is normal with variance
Σ_c n_c/n (4 Ū' mean(U U') Ū − 3 |Ū|⁴) − (Σ_c n_c/n |Ū|²)², of a calibrated one n T with variance Σ_c 2 n_c/(n_c − 1) tr Cov².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

SUN = "arXiv 2408.08998"
JUST_ABOVE_0 = math.ulp(0.0)
"""Lower end of a set that reaches down to 0 and does not hold it."""


@dataclass(frozen=True)
class SquaredError:
    """The estimate of the squared error, and its standard deviation if the model is miscalibrated and if it is calibrated."""

    value: float
    sd: float
    sd_calibrated: float

    @property
    def p_value(self) -> float:
        """Of calibration, one-sided."""
        if self.sd_calibrated == 0:
            return 0.0 if self.value > 0 else 1.0
        return 0.5 * math.erfc(self.value / self.sd_calibrated / math.sqrt(2))


def squared_error(labels: ArrayLike, probs: ArrayLike) -> SquaredError:
    """T of one event (n,) or of one-hot labels (n, k).

    A side of a cell is n^(−2/(4 + k)), the rate at which a test against Lipschitz curves is optimal.
    """
    y, p = (np.asarray(each, float).reshape(len(np.asarray(each)), -1) for each in (labels, probs))
    n, k = p.shape
    sides = math.ceil(n ** (2 / (4 + k)))
    places = np.minimum((p * sides).astype(np.intp), sides - 1)
    _, cell, count = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    cell, residual = cell.ravel(), y - p

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(cell, values, minlength=len(count))

    mean = np.stack([total(column) for column in residual.T], axis=1) / count[:, None]
    length = (mean**2).sum(axis=1)
    pairs = count**2 * length - total((residual**2).sum(axis=1))
    value = float((pairs / np.maximum(count - 1, 1)).sum() / n)
    along = total((residual * mean[cell]).sum(axis=1) ** 2) / count
    spread = (count * (4 * along - 3 * length**2)).sum() / n - ((count * length).sum() / n) ** 2
    trace = total((p**2).sum(axis=1) - 2 * (p**3).sum(axis=1) + (p**2).sum(axis=1) ** 2) / count
    several = count > 1
    null = (2 * count[several] / (count[several] - 1) * trace[several]).sum()
    return SquaredError(value, math.sqrt(max(spread, 0.0) / n), math.sqrt(null) / n)


def interval(labels: ArrayLike, probs: ArrayLike, level: float) -> tuple[float, float]:
    """Ends of the confidence set of the root mean square error: 0 is in it where a test at the same level keeps calibration.

    The lower end is that of a two-sided interval where the estimate is large, of a one-sided one where 0 cuts the interval off, and half
    the estimate in between.
    """
    found = squared_error(labels, probs)
    at = max(found.value, 0.0)
    one, two = (NormalDist().inv_cdf(q) * found.sd for q in (level, (1 + level) / 2))
    low = at - two if at >= 2 * two else at / 2 if at >= 2 * one else max(at - one, 0.0)
    if found.p_value > 1 - level:
        low = 0.0
    elif low == 0:
        low = JUST_ABOVE_0
    return math.sqrt(low), math.sqrt(at + two)
