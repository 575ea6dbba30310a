"""P-values of several tests at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p-values: rejecting those up to α gives any false rejection with probability at most α.

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
