"""Squared gaps of levels from products of different clusters: noise has no part in
them."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.types import Floats, Indices


def squared_gaps(level: Indices, cluster: Indices, value: Floats, mass: Floats, n_levels: int) -> tuple[Floats, Floats]:
    """Σ over pairs of different clusters of products of values, over that of products
    of masses; and the mass of each level.

    NaN where a level has one cluster only. Clusters of one row give the U-statistic of
    the squared mean.
    """
    width = int(cluster.max()) + 1
    cells, at = np.unique(level * width + cluster, return_inverse=True)
    levels = cells // width
    parts = [np.bincount(at.ravel(), column, len(cells)) for column in (value, mass)]

    def between(column: Any) -> Floats:
        total, own = (np.bincount(levels, terms, n_levels) for terms in (column, column**2))
        return (total**2 - own).astype(np.float64)

    products, masses = between(parts[0]), between(parts[1])
    single = np.bincount(levels, minlength=n_levels) < 2
    gaps = np.divide(products, masses, out=np.full(n_levels, np.nan), where=~single & (masses > 0))
    return gaps, np.bincount(levels, parts[1], n_levels).astype(np.float64)
