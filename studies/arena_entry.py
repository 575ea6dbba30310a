"""calibrant's maps as entries of a benchmark: objects with `fit(p, y)` and `predict_proba(p)`, as CalArena's runner takes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import calibrant as cal

ONE_EVENT = (
    "identity", "temperature", "ensemble_temperature", "platt", "beta", "quadratic", "gaussian_process",
    "piecewise_linear", "isotonic", "venn_abers", "spline",
)  # fmt: skip
SEVERAL = (
    "identity", "temperature", "ensemble_temperature", "vector", "structured_vector", "structured_matrix", "bent",
    "order_preserving",
)  # fmt: skip


class Calibrant:
    """A map of calibrant; by default what `recalibrate` gives.

    Of two classes it reads the probability of the second alone, so that one of the first that
    is below the rounding of the second is read, and given, as 0.

    Parameters
    ----------
    method
        The name of a map or a recipe.
    """

    def __init__(self, method: Any = "auto") -> None:
        self.method = method

    def fit(self, p: Any, y: Any) -> Calibrant:
        """Fit the map to probabilities `(n, K)` and classes from 0 to K − 1."""
        p = np.asarray(p)
        self.single_ = p.shape[1] == 2
        given = cal.Predictions(y, p[:, 1] if self.single_ else p, classes=tuple(range(p.shape[1])))
        self.map_ = cal.recalibrate(given, self.method)
        return self

    def predict_proba(self, p: Any) -> Any:
        """Recalibrated probabilities `(n, K)`."""
        p = np.asarray(p)
        found = self.map_.apply(p[:, 1] if self.single_ else p)
        return np.stack([1 - found, found], axis=1) if self.single_ else found


def entries(n_classes: int) -> dict[str, Callable[[], Calibrant]]:
    """Every entry of ours for so many classes, by name."""
    names = ONE_EVENT if n_classes == 2 else SEVERAL
    found = {name: partial(Calibrant, name) for name in names}
    return found | {"auto": Calibrant, "auto, level 0.95": partial(Calibrant, cal.Auto(level=0.95))}
