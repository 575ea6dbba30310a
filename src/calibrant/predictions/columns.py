"""The rows of predictions as columns, for data frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.results.frames import Framed
from calibrant.results.notebook import Shown


class Rows(Shown, Framed):
    """Predictions as a table of their rows."""

    __slots__ = ()

    def columns_of_rows(self) -> dict[str, Any]:
        """Label, probabilities and, where there are some, weights or counts and groups: as `read` finds them in a file."""
        it: Any = self
        if it.probs.ndim == 1:
            found = {"label": it.labels if it.soft else np.array(it.classes, dtype=object)[it.labels.astype(np.intp)]}
            found["prob"] = it.probs
        else:
            found = side_by_side("label", it.observed if hasattr(it, "observed") else it.labels, it.classes)
            found |= side_by_side("prob", it.probs, it.classes)
        if it.weights is not None:
            found["count" if it.squares is None else "weight"] = it.weights
        return found if it.groups is None else {**found, "group": it.groups}


def side_by_side(name: str, values: Any, classes: Any) -> dict[str, Any]:
    """A column, or one per class with its name behind an underscore; indices become the classes they stand for."""
    if values.ndim == 2:
        return {f"{name}_{each}": values[:, k] for k, each in enumerate(classes)}
    return {name: np.array(classes, dtype=object)[values]}
