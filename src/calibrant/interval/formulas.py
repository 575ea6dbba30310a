"""p-values: of statistics by their distributions for many rows, and of several tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

N_TERMS = 1000
"""Terms of a series; far fewer matter."""


def normal_p_value(z: float) -> float:
    """P(|N| ≥ z)."""
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square_p_value(value: float, degrees: float) -> float:
    """P(χ² ≥ value); 1 with no degrees of freedom."""
    from scipy.special import chdtrc

    return float(chdtrc(degrees, value)) if degrees else 1.0


def brownian_max_p_value(x: float) -> float:
    """P(max|B| ≥ x) for a Brownian motion on [0, 1]: 1 − (4/π) Σ (−1)^k / (2k+1) · exp(−(2k+1)²π² / (8x²)).

    For large x the same by reflection: 2 Σ (−1)^k erfc((2k+1)x / √2), where the first
    term is nearly all.
    """
    if x <= 0:
        return 1.0
    k = np.arange(N_TERMS)
    odd = 2 * k + 1
    if x < 1:
        terms = np.exp(-(odd**2) * np.pi**2 / (8 * x * x)) / odd
        return float(min(1.0, 1 - 4 / np.pi * (terms * (-1.0) ** k).sum()))
    from scipy.special import erfc

    return float(min(1.0, 2 * (erfc(odd * x / np.sqrt(2)) * (-1.0) ** k).sum()))


def brownian_range_p_value(x: float) -> float:
    """P(max B − min B ≥ x): 1 − Σ (8/x² + 2/((k+½)²π²)) exp(−2(k+½)²π²/x²).

    For large x by the density of the range (Feller 1951), integrated: 4 Σ (−1)^(k−1) k
    · erfc(kx / √2).
    """
    if x <= 0:
        return 1.0
    k = np.arange(N_TERMS)
    if x < 2:
        half = (k + 0.5) ** 2 * np.pi**2
        return float(min(1.0, 1 - ((8 / x**2 + 2 / half) * np.exp(-2 * half / x**2)).sum()))
    from scipy.special import erfc

    k = k[1:]
    return float(min(1.0, 4 * ((-1.0) ** (k - 1) * k * erfc(k * x / np.sqrt(2))).sum()))


def kolmogorov_p_value(x: float) -> float:
    """P(max|bridge| ≥ x)."""
    from scipy.special import kolmogorov

    return float(kolmogorov(x))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p-values: rejecting those up to α errs at all with probability at most α.

    Parameters
    ----------
    p_values
        The p-values of the tests, which may depend on each other in any way.

    Examples
    --------
    >>> from calibrant.interval import holm
    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return tuple(adjusted.tolist())
