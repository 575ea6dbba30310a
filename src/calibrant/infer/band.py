"""A band of a reliability diagram: a range of rates for each prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from calibrant.results import Curve, Record, kind, number
from calibrant.results.constraints import Probability, Shape, Within
from calibrant.types import Floats


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Band(Record):
    """Rates between `low` and `high` at the predictions `x`, around a curve `y` or around the diagonal.

    `about` states what lies in the band. A band of `steps` holds between its points as
    well: the lower end stays until the next point, the upper end is that of the next
    point.
    """

    x: Annotated[Floats, Shape()]
    y: Annotated[Floats, Shape("x")]
    """the observed curve, which need not lie in a band around the diagonal"""
    low: Annotated[Floats, Shape("x")]
    high: Annotated[Floats, Shape("x")]
    support: Annotated[Floats, Shape("x"), Within(0)]
    """share of the rows at or around each point"""
    level: Probability
    method: str
    """`consistency`, `confidence` or `simultaneous`"""
    about: str
    steps: bool = False
    certified: float | None = None
    """the smallest ε for which every prediction is certified to be within ε of its true rate; None where none is"""
    cautions: tuple[str, ...] = ()

    def at(self, probs: Any) -> tuple[Floats, Floats]:
        """The lower and the upper end at any predictions.

        Beyond its points a band of steps is [0, 1]; any other keeps its last ends.

        Parameters
        ----------
        probs
            Predictions, in any order.
        """
        p = np.asarray(probs, dtype=np.float64)
        if not self.steps:
            return np.interp(p, self.x, self.low), np.interp(p, self.x, self.high)
        low = np.append(0.0, self.low)[np.searchsorted(self.x, p, side="right")]
        high = np.append(self.high, 1.0)[np.searchsorted(self.x, p, side="left")]
        return low, high

    def excluded(self) -> tuple[tuple[float, float, str], ...]:
        """Where the band excludes calibration: (from, to, "predicts too high" or "predicts too low").

        There the curve leaves a band around the diagonal, or the diagonal leaves any
        other band. A simultaneous band holds for all ranges at once, at its level. A band
        whose ends cross excludes nothing.
        """
        if (self.low > self.high).any():
            return ()
        if self.method == "consistency":
            side = np.where(self.y < self.low, 1, np.where(self.y > self.high, -1, 0))
        else:
            side = np.where(self.x > self.high, 1, np.where(self.x < self.low, -1, 0))
        changes = np.flatnonzero(np.diff(side)) + 1
        starts, ends = np.append(0, changes), np.append(changes, len(side)) - 1
        words = {1: "predicts too high", -1: "predicts too low"}
        found = zip(starts.tolist(), ends.tolist(), strict=True)
        return tuple((float(self.x[a]), float(self.x[b]), words[int(side[a])]) for a, b in found if side[a])

    def curve(self) -> Curve:
        """Points to draw with straight lines between them; steps become two points each."""
        if not self.steps:
            return Curve(self.x, self.y, self.low, self.high, self.support, self.level)
        n = np.arange(len(self.x))
        before, after = np.maximum(n - 1, 0), np.minimum(n + 1, len(n) - 1)
        at, low, high = (  # just before a point, at it, just after
            np.stack(ends, axis=1).ravel()[1:-1] for ends in ((n, n, n), (before, n, n), (n, n, after))
        )
        support = np.where(np.arange(len(at)) % 3 == 0, self.support[at], 0)
        return Curve(self.x[at], self.y[at], self.low[low], self.high[high], support, self.level)

    def __repr__(self) -> str:
        words = [f"{self.method} band at {self.level:.0%}, {len(self.x)} points: {self.about}"]
        if self.certified is not None:
            words.append(f"calibrated within ±{number(self.certified)}, certified")
        words += [f"{what} from {number(a)} to {number(b)}" for a, b, what in self.excluded()]
        return "\n  ".join(words + [f"caution: {c}" for c in self.cautions])
