"""What every rule for bins can do, and rules as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Event, Predictions
from calibrant.state.bin_sums import BinSums


@runtime_checkable
class Binning(Protocol):
    """What an estimator needs of a rule for bins."""

    @property
    def mergeable(self) -> bool:
        """Are the bins fixed before the data are seen?"""

    def collect(self, event: Event) -> BinSums:
        """Sums of the event's rows in each bin."""

    def collect_classes(self, predictions: Predictions) -> BinSums:
        """The same for the `class k` event of every class."""

    def index(self, event: Event) -> NDArray[np.intp]:
        """Bin of each row; outside 0 … B−1 for rows that fall into none."""

    def describe(self) -> str:
        """The rule in a few words."""


def settings(bins: Any) -> dict[str, Any]:
    """A rule for bins as plain data."""
    return {"rule": type(bins).__name__, **asdict(bins)}


def from_settings(data: dict[str, Any]) -> Any:
    """The rule that `settings` described."""
    import calibrant.bins as rules

    options = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "rule"}
    return getattr(rules, data["rule"])(**options)
